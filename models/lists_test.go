package models_test

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestListsAreWhole: what is gone through elsewhere names each member once.
func TestListsAreWhole(t *testing.T) {
	t.Parallel()
	known := map[models.Action]bool{}
	for _, moves := range pathTo {
		for action := range moves {
			known[action] = true
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(known)), actions(t))
	require.ElementsMatch(t, []models.EventName{
		"envelope.created", "envelope.sent", "envelope.completed", "envelope.declined", "envelope.voided", "envelope.expired",
		"signer.viewed", "signer.signed", "signer.declined", "signer.otp_failed",
		"invitation.failed", "reminder.sent", "signer.replaced", "signer.delegated", "copy.sent", "link.issued", "envelope.updated",
		"document.timestamped", "document.purged", "bulk.completed",
	}, models.WebhookEvents)
	open := map[models.Status]bool{models.StatusSent: true, models.StatusInProgress: true}
	for _, s := range models.Statuses {
		require.Equal(t, open[s], s.Open(), s)
	}
	awaited := map[models.SignerStatus]bool{models.SignerSent: true, models.SignerViewed: true}
	done := map[models.SignerStatus]bool{models.SignerSigned: true, models.SignerDeclined: true}
	for _, s := range []models.SignerStatus{models.SignerPending, models.SignerSent, models.SignerViewed, models.SignerSigned, models.SignerDeclined} {
		require.Equal(t, awaited[s], (&models.Signer{Status: s}).Awaited(), s)
		require.Equal(t, done[s], (&models.Signer{Status: s}).HasActed(), s)
	}
	for typ, image := range map[models.FieldType]bool{
		models.FieldSignature: true, models.FieldInitial: true, models.FieldDate: false, models.FieldText: false, models.FieldCheckbox: false,
	} {
		require.Equal(t, image, typ.Image(), typ)
	}
}

// TestEndpointsGetWhatTheyWant: while they are switched on, of tenants that their app may act for.
func TestEndpointsGetWhatTheyWant(t *testing.T) {
	t.Parallel()
	w := &models.Webhook{Active: true, Events: []models.EventName{models.EventEnvelopeSent, models.EventSignerSigned}}
	for _, event := range models.WebhookEvents {
		require.Equal(t, event == models.EventEnvelopeSent || event == models.EventSignerSigned, w.SubscribesTo(event, "t"), event)
	}
	w.Tenants = []string{"a", "b"}
	require.True(t, w.SubscribesTo(models.EventEnvelopeSent, "b"))
	require.False(t, w.SubscribesTo(models.EventEnvelopeSent, "t"))
	w.Active, w.Tenants = false, nil
	require.False(t, w.SubscribesTo(models.EventEnvelopeSent, "t"))
}

// TestDigests: lower-case hex of a SHA-256 and nothing else.
func TestDigests(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256(nil)
	good := hex.EncodeToString(sum[:])
	for text, want := range map[string]bool{good: true, strings.ToUpper(good): false, good[2:]: false, good + "00": false, good[:62] + "zz": false, "": false} {
		require.Equal(t, want, models.IsDigest(text), text)
	}
}

// TestSessionsEnd: after a day, or with the link.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	s := &models.Signer{}
	require.Equal(t, start.Add(models.SessionLifetime), s.SessionEnds(start))
	require.Equal(t, 24*time.Hour, models.SessionLifetime)
	for _, end := range []time.Duration{models.SessionLifetime - 1, models.SessionLifetime, models.SessionLifetime + 1} {
		s.LinkExpiresAt = ptr(start.Add(end))
		require.Equal(t, start.Add(min(end, models.SessionLifetime)), s.SessionEnds(start))
	}
}

// TestAnotherCodeAfterAPause: pages are told to wait half a minute.
func TestAnotherCodeAfterAPause(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthEmailOTP, 1)
	_, err := e.RequestCode(act(start), link(e, 0), []byte("hash"))
	require.NoError(t, err)
	require.Equal(t, models.EventOTPRequested, newest(e).Name)
	require.Equal(t, models.Detail{"signerId": e.Signers[0].ID.String(), "method": "email_otp"}, newest(e).Detail)
	require.Equal(t, start.Add(30*time.Second), *e.Signers[0].CodeState(start).RequestableAt)
	require.Nil(t, e.Signers[0].CodeState(start.Add(30*time.Second)).RequestableAt)
}
