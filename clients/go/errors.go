package countersign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Error is an error response of the service.
type Error struct {
	Status     int                 // the HTTP status
	Code       string              // stable, such as "validation_error"; "unexpected_response" if the response is not from the service
	Message    string              // for display, in English
	Fields     map[string][]string // the problems with each member, by JSON path
	Details    map[string]any
	RetryAfter time.Duration // 0 if the service specified no delay
	RequestID  string        // identifies the request in the service's log
}

// Error returns the message and the problems with each member. It omits a problem if the message already begins with
// it.
func (e *Error) Error() string {
	text := strings.TrimSuffix(e.Message, ".")
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		if wrong := name + ": " + strings.Join(e.Fields[name], ", "); !strings.HasPrefix(e.Message, wrong) {
			text += "; " + wrong
		}
	}
	return fmt.Sprintf("%s (%d %s)", text, e.Status, e.Code)
}

// IsNotFound reports whether err means that the object does not exist or is not accessible with these credentials.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}

// ErrorCode returns the stable code of an error response, such as "envelope_not_draft", or "" for any other error.
func ErrorCode(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

const maxErrorBody = 1 << 20

// responseError returns the error for a response with status 300 or above, and closes the response.
func responseError(res *http.Response, now time.Time) *Error {
	defer func() { _ = res.Body.Close() }() // read only
	e := &Error{Status: res.StatusCode, RetryAfter: retryAfter(res.Header, now), RequestID: res.Header.Get("X-Request-Id")}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	var p struct {
		Error   string              `json:"error"`
		Message string              `json:"message"`
		Details map[string]any      `json:"details"`
		Errors  map[string][]string `json:"errors"`
	}
	if err == nil && json.Unmarshal(body, &p) == nil && p.Error != "" {
		e.Code, e.Message, e.Details, e.Fields = p.Error, p.Message, p.Details, p.Errors
		return e
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	e.Code = "unexpected_response"
	e.Message = fmt.Sprintf("%s responded with %d %s, which is not a Countersign response: check the address", res.Request.URL.Host, res.StatusCode, kind)
	if to := res.Header.Get("Location"); to != "" && res.StatusCode < http.StatusBadRequest {
		e.Message = fmt.Sprintf("%s redirects to %s: check the address of the service", res.Request.URL.Host, to)
	}
	return e
}

// retryAfter parses the Retry-After header, which contains a number of seconds or a time.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if secs, err := strconv.Atoi(v); err == nil {
		return max(0, time.Duration(secs)*time.Second)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
