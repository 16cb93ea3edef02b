package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/activities"
	"countersign/models"
	"countersign/notify"
	"countersign/temporal"
)

// TestRejectedMail_FailsAfterTheRetryPeriod checks that an email fails permanently after its address has been rejected
// for days, but not after an equally long outage of the server.
func TestRejectedMail_FailsAfterTheRetryPeriod(t *testing.T) {
	t.Parallel()
	const days = 5 * 24 * time.Hour
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, in := env.completed("a@example.com", "b@example.com")
		env.mails.deferred = "a@example.com"
		require.Error(env.t, env.SendCopies(ctx, in))
		env.clock.Add(days - time.Minute)
		require.ErrorContains(env.t, env.SendCopies(ctx, in), "451", "the email is still retried")
		assert.True(env.t, env.unfinished(e))
		env.clock.Add(time.Minute)
		require.NoError(env.t, env.SendCopies(ctx, in))
		assert.Equal(env.t, []string{"completed b@example.com"}, env.mailedTo())
		assert.False(env.t, env.unfinished(e))
		mails, err := env.Store.Mails(ctx, e.ID)
		require.NoError(env.t, err)
		require.Len(env.t, mails, 2)
		assert.Equal(env.t, "451 later (retries ended after several days)", mails[0].Error)
		assert.Equal(env.t, []bool{false, false, true}, env.mails.lastAttempts, "an abandoned email is counted as refused")
	})
	onBothDatabases(t, func(env *fakeEnv) { // an invitation, whose failure is recorded in the audit trail
		e, in := env.sent("a@example.com")
		invite := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}
		env.mails.deferred = "a@example.com"
		require.Error(env.t, env.Invite(env.t.Context(), invite))
		assert.Zero(env.t, env.events(e, models.EventInvitationFailed))
		env.clock.Add(days)
		require.NoError(env.t, env.Invite(env.t.Context(), invite))
		assert.Equal(env.t, 1, env.events(e, models.EventInvitationFailed))
		assert.Equal(env.t, []bool{false, true}, env.mails.lastAttempts)
	})
	onBothDatabases(t, func(env *fakeEnv) { // an email to the sender's own address
		notify := "sender@example.com"
		require.NoError(env.t, env.Store.SaveSettings(env.t.Context(), models.Settings{AppID: env.app.ID, NotifyEmail: &notify}))
		e, in := env.sent("a@example.com", "b@example.com")
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Decline(env.act(), models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *e.Signers[0].LinkID}, nil, false)
			return err
		})
		env.mails.deferred = notify
		require.ErrorContains(env.t, env.SendClosing(env.t.Context(), in), "451")
		assert.Equal(env.t, []string{"closed b@example.com"}, env.mailedTo(), "other emails do not wait for the rejected one")
		env.clock.Add(days)
		require.NoError(env.t, env.SendClosing(env.t.Context(), in))
	})
	onBothDatabases(t, func(env *fakeEnv) {
		_, in := env.completed("a@example.com")
		env.mails.fail = errors.New("mail server: connection refused")
		require.Error(env.t, env.SendCopies(env.t.Context(), in))
		env.clock.Add(2 * days)
		require.Error(env.t, env.SendCopies(env.t.Context(), in))
		env.mails.fail = nil
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		assert.Equal(env.t, []string{"completed a@example.com"}, env.mailedTo())
	})
}

// TestMailTimeout_GrowsWithAttempts checks that the timeout is ten seconds for the first attempt, and one minute for
// later attempts.
func TestMailTimeout_GrowsWithAttempts(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.mails.fail = errors.New("mail server: timeout")
		for range 2 {
			require.Error(env.t, env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}))
		}
		require.Len(env.t, env.mails.limits, 2)
		for i, want := range []time.Duration{10 * time.Second, time.Minute} {
			assert.InDelta(env.t, want, env.mails.limits[i], float64(4*time.Second))
		}
	})
}

// TestDelayedMail_HasAReason checks that the error from the last failed attempt is stored with the email until the
// email is sent.
func TestDelayedMail_HasAReason(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		invite := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}
		reason := func() string {
			mails, err := env.Store.Mails(env.t.Context(), e.ID)
			require.NoError(env.t, err)
			require.Len(env.t, mails, 1)
			return mails[0].Error
		}
		env.mails.fail = &notify.ServerError{Err: errors.New("mail: message rejected with 421 4.7.0: busy")}
		require.Error(env.t, env.Invite(env.t.Context(), invite))
		assert.Equal(env.t, "mail: message rejected with 421 4.7.0: busy", reason())
		env.mails.fail, env.mails.deferred = nil, "a@example.com"
		require.Error(env.t, env.Invite(env.t.Context(), invite))
		assert.Equal(env.t, "451 later", reason())
		env.mails.deferred = ""
		require.NoError(env.t, env.Invite(env.t.Context(), invite))
		assert.Empty(env.t, reason())
	})
}

// TestRejectedMail_DaysCountFromTheFirstRejection checks that the time before the first rejection does not count. A
// server may temporarily reject messages that have waited during an outage.
func TestRejectedMail_DaysCountFromTheFirstRejection(t *testing.T) {
	t.Parallel()
	const days = 5 * 24 * time.Hour
	down := errors.New("connection refused")
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		_, in := env.completed("a@example.com")
		env.mails.fail = down
		require.Error(env.t, env.SendCopies(ctx, in))
		env.clock.Add(2 * days)
		env.mails.fail, env.mails.deferred = nil, "a@example.com"
		require.ErrorContains(env.t, env.SendCopies(ctx, in), "451")
		env.clock.Add(days - time.Minute)
		require.ErrorContains(env.t, env.SendCopies(ctx, in), "451")
		env.mails.deferred = ""
		require.NoError(env.t, env.SendCopies(ctx, in))
		assert.Equal(env.t, []string{"completed a@example.com"}, env.mailedTo())
	})
	onBothDatabases(t, func(env *fakeEnv) {
		ctx, phone, number := env.t.Context(), &fakeSMS{fail: down}, "+442079460958"
		env.SMS = phone
		e, in := env.sent("a@example.com")
		env.change(e, func(e *models.Envelope) error {
			e.Signers[0].Phone, e.Signers[0].AuthMethod = &number, models.AuthEmailOTP
			return nil
		})
		invite := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}
		require.Error(env.t, env.Invite(ctx, invite))
		env.clock.Add(2 * days)
		phone.fail = &notify.RejectedError{Err: errors.New("rate")}
		require.ErrorContains(env.t, env.Invite(ctx, invite), "rate")
		env.clock.Add(days)
		require.NoError(env.t, env.Invite(ctx, invite), "given up")
		assert.Empty(env.t, phone.sent)
	})
}

// TestRejectedMails_RetryDelaysGrow checks that retries initially follow the retry policy and eventually occur every
// half hour, unless the mail server is unavailable.
func TestRejectedMails_RetryDelaysGrow(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		signing, asked := env.sent("a@example.com")
		signed, completed := env.completed("a@example.com", "b@example.com")
		env.mails.deferred = "a@example.com"
		wait := func(err error) time.Duration {
			require.ErrorContains(env.t, err, "451")
			if app, ok := errors.AsType[*sdktemporal.ApplicationError](err); ok {
				require.False(env.t, app.NonRetryable())
				return app.NextRetryDelay()
			}
			return 0
		}
		again := temporal.CopiesInput{EnvelopeInput: completed, SignerID: signed.Signers[0].ID, Request: uuid.New()}
		sends := map[string]func() error{
			"invitation": func() error {
				return env.Invite(ctx, temporal.InviteInput{EnvelopeInput: asked, SignerID: signing.Signers[0].ID})
			},
			"copies":      func() error { return env.SendCopies(ctx, completed) },
			"copies anew": func() error { return env.SendCopiesAgain(ctx, again) },
		}
		start := env.clock.Now()
		for _, step := range []struct{ age, wait time.Duration }{
			{0, 0}, {3 * time.Minute, 0}, {20 * time.Minute, 5 * time.Minute}, {2 * time.Hour, 30 * time.Minute}, {48 * time.Hour, 30 * time.Minute},
		} {
			env.clock.Add(start.Add(step.age).Sub(env.clock.Now()))
			for what, send := range sends {
				assert.InDelta(env.t, step.wait, wait(send()), float64(time.Second), "%s after %s", what, step.age)
			}
		}
		env.mails.fail = errors.New("mail server: connection refused")
		_, later := errors.AsType[*sdktemporal.ApplicationError](env.SendCopies(ctx, completed))
		require.False(env.t, later, "the failure is temporary")
	})
}

// TestRejectedReminder_AfterReplacement checks that rejections of the former signer's reminder do not count against
// the reminder to the new signer.
func TestRejectedReminder_AfterReplacement(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	onBothDatabases(t, func(env *fakeEnv) {
		env.ReminderInterval = 7 * day
		e, in := env.sent("a@example.com")
		env.noDeadline(e)
		env.groupInvites(in, e)
		env.clock.Add(7 * day)
		env.mails.deferred = "a@example.com"
		_, err := env.Remind(env.t.Context(), in)
		require.ErrorContains(env.t, err, "451")
		env.clock.Add(6 * day)
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Replace(env.act(), e.Signers[0].ID, models.Replacement{Name: "Bea", Email: "b@example.com"})
			return err
		})
		env.claimReinvites(in)
		env.clock.Add(4 * day)
		_, err = env.Remind(env.t.Context(), in) // no reminder is due yet
		require.NoError(env.t, err)
		env.clock.Add(3 * day)
		env.mailedTo()
		env.mails.deferred = "b@example.com"
		_, err = env.Remind(env.t.Context(), in)
		require.Error(env.t, err, "the email is retried")
		env.mails.deferred = ""
		_, err = env.Remind(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, []string{"reminder b@example.com"}, env.mailedTo())
	})
}

// TestRejectedReminder_ReplacesLinkOnce checks that a reminder that is rejected for hours replaces the link only once,
// regardless of the reminder interval.
func TestRejectedReminder_ReplacesLinkOnce(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	onBothDatabases(t, func(env *fakeEnv) {
		env.ReminderInterval = 28 * day
		e, in := env.sent("a@example.com")
		env.noDeadline(e)
		env.groupInvites(in, e)
		env.clock.Add(28 * day)
		env.mails.deferred = "a@example.com"
		link := func() uuid.UUID {
			_, err := env.Remind(env.t.Context(), in)
			require.ErrorContains(env.t, err, "451")
			return *env.load(in).Signers[0].LinkID
		}
		fresh := link()
		require.NotEqual(env.t, *e.Signers[0].LinkID, fresh)
		for range 4 {
			env.clock.Add(2 * time.Hour)
			require.Equal(env.t, fresh, link())
		}
	})
}

// TestInvite_UnsentMailsAreAnError checks that unsent and failed emails cause an error, so that they are retried.
func TestInvite_UnsentMailsAreAnError(t *testing.T) {
	t.Parallel()
	begin, cancel := context.WithCancel(t.Context())
	failed, sent := errors.New("451 later"), 0
	err := activities.SendToEach(begin, 3, func() error {
		if sent++; sent == 2 {
			cancel()
		}
		return failed
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, failed)
	require.Equal(t, 2, sent)
}
