package api_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
)

// TestEveryOperationNeedsTheSecondFactor: a console user who has to enrol can do nothing else. What one needs for that is
// the own account's.
func TestEveryOperationNeedsTheSecondFactor(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.ConsoleTOTP = models.SecondFactorAdmins })
	at := places(t, s)
	admin := s.person(t, models.RoleAdmin)
	refused := 0
	eachOperation(t, s, func(_ *client, method, path string, op *openapi3.Operation) {
		if op.Responses.Status(http.StatusForbidden) == nil || !slices.ContainsFunc(*op.Security, func(r openapi3.SecurityRequirement) bool { return r["console"] != nil }) {
			return
		}
		if strings.Contains(op.Tags[0], "Account") {
			return
		}
		admin.call(method, at.Replace(path), nil).refused(403, "second_factor_required")
		refused++
	})
	require.Greater(t, refused, 80)
}

// TestEveryBodyIsBounded: also one that an operation does not read, where a key makes it part of the request.
func TestEveryBodyIsBounded(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.UploadLimit = 64 << 10 })
	at := places(t, s)
	large := bytes.Repeat([]byte(" "), 2<<20)
	tried := 0
	eachOperation(t, s, func(c *client, method, path string, op *openapi3.Operation) {
		if method != http.MethodPost || op.RequestBody != nil {
			return
		}
		if a := c.call(method, at.Replace(path)+"?a=%zz", nil); a.status == http.StatusForbidden {
			c = s.person(t, models.RoleAdmin)
		}
		c.with("Idempotency-Key", "k").send(method, at.Replace(path), "", large).refused(413, "request_too_large")
		tried++
	})
	require.Greater(t, tried, 10)
}

// TestBodiesWaitForMemory: a body that gets no memory in time is answered like any other request that has to wait.
func TestBodiesWaitForMemory(t *testing.T) {
	t.Parallel()
	busy := onSQLite(t, func(cfg *api.Config) { cfg.QueueWait = time.Millisecond })
	known := operations()
	tried := 0
	eachOperation(t, busy, func(_ *client, method, path string, op *openapi3.Operation) {
		if op.RequestBody == nil || op.RequestBody.Value.Content["application/json"] == nil || path == "/v1/bulk-sends" { // rows have memory of their own: TestBusy
			return
		}
		c, at, body := known[method+" "+path](t, busy)
		release := busy.api.TakeBodyMemory()
		defer release()
		a := c.call(method, at, body).refused(503, "busy")
		require.NotEmpty(t, a.header.Get("Retry-After"), "%s %s", method, path)
		tried++
	})
	require.Greater(t, tried, 50)
}
