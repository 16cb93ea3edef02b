package faults_test

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/temporal"
)

// request sends one request to an API, without retries.
func (w *scenario) request(method, path, contentType string, body []byte) *http.Response {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.apis[0]+path, bytes.NewReader(body))
	require.NoError(w.t, err)
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Authorization", "Bearer "+w.client.token)
	res, err := w.client.http.Do(req)
	require.NoError(w.t, err)
	require.NoError(w.t, res.Body.Close())
	return res
}

// TestPostgresIsDown checks that during an outage every request receives status 503 with a Retry-After header, and
// none receives 500.
func TestPostgresIsDown(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, _ *rand.Rand) {
		server := startPostgres(t)
		w := newScenario(t, setting{postgres: server.URL})
		w.api()
		w.login()
		e, err := w.draft(1)
		require.NoError(t, err)
		require.NoError(t, server.Crash(t.Context()))
		json, form := "application/json", "application/x-www-form-urlencoded"
		for range 2 { // the first requests find broken connections, and later ones fail to connect
			for _, c := range []struct {
				method, path, contentType, body string
			}{
				{http.MethodGet, "/v1/envelopes/" + e.id, "", ""},
				{http.MethodGet, "/v1/envelopes", "", ""},
				{http.MethodGet, "/v1/events", "", ""},
				{http.MethodPost, "/v1/envelopes", json, `{"tenantId":"acme","createdBy":"me"}`},
				{http.MethodPost, "/v1/envelopes/" + e.id + "/send", json, "{}"},
				{http.MethodPost, "/v1/envelopes/" + e.id + "/document", "application/pdf", string(onePage)},
				{http.MethodPost, "/oauth/token", form, "grant_type=client_credentials&client_id=" + w.clientID + "&client_secret=" + w.secret},
				{http.MethodPost, "/v1/console/login", json, `{"email":"a@example.com","password":"a long password"}`},
			} {
				res := w.request(c.method, c.path, c.contentType, []byte(c.body))
				assert.Equal(t, http.StatusServiceUnavailable, res.StatusCode, "%s %s", c.method, c.path)
				assert.NotEmpty(t, res.Header.Get("Retry-After"), "%s %s", c.method, c.path)
			}
		}
		for _, probe := range []string{"/readyz", "/readyz?for=requests", "/readyz?for=uploads"} {
			assert.Equal(t, http.StatusServiceUnavailable, w.request(http.MethodGet, probe, "", nil).StatusCode, probe)
		}
		late := &process{w: w, args: []string{"worker"}}
		late.start()
		eventually(t, func() bool { return w.logged("waiting for the database") }, "a process that starts during the outage did not wait")
		require.NoError(t, server.Restart(t.Context()))
		eventually(t, func() bool {
			return w.request(http.MethodGet, "/v1/envelopes/"+e.id, "", nil).StatusCode == http.StatusOK
		}, "the API did not recover")
		c := w.temporalClient()
		eventually(t, func() bool {
			exists, _, err := temporal.ScheduleState(t.Context(), c, temporal.ScheduleReconcile)
			return err == nil && exists
		}, "the waiting worker did not start its work")
	})
}
