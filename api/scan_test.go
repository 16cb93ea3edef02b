package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/internal/clamd"
	"countersign/internal/testkit"
)

// TestUploadsAreScanned: at each endpoint that takes a PDF, what the scanner
// knows is refused, and so is all while it does not answer.
func TestUploadsAreScanned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, address string
		status        int
		code          string
	}{
		{"known", testkit.Clamd(t, 1<<20, "%PDF"), http.StatusBadRequest, "file_malware"},
		{"too large for it", testkit.Clamd(t, 10), http.StatusServiceUnavailable, "scanner_unavailable"},
		{"not there", "unix:///nowhere/clamd.ctl", http.StatusServiceUnavailable, "scanner_unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			scanner, err := clamd.Parse(c.address)
			require.NoError(t, err)
			s := onSQLite(t, func(cfg *api.Config) { cfg.Scanner = scanner })
			app := s.client(t)
			e := app.post("/v1/envelopes", object{"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com"}}}).want(201)
			app.send(http.MethodPost, "/v1/envelopes/"+e.str("id")+"/document", "application/pdf", testkit.OnePage()).refused(c.status, c.code)
			for _, path := range []string{"/v1/console/envelopes/" + e.str("id") + "/documents", "/v1/envelopes"} {
				ct, body := multipartBody(t, map[string]string{"data": `{"tenantId":"acme","signers":[{"name":"A","email":"a@example.com"}]}`}, testkit.OnePage())
				if path != "/v1/envelopes" {
					ct, body = multipartBody(t, nil, testkit.OnePage())
				}
				app.send(http.MethodPost, path, ct, body).refused(c.status, c.code)
			}
			require.Empty(t, app.get("/v1/envelopes/" + e.str("id")).want(200).body["documents"])
		})
	}
	clean, err := clamd.Parse(testkit.Clamd(t, 1<<20, testkit.Eicar))
	require.NoError(t, err)
	s := onSQLite(t, func(cfg *api.Config) { cfg.Scanner = clean })
	s.client(t).sent(contract())
}
