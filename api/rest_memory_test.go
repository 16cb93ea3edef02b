package api_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"countersign/api"
)

// TestBodies_AreBounded checks that the size limit applies with and without an idempotency key.
func TestBodies_AreBounded(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.UploadLimit = 64 << 10 })
	large := bytes.Repeat([]byte("x"), 8<<20)
	for _, key := range []string{"", "k"} {
		c := s.client(t)
		if key != "" {
			c = c.with("Idempotency-Key", key)
		}
		ct, body := partsBody(t, "b", part{"file", "a.pdf", "application/pdf", string(large)})
		c.send(http.MethodPost, "/v1/envelopes", ct, body).want(413)
		require.Equal(t, "acme", c.post("/v1/envelopes", object{"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com"}}}).want(201).str("tenantId"))
	}
}

// TestBodies_WaitForMemory checks that a request is rejected with 503 and Retry-After if memory for its body does not
// become available in time.
func TestBodies_WaitForMemory(t *testing.T) {
	t.Parallel()
	busy := onSQLite(t, func(cfg *api.Config) { cfg.QueueWait = time.Millisecond })
	known := operations()
	tried := 0
	eachOperation(t, busy, func(_ *client, method, path string, op *openapi3.Operation) {
		if op.RequestBody == nil || op.RequestBody.Value.Content["application/json"] == nil || path == "/v1/bulk-sends" { // rows have a separate limit; see TestConcurrencyLimit_RejectsAfterWaiting
			return
		}
		require.Contains(t, known, method+" "+path)
		c, at, body := known[method+" "+path](t, busy)
		release, err := busy.api.AcquireBodyMemory(t.Context())
		require.NoError(t, err)
		defer release()
		a := c.call(method, at, body).rejected(503, "busy")
		require.NotEmpty(t, a.header.Get("Retry-After"), "%s %s", method, path)
		tried++
	})
	require.Greater(t, tried, 50)
}
