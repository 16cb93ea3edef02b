package models

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Kind is the category of an Error. The API maps each kind to an HTTP status, in one place.
type Kind int

// The kinds of errors, with their HTTP statuses.
const (
	KindInvalid       Kind = iota + 1 // 400 Bad Request
	KindUnauthorized                  // 401 Unauthorized
	KindPayment                       // 402 Payment Required
	KindForbidden                     // 403 Forbidden
	KindNotFound                      // 404 Not Found
	KindConflict                      // 409 Conflict
	KindGone                          // 410 Gone
	KindPrecondition                  // 412 Precondition Failed
	KindTooLarge                      // 413 Content Too Large
	KindUnprocessable                 // 422 Unprocessable Content
	KindRateLimited                   // 429 Too Many Requests
	KindUnavailable                   // 503 Service Unavailable
)

// Error reports that the rules do not permit a request. Code is stable and machine-readable. Message is safe to show
// to clients.
type Error struct {
	Kind    Kind
	Code    string
	Message string
	// Fields maps JSON paths to problems, for example {"signers[0].email": ["must be an email address"]}.
	Fields map[string][]string
	// RetryAfter is the time to wait before retrying, or zero if waiting does not help.
	RetryAfter time.Duration
	// Details contains further data for clients, which is encoded as JSON.
	Details map[string]any
}

// Error returns the code, the message and the names of the invalid fields.
func (e *Error) Error() string {
	if len(e.Fields) == 0 {
		return e.Code + ": " + e.Message
	}
	names := slices.Sorted(maps.Keys(e.Fields))
	return fmt.Sprintf("%s: %s (%s)", e.Code, e.Message, strings.Join(names, ", "))
}

// Is reports whether target is an *Error with the same code. errors.Is(err, models.ErrNotFound) is therefore true for
// every error with that code.
func (e *Error) Is(target error) bool {
	t, ok := errors.AsType[*Error](target)
	return ok && t.Code == e.Code
}

// Reject returns an Error without field messages.
func Reject(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// IsRejection reports whether err is an *Error of any kind other than KindUnavailable. Such an error is caused by the
// request or by the state of the data, and not by an outage.
func IsRejection(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind != KindUnavailable
}

// Problems collects the problems of a request by field, so that the client receives all of them at once.
type Problems map[string][]string

// maxProblems limits the number of paths in Problems and the number of messages per path, because even a small request
// can contain thousands of errors.
const maxProblems = 200

// Add records that the value at path is invalid.
func (p Problems) Add(path, format string, args ...any) {
	if known := p[path]; len(known) >= maxProblems || known == nil && len(p) >= maxProblems {
		return
	}
	p[path] = append(p[path], fmt.Sprintf(format, args...))
}

// addFirst is like Add, but has no effect if a problem is already recorded for the path.
func (p Problems) addFirst(path, message string) {
	if len(p[path]) == 0 {
		p.Add(path, "%s", message)
	}
}

// Err returns nil if no problem is recorded, or a validation_error with all problems.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	paths := slices.Sorted(maps.Keys(p))
	msg := fmt.Sprintf("%s: %s", paths[0], p[paths[0]][0])
	if n := len(paths) - 1; n > 0 {
		msg = fmt.Sprintf("%s (and %d more)", msg, n)
	}
	return &Error{Kind: KindInvalid, Code: "validation_error", Message: msg, Fields: p}
}

// InvalidField returns a validation_error for a request with one invalid value.
func InvalidField(path, format string, args ...any) error {
	p := Problems{}
	p.Add(path, format, args...)
	return p.Err()
}

// ErrNotFound is returned for resources that do not exist or that belong to another owner.
var ErrNotFound = Reject(KindNotFound, "not_found", "Not found, or not accessible with this credential.")
