package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"countersign/api"
	"countersign/internal/tracing"
	"countersign/models"
	"countersign/temporal"
	"countersign/test/kit"
)

// panickingWorkflows simulates a Temporal client that panics.
type panickingWorkflows struct{ fakeWorkflows }

func (panickingWorkflows) Progress(context.Context, uuid.UUID) (temporal.Progress, error) {
	panic("a secret: 4711")
}

// TestRequests_AreTracedAndLogged checks that each request has one span, which contains all spans of the request and
// fails only if the service fails.
func TestRequests_AreTracedAndLogged(t *testing.T) {
	t.Parallel()
	lines := &kit.Buffer{}
	spans := tracetest.NewInMemoryExporter()
	s := onSQLite(t, func(cfg *api.Config) {
		cfg.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer(tracing.Name)
		cfg.Log = slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
		cfg.Workflows = panickingWorkflows{}
	})
	c := s.client(t)
	e, _ := c.sent(contract())
	last := func() tracetest.SpanStub {
		t.Helper()
		all := spans.GetSpans()
		require.NotEmpty(t, all)
		return all[len(all)-1]
	}
	sent := last()
	require.Equal(t, "POST /v1/envelopes/:id/send", sent.Name)
	require.Equal(t, codes.Unset, sent.Status.Code)
	rows, err := s.store.ClaimOutbox(t.Context(), 9, 1)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Contains(t, rows[0].Refs.Trace, sent.SpanContext.TraceID().String(), "the workflow is traced with the request")

	rejected := c.get("/v1/envelopes/"+e.str("id")+"/progress").rejected(500, "internal_error")
	require.NotContains(t, string(rejected.raw), "4711")
	require.Equal(t, codes.Error, last().Status.Code)
	require.Equal(t, 1, lines.CountLines("a secret: 4711", "level=ERROR", "request="+rejected.header.Get("X-Request-Id")))
	c.get("/v1/envelopes/"+uuid.NewString()).rejected(404, "not_found")
	require.Equal(t, codes.Unset, last().Status.Code, "a rejected request is not an error of the service")

	admin, other := s.person(t, models.RoleAdmin), s.person(t, models.RoleViewer)
	other.post("/v1/console/sessions/end", object{"password": password}).want(204)
	require.Equal(t, 1, lines.CountLines("console sessions ended", "user="))
	id := other.me().body["user"].(object)["id"].(string)
	admin.del("/v1/console/users/" + id + "/sessions").want(204)
	require.Equal(t, 2, lines.CountLines("console sessions ended"))
	require.Equal(t, 2, lines.CountLines("console sessions ended", "user="+id))
	admin.del("/v1/console/users/" + id + "/totp").want(204)
	require.Equal(t, 1, lines.CountLines("second factor removed", "user="+id, "by=user:"))
	require.Zero(t, lines.CountLines("@example.com"))
}

// TestUnknownPaths checks that an unknown path in the API returns a problem, and that every other path serves the
// pages.
func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	nobody := &client{t: t, s: s}
	for _, path := range []string{"/v1/nothing", "/oauth/nothing", "/.well-known/nothing"} {
		nobody.get(path).rejected(404, "not_found")
		nobody.post(path, nil).rejected(404, "not_found")
	}
	for _, path := range []string{"/nothing", "/sign/x", "/v1"} {
		require.Contains(t, string(nobody.get(path).want(200).raw), "<!doctype html>")
		nobody.call(http.MethodHead, path, nil).want(200)
		nobody.post(path, nil).rejected(404, "not_found")
	}
	// An idempotency key affects only POST requests.
	c := s.client(t).with("Idempotency-Key", "k")
	e := c.draft(contract())
	at := "/v1/envelopes/" + e.str("id")
	require.Empty(t, c.get(at).want(200).header.Get("Idempotency-Replayed"))
	c.with("Idempotency-Key", "v").post(at+"/void", nil).want(200)
	again := c.get(at).want(200)
	require.Equal(t, "voided", again.str("status"))
	require.Empty(t, again.header.Get("Idempotency-Replayed"))
	c.with("Idempotency-Key", "a\tb").post(at+"/void", nil).rejected(400, "validation_error")
}
