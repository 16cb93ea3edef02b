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

// TestInbox_EnvelopesAreInOnePart: each envelope is in the part of the inbox that its state belongs to, and leaves "action needed" when
// the cause is gone.
func TestInbox_EnvelopesAreInOnePart(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		in := func(part store.Inbox) (ids []uuid.UUID) {
			list, total, err := s.Envelopes(ctx, store.EnvelopeFilter{App: f.app.ID, Inbox: part, Page: 1, Size: 50})
			require.NoError(t, err)
			require.EqualValues(t, len(list), total)
			for _, e := range list {
				ids = append(ids, e.ID)
			}
			return ids
		}
		do := func(e *models.Envelope, fn func(*models.Envelope) error) {
			t.Helper()
			require.NoError(t, change(ctx, f, e.ID, fn))
		}
		waiting, declined, expiring, bounced, voided := f.sent(1, nil), f.sent(1, nil), f.sent(1, nil), f.sent(1, nil), f.sent(1, nil)
		do(declined, func(e *models.Envelope) error {
			_, err := e.Decline(f.act(), link(e, 0), nil, false)
			return err
		})
		soon := clock.Now().Add(2 * 24 * time.Hour)
		do(expiring, func(e *models.Envelope) error {
			return e.Patch(f.act(), models.EnvelopeEdit{ExpiresAt: models.Change[*time.Time]{Given: true, Value: &soon}})
		})
		do(voided, func(e *models.Envelope) error { return e.Void(f.act(), nil) })
		mail := func(id string) {
			_, err := s.BeginMail(ctx, models.Mail{ID: id, EnvelopeID: bounced.ID, SignerID: bounced.Signers[0].ID, Kind: models.MailInvitation})
			require.NoError(t, err)
		}
		mail("first")
		require.NoError(t, s.MailFailed(ctx, "first", "550"))
		assert.Equal(t, []uuid.UUID{bounced.ID, expiring.ID, declined.ID}, in(store.InboxActionNeeded))
		assert.Equal(t, []uuid.UUID{waiting.ID}, in(store.InboxWaiting))
		assert.Empty(t, in(store.InboxDrafts))
		assert.Empty(t, in(store.InboxCompleted))
		counts, err := s.InboxCounts(ctx, store.EnvelopeFilter{App: f.app.ID})
		require.NoError(t, err)
		assert.Equal(t, map[store.Inbox]int64{store.InboxActionNeeded: 3, store.InboxWaiting: 1, store.InboxDrafts: 0, store.InboxCompleted: 0}, counts)
		counts, err = s.InboxCounts(ctx, store.EnvelopeFilter{App: f.app.ID, Tenant: "another"})
		require.NoError(t, err)
		assert.Zero(t, counts[store.InboxActionNeeded])

		// Another email is on its way, the deadline moves, and a month passes.
		clock.Add(time.Minute)
		mail("second")
		later := clock.Now().Add(365 * 24 * time.Hour)
		do(expiring, func(e *models.Envelope) error {
			return e.Patch(f.act(), models.EnvelopeEdit{ExpiresAt: models.Change[*time.Time]{Given: true, Value: &later}})
		})
		assert.Equal(t, []uuid.UUID{declined.ID}, in(store.InboxActionNeeded))
		assert.Equal(t, []uuid.UUID{bounced.ID, expiring.ID, waiting.ID}, in(store.InboxWaiting))
		clock.Add(31 * 24 * time.Hour)
		assert.NotContains(t, in(store.InboxActionNeeded), declined.ID)
	})
}
