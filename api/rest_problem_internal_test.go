package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/seal/rejection"
)

// TestProblems checks the body and headers of error responses.
func TestProblems(t *testing.T) {
	t.Parallel()
	s := &shared{baseURL: "https://sign.example.com", log: slog.New(slog.DiscardHandler)}
	answer := func(err error, headers ...string) (*httptest.ResponseRecorder, map[string]any) {
		c, w := request(http.MethodGet, "/", "", "")
		for i := 0; i < len(headers); i += 2 {
			c.Request.Header.Set(headers[i], headers[i+1])
		}
		c.Set(requestIDKey, "r1")
		s.fail(c, err)
		require.True(t, c.IsAborted())
		o := objectOf(t, w.Body.String())
		return w, o.m
	}
	for kind, status := range map[models.Kind]int{
		models.KindInvalid: 400, models.KindUnauthorized: 401, models.KindPayment: 402, models.KindForbidden: 403, models.KindNotFound: 404, models.KindConflict: 409, models.KindGone: 410,
		models.KindTooLarge: 413, models.KindUnprocessable: 422, models.KindRateLimited: 429, models.KindUnavailable: 503,
	} {
		w, body := answer(models.Reject(kind, "some_code", "Why."))
		require.Equal(t, status, w.Code)
		require.Equal(t, "some_code", body["error"])
		require.Equal(t, "Why.", body["message"])
		require.Equal(t, "https://sign.example.com/docs/errors#some_code", body["type"])
		require.Equal(t, http.StatusText(status), body["title"])
		require.Equal(t, map[string]any{}, body["errors"])
		if kind == models.KindUnavailable {
			require.Equal(t, map[string]any{"retryAfterSeconds": json.Number("5")}, body["details"])
			require.Equal(t, "5", w.Header().Get("Retry-After"))
		} else {
			require.Nil(t, body["details"])
			require.Empty(t, w.Header().Get("Retry-After"))
		}
		require.Equal(t, map[bool]string{true: "Bearer"}[status == 401], w.Header().Get("WWW-Authenticate"))
		require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
	}
	w, _ := answer(errInvalidToken, "Authorization", "Bearer x", "Accept", "text/html, application/problem+json")
	require.Equal(t, `Bearer error="invalid_token"`, w.Header().Get("WWW-Authenticate"))
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	w, _ = answer(models.ErrNotFound, "Authorization", "Bearer x")
	require.Empty(t, w.Header().Get("WWW-Authenticate"))
	for wait, secs := range map[time.Duration]string{time.Second: "1", time.Second + 1: "2", 1: "1", time.Minute: "60", -1: ""} {
		late := models.Reject(models.KindRateLimited, "rate_limited", "Wait.")
		late.RetryAfter, late.Details = wait, map[string]any{"more": "x"}
		w, body := answer(late)
		require.Equal(t, secs, w.Header().Get("Retry-After"), "%s", wait)
		details, _ := body["details"].(map[string]any)
		require.Equal(t, secs != "", details["retryAfterSeconds"] != nil)
		require.Equal(t, "x", details["more"])
		require.Len(t, late.Details, 1, "the rejection itself does not change")
	}
	w, body := answer(models.InvalidField("name", "is bad"))
	require.Equal(t, 400, w.Code)
	require.Equal(t, map[string]any{"name": []any{"is bad"}}, body["errors"])
	w, body = answer(rejection.New("pdf_bad", "The PDF."))
	require.Equal(t, []any{400, "pdf_bad", "The PDF."}, []any{w.Code, body["error"], body["message"]})
	w, body = answer(errors.New("secret"))
	require.Equal(t, []any{500, "internal_error"}, []any{w.Code, body["error"]})
	require.Contains(t, body["message"], "r1")
	require.NotContains(t, w.Body.String(), "secret")

	c, gone := request(http.MethodGet, "/", "", "")
	ctx, cancel := context.WithCancel(c.Request.Context())
	cancel()
	c.Request = c.Request.WithContext(ctx)
	s.fail(c, errors.New("canceled"))
	require.True(t, c.IsAborted())
	require.Zero(t, gone.Body.Len(), "the client no longer reads the response")
	require.Nil(t, utcPtr(nil))
}
