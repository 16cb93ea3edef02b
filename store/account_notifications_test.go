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

// sentBy stores an envelope that a console user has sent and that a signer has not signed yet.
func (f *fixture) sentBy(u *models.ConsoleUser) *models.Envelope {
	f.t.Helper()
	e := f.sent(1, nil)
	require.NoError(f.t, change(f.t.Context(), f, e.ID, func(e *models.Envelope) error {
		e.OwnerID = &u.ID
		return nil
	}))
	drainOutbox(f.t, f.Store)
	return e
}

func (f *fixture) choose(u *models.ConsoleUser, fn func(*models.NotificationSettings)) models.NotificationSettings {
	f.t.Helper()
	n, err := f.ChangeNotifications(f.t.Context(), u.ID, func(n *models.NotificationSettings) error { fn(n); return nil })
	require.NoError(f.t, err)
	return n
}

// notified opens and declines the envelope, and returns the kinds of the notifications in the outbox.
func (f *fixture) notified(e *models.Envelope) (kinds []models.NotificationKind) {
	f.t.Helper()
	ctx, s := f.t.Context(), e.Signers[0]
	l := models.Link{EnvelopeID: e.ID, SignerID: s.ID, ID: *s.LinkID}
	require.NoError(f.t, change(ctx, f, e.ID, func(e *models.Envelope) error { return errOf(e.Open(f.act(), l)) }))
	require.NoError(f.t, change(ctx, f, e.ID, func(e *models.Envelope) error { return errOf(e.Decline(f.act(), l, nil, false)) }))
	_, log := f.check(e.ID)
	for _, row := range drainOutbox(f.t, f.Store) {
		if row.Kind != models.OutboxNotify {
			continue
		}
		require.Equal(f.t, e.ID, row.Key)
		require.Equal(f.t, f.app.ID, row.FairnessKey)
		for _, ev := range log {
			if ev.ID == row.ID {
				kinds = append(kinds, models.NotificationOf(ev.Name))
			}
		}
	}
	return kinds
}

// TestNotifications_FollowTheSettings checks that an event notifies the sender immediately or in the digest, according
// to the sender's settings. If an application sent the envelope, nobody is notified.
func TestNotifications_FollowTheSettings(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		ada, err := s.CreateUser(ctx, f.app.ID, "ada@example.com", "Ada", "correct horse ada", models.RoleSender)
		require.NoError(t, err)
		bob, err := s.CreateUser(ctx, f.app.ID, "bob@example.com", "Bob", "correct horse bob", models.RoleSender)
		require.NoError(t, err)
		items := func(u *models.ConsoleUser) (kinds []models.NotificationKind) {
			for _, i := range must(s.DigestItems(ctx, u.ID, clock.Now())) {
				kinds = append(kinds, i.Kind)
			}
			return kinds
		}

		byApp := f.sent(1, nil)
		drainOutbox(t, s)
		assert.Empty(t, f.notified(byApp))
		assert.Equal(t, []models.NotificationKind{models.NotifyDeclined}, f.notified(f.sentBy(ada)), "the default")
		f.choose(ada, func(n *models.NotificationSettings) { n.Opened, n.Declined = true, false })
		assert.Equal(t, []models.NotificationKind{models.NotifyOpened}, f.notified(f.sentBy(ada)))
		assert.Empty(t, items(ada))

		f.choose(ada, func(n *models.NotificationSettings) { n.Frequency, n.Declined = models.NotifyDaily, true })
		assert.Empty(t, f.notified(f.sentBy(ada)))
		assert.Equal(t, []models.NotificationKind{models.NotifyOpened, models.NotifyDeclined}, items(ada))
		assert.Equal(t, []models.NotificationKind{models.NotifyDeclined}, f.notified(f.sentBy(bob)), "another user's settings have no effect")
		assert.Empty(t, items(bob))

		f.choose(ada, func(n *models.NotificationSettings) { n.Frequency = models.NotifyNever })
		assert.Empty(t, items(ada), "pending notifications are no longer sent")
		assert.Empty(t, f.notified(f.sentBy(ada)))
		assert.Empty(t, items(ada))
	})
}

// TestNotificationSettings_ChangeOnlyNamedMembers checks that a change keeps the settings that it does not name, and
// that the settings of a disabled user cannot be changed.
func TestNotificationSettings_ChangeOnlyNamedMembers(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		f := newFixture(t, s, clock)
		app, ada, bob := newUsers(t, s)
		assert.Equal(t, models.DefaultNotifications(ada.ID), must(s.Notifications(ctx, ada.ID)))
		german := "de"
		f.choose(ada, func(n *models.NotificationSettings) {
			n.Language, n.TimeZone, n.Signed = &german, "Europe/Berlin", true
		})
		f.choose(ada, func(n *models.NotificationSettings) { n.Completed = false })
		want := models.DefaultNotifications(ada.ID)
		want.Language, want.TimeZone, want.Signed, want.Completed = &german, "Europe/Berlin", true, false
		assert.Equal(t, want, must(s.Notifications(ctx, ada.ID)))
		assert.Equal(t, models.DefaultNotifications(bob.ID), must(s.Notifications(ctx, bob.ID)))

		_, err := s.ChangeNotifications(ctx, ada.ID, func(n *models.NotificationSettings) error { n.TimeZone = "Nowhere"; return nil })
		assert.Equal(t, "validation_error timeZone", rejectionOf(t, err))
		assert.Equal(t, want, must(s.Notifications(ctx, ada.ID)))

		f.choose(ada, func(n *models.NotificationSettings) { n.Frequency = models.NotifyDaily })
		f.notified(f.sentBy(ada))
		require.Equal(t, 1, rowsIn(t, s, "console_digest_items"))
		require.NoError(t, s.DisableUser(ctx, app.ID, ada.ID))
		assert.Zero(t, rowsIn(t, s, "console_notifications")+rowsIn(t, s, "console_digest_items"))
		_, err = s.ChangeNotifications(ctx, ada.ID, func(*models.NotificationSettings) error { return nil })
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}

// TestDigests_AreRequested checks that one digest is requested each morning if there were events, even if several
// processes are running. A user who switches to immediate notifications still receives the pending digest.
func TestDigests_AreRequested(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		other, _, err := s.CreateApp(ctx, "Other", models.PlanFree, nil)
		require.NoError(t, err)
		_, err = s.CreateUser(ctx, other.ID, "eve@example.com", "Eve", "correct horse eve", models.RoleSender)
		require.NoError(t, err)
		ada, err := s.CreateUser(ctx, f.app.ID, "ada@example.com", "Ada", "correct horse ada", models.RoleSender)
		require.NoError(t, err)
		chosen := f.choose(ada, func(n *models.NotificationSettings) { n.Frequency, n.TimeZone = models.NotifyDaily, "Asia/Tokyo" })
		require.Equal(t, chosen.NextDigest(clock.Now()), chosen.DigestAt.UTC())
		request := func() (due, requested int) {
			t.Helper()
			due, requested, err := s.RequestDigests(ctx, 10)
			require.NoError(t, err)
			return due, requested
		}
		both := func(due, requested int) [2]int { return [2]int{due, requested} }
		toMorning := func() {
			n := must(s.Notifications(ctx, ada.ID))
			clock.Add(n.DigestAt.Sub(clock.Now()))
		}
		require.Equal(t, [2]int{0, 0}, both(request()), "the digest is not due yet")
		toMorning()
		require.Equal(t, [2]int{1, 0}, both(request()), "nothing happened")
		require.Empty(t, drainOutbox(t, s))

		f.notified(f.sentBy(ada))
		require.Equal(t, [2]int{0, 0}, both(request()))
		toMorning()
		require.Equal(t, [2]int{1, 1}, both(request()))
		require.Equal(t, [2]int{0, 0}, both(request()))
		rows := drainOutbox(t, s)
		require.Len(t, rows, 1)
		require.Equal(t, []any{models.OutboxDigest, ada.ID, f.app.ID, clock.Now()}, []any{rows[0].Kind, rows[0].Key, rows[0].Refs.AppID, rows[0].CreatedAt.UTC()})
		clock.Add(time.Second)
		f.notified(f.sentBy(ada))
		require.Len(t, must(s.DigestItems(ctx, ada.ID, rows[0].CreatedAt)), 1)
		require.NoError(t, s.RemoveDigestItems(ctx, ada.ID, rows[0].CreatedAt))
		require.Len(t, must(s.DigestItems(ctx, ada.ID, clock.Now())), 1, "later events wait for the next digest")

		f.choose(ada, func(n *models.NotificationSettings) { n.Frequency = models.NotifyImmediately })
		toMorning()
		require.Equal(t, [2]int{1, 1}, both(request()))
		require.Nil(t, must(s.Notifications(ctx, ada.ID)).DigestAt)
	})
}

// TestEnvelopesOfBulkSends_NotifyOfProblems checks that the sender of a bulk send is emailed immediately only about
// envelopes that require action.
func TestEnvelopesOfBulkSends_NotifyOfProblems(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		ada, err := s.CreateUser(ctx, f.app.ID, "ada@example.com", "Ada", "correct horse ada", models.RoleSender)
		require.NoError(t, err)
		b, err := f.bulk(1, 60)
		require.NoError(t, err)
		f.choose(ada, func(n *models.NotificationSettings) { n.Opened = true })
		e := f.sentBy(ada)
		_, err = pool(t, s).ExecContext(ctx, "UPDATE bulk_send_rows SET envelope_id = $1 WHERE bulk_send_id = $2", e.ID.String(), b.ID.String())
		require.NoError(t, err)
		assert.Equal(t, []models.NotificationKind{models.NotifyDeclined}, f.notified(e))

		f.choose(ada, func(n *models.NotificationSettings) { n.Frequency = models.NotifyDaily })
		e = f.sentBy(ada)
		_, err = pool(t, s).ExecContext(ctx, "UPDATE bulk_send_rows SET envelope_id = $1 WHERE bulk_send_id = $2", e.ID.String(), b.ID.String())
		require.NoError(t, err)
		assert.Empty(t, f.notified(e))
		assert.Len(t, must(s.DigestItems(ctx, ada.ID, clock.Now())), 2)
	})
}

// TestUnsentNotifications_AreUnfinished checks that a notification whose workflow was lost is requested again with the
// same ID, unless its email was already sent, rejected or dropped.
func TestUnsentNotifications_AreUnfinished(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		ada, err := s.CreateUser(ctx, f.app.ID, "ada@example.com", "Ada", "correct horse ada", models.RoleSender)
		require.NoError(t, err)
		unfinished := func() []models.OutboxRow {
			rows, _, err := s.Unfinished(ctx, store.WorkCopies, uuid.Nil, 10)
			require.NoError(t, err)
			return rows
		}
		for name, settle := range map[string]func(id string, event uuid.UUID) error{
			"sent":     func(id string, _ uuid.UUID) error { return s.MailSent(ctx, id) },
			"rejected": func(id string, _ uuid.UUID) error { return s.MailFailed(ctx, id, "no such user") },
			"dropped":  func(_ string, event uuid.UUID) error { return s.DropRequestedMail(ctx, event) },
		} {
			e := f.sentBy(ada)
			require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error {
				_, err := e.Decline(f.act(), models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *e.Signers[0].LinkID}, nil, false)
				return err
			}))
			assert.Empty(t, unfinished(), "%s: rows in the outbox are not lost", name)
			var event uuid.UUID
			for _, row := range drainOutbox(t, s) {
				if row.Kind == models.OutboxNotify {
					event = row.ID
				}
			}
			id := models.RequestedMailID(event)
			for begun := range 2 {
				rows := unfinished()
				require.Len(t, rows, 1, name)
				assert.Equal(t, []any{models.OutboxNotify, event, e.ID, true}, []any{rows[0].Kind, rows[0].ID, rows[0].Key, rows[0].Refs.Restart})
				assert.Equal(t, event, rows[0].ListedBy())
				m, err := s.BeginMail(ctx, models.Mail{ID: id, EnvelopeID: e.ID, SignerID: ada.ID, Kind: models.MailNotification, RequestID: &event})
				require.NoError(t, err)
				assert.Equal(t, begun+1, m.Attempts)
			}
			require.NoError(t, settle(id, event))
			assert.Empty(t, unfinished(), name)
			assert.Empty(t, must(s.Undelivered(ctx, []uuid.UUID{e.ID})), "the failure must not mark a signer as unreachable")
		}
	})
}
