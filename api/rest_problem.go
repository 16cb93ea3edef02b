package api

import (
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/seal/appearance"
	"countersign/seal/rejection"
	"countersign/store"
)

// problem is the body of every error. It is compatible with both error formats of the API, and with RFC 9457 problem
// details.
type problem struct {
	Error   string              `json:"error"`
	Message string              `json:"message"`
	Details map[string]any      `json:"details"`
	Type    string              `json:"type"`
	Title   string              `json:"title"`
	Status  int                 `json:"status"`
	Errors  map[string][]string `json:"errors"`
}

// statusOf maps error kinds to HTTP status codes. It is the only such mapping.
var statusOf = map[models.Kind]int{
	models.KindInvalid:       http.StatusBadRequest,
	models.KindUnauthorized:  http.StatusUnauthorized,
	models.KindPayment:       http.StatusPaymentRequired,
	models.KindForbidden:     http.StatusForbidden,
	models.KindNotFound:      http.StatusNotFound,
	models.KindConflict:      http.StatusConflict,
	models.KindGone:          http.StatusGone,
	models.KindPrecondition:  http.StatusPreconditionFailed,
	models.KindTooLarge:      http.StatusRequestEntityTooLarge,
	models.KindUnprocessable: http.StatusUnprocessableEntity,
	models.KindRateLimited:   http.StatusTooManyRequests,
	models.KindUnavailable:   http.StatusServiceUnavailable,
}

// fail responds with err. An error without a kind results in a 500 response that contains only the request ID. The log
// contains the details and the same ID.
func (s *shared) fail(c *gin.Context, err error) {
	rejected, ok := errors.AsType[*models.Error](err)
	unusable, isFile := errors.AsType[*rejection.Error](err)
	switch {
	case ok:
	case isFile:
		rejected = models.Reject(models.KindInvalid, unusable.Code, "%s", unusable.Message)
	case c.Request.Context().Err() != nil:
		c.Abort() // the client has disconnected
		return
	default:
		rejected, _ = errors.AsType[*models.Error](s.archiveError(c, err))
	}
	if rejected == nil && (store.Unavailable(err) || errors.Is(err, appearance.ErrNotReady)) {
		s.log.WarnContext(c.Request.Context(), "request failed temporarily", "request", requestID(c), "route", c.FullPath(), "envelope", c.GetString(envelopeKey), "error", err)
		rejected = errUnavailable
	}
	if rejected == nil {
		s.log.ErrorContext(c.Request.Context(), "request failed", "request", requestID(c), "route", c.FullPath(), "envelope", c.GetString(envelopeKey), "error", err)
		s.write(c, http.StatusInternalServerError, &models.Error{
			Code: "internal_error", Message: "Something went wrong on our side. Please quote request " + requestID(c) + ".",
		})
		return
	}
	s.write(c, statusOf[rejected.Kind], rejected)
}

// unavailableDelay is the delay before clients should retry a request that failed because a dependency of the service
// did not respond.
const unavailableDelay = 5 * time.Second

// errUnavailable is returned while the database or the file store does not respond or is full, or while the renderer is
// not ready yet.
var errUnavailable = &models.Error{
	Kind: models.KindUnavailable, Code: "unavailable", RetryAfter: unavailableDelay, Message: "The service cannot process the request at the moment. Try again in a few seconds.",
}

// problemOf returns the body of an error response. The parameter base is the base URL of the error catalog. If it is
// empty, the URL in the body is relative.
func problemOf(base string, status int, e *models.Error) problem {
	p := problem{
		Error: e.Code, Message: e.Message, Details: e.Details, Type: base + catalogPath + "#" + e.Code, Title: http.StatusText(status), Status: status, Errors: e.Fields,
	}
	if p.Errors == nil {
		p.Errors = map[string][]string{}
	}
	return p
}

func (s *shared) write(c *gin.Context, status int, e *models.Error) {
	p := problemOf(s.baseURL, status, e)
	if wait := retryAfter(status, e); wait > 0 {
		secs := int(math.Ceil(wait.Seconds()))
		c.Header("Retry-After", strconv.Itoa(secs))
		p.Details = map[string]any{"retryAfterSeconds": secs}
		maps.Copy(p.Details, e.Details)
	}
	if status == http.StatusUnauthorized {
		c.Header("WWW-Authenticate", "Bearer")
		if c.GetHeader("Authorization") != "" {
			c.Header("WWW-Authenticate", `Bearer error="invalid_token"`)
		}
	}
	if strings.Contains(c.GetHeader("Accept"), "application/problem+json") {
		c.Header("Content-Type", "application/problem+json")
	}
	c.AbortWithStatusJSON(status, p)
}

// retryAfter returns the delay before a client may retry a request, or 0 if a retry would not help. A 503 is temporary
// unless the cause is a file that the operator must repair.
func retryAfter(status int, e *models.Error) time.Duration {
	if e.RetryAfter == 0 && status == http.StatusServiceUnavailable && !slices.Contains(brokenFileCodes, e.Code) {
		return unavailableDelay
	}
	return e.RetryAfter
}

// brokenFileCodes contains the codes of 503 responses that persist until the operator repairs a file.
var brokenFileCodes = []string{"file_missing", "document_unavailable", "appearance_changed", "profile_unavailable"}

// utcPtr converts an optional time to UTC, the zone of all times in responses. It returns nil for nil.
func utcPtr(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

func isNotFound(err error) bool { return errors.Is(err, models.ErrNotFound) }

// notFoundAs replaces a not-found error with the given one, and returns every other error unchanged.
func notFoundAs(rejected, err error) error {
	if isNotFound(err) {
		return rejected
	}
	return err
}

// catalogPath is the path of the error catalog. The type of an error is the URL of the catalog with the error code as
// its fragment.
const catalogPath = "/docs/errors"
