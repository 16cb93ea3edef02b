package faults_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestFailedInsert makes the database reject one INSERT statement of a change. It checks that no part of the change
// is stored, and that the same request succeeds after the fault.
func TestFailedInsert(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, _ *rand.Rand) {
		w := newScenario(t, setting{})
		w.start(1, 0)
		w.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'injected'; END $$`)
		reject := func(table, when string) (restore func()) {
			w.exec(fmt.Sprintf(`CREATE TRIGGER refuse BEFORE INSERT ON %s FOR EACH ROW %s EXECUTE FUNCTION refuse()`, table, when))
			return func() { w.exec("DROP TRIGGER refuse ON " + table) }
		}

		for _, table := range []string{"audit_events", "outbox", "field_values", "webhook_deliveries", "webhook_events"} {
			e, err := w.send(2)
			require.NoError(t, err)
			require.NoError(t, e.consent(0))
			before := w.whole(e)
			restore := reject(table, "")
			key := uuid.NewString()
			b, err := json.Marshal(object{"fields": e.signers[0].fields})
			require.NoError(t, err)
			w.fails(key, e.path(0, "/sign"), b)
			assert.Equal(t, before, w.whole(e), "a failed insert into %s must leave no data", table)
			restore()
			a, err := w.client.keyed(key, http.MethodPost, e.path(0, "/sign"), "application/json", b)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, a.status, "%s", a.body)
			e.acknowledged("sign 0")
			require.NoError(t, e.consent(1))
			again, err := e.sign(1)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, again.status)
		}

		for _, table := range []string{"envelopes", "signers", "fields", "audit_events"} {
			n := w.count("SELECT count(*) FROM envelopes")
			restore := reject(table, "")
			body, err := json.Marshal(object{
				"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com", "authMethod": "none"}},
				"fields": []object{{"signerId": "0", "type": "date", "page": 1, "x": 1, "y": 1, "w": 50, "h": 20}},
			})
			require.NoError(t, err)
			w.fails(uuid.NewString(), "/v1/envelopes", body)
			assert.Equal(t, n, w.count("SELECT count(*) FROM envelopes"), "an envelope must not exist without its %s", table)
			restore()
		}

		// The following checks cover the upload of a document and its sealing.
		e, err := w.draft(1)
		require.NoError(t, err)
		before := w.whole(e)
		restore := reject("documents", "")
		w.fails(uuid.NewString(), "/v1/envelopes/"+e.id+"/document", onePage)
		assert.Equal(t, before, w.whole(e))
		w.worker() // sealing fails until the fault ends
		eventually(t, func() bool { return w.logged("injected") }, "sealing did not fail")
		for _, e := range w.envelopes {
			assert.Equal(t, models.StatusSealing, w.status(e))
		}
		restore()
		w.check("/all")
	})
}

// fails sends a request that must fail with an internal error that does not reveal the reason.
func (w *scenario) fails(key, path string, body []byte) {
	w.t.Helper()
	h := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}, "Authorization": {"Bearer " + w.client.token}}
	if body[0] != '{' {
		h.Set("Content-Type", "application/octet-stream")
	}
	status, b, err := w.client.once(w.t.Context(), http.MethodPost, w.client.base(false)+path, h, body)
	require.NoError(w.t, err)
	assert.Equal(w.t, http.StatusInternalServerError, status, "%s", b)
	assert.NotContains(w.t, string(b), "injected")
}

// whole returns all database rows of an envelope, by table.
func (w *scenario) whole(e *envelope) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, table := range []string{"envelopes", "signers", "fields", "field_values", "documents", "audit_events", "webhook_events", "webhook_deliveries"} {
		key := "envelope_id"
		if table == "envelopes" {
			key = "id"
		}
		var rows string
		require.NoError(w.t, w.db.QueryRow(w.t.Context(), fmt.Sprintf(
			`SELECT coalesce(json_agg(r ORDER BY r.id_)::text, '') FROM (SELECT x.*, %s AS id_ FROM %s AS x WHERE %s = $1) AS r`,
			map[bool]string{true: "field_id", false: "id"}[table == "field_values"], table, key), e.id).Scan(&rows))
		out[table] = rows
	}
	out["outbox"] = fmt.Sprint(w.count("SELECT count(*) FROM outbox WHERE key = $1 AND kind = 'signer-signed'", e.id))
	return out
}
