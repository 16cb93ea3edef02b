package api_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
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
			app.upload(http.MethodPost, "/v1/templates", leaseTemplate(), testkit.OnePage()).refused(c.status, c.code)
			data := leaseTemplate()
			delete(data, "fields")
			template := app.post("/v1/templates", data).want(201)
			app.upload(http.MethodPatch, "/v1/templates/"+template.str("id"), object{}, testkit.OnePage()).refused(c.status, c.code)
			require.Empty(t, app.get("/v1/envelopes/" + e.str("id")).want(200).body["documents"])
		})
	}
	clean, err := clamd.Parse(testkit.Clamd(t, 1<<20, testkit.Eicar))
	require.NoError(t, err)
	s := onSQLite(t, func(cfg *api.Config) { cfg.Scanner = clean })
	s.client(t).sent(contract())
}

// countingScanner knows no malware and counts what it is asked about.
type countingScanner struct{ asked atomic.Int32 }

func (s *countingScanner) Scan(context.Context, io.Reader) (string, error) {
	s.asked.Add(1)
	return "", nil
}

// TestFilesAreExaminedLast: what else is wrong with a request is said first, all
// of it at once, and its file is not looked at.
func TestFilesAreExaminedLast(t *testing.T) {
	t.Parallel()
	scanner := new(countingScanner)
	s := onSQLite(t, func(cfg *api.Config) { cfg.Scanner = scanner })
	c := s.client(t)
	wrong := `{"tenantId":"acme","subject":"` + strings.Repeat("x", 256) + `","expiresInDays":0,"origin":"middle",
		"signers":[{"name":"A","email":"a@example.com"},{"name":"B","email":"b@example.com"}],
		"fields":[{"signerId":"2","type":"text","page":1,"x":1,"y":1,"w":1,"h":1},
			{"signerId":"b@example.com","type":"seal","page":0,"x":-9,"y":1,"w":0},
			{"signerId":"1","documentId":"6e0f1e0a-6a0d-4a54-8f0e-111111111111","type":"date","page":1,"x":1,"y":1,"w":1,"h":1}]}`
	want := []string{
		"subject", "expiresInDays", "origin", "fields[0].signerId", "fields[1].type", "fields[1].page", "fields[1].x", "fields[1].w", "fields[1].h", "fields[2].documentId",
	}
	for _, file := range [][]byte{[]byte("no PDF at all"), testkit.OnePage()} {
		ct, body := multipartBody(t, map[string]string{"data": wrong}, file)
		found := c.send(http.MethodPost, "/v1/envelopes", ct, body).refused(400, "validation_error").body["errors"]
		require.IsType(t, map[string]any{}, found)
		errs, _ := found.(map[string]any)
		require.ElementsMatch(t, want, slices.Collect(maps.Keys(errs)))
		for field, messages := range errs {
			require.Len(t, messages, 1, field)
		}
	}
	for name, fields := range map[string]map[string]string{
		"a tenant that is none": {"data": `{"tenantId":"","signers":[{"name":"A","email":"a@example.com"}]}`},
		"no JSON":               {"data": `{`},
		"flat fields":           {"tenantId": "acme", "signers": `[{"name":"A"}]`},
	} {
		ct, body := multipartBody(t, fields, []byte("no PDF at all"))
		code := c.send(http.MethodPost, "/v1/envelopes", ct, body).want(400).str("error")
		require.Contains(t, []string{"validation_error", "invalid_json"}, code, name)
	}
	require.Zero(t, scanner.asked.Load())
	ct, body := multipartBody(t, map[string]string{"data": `{"tenantId":"acme","signers":[{"name":"A","email":"a@example.com"}],
		"fields":[{"signerId":"0","type":"text","page":2,"x":1,"y":1,"w":1,"h":1}]}`}, testkit.OnePage())
	require.Contains(t, c.send(http.MethodPost, "/v1/envelopes", ct, body).refused(400, "validation_error").body["errors"], "fields[0].page")
	require.EqualValues(t, 1, scanner.asked.Load())
}
