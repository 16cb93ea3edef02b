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

// TestUninvitedEnvelopes_AreCounted checks that sent envelopes of all apps are counted until their first invitation is
// started. Envelopes outside bulk sends are also counted separately, regardless of their invitations.
func TestUninvitedEnvelopes_AreCounted(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, other, ctx := newFixture(t, s, clock), newFixture(t, s, clock), t.Context()
		began := time.Now().Add(-time.Second) // the IDs of events contain the real time
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
		want(1, 1, "an envelope with two signers is counted once")
		b, err := other.bulk(1, 0)
		require.NoError(t, err)
		row := other.envelope(nil)
		require.NoError(t, s.SendBulkRow(ctx, other.work(b, 1).Rows[0], row))
		want(2, 1, "a bulk send of another app sent an envelope")
		silent := f.envelope(nil)
		silent.Signers[0].Silent = true
		require.NoError(t, s.Create(ctx, silent))
		want(2, 2, "the sender delivers the link")
		later, err := s.AwaitingInvitation(ctx, time.Now().Add(time.Minute))
		require.NoError(t, err)
		assert.Zero(t, later, "the emails were sent earlier")

		_, err = s.BeginMail(ctx, models.Mail{ID: "a", EnvelopeID: single.ID, SignerID: single.Signers[1].ID, Kind: models.MailInvitation})
		require.NoError(t, err)
		want(1, 2, "the first invitation was started")
		_, err = s.BeginMail(ctx, models.Mail{ID: "b", EnvelopeID: row.ID, SignerID: row.Signers[0].ID, Kind: models.MailInvitation})
		require.NoError(t, err)
		want(0, 2, "all invitations were started")
	})
}

// TestMails_StoreOutcome checks that each email is stored with its envelope and outcome, and that a signer whose last
// email permanently failed is reported.
func TestMails_StoreOutcome(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx, e, other := t.Context(), newID(), newID()
		ada, bob := newID(), newID()
		begin := func(id string, envelope, signer uuid.UUID) bool {
			clock.Add(time.Second)
			begun, err := s.BeginMail(ctx, models.Mail{ID: id, EnvelopeID: envelope, SignerID: signer, Kind: models.MailInvitation})
			require.NoError(t, err)
			return begun.Settled()
		}
		require.False(t, begin("1", e, ada))
		begun := clock.Now()
		require.False(t, begin("1", e, ada))
		require.False(t, begin("2", e, bob))
		require.False(t, begin("3", other, ada))
		require.NoError(t, s.MailFailed(ctx, "1", "no such user"))
		require.NoError(t, s.MailSent(ctx, "2"))
		require.True(t, begin("1", e, ada), "the email has permanently failed")
		require.True(t, begin("2", e, bob))
		require.False(t, begin("3", other, ada))
		mails, err := s.Mails(ctx, e)
		require.NoError(t, err)
		require.Len(t, mails, 2)
		assert.Equal(t, []any{"1", 3, "no such user", begun}, []any{mails[0].ID, mails[0].Attempts, mails[0].Error, mails[0].CreatedAt.UTC()})
		assert.Nil(t, mails[0].SentAt)
		assert.NotNil(t, mails[0].FailedAt)
		assert.Equal(t, []any{"2", 2, ""}, []any{mails[1].ID, mails[1].Attempts, mails[1].Error})
		assert.Nil(t, mails[1].FailedAt)
		undelivered := func() map[uuid.UUID][]uuid.UUID { return must(s.Undelivered(ctx, []uuid.UUID{e, other})) }
		assert.Equal(t, map[uuid.UUID][]uuid.UUID{e: {ada}}, undelivered())
		begin("4", e, ada)
		assert.Equal(t, map[uuid.UUID][]uuid.UUID{e: {ada}}, undelivered(), "the email may still fail permanently")
		require.NoError(t, s.MailSent(ctx, "4"))
		assert.Empty(t, undelivered(), "the last email was sent")
		require.NoError(t, s.MailFailed(ctx, "3", "no such user"))
		assert.Equal(t, map[uuid.UUID][]uuid.UUID{other: {ada}}, undelivered())
		assert.Empty(t, must(s.Undelivered(ctx, []uuid.UUID{e})))
	})
}

func TestMails_AreSentOnce(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		m := models.Mail{ID: "m1", EnvelopeID: uuid.New(), SignerID: uuid.New(), Kind: models.MailCompleted}
		begun, err := s.BeginMail(t.Context(), m)
		require.NoError(t, err)
		assert.False(t, begun.Settled())
		begun, err = s.BeginMail(t.Context(), m)
		require.NoError(t, err)
		assert.False(t, begun.Settled(), "the email may not have been sent")
		require.NoError(t, s.MailSent(t.Context(), m.ID))
		begun, err = s.BeginMail(t.Context(), m)
		require.NoError(t, err)
		assert.True(t, begun.Settled())
	})
}
