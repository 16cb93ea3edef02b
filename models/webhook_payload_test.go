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

// TestWebhookBody_HasStateAfterTheEvent checks that the body contains the state immediately after the event, and the
// signer and reason of the event if it has any.
func TestWebhookBody_HasStateAfterTheEvent(t *testing.T) {
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
	assert.True(t, strings.HasSuffix(got.DocumentURL, "?kind=original"), "there must be no other recipient")

	done := completed(t)
	got = body(done, newest(done))
	assert.Equal(t, models.StatusCompleted, got.Data.Status)
	assert.Equal(t, "https://sign.example.com/v1/envelopes/"+done.ID.String()+"/document?kind=sealed", got.DocumentURL)
	assert.Equal(t, done.CompletedAt, got.CompletedAt)
	assert.Equal(t, done.HashFinal, got.Data.DocumentHashFinal)
}

// TestPingBody_NamesTheEndpoint checks that a ping is a separate event that identifies the endpoint.
func TestPingBody_NamesTheEndpoint(t *testing.T) {
	t.Parallel()
	id, webhook := uuid.New(), uuid.New()
	content, err := models.PingPayload(id, webhook, start)
	require.NoError(t, err)
	assert.JSONEq(t, `{"event":"ping","id":"`+id.String()+`","createdAt":"`+start.Format(time.RFC3339)+`","data":{"webhookId":"`+webhook.String()+`"}}`, string(content))
}
