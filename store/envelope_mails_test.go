package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// TestEnvelopesThatAwaitInvitation are counted for all apps, until the first of their
// invitations begins, and those that no bulk send has sent also afterwards; and neither drafts are, nor what was sent earlier, nor envelopes of which the sender delivers the links.
func TestEnvelopesThatAwaitInvitation(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, other, ctx := newFixture(t, s, clock), newFixture(t, s, clock), t.Context()
		began := time.Now().Add(-time.Second) // the ids of events are of the real time
		want := func(all, singles int, what string) {
			t.Helper()
			got, err := s.AwaitingInvitation(ctx, began)
			require.NoError(t, err)
			assert.Equal(t, store.Awaiting{All: all, Singles: singles}, got, what)
		}
		want(0, 0, "nothing was sent")
		f.prepared()
		want(0, 0, "drafts are not sent")
		single := f.sent(2, nil)
		want(1, 1, "one envelope of two signers")
		b, err := other.bulk(1, 0)
		require.NoError(t, err)
		row := other.envelope(nil)
		require.NoError(t, s.SendBulkRow(ctx, other.work(b, 1).Rows[0], row))
		want(2, 1, "another app's, by a bulk send")
		silent := f.envelope(nil)
		silent.Signers[0].Silent = true
		require.NoError(t, s.Create(ctx, silent))
		want(2, 2, "the sender delivers the link")
		later, err := s.AwaitingInvitation(ctx, time.Now().Add(time.Minute))
		require.NoError(t, err)
		assert.Zero(t, later, "they were sent earlier")

		_, err = s.BeginMail(ctx, models.Mail{ID: "a", EnvelopeID: single.ID, SignerID: single.Signers[1].ID, Kind: models.MailInvitation})
		require.NoError(t, err)
		want(1, 2, "the first invitation has begun")
		_, err = s.BeginMail(ctx, models.Mail{ID: "b", EnvelopeID: row.ID, SignerID: row.Signers[0].ID, Kind: models.MailInvitation})
		require.NoError(t, err)
		want(0, 2, "all have begun")
	})
}
