package models_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestWebhookBodies: the state right after the event, the signer and the reason
// where the event has them, and the document that can be had.
func TestWebhookBodies(t *testing.T) {
	t.Parallel()
	body := func(e *models.Envelope, ev models.Event) (out models.WebhookPayload) {
		content, err := e.WebhookPayload(&ev, "https://sign.example.com", nil)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(content, &out))
		assert.Equal(t, ev.ID, out.ID)
		assert.Equal(t, ev.Name, out.Event)
		assert.Equal(t, out.DocumentURL, out.Data.DocumentURL)
		assert.Equal(t, e.ID, out.EnvelopeID)
		assert.Equal(t, e.ID, out.Data.EnvelopeID)
		return out
	}
	e := sent(t, nil, models.AuthNone, 1, 2)
	got := body(e, newest(e))
	assert.Equal(t, models.StatusSent, got.Data.Status)
	assert.Nil(t, got.Data.Signer)
	assert.Nil(t, got.Data.Reason)
	assert.Equal(t, "https://sign.example.com/v1/envelopes/"+e.ID.String()+"/document?kind=original", got.DocumentURL)
	signs(t, e, 0, start)
	got = body(e, newest(e))
	require.Len(t, got.Data.Signers, 2)
	assert.Equal(t, models.WebhookSigner{
		ID: e.Signers[0].ID, Name: "Signer 0", Email: "s0@example.com", Status: models.SignerSigned, RoutingOrder: 1, SignedAt: &start,
	}, got.Data.Signers[0])
	assert.Equal(t, models.SignerSent, got.Data.Signers[1].Status)
	assert.Equal(t, &got.Data.Signers[0], got.Data.Signer)
	why := "Not mine."
	_, err := e.Decline(act(start), link(e, 1), &why, false)
	require.NoError(t, err)
	got = body(e, newest(e))
	assert.Equal(t, &why, got.Data.Reason)
	assert.Equal(t, e.Signers[1].ID, got.Data.Signer.ID)
	assert.True(t, strings.HasSuffix(got.DocumentURL, "?kind=original"), "there is no other")

	done := completed(t)
	got = body(done, newest(done))
	assert.Equal(t, models.StatusCompleted, got.Data.Status)
	assert.Equal(t, "https://sign.example.com/v1/envelopes/"+done.ID.String()+"/document?kind=sealed", got.DocumentURL)
	assert.Equal(t, done.CompletedAt, got.CompletedAt)
	assert.Equal(t, done.HashFinal, got.Data.DocumentHashFinal)
}

// TestPingBody: an event of its own, which names the endpoint.
func TestPingBody(t *testing.T) {
	t.Parallel()
	id, webhook := uuid.New(), uuid.New()
	content, err := models.PingPayload(id, webhook, start)
	require.NoError(t, err)
	assert.JSONEq(t, `{"event":"ping","id":"`+id.String()+`","createdAt":"`+start.Format(time.RFC3339)+`","data":{"webhookId":"`+webhook.String()+`"}}`, string(content))
}

// TestRoomForWebhooks: for the hundredth, and for no other.
func TestRoomForWebhooks(t *testing.T) {
	t.Parallel()
	require.NoError(t, models.RoomForWebhook(0))
	require.NoError(t, models.RoomForWebhook(models.MaxWebhooks-1))
	for _, n := range []int64{models.MaxWebhooks, models.MaxWebhooks + 1} {
		assert.Equal(t, "too_many_webhooks", code(t, models.RoomForWebhook(n)))
	}
}

// TestAPreviousSecretWithoutAnEnd does not sign.
func TestAPreviousSecretWithoutAnEnd(t *testing.T) {
	t.Parallel()
	w := &models.Webhook{PreviousSecret: []byte("old")}
	assert.False(t, w.PreviousSigns(start))
}

// TestLateAttempts: the last attempt of a run before does not fail a delivery that
// was sent again, and none fails one that has arrived.
func TestLateAttempts(t *testing.T) {
	t.Parallel()
	d := &models.Delivery{Status: models.DeliveryPending, Run: 1, RunAttempts: 2, Attempts: 7}
	d.Record(&models.DeliveryAttempt{At: start}, models.DeliveryOutcome{Run: 0, Last: true})
	assert.Equal(t, &models.Delivery{Status: models.DeliveryPending, Run: 1, RunAttempts: 2, Attempts: 8}, d)
	d.Record(&models.DeliveryAttempt{At: start}, models.DeliveryOutcome{Run: 0, Delivered: true})
	d.Record(&models.DeliveryAttempt{At: start.Add(1)}, models.DeliveryOutcome{Run: 1, Last: true})
	assert.Equal(t, &models.Delivery{Status: models.DeliveryDelivered, DeliveredAt: &start, Run: 1, RunAttempts: 3, Attempts: 10}, d)
}

// TestShownIsOrderedByID: and not by the signers' places; and who was shown a part
// alone, and did not name it, was not shown everything.
func TestShownIsOrderedByID(t *testing.T) {
	t.Parallel()
	last := byte(255)
	context := act(start)
	context.NewID = func() (id uuid.UUID) { id[0] = last; last--; return id } // each lower than the one before
	e, err := models.NewEnvelope(context, models.Envelope{AppID: uuid.New(), TenantID: "t", CreatedBy: "me"})
	require.NoError(t, err)
	_, err = e.AddDocument(context, page(), 1)
	require.NoError(t, err)
	for i := range 3 {
		s, err := e.AddSigner(context, signer(i, 1, models.AuthNone))
		require.NoError(t, err)
		_, err = e.AddFields(context, []models.FieldInput{field(s.ID.String(), models.FieldText)}, models.NoPrefix)
		require.NoError(t, err)
	}
	require.NoError(t, e.Send(context, nil))
	early, err := e.RecordShown(act(start), link(e, 2))
	require.NoError(t, err)
	assert.Empty(t, early.ShownSigners)
	signs(t, e, 0, start)
	part, err := e.RecordShown(act(start), link(e, 2))
	require.NoError(t, err)
	partly := part.Shown
	assert.Equal(t, []uuid.UUID{e.Signers[0].ID}, part.ShownSigners)
	signs(t, e, 1, start)
	now, err := e.Shown()
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{e.Signers[1].ID, e.Signers[0].ID}, now.Signers)
	assert.Equal(t, sha256Hex(`{"envelopeId":"`+e.ID.String()+`","signers":[{"signerId":"`+e.Signers[1].ID.String()+`","valuesSha256":"`+e.Signers[1].ValuesHash+
		`"},{"signerId":"`+e.Signers[0].ID.String()+`","valuesSha256":"`+e.Signers[0].ValuesHash+`"}]}`), now.Digest)

	signs(t, e, 2, start)
	require.Equal(t, partly, e.Signers[2].Shown)
	require.NoError(t, models.CheckShown(e.Events), "shown the values of one of two")
	for i := range e.Events {
		if e.Events[i].Name == models.EventSignerSigned && e.Events[i].SignerID == e.Signers[2].ID {
			e.Events[i].Detail["shownConfirmed"] = true
		}
	}
	require.Error(t, models.CheckShown(e.Events), "who names the digest was shown all that there was")
}
