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
	"countersign/seal/rejection"
	"countersign/store"
	"countersign/temporal"
	"countersign/webhook"
)

func (env *fakeEnv) void(e *models.Envelope) {
	env.t.Helper()
	env.change(e, func(e *models.Envelope) error { return e.Void(env.act(), nil) })
}

// mail returns the record of the first signer's email of the given kind.
func (env *fakeEnv) mail(e *models.Envelope, kind models.MailKind) models.Mail {
	env.t.Helper()
	mails, err := env.Store.Mails(env.t.Context(), e.ID)
	require.NoError(env.t, err)
	for _, m := range mails {
		if m.Kind == kind && m.SignerID == e.Signers[0].ID {
			return m
		}
	}
	require.Fail(env.t, "there must be no such email", kind)
	return models.Mail{}
}

// TestInvite_EnvelopeClosedWhileSending checks that an email is recorded as sent even if the envelope was closed in the
// meantime.
func TestInvite_EnvelopeClosedWhileSending(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, in := env.sent("a@example.com")
		env.mails.onSend = func() { env.void(e) }
		require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}))
		assert.NotNil(env.t, env.mail(e, models.MailInvitation).SentAt)
		assert.Zero(env.t, env.events(e, models.EventInvitationSent))

		// A rejected address is not an error in this case either.
		e, in = env.sent("a@example.com")
		env.mails.reject = "a@example.com"
		require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}))
		assert.NotNil(env.t, env.mail(e, models.MailInvitation).FailedAt)
		assert.Zero(env.t, env.events(e, models.EventInvitationFailed))

		// A request that specifies a signer of another envelope sends nothing.
		env.mails.onSend = nil
		require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: uuid.New()}))
		assert.Len(env.t, env.mails.mails, 1)
	})
}

// TestRemind_EnvelopeClosedInBetween checks that the second signer is not reminded if the envelope is closed after the
// first signer's reminder.
func TestRemind_EnvelopeClosedInBetween(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com", "b@example.com")
		env.change(e, func(e *models.Envelope) error { // remove the deadline
			e.ExpiresAt = nil
			for _, s := range e.Signers {
				until := s.LinkIssuedAt.Add(models.LinkLifetime)
				s.LinkExpiresAt = &until
			}
			return nil
		})
		env.clock.Add(models.LinkLifetime - models.RenewBefore)
		env.mails.onSend = func() {
			env.mails.onSend = nil
			env.void(e)
		}
		assert.NotNil(env.t, env.reminded(in), "as at the start of the reminders")
		assert.Len(env.t, env.mails.mails, 1)
	})
}

// TestSeal_EnvelopeClosedWhileFailing checks that a sealing failure is returned unchanged if an operator has closed the
// envelope in the meantime.
func TestSeal_EnvelopeClosedWhileFailing(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.signAll(e)
		env.change(e, func(e *models.Envelope) error { return e.SealingFailed(env.act(), models.SealingFailing) })
		env.sealer.fail = rejection.New(rejection.GlyphMissing, "no glyph")
		env.sealer.onSeal = func() {
			env.change(e, func(e *models.Envelope) error { return e.VoidStuck(env.act(), "lost") })
		}
		_, err := env.env.ExecuteActivity(env.Seal, in)
		var failed *sdktemporal.ApplicationError
		require.ErrorAs(env.t, err, &failed)
		assert.Equal(env.t, string(models.SealingRejected), failed.Type())
		assert.Equal(env.t, models.SealingFailing, env.problem(e.ID))
	})
}

// TestStoppedWorker_RecordsNoProblem checks that an interrupted activity is recorded neither as a sealing problem nor
// as a failure of the endpoint.
func TestStoppedWorker_RecordsNoProblem(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.signAll(e)
		ctx, stop := context.WithCancel(env.t.Context())
		env.sealer.fail, env.sealer.onSeal = rejection.New(rejection.GlyphMissing, "no glyph"), stop
		_, err := env.seal(ctx, in)
		var rejected *rejection.Error
		require.ErrorAs(env.t, err, &rejected)
		require.NotErrorIs(env.t, err, context.Canceled, "no other email was attempted")
		assert.Empty(env.t, env.problem(e.ID))

		to := env.withWebhook()
		d := to.ping()
		ctx, stop = context.WithCancel(env.t.Context())
		env.Webhooks = cutOff(stop)
		_, err = env.Deliver(ctx, activities.DeliverInput{DeliveryID: d.ID, Delays: make([]time.Duration, 3)})
		require.Equal(env.t, context.Canceled, err)
		_, attempts := to.state(d)
		assert.Zero(env.t, attempts)
	})
}

// cutOff is an endpoint that stops the worker during each delivery, which is then interrupted.
type cutOff func()

func (stop cutOff) Deliver(context.Context, webhook.Request) webhook.Result {
	stop()
	return webhook.Result{Err: errors.New("cut off")}
}

// TestActivities_UnknownEnvelopeIsFinal checks that activities are not retried if the envelope does not exist.
func TestActivities_UnknownEnvelopeIsFinal(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		in := temporal.EnvelopeInput{AppID: env.app.ID, EnvelopeID: uuid.New()}
		for name, activity := range map[string]any{"plan": env.LoadPlan, "seal": env.Seal, "closing": env.SendClosing, "copies": env.SendCopies, "renew": env.RenewLinks, "remind": env.Remind} {
			_, err := env.env.ExecuteActivity(activity, in)
			var failed *sdktemporal.ApplicationError
			require.ErrorAs(env.t, err, &failed, name)
			assert.True(env.t, failed.NonRetryable(), name)
			assert.Equal(env.t, "not_found", failed.Type(), name)
		}
	})
}

// TestActivityErrors_OnlyRejectionsAreFinal checks that rejections are not retried, and that temporary errors are
// retried.
func TestActivityErrors_OnlyRejectionsAreFinal(t *testing.T) {
	t.Parallel()
	var failed *sdktemporal.ApplicationError
	require.ErrorAs(t, activities.NonRetryable(models.ErrNotFound), &failed)
	assert.True(t, failed.NonRetryable())
	assert.Equal(t, "not_found", failed.Type())
	for _, err := range []error{nil, errors.New("disk full"), models.Reject(models.KindUnavailable, "later", "Later.")} {
		assert.Equal(t, err, activities.NonRetryable(err))
	}
}

// anchorer is an Anchorer that returns a fixed anchor.
type anchorer struct{ err error }

func (a anchorer) Run(context.Context) (*store.Anchor, error) {
	return &store.Anchor{Number: 7, Entries: 3}, a.err
}

// TestAnchorAudit_ReportsTheAnchor checks that AnchorAudit reports the anchor's number and size, and returns an error
// if no time-stamp authority is configured.
func TestAnchorAudit_ReportsTheAnchor(t *testing.T) {
	t.Parallel()
	_, err := (&activities.Activities{}).AnchorAudit(t.Context())
	require.ErrorContains(t, err, "COUNTERSIGN_TSA_ANCHOR")
	onBothDatabases(t, func(env *fakeEnv) {
		env.Anchors = anchorer{}
		made, err := env.env.ExecuteActivity(env.AnchorAudit)
		require.NoError(env.t, err)
		var result activities.AnchorResult
		require.NoError(env.t, made.Get(&result))
		assert.Equal(env.t, activities.AnchorResult{Number: 7, Entries: 3}, result)
		env.Anchors = anchorer{errors.New("the time-stamp authority does not respond")}
		_, err = env.env.ExecuteActivity(env.AnchorAudit)
		require.ErrorContains(env.t, err, "the time-stamp authority does not respond")
	})
}
