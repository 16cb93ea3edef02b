package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // "pgx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // "sqlite"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestReplaceSigner_EndsEmbeddedSessions checks that replacement of a signer, or delegation by the signer, ends all
// embedded sessions of that signer and no others.
func TestReplaceSigner_EndsEmbeddedSessions(t *testing.T) {
	t.Parallel()
	for name, succeed := range map[string]func(f *fixture, e *models.Envelope) error{
		"replaced": func(f *fixture, e *models.Envelope) error {
			_, err := e.Replace(f.act(), e.Signers[0].ID, models.Replacement{Name: "Grete", Email: "grete@navy.example"})
			return err
		},
		"delegated": func(f *fixture, e *models.Envelope) error {
			l := models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *e.Signers[0].LinkID}
			_, err := e.Delegate(f.act(), l, models.Replacement{Name: "Grete", Email: "grete@navy.example"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
				f, ctx := newFixture(t, s, clock), t.Context()
				e := f.sent(2, nil)
				require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error {
					e.Signers[0].AllowDelegation = true
					return nil
				}))
				embed := func(signer int, hash string) uuid.UUID {
					session := f.session(e, hash)
					session.SignerID = e.Signers[signer].ID
					require.NoError(t, s.CreateEmbeddedSession(ctx, session, f.embeds(e.Signers[signer])))
					return session.ID
				}
				ended, one, two, other := embed(0, "ended"), embed(0, "one"), embed(0, "two"), embed(1, "other")
				require.NoError(t, s.RevokeEmbeddedSession(ctx, f.app, ended))
				before := clock.Now()
				clock.Add(time.Minute)
				require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { return succeed(f, e) }))
				require.Equal(t, before, must(s.EmbeddedSession(ctx, ended)).RevokedAt.UTC())
				for _, id := range []uuid.UUID{one, two} {
					session := must(s.EmbeddedSession(ctx, id))
					require.NotNil(t, session.RevokedAt, "the session was created for the previous person")
					require.Equal(t, clock.Now(), session.RevokedAt.UTC())
				}
				require.Nil(t, must(s.EmbeddedSession(ctx, other)).RevokedAt)
			})
		})
	}
}

func TestWebhooks_MatchEvents(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		ctx := t.Context()
		all, err := s.CreateWebhook(ctx, f.app.ID, "https://example.com/all", models.WebhookEvents, "")
		require.NoError(t, err)
		_, err = s.CreateWebhook(ctx, f.app.ID, "https://example.com/one", []models.EventName{models.EventEnvelopeVoided}, "own secret")
		require.NoError(t, err)
		other, _, err := s.CreateApp(ctx, "Other", models.PlanFree, nil)
		require.NoError(t, err)
		_, err = s.CreateWebhook(ctx, other.ID, "https://example.com/other", models.WebhookEvents, "")
		require.NoError(t, err)

		e := f.sent(2, nil)
		require.NoError(t, f.sign(e, 0))
		reason := "changed our mind"
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), &reason) }))
		_, log := f.check(e.ID)
		want := map[uuid.UUID]models.EventName{}
		for _, ev := range log {
			if ev.Name.IsWebhookEvent() {
				want[ev.ID] = ev.Name
			}
		}
		perHook := map[uuid.UUID]int{}
		for _, row := range drainOutbox(t, s) {
			if row.Kind != models.OutboxDeliver {
				continue
			}
			job, err := s.DeliveryJob(ctx, row.Key)
			require.NoError(t, err)
			perHook[job.Delivery.WebhookID]++
			assert.Equal(t, want[job.Event.ID], job.Event.Name)
			var body models.WebhookPayload
			require.NoError(t, json.Unmarshal(job.Event.Body, &body))
			assert.Equal(t, job.Event.ID, body.ID)
			assert.Equal(t, e.ID, body.EnvelopeID)
			assert.Equal(t, e.ID, body.Data.EnvelopeID)
			if job.Delivery.WebhookID != all.ID {
				assert.Equal(t, models.EventEnvelopeVoided, body.Event)
				assert.Equal(t, [][]byte{[]byte("own secret")}, job.Secrets)
				assert.Equal(t, reason, *body.Data.Reason)
			} else {
				assert.True(t, strings.HasPrefix(string(job.Secrets[0]), "cs_"), "an endpoint without its own secret uses the client secret")
			}
		}
		assert.Equal(t, len(want), perHook[all.ID])
		assert.Len(t, perHook, 2, "another app's endpoint receives nothing")
	})
}

// TestMissingTimestamp_IsRequested checks that a time-stamp is requested for a document that was sealed without one.
func TestMissingTimestamp_IsRequested(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		for _, pending := range []bool{false, true} {
			for _, days := range []int{0, 7} {
				e := f.sent(1, nil)
				require.NoError(t, f.sign(e, 0))
				drainOutbox(t, s)
				require.NoError(t, change(t.Context(), f, e.ID, func(e *models.Envelope) error {
					err := e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Documents[0].ID, SHA256: "00", Size: 1, PageCount: 1, BlobKey: "s", TimestampPending: pending}})
					e.SetRetention(days)
					return err
				}))
				want := map[models.OutboxKind]bool{}
				if pending {
					want[models.OutboxTimestamp] = true
				}
				got := map[models.OutboxKind]bool{}
				for _, row := range drainOutbox(t, s) {
					assert.Equal(t, e.ID, row.Key)
					got[row.Kind] = true
				}
				assert.Equal(t, want, got, "pending %v, kept for %d days", pending, days)
			}
		}
	})
}

// TestOutbox_RowsOfEachEvent checks the outbox rows that start and signal workflows.
func TestOutbox_RowsOfEachEvent(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		kinds := func(fn func(e *models.Envelope) error, e *models.Envelope) (out []models.OutboxKind) {
			drainOutbox(t, s)
			require.NoError(t, change(ctx, f, e.ID, fn))
			for _, r := range drainOutbox(t, s) {
				require.Equal(t, e.ID, r.Key)
				out = append(out, r.Kind)
			}
			return out
		}
		e := f.sent(2, nil)
		assert.Equal(t, []models.OutboxKind{models.OutboxReinvite}, kinds(func(e *models.Envelope) error { return e.Reinvite(f.act(), e.Signers[0].ID) }, e))
		assert.Empty(t, kinds(func(e *models.Envelope) error { return e.Invited(f.act(), e.Signers[0].ID, true, "m") }, e))
		assert.Equal(t, []models.OutboxKind{models.OutboxDeclined}, kinds(func(e *models.Envelope) error {
			_, err := e.Decline(f.act(), link(e, 0), nil, false)
			return err
		}, e))
		e = f.sent(2, nil)
		assert.Equal(t, []models.OutboxKind{models.OutboxReinvite}, kinds(func(e *models.Envelope) error {
			_, err := e.Replace(f.act(), e.Signers[0].ID, models.Replacement{Name: "Bo", Email: "bo@example.com"})
			return err
		}, e))
		assert.Equal(t, []models.OutboxKind{models.OutboxSigned}, kinds(func(e *models.Envelope) error {
			value := "yes"
			_, err := e.Sign(f.act(), link(e, 1), models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[1].ID, Text: &value}}})
			return err
		}, e))
		e = f.sent(1, nil)
		require.NoError(t, f.sign(e, 0))
		assert.Equal(t, []models.OutboxKind{models.OutboxSealingFailed}, kinds(func(e *models.Envelope) error { return e.SealingFailed(f.act(), models.SealingRejected) }, e))
		days := 1
		e = f.sent(1, &days)
		clock.Add(24 * time.Hour)
		assert.Empty(t, kinds(func(e *models.Envelope) error { return e.Expire(f.act()) }, e), "the workflow already did this")
		clock.Add(-24 * time.Hour)
		assert.Empty(t, kinds(func(e *models.Envelope) error { return e.Void(f.act(), nil) }, draft(t, s, f.app.ID, "t", "a draft")), "a draft has no workflow")
		begun, err := s.BeginMail(ctx, models.Mail{ID: "m7", EnvelopeID: e.ID, Kind: models.MailInvitation})
		require.NoError(t, err)
		require.False(t, begun.Settled())
		e = f.sent(1, nil)
		assert.Empty(t, kinds(func(e *models.Envelope) error { return e.Invited(f.act(), e.Signers[0].ID, false, "m7") }, e))
		begun, err = s.BeginMail(ctx, models.Mail{ID: "m7", EnvelopeID: e.ID, Kind: models.MailInvitation})
		require.NoError(t, err)
		assert.True(t, begun.Settled(), "the event states that the email was sent")
	})
}
