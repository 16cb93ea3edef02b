package store_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

const history = 90 * 24 * time.Hour

// TestCleanup_RemovesOldDeliveries checks that deliveries settled before the history period are removed, followed by
// their events. Deliveries that are pending, recent or recently settled are kept.
func TestCleanup_RemovesOldDeliveries(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		p := newEndpoint(f)
		settled, pending, resent := p.ping(), p.ping(), p.ping()
		for _, id := range []uuid.UUID{settled, resent} {
			p.attempt(id, 500, models.DeliveryOutcome{Last: true})
			p.attempt(id, 500, models.DeliveryOutcome{})
		}
		clock.Add(history - time.Hour)
		_, err := s.Resend(ctx, f.app, resent)
		require.NoError(t, err)
		p.attempt(resent, 200, models.DeliveryOutcome{Run: 1})
		young := p.ping()
		p.attempt(young, 200, models.DeliveryOutcome{})

		left := func() (out []int) {
			for _, table := range []string{"webhook_deliveries", "delivery_attempts", "webhook_events"} {
				out = append(out, f.rows(table))
			}
			return out
		}
		require.NoError(t, kit.RemoveExpired(ctx, s))
		assert.Equal(t, []int{4, 6, 4}, left(), "no row is that old")
		clock.Add(time.Hour + time.Minute)
		require.NoError(t, kit.RemoveExpired(ctx, s))
		assert.Equal(t, []int{3, 4, 4}, left())
		_, _, _, err = s.Delivery(ctx, f.app, settled)
		require.ErrorIs(t, err, models.ErrNotFound)
		for id, want := range map[uuid.UUID]models.DeliveryStatus{pending: models.DeliveryPending, resent: models.DeliveryDelivered, young: models.DeliveryDelivered} {
			assert.Equal(t, want, p.status(id))
		}
		clock.Add(24 * time.Hour)
		require.NoError(t, kit.RemoveExpired(ctx, s))
		assert.Equal(t, []int{3, 4, 3}, left(), "an event is removed a day after its last delivery")
		clock.Add(history)
		require.NoError(t, kit.RemoveExpired(ctx, s))
		assert.Equal(t, []int{1, 0, 1}, left())
		_, err = s.DeliveryJob(ctx, pending)
		require.NoError(t, err, "the event can still be delivered")
	})
}

// TestCleanup_RemovesOldMails checks that removing the email records of ended envelopes does not cause any email to be
// sent again. The records of open envelopes are kept.
func TestCleanup_RemovesOldMails(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		days := 1
		open, voided, completed, declined, expired := f.sent(1, nil), f.sent(1, nil), f.sent(1, nil), f.sent(2, nil), f.sent(1, &days)
		mail := func(e *models.Envelope, kind models.MailKind) {
			id := fmt.Sprint(kind, e.ID)
			begun, err := s.BeginMail(ctx, models.Mail{ID: id, EnvelopeID: e.ID, SignerID: e.Signers[0].ID, Kind: kind})
			require.NoError(t, err)
			require.False(t, begun.Settled())
			require.NoError(t, s.MailSent(ctx, id))
		}
		all := []*models.Envelope{open, voided, completed, declined, expired}
		for _, e := range all {
			mail(e, models.MailInvitation)
		}
		require.NoError(t, change(ctx, f, voided.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
		f.sealed(completed)
		require.NoError(t, change(ctx, f, declined.ID, func(e *models.Envelope) error {
			_, err := e.Decline(f.act(), link(e, 0), nil, false)
			return err
		}))
		clock.Add(24 * time.Hour)
		require.NoError(t, change(ctx, f, expired.ID, func(e *models.Envelope) error { return e.Expire(f.act()) }))
		unfinished := func() (ids []uuid.UUID) {
			drainOutbox(t, s)
			for _, work := range []store.Work{store.WorkEnvelopes, store.WorkClosings} {
				ids = slices.AppendSeq(ids, maps.Keys(unfinishedWork(t, s, work)))
			}
			return ids
		}
		assert.ElementsMatch(t, []uuid.UUID{open.ID, voided.ID, completed.ID, declined.ID, expired.ID}, unfinished(), "no recipient was notified that the envelope ended")
		for _, e := range all[1:] {
			kind := models.MailClosed
			if e == completed {
				kind = models.MailCompleted
			}
			mail(e, kind)
		}
		assert.Equal(t, []uuid.UUID{open.ID}, unfinished())
		late := models.Mail{ID: "late", EnvelopeID: declined.ID, SignerID: declined.Signers[1].ID, Kind: models.MailClosed}
		_, err := s.BeginMail(ctx, late)
		require.NoError(t, err)

		clock.Add(history - time.Hour)
		require.NoError(t, kit.RemoveExpired(ctx, s))
		assert.Equal(t, 7, f.rows("mails"), "invitations of ended envelopes are older than the history period, and closing emails are not")
		clock.Add(2 * time.Hour)
		require.NoError(t, kit.RemoveExpired(ctx, s))
		assert.Len(t, must(s.Mails(ctx, declined.ID)), 3, "one recipient still has to be notified, so the records are kept")
		begun, err := s.BeginMail(ctx, late)
		require.NoError(t, err)
		assert.Equal(t, 2, begun.Attempts)
		assert.WithinDuration(t, clock.Now().Add(-history-time.Hour), begun.CreatedAt, 0, "the record was created at that time")
		require.NoError(t, s.MailSent(ctx, late.ID))
		require.NoError(t, kit.RemoveExpired(ctx, s))
		assert.Equal(t, 1, f.rows("mails"))
		assert.Len(t, must(s.Mails(ctx, open.ID)), 1)
		assert.Equal(t, []uuid.UUID{open.ID}, unfinished(), "no recipient is notified again")
	})
}

// TestCleanup_RunsInBatches checks that one call removes a limited number of rows, oldest first, and reports whether
// more may remain.
func TestCleanup_RunsInBatches(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		db, err := s.DB()
		require.NoError(t, err)
		windows := func(n int, at time.Time) {
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			for i := range n {
				_, err := tx.ExecContext(ctx, "INSERT INTO rate_windows (key, starts_at, used, expires_at) VALUES ($1, $2, 1, $3)", fmt.Sprint(i), at, at.Add(time.Minute))
				require.NoError(t, err)
			}
			require.NoError(t, tx.Commit())
		}
		windows(store.CleanupBatch+7, clock.Now())
		clock.Add(time.Hour)
		windows(3, clock.Now())
		remove := func() int {
			n, err := s.RemoveExpired(ctx, store.ExpiredRateWindows)
			require.NoError(t, err)
			return n
		}
		assert.Equal(t, []int{store.CleanupBatch, 7, 0}, []int{remove(), remove(), remove()})
		assert.Equal(t, 3, f.rows("rate_windows"))
		_, err = s.RemoveExpired(ctx, "audit events")
		require.ErrorContains(t, err, `unknown kind "audit events"`)
	})
}

// TestCleanup_RemovesExpiredRows checks that each kind of row is removed after its own retention period and not before.
func TestCleanup_RemovesExpiredRows(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		_, ada, _ := newUsers(t, s)
		f := newFixture(t, s, clock)
		e := f.sent(1, nil)
		embedded := f.session(e, "h")
		require.NoError(t, s.CreateEmbeddedSession(ctx, embedded, f.embeds(e.Signers[0])))
		require.NotEqual(t, uuid.Nil, embedded.ID)
		r := store.IdempotentRequest{Scope: "s", Method: "POST", Path: "/", Key: "k", Fingerprint: []byte("f")}
		_, _, err := s.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		_, err = s.StartConsoleSession(ctx, ada.ID, store.Device{}, time.Hour, nil)
		require.NoError(t, err)
		require.NoError(t, s.RememberCaller(ctx, "caller", clock.Now().Add(time.Hour)))
		rows := func() (out []int) {
			db, err := s.DB()
			require.NoError(t, err)
			for _, table := range []string{"idempotency_keys", "rate_windows", "console_sessions", "embedded_sessions", "envelope_count_changes"} {
				var n int
				require.NoError(t, db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&n))
				out = append(out, n)
			}
			return out
		}
		require.NoError(t, kit.RemoveExpired(ctx, s))
		assert.Equal(t, []int{1, 1, 1, 1, 0}, rows(), "no row has expired; counts are combined")
		clock.Add(time.Hour + time.Microsecond)
		require.NoError(t, kit.RemoveExpired(ctx, s))
		assert.Equal(t, []int{0, 0, 0, 1, 0}, rows(), "embedded sessions are retained for a month")
		clock.Add(30 * 24 * time.Hour)
		require.NoError(t, kit.RemoveExpired(ctx, s))
		assert.Equal(t, []int{0, 0, 0, 0, 0}, rows())
	})
}
