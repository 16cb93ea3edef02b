package activities_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/temporal"
)

// TestSendCopiesAgain_OncePerRequest checks that each request sends one email with new links, unless the files were
// deleted.
func TestSendCopiesAgain_OncePerRequest(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.completed("a@example.com", "b@example.com")
		again := temporal.CopiesInput{EnvelopeInput: in, SignerID: e.Signers[1].ID, Request: uuid.New()}
		env.mails.fail = errors.New("the mail server is down")
		require.Error(env.t, env.SendCopiesAgain(env.t.Context(), again))
		require.Zero(env.t, env.events(e, models.EventCopySent))
		env.mails.fail = nil
		for range 2 {
			require.NoError(env.t, env.SendCopiesAgain(env.t.Context(), again))
		}
		require.Len(env.t, env.mails.mails, 1)
		require.Equal(env.t, "b@example.com", env.mails.mails[0].To.Email)
		require.Empty(env.t, env.mails.mails[0].Attachments)
		require.Contains(env.t, env.mails.mails[0].Text, "https://example.com/download/")
		require.Equal(env.t, 1, env.events(e, models.EventCopySent))

		env.mails.reject = "b@example.com"
		again.Request = uuid.New()
		require.NoError(env.t, env.SendCopiesAgain(env.t.Context(), again), "the request is recorded with the email")
		require.Equal(env.t, 1, env.events(e, models.EventCopySent))
		env.mails.reject = ""
		_, err := env.Store.Change(env.t.Context(), env.app.ID, e.ID, func(e *models.Envelope) error {
			e.SetRetention(1)
			return nil
		})
		require.NoError(env.t, err)
		unsent := func() (n int) {
			env.drainOutbox()
			rows, _, err := env.Store.Unfinished(env.t.Context(), store.WorkCopies, uuid.Nil, 9)
			require.NoError(env.t, err)
			return len(rows)
		}
		require.Zero(env.t, unsent())
		late := temporal.CopiesInput{EnvelopeInput: in, SignerID: e.Signers[1].ID, Request: uuid.New()}
		env.mails.fail = errors.New("the mail server is down")
		require.Error(env.t, env.SendCopiesAgain(env.t.Context(), late))
		require.Equal(env.t, 1, unsent(), "a lost workflow is restarted")
		env.clock.Add(48 * time.Hour)
		_, err = env.Store.Change(env.t.Context(), env.app.ID, e.ID, func(e *models.Envelope) error { return e.Purge(env.act()) })
		require.NoError(env.t, err)
		env.mails.fail = nil
		again.Request = uuid.New()
		for _, request := range []temporal.CopiesInput{again, late} {
			require.NoError(env.t, env.SendCopiesAgain(env.t.Context(), request))
		}
		require.Len(env.t, env.mails.mails, 1)
		require.Zero(env.t, unsent(), "the files can no longer be sent")
	})
}

// TestDelegation_NotifiesTheSender checks that a delegation notifies the tenant's contact once, and that the new
// signer is invited.
func TestDelegation_NotifiesTheSender(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		to := "office@example.com"
		require.NoError(env.t, env.Store.SaveSettings(env.t.Context(), models.Settings{AppID: env.app.ID, TenantID: e.TenantID, NotifyEmail: &to}))
		fresh, err := env.Store.Change(env.t.Context(), env.app.ID, e.ID, func(e *models.Envelope) error {
			e.Signers[0].AllowDelegation = true
			reason := "She signs for us"
			_, err := e.Delegate(env.act(), models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *e.Signers[0].LinkID},
				models.Replacement{Name: "Grace", Email: "grace@example.com", Reason: &reason})
			return err
		})
		require.NoError(env.t, err)
		renewed := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID, LinkID: fresh.Signers[0].LinkID}
		group := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}
		for _, signer := range []temporal.InviteInput{renewed, renewed, group} {
			require.NoError(env.t, env.Invite(env.t.Context(), signer))
		}
		require.Len(env.t, env.mails.mails, 2)
		require.Equal(env.t, "grace@example.com", env.mails.mails[0].To.Email)
		require.Equal(env.t, to, env.mails.mails[1].To.Email)
		require.Contains(env.t, env.mails.mails[1].Text, "grace@example.com")
		require.Contains(env.t, env.mails.mails[1].Text, "She signs for us")
	})
}

// TestRemind_EnvelopesOwnInterval checks that the envelope's reminder interval takes precedence over the tenant's
// interval, and that emails to a former signer do not count.
func TestRemind_EnvelopesOwnInterval(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		require.NoError(env.t, env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}))
		hours := 5
		change := func(do func(*models.Envelope) error) *models.Envelope {
			got, err := env.Store.Change(env.t.Context(), env.app.ID, e.ID, do)
			require.NoError(env.t, err)
			return got
		}
		sentAt := env.clock.Now()
		change(func(e *models.Envelope) error {
			return e.Patch(env.act(), models.EnvelopeEdit{ReminderHours: models.Change[*int]{Present: true, Value: &hours}})
		})
		plan, err := env.LoadPlan(env.t.Context(), in)
		require.NoError(env.t, err)
		require.Equal(env.t, 5*time.Hour, plan.ReminderEvery)
		require.WithinDuration(env.t, sentAt.Add(5*time.Hour), *plan.RemindAt, time.Second)
		env.clock.Add(4 * time.Hour)
		change(func(e *models.Envelope) error {
			_, err := e.Replace(env.act(), e.Signers[0].ID, models.Replacement{Name: "Grace", Email: "grace@example.com"})
			return err
		})
		plan, err = env.LoadPlan(env.t.Context(), in)
		require.NoError(env.t, err)
		require.WithinDuration(env.t, env.clock.Now().Add(5*time.Hour), *plan.RemindAt, time.Second)
		none := 0
		change(func(e *models.Envelope) error {
			return e.Patch(env.act(), models.EnvelopeEdit{ReminderHours: models.Change[*int]{Present: true, Value: &none}})
		})
		plan, err = env.LoadPlan(env.t.Context(), in)
		require.NoError(env.t, err)
		require.Nil(env.t, plan.RemindAt)
	})
}

// TestSeal_NamesFormerSigners checks that the seal record lists each former signer with the time of the event that
// names the successor.
func TestSeal_NamesFormerSigners(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com", "b@example.com")
		env.clock.Add(time.Hour + 1234*time.Nanosecond)
		reason := "on leave"
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Replace(env.act(), e.Signers[0].ID, models.Replacement{Name: "Grace", Email: "grace@example.com", Reason: &reason})
			return err
		})
		now, err := env.Store.Envelope(env.t.Context(), env.app.ID, e.ID)
		require.NoError(env.t, err)
		env.signAll(now)
		env.sealed(in)
		job := env.sealer.last
		require.Empty(env.t, job.Signers[1].Previous)
		require.Len(env.t, job.Signers[0].Previous, 1)
		was := job.Signers[0].Previous[0]
		require.Equal(env.t, []string{"a@example.com", "on leave"}, []string{was.Email, was.Reason})
		var at time.Time
		for _, raw := range job.Events {
			var event struct {
				Event     string    `json:"event"`
				Timestamp time.Time `json:"timestamp"`
			}
			require.NoError(env.t, json.Unmarshal(raw, &event))
			if event.Event == string(models.EventSignerReplaced) {
				at = event.Timestamp
			}
		}
		require.Equal(env.t, at, was.Until)
	})
}
