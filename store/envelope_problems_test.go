package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestEnvelopeProblems_AreLate checks that an envelope becomes a problem two minutes after its deadline, or five
// minutes after its last signature, and that the longest-waiting envelopes are listed first.
func TestEnvelopeProblems_AreLate(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		problems := func(of store.ProblemFilter) (ids []uuid.UUID) {
			t.Helper()
			for _, p := range must(s.EnvelopeProblems(ctx, of)) {
				ids = append(ids, p.ID)
			}
			return ids
		}
		own := store.ProblemFilter{App: f.app.ID, Limit: 9}
		day := 1
		overdue, unsealed := f.sent(1, &day), f.sent(2, nil)
		clock.Add(overdue.ExpiresAt.Sub(clock.Now()) - 20*time.Minute)
		require.NoError(t, f.sign(unsealed, 1))
		clock.Add(time.Minute)
		signed := clock.Now()
		require.NoError(t, f.sign(unsealed, 0))
		clock.Add(5 * time.Minute)
		assert.Empty(t, problems(own))
		clock.Add(time.Microsecond)
		assert.Equal(t, []uuid.UUID{unsealed.ID}, problems(own))
		clock.Add(overdue.ExpiresAt.Add(2 * time.Minute).Sub(clock.Now()))
		assert.Equal(t, []uuid.UUID{unsealed.ID}, problems(own))
		clock.Add(time.Microsecond)
		assert.Equal(t, []uuid.UUID{unsealed.ID, overdue.ID}, problems(own))

		all := must(s.EnvelopeProblems(ctx, own))
		assert.Equal(t, []any{signed, *overdue.ExpiresAt}, []any{all[0].Since.UTC(), all[1].Since.UTC()})
		assert.Equal(t, []any{models.StatusSealing, models.StatusInProgress}, []any{all[0].Status, all[1].Status})
		assert.Equal(t, []uuid.UUID{unsealed.ID}, problems(store.ProblemFilter{App: f.app.ID, Limit: 1}))
		assert.Len(t, problems(store.ProblemFilter{App: f.app.ID, Tenants: []string{"t"}, Limit: 9}), 2)
		assert.Empty(t, problems(store.ProblemFilter{App: f.app.ID, Tenants: []string{"u"}, Limit: 9}))
		assert.Empty(t, problems(store.ProblemFilter{App: newID(), Limit: 9}))
	})
}

// TestRestartWorkflow_IsQueuedOnce checks that only the app itself can restart the workflow of an open envelope, and
// that repeated requests queue one restart.
func TestRestartWorkflow_IsQueuedOnce(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e, other := f.sent(1, nil), f.sent(1, nil)
		drainOutbox(t, s)
		require.ErrorIs(t, errOf(s.RestartWorkflow(ctx, newID(), e.ID)), models.ErrNotFound)
		assert.Equal(t, "envelope_draft", rejectionOf(t, errOf(s.RestartWorkflow(ctx, f.app.ID, f.prepared().ID))))
		for range 2 {
			require.NoError(t, errOf(s.RestartWorkflow(ctx, f.app.ID, e.ID)))
		}
		require.NoError(t, errOf(s.RestartWorkflow(ctx, f.app.ID, other.ID)))
		rows := drainOutbox(t, s)
		require.Len(t, rows, 2)
		for i, id := range []uuid.UUID{e.ID, other.ID} {
			assert.Equal(t, []any{id, models.OutboxStart, true}, []any{rows[i].Key, rows[i].Kind, rows[i].Refs.Restart})
		}
	})
}

// TestMailProblems_StateTheFirstRejection checks that a delayed email keeps the time of its first rejection and the
// latest reason. The email is listed for 30 days, or until it is sent.
func TestMailProblems_StateTheFirstRejection(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.sent(2, nil)
		of := store.ProblemFilter{App: f.app.ID, Limit: 9}
		begun := clock.Now()
		for i, id := range []string{"late", "sent"} {
			require.NoError(t, errOf(s.BeginMail(ctx, models.Mail{ID: id, EnvelopeID: e.ID, SignerID: e.Signers[i].ID, Kind: models.MailInvitation})))
		}
		require.NoError(t, s.MailSent(ctx, "sent"))
		require.NoError(t, s.MailDelayed(ctx, "sent", "too late", true))
		require.NoError(t, s.MailDelayed(ctx, "late", "no connection", false))
		found := must(s.MailProblems(ctx, of))
		require.Len(t, found, 1)
		assert.Equal(t, []any{"late", "no connection", "S", "t"}, []any{found[0].ID, found[0].Error, found[0].SignerName, found[0].TenantID})
		assert.Nil(t, found[0].FirstRejectedAt)
		clock.Add(time.Minute)
		first := clock.Now()
		for range 2 {
			require.NoError(t, s.MailDelayed(ctx, "late", "451 later", true))
			clock.Add(time.Minute)
		}
		found = must(s.MailProblems(ctx, of))
		require.Len(t, found, 1)
		assert.Equal(t, []any{"451 later", first}, []any{found[0].Error, found[0].FirstRejectedAt.UTC()})
		assert.Empty(t, must(s.MailProblems(ctx, store.ProblemFilter{App: f.app.ID, Tenants: []string{"u"}, Limit: 9})))

		clock.Add(begun.AddDate(0, 0, 30).Sub(clock.Now()))
		assert.Len(t, must(s.MailProblems(ctx, of)), 1)
		clock.Add(time.Microsecond)
		assert.Empty(t, must(s.MailProblems(ctx, of)))
	})
}
