package models

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Kind says what sort of refusal an Error is. The API maps each kind to one
// HTTP status, in one place.
type Kind int

// The kinds, each with the status that the API answers.
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

// Error is a refusal: something the caller asked for that the rules do not
// allow. Code is stable and machine readable; Message is safe to show.
type Error struct {
	Kind    Kind
	Code    string
	Message string
	// Fields maps JSON paths to problems: {"signers[0].email": ["must be an e-mail address"]}.
	Fields map[string][]string
	// RetryAfter is how long to wait before trying again; zero if waiting does not help.
	RetryAfter time.Duration
	// Details is what else a client can use, as JSON.
	Details map[string]any
}

// Error implements error: code and message, and the names of the fields.
func (e *Error) Error() string {
	if len(e.Fields) == 0 {
		return e.Code + ": " + e.Message
	}
	names := slices.Sorted(maps.Keys(e.Fields))
	return fmt.Sprintf("%s: %s (%s)", e.Code, e.Message, strings.Join(names, ", "))
}

// Is reports whether target is an *Error of the same code, so that
// errors.Is(err, models.ErrNotFound) holds for every 404 of that code.
func (e *Error) Is(target error) bool {
	t, ok := errors.AsType[*Error](target)
	return ok && t.Code == e.Code
}

// Refuse makes an Error without field messages.
func Refuse(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// IsRefusal reports whether err is a refusal: trying again the same way
// cannot succeed, except where the kind says so.
func IsRefusal(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind != KindUnavailable
}

// Problems collects the problems of a request by field, so that the caller receives all of them at once.
type Problems map[string][]string

// maxProblems bounds the paths in Problems, and the messages for one path: a small request can have something wrong in
// thousands of places.
const maxProblems = 200

// Add notes that the value at path is wrong.
func (p Problems) Add(path, format string, args ...any) {
	if known := p[path]; len(known) >= maxProblems || known == nil && len(p) >= maxProblems {
		return
	}
	p[path] = append(p[path], fmt.Sprintf(format, args...))
}

// addFirst is Add for a value of which nothing was noted yet.
func (p Problems) addFirst(path, message string) {
	if len(p[path]) == 0 {
		p.Add(path, "%s", message)
	}
}

// Err returns nil if nothing was noted, else a validation_error with all of it.
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

// InvalidField is the validation_error of a request of which one value is wrong.
func InvalidField(path, format string, args ...any) error {
	p := Problems{}
	p.Add(path, format, args...)
	return p.Err()
}

// ErrNotFound is the one answer for what does not exist and for what belongs
// to somebody else.
var ErrNotFound = Refuse(KindNotFound, "not_found", "Not found, or not accessible with this credential.")
