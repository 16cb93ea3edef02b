package faults_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
)

var bulkSize = flag.Int("bulk", 120, "number of rows in a bulk send")

// template creates a template from a draft that the service has accepted.
func (w *scenario) template() uuid.UUID {
	w.t.Helper()
	e, err := w.draft(1)
	require.NoError(w.t, err)
	act := models.ActionContext{At: clock().Truncate(time.Microsecond), Actor: models.AppActor(w.appID), NewID: uuid.New}
	made, err := w.store.PutTemplate(w.t.Context(), store.TemplateTarget{App: w.appID, Tenant: "acme", Envelope: uuid.MustParse(e.id)},
		func(_ *models.LoadedTemplate, from *models.Envelope) (*models.LoadedTemplate, error) {
			for _, s := range from.Signers {
				s.Role = "signer"
			}
			out := models.NewTemplate(act, models.Template{AppID: w.appID, TenantID: "acme", Name: "Lease", CreatedBy: "me"})
			content := models.TemplateContent{Roles: []models.TemplateRole{{Role: "signer", RoutingOrder: 1, AuthMethod: models.AuthNone}}}
			content.FieldsOf(from)
			out.NewVersion(act, "me", content, models.TemplateDocuments(from))
			return out, nil
		})
	require.NoError(w.t, err)
	return made.ID
}

// bulk creates a bulk send with the given number of rows, and returns its ID.
func (w *scenario) bulk(rows int) uuid.UUID {
	w.t.Helper()
	list := make([]object, rows)
	for i := range list {
		list[i] = object{
			"externalId": fmt.Sprintf("row %d", i+1),
			"signers":    []object{{"role": "signer", "name": "Signer", "email": fmt.Sprintf("row%d@example.com", i+1)}},
		}
	}
	var made struct{ ID uuid.UUID }
	in := object{"templateId": w.template(), "tenantId": "acme", "rows": list}
	require.NoError(w.t, w.client.post("/v1/bulk-sends", in, http.StatusAccepted, &made))
	return made.ID
}

// sent returns the number of sent rows of a bulk send.
func (w *scenario) sent(bulk uuid.UUID) int {
	w.t.Helper()
	return w.count("SELECT count(*) FROM bulk_send_rows WHERE bulk_send_id = $1 AND status = 'sent'", bulk)
}

// awaitSent waits until n rows have been sent. It limits only the time between two rows, not the total time.
func (w *scenario) awaitSent(bulk uuid.UUID, n int) {
	w.t.Helper()
	for sent := w.sent(bulk); sent < n; sent = w.sent(bulk) {
		eventually(w.t, func() bool { return w.sent(bulk) > sent }, "no further row was sent")
	}
}

// checkBulk checks that every row was sent exactly once. Each envelope must have been counted, sent once according to
// its audit trail, and followed by an invitation. The completion of the bulk send must have been reported once.
func (w *scenario) checkBulk(bulk uuid.UUID, rows int) {
	w.t.Helper()
	w.awaitSent(bulk, rows)
	eventually(w.t, func() bool {
		return w.count("SELECT count(*) FROM bulk_sends WHERE id = $1 AND status = 'completed'", bulk) == 1
	}, "the bulk send was not completed")
	const ours = "SELECT envelope_id FROM bulk_send_rows WHERE bulk_send_id = $1"
	assert.Equal(w.t, rows, w.sent(bulk))
	assert.Equal(w.t, rows, w.count("SELECT count(DISTINCT envelope_id) FROM bulk_send_rows WHERE bulk_send_id = $1", bulk))
	assert.Equal(w.t, rows, w.count("SELECT count(*) FROM envelopes WHERE external_id LIKE 'row %'"), "only the envelopes of the rows exist")
	assert.Equal(w.t, rows, w.count("SELECT count(*) FROM envelopes AS e JOIN bulk_send_rows AS r ON r.envelope_id = e.id AND r.external_id = e.external_id WHERE r.bulk_send_id = $1 AND e.status = 'sent'", bulk))
	assert.Equal(w.t, rows, w.count("SELECT count(*) FROM audit_events WHERE name = 'envelope.sent' AND envelope_id IN ("+ours+")", bulk))
	assert.Equal(w.t, rows, w.count("SELECT sum(envelopes) FROM usage"))
	assert.Equal(w.t, 0, w.count("SELECT count(*) FROM bulk_send_rows WHERE data <> ''"), "the data of the rows is removed")
	eventually(w.t, func() bool {
		return w.count("SELECT count(*) FROM mails WHERE kind = 'invitation' AND sent_at IS NOT NULL AND envelope_id IN ("+ours+")", bulk) == rows
	}, "invitations are missing")
	assert.Equal(w.t, rows, w.count("SELECT count(*) FROM mails WHERE kind = 'invitation' AND envelope_id IN ("+ours+")", bulk))
	assert.Equal(w.t, 1, w.count("SELECT count(*) FROM webhook_events WHERE name = 'bulk.completed'"))
	eventually(w.t, func() bool {
		return w.count("SELECT count(*) FROM webhook_deliveries WHERE event = 'bulk.completed' AND status = 'delivered'") == 1
	}, "the completion was not delivered")
}

// TestKillDuringBulk kills workers during a bulk send: between the guard of a row and its commit, immediately after a
// commit, and at random times. It checks that every row is sent exactly once.
func TestKillDuringBulk(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.api()
		w.login()
		w.subscribe("/all", models.EventBulkCompleted)
		bulk := w.bulk(*bulkSize)
		worker := w.worker()
		for i := range 4 {
			begun := w.sent(bulk)
			if begun >= *bulkSize*(i+2)/6 {
				continue // the bulk send is too far advanced for this kill
			}
			w.awaitSent(bulk, *bulkSize*(i+1)/6)
			switch place := []string{"store.bulk", "store.committed", ""}[(i+rnd.IntN(3))%3]; place {
			case "":
				time.Sleep(time.Duration(rnd.Int64N(int64(200 * time.Millisecond))))
				worker.kill()
			default:
				w.set(place, "kill")
				eventually(t, func() bool {
					select {
					case <-worker.ended:
						return true
					default:
						return w.sent(bulk) == *bulkSize
					}
				}, "%s was not reached", place)
				w.set(place, "")
				worker.kill()
			}
			worker.start()
		}
		w.checkBulk(bulk, *bulkSize)
	})
}

// TestPostgresStopsDuringBulk stops PostgreSQL during a bulk send, and checks that every row is sent exactly once.
func TestPostgresStopsDuringBulk(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		server := startPostgres(t)
		w := newScenario(t, setting{postgres: server.URL})
		w.api()
		w.worker()
		w.login()
		w.subscribe("/all", models.EventBulkCompleted)
		bulk := w.bulk(*bulkSize)
		for i := range 2 {
			w.awaitSent(bulk, *bulkSize*(i+1)/4)
			require.NoError(t, server.Crash(t.Context()))
			pause(rnd, 300*time.Millisecond)
			require.NoError(t, server.Restart(t.Context()))
			w.db.Reset() // close the connections to the server that crashed
		}
		w.checkBulk(bulk, *bulkSize)
	})
}
