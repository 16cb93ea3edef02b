package api_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
)

// TestUploadWarnings: what programs may show differently, as a font that is not
// embedded, is recorded in the audit trail and told nowhere else.
func TestUploadWarnings(t *testing.T) {
	t.Parallel()
	app := onSQLite(t, nil).client(t)
	e := app.post("/v1/envelopes", object{"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com"}}}).want(201)
	r := app.send(http.MethodPost, "/v1/envelopes/"+e.str("id")+"/document", "application/pdf", testkit.OnePage())
	require.NotContains(t, r.body, "warnings")
	log, ok := app.get("/v1/envelopes/" + e.str("id")).want(200).body["auditLog"].([]any)
	require.True(t, ok)
	i := slices.IndexFunc(log, func(entry any) bool {
		m, ok := entry.(map[string]any)
		return ok && m["event"] == "document.added"
	})
	require.GreaterOrEqual(t, i, 0, "%v", log)
	require.Contains(t, log[i].(map[string]any)["detail"], "warnings", "%v", log[i])
}
