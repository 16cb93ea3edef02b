package store_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"countersign/models"
	"countersign/seal/sealkey"
	"countersign/store"
	"countersign/test/kit"
)

// TestRepositories_DocumentedDetails checks details that the doc comments guarantee.
func TestRepositories_DocumentedDetails(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		// Storing a new envelope clears its recorded events, and wakes the workers if there is work to do.
		f.awake()
		e := f.sent(1, nil)
		assert.True(t, f.awake())
		fresh, err := models.NewEnvelope(f.act(), models.Envelope{AppID: f.app.ID, TenantID: "t", CreatedBy: "me"})
		require.NoError(t, err)
		require.NoError(t, s.Create(ctx, fresh))
		assert.Empty(t, fresh.Events)
		assert.False(t, f.awake(), "a draft has no workflow")

		// A delivered event no longer has a job.
		p := newEndpoint(f)
		f.awake()
		d := p.ping()
		assert.True(t, f.awake())
		p.attempt(d, 200, models.DeliveryOutcome{})
		_, err = s.DeliveryJob(ctx, d)
		require.ErrorIs(t, err, models.ErrNotFound)

		// Releasing requests in a nonexistent window does not create the window.
		_, _, err = s.ReserveQuota(ctx, "k", clock.Now(), time.Minute, -2, 10)
		require.NoError(t, err)
		_, left, err := s.ReserveQuota(ctx, "k", clock.Now(), time.Minute, 0, 10)
		require.NoError(t, err)
		assert.Equal(t, 10, left)

		// Revoking a key that does not exist does not revoke a certificate.
		_, certificate, _, err := sealkey.SelfSigned("Test", clock.Now(), rand.Reader)
		require.NoError(t, err)
		chain, err := sealkey.LoadChain(certificate)
		require.NoError(t, err)
		require.NoError(t, s.RecordSealCertificate(ctx, chain[0]))
		assert.Equal(t, "not_found", rejectionOf(t, s.RevokeKey(ctx, "no-such-key", clock.Now(), "lost")))

		// Rotating a key replaces only the key with the same purpose.
		tokens := must(s.Keys(ctx, models.KeyTokens))
		manifests := must(s.Keys(ctx, models.KeyManifests))
		made, err := s.RotateKey(ctx, models.KeyManifests)
		require.NoError(t, err)
		keys := must(s.Keys(ctx, models.KeyManifests))
		require.Len(t, keys, len(manifests)+1)
		assert.Equal(t, []any{made, false, true}, []any{keys[0].ID, keys[0].Retired, keys[1].Retired})
		keys = must(s.Keys(ctx, models.KeyTokens))
		require.Len(t, keys, len(tokens))
		assert.Equal(t, []any{tokens[0].ID, false}, []any{keys[0].ID, keys[0].Retired})

		// A purged file needs no time-stamp.
		require.NoError(t, f.sign(e, 0))
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error {
			err := e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Documents[0].ID, SHA256: "00", Size: 1, PageCount: 1, BlobKey: "s", TimestampPending: true}})
			e.SetRetention(1)
			return err
		}))
		drainOutbox(t, s)
		assert.Len(t, unfinishedWork(t, s, store.WorkTimestamps), 1)
		clock.Add(24 * time.Hour)
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { return e.Purge(f.act()) }))
		assert.Empty(t, unfinishedWork(t, s, store.WorkTimestamps))

		// If the stored count is too high, the call returns an empty list rather than an error.
		lonely := newFixture(t, s, clock)
		db, err := s.DB()
		require.NoError(t, err)
		_, err = db.ExecContext(ctx, "INSERT INTO envelope_counts (app_id, tenant_id, status, n) VALUES ('"+lonely.app.ID.String()+"', 't', 'draft', 3)")
		require.NoError(t, err)
		list, total, err := s.Envelopes(ctx, store.EnvelopeFilter{App: lonely.app.ID, Page: 1, Size: 5})
		require.NoError(t, err)
		assert.Empty(t, list)
		assert.EqualValues(t, 3, total)

		// Rejecting an unknown client takes as long as rejecting a wrong secret.
		began := time.Now()
		_, err = s.Authenticate(ctx, uuid.NewString(), "secret")
		require.ErrorIs(t, err, models.ErrNotFound)
		assert.Greater(t, time.Since(began), 10*time.Millisecond)
	})
}

// TestConcurrentCreation_HasOneWinner checks that only one of several concurrent processes creates a unique row. The
// others receive either the same row or an error.
func TestConcurrentCreation_HasOneWinner(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		const rounds, racers = 8, 6
		for round := range rounds {
			email := fmt.Sprintf("n%d@example.com", round)
			var contacts [racers]*models.Contact
			var users, envelopes [racers]error
			var drafts [racers]*models.Envelope
			race := func(run func(i int) error) {
				t.Helper()
				var all errgroup.Group
				for i := range racers {
					all.Go(func() error { return run(i) })
				}
				require.NoError(t, all.Wait())
			}
			race(func(i int) (err error) {
				contacts[i], err = s.SaveContact(ctx, models.Contact{AppID: f.app.ID, Name: "N", Email: email}, false)
				return err
			})
			for _, c := range contacts {
				assert.Equal(t, contacts[0].ID, c.ID)
			}
			_, total, err := s.Contacts(ctx, f.app.ID, email, 1, 9)
			require.NoError(t, err)
			assert.Equal(t, 1, total)

			race(func(i int) error {
				_, users[i] = s.CreateUser(ctx, f.app.ID, email, "N", "correct horse battery", models.RoleViewer)
				return nil
			})
			race(func(i int) error {
				drafts[i], envelopes[i] = f.draft(models.Envelope{ExternalID: &email})
				return nil
			})
			made := 0
			var holder uuid.UUID
			for i := range racers {
				if users[i] == nil {
					made++
				} else {
					assert.Equal(t, "user_exists", rejectionOf(t, users[i]))
				}
				if envelopes[i] == nil {
					assert.Equal(t, uuid.Nil, holder)
					holder = drafts[i].ID
				}
			}
			assert.Equal(t, 1, made)
			for _, err := range envelopes {
				if err != nil {
					var rejected *models.Error
					require.ErrorAs(t, err, &rejected)
					assert.Equal(t, []any{"external_id_taken", map[string]any{"envelopeId": holder}}, []any{rejected.Code, rejected.Details})
				}
			}
		}
		// A conflict on another column results in a different error.
		e := f.sent(1, nil)
		e.ExternalID = ptr("unused")
		err := s.Create(ctx, e)
		require.Error(t, err)
		assert.False(t, models.IsRejection(err), "%v", err)
	})
}
