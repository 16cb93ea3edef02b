package activities_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/activities"
	"countersign/internal/limit"
	"countersign/models"
	"countersign/temporal"
)

// TestSeal_AlsoSendsCopies checks that Seal leaves rejected copies to SendCopies, and that it does not repeat a
// recorded seal.
func TestSeal_AlsoSendsCopies(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com", "b@example.com")
		env.signAll(e)
		got, err := env.Seal(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.Sealed{Status: models.StatusCompleted, Copied: true}, got)
		assert.Len(env.t, env.mails.mails, 2)
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		assert.Len(env.t, env.mails.mails, 2, "each recipient has received one email")
	})
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com", "b@example.com")
		env.signAll(e)
		env.mails.fail = errors.New("451 later")
		got, err := env.Seal(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.Sealed{Status: models.StatusCompleted}, got)
		runs := env.sealer.n
		env.mails.fail = nil
		got, err = env.Seal(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.Sealed{Status: models.StatusCompleted, Copied: true}, got)
		assert.Equal(env.t, runs, env.sealer.n)
		assert.Len(env.t, env.mails.mails, 2)
	})
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.signAll(e)
		late, cancel := context.WithTimeout(env.t.Context(), 18*time.Second)
		defer cancel()
		got, err := env.Seal(late, in)
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.Sealed{Status: models.StatusCompleted}, got)
		assert.Empty(env.t, env.mails.mails, "the activity may end before the email is sent")
	})
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.signAll(e)
		env.sealer.fail = errors.New("no key")
		_, err := env.Seal(env.t.Context(), in)
		require.ErrorContains(env.t, err, "no key")
		assert.Empty(env.t, env.mails.mails)
	})
}

func isFree(l *limit.Limit) bool {
	release, ok := l.TryAcquire(1)
	if ok {
		release()
	}
	return ok
}

// TestSeal_ConcurrencyLimit checks that the number of envelopes being sealed concurrently stays within the limit, and
// that a slow mail server does not delay sealing.
func TestSeal_ConcurrencyLimit(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		env.SealLimit, env.CopyLimit = limit.New(1), limit.New(1)
		first, one := env.sent("a@example.com")
		second, two := env.sent("b@example.com")
		env.signAll(first)
		env.signAll(second)
		sending, send := make(chan struct{}), make(chan struct{})
		env.mails.onSend = func() {
			select {
			case sending <- struct{}{}:
				<-send
			case <-send:
			}
		}
		env.sealer.onSeal = func() { assert.False(env.t, isFree(env.SealLimit)) }
		done := make(chan error, 1)
		go func() {
			_, err := env.Seal(env.t.Context(), one)
			done <- err
		}()
		<-sending
		sealed, err := env.Seal(env.t.Context(), two)
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.Sealed{Status: models.StatusCompleted}, sealed, "its copies do not wait for the mail server in this activity")
		close(send)
		require.NoError(env.t, <-done)
		assert.True(env.t, isFree(env.SealLimit))
	})
}

// TestTimestamp_HangingAuthorityDelaysNoSeal checks that a hanging time-stamp authority does not delay the sealing of
// other envelopes.
func TestTimestamp_HangingAuthorityDelaysNoSeal(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		env.SealLimit, env.StampLimit = limit.New(1), limit.New(1)
		env.sealer.pending = true
		first, one := env.sent("a@example.com")
		second, two := env.sent("b@example.com")
		env.signAll(first)
		env.signAll(second)
		_, err := env.Seal(env.t.Context(), one)
		require.NoError(env.t, err)
		asked, answer := make(chan struct{}), make(chan struct{})
		env.sealer.renewing = func() {
			asked <- struct{}{}
			<-answer
		}
		done := make(chan error, 1)
		go func() { done <- env.Timestamp(env.t.Context(), one) }()
		<-asked
		limited, cancel := context.WithTimeout(env.t.Context(), time.Minute)
		defer cancel()
		status, err := env.seal(limited, two)
		require.NoError(env.t, err)
		assert.Equal(env.t, models.StatusCompleted, status)
		err = env.Timestamp(limited, two)
		busy, is := errors.AsType[*sdktemporal.ApplicationError](err)
		require.True(env.t, is, "the request does not wait for the limit: %v", err)
		assert.Equal(env.t, "StampsBusy", busy.Type())
		assert.False(env.t, busy.NonRetryable())
		close(answer)
		require.ErrorContains(env.t, <-done, "renewal is not simulated")
		assert.True(env.t, isFree(env.StampLimit))
	})
}

// TestInvite_SendsFourMailsAtATime checks that exactly four emails are sent concurrently.
func TestInvite_SendsFourMailsAtATime(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		const atOnce = 4
		e, in := env.sent("a@example.com", "b@example.com", "c@example.com", "d@example.com", "e@example.com", "f@example.com", "g@example.com")
		group := activities.InviteInput{EnvelopeInput: in}
		for _, s := range e.Signers {
			group.SignerIDs = append(group.SignerIDs, s.ID)
		}
		var sending, most atomic.Int32
		var first, more sync.Once
		full, over := make(chan struct{}), make(chan struct{})
		env.mails.onSend = func() {
			n := sending.Add(1)
			defer sending.Add(-1)
			for was := most.Load(); n > was; was = most.Load() {
				if most.CompareAndSwap(was, n) {
					break
				}
			}
			if n == atOnce {
				first.Do(func() { close(full) })
			}
			if n > atOnce {
				more.Do(func() { close(over) })
			}
			select {
			case <-full:
			case <-time.After(10 * time.Second):
				assert.Fail(env.t, "fewer seals run at the same time")
			}
			select { // allow enough time for a fifth email to be sent
			case <-over:
			case <-time.After(50 * time.Millisecond):
			}
		}
		require.NoError(env.t, env.Activities.Invite(env.t.Context(), group))
		assert.EqualValues(env.t, atOnce, most.Load())
		assert.Len(env.t, env.mails.mails, 7)
	})
}

// TestInvite_OneUnreachableRecipient checks that an unreachable recipient does not affect emails to the others, and
// that a retry sends no duplicates.
func TestInvite_OneUnreachableRecipient(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com", "b@example.com", "c@example.com")
		var ids []uuid.UUID
		for _, s := range e.Signers {
			ids = append(ids, s.ID)
		}
		group := activities.InviteInput{EnvelopeInput: in, SignerIDs: ids}
		env.mails.deferred = "b@example.com"
		require.Error(env.t, env.Activities.Invite(env.t.Context(), group))
		assert.Len(env.t, env.mails.mails, 2)
		assert.Equal(env.t, 2, env.events(e, models.EventInvitationSent))
		env.mails.deferred = ""
		require.NoError(env.t, env.Activities.Invite(env.t.Context(), group))
		assert.Len(env.t, env.mails.mails, 3, "each recipient has received one email")
		group.EnvelopeID = uuid.New()
		require.Error(env.t, env.Activities.Invite(env.t.Context(), group))
	})
}

// TestMailLimit_HangingAppLeavesCapacity checks that an app whose emails hang does not delay other apps.
func TestMailLimit_HangingAppLeavesCapacity(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		env.MailLimit = activities.NewMailLimit(1, env.Now)
		e, in := env.sent("a@example.com")
		other, _, err := env.Store.CreateApp(env.t.Context(), "Other", models.PlanEnterprise, nil)
		require.NoError(env.t, err)
		sending, send := make(chan struct{}), make(chan struct{})
		env.mails.onSend = func() { close(sending); <-send }
		done := make(chan error, 1)
		go func() {
			done <- env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID})
		}()
		<-sending
		err = env.SendClosing(env.t.Context(), in)
		busy, is := errors.AsType[*sdktemporal.ApplicationError](err)
		require.True(env.t, is, "%v", err)
		assert.Equal(env.t, "MailBusy", busy.Type())
		assert.Positive(env.t, busy.NextRetryDelay())
		err = env.SendClosing(env.t.Context(), temporal.EnvelopeInput{AppID: other.ID, EnvelopeID: uuid.New()})
		require.ErrorContains(env.t, err, "not_found", "another app must still have a slot")
		env.mails.onSend = nil
		close(send)
		require.NoError(env.t, <-done)
		require.NoError(env.t, env.SendClosing(env.t.Context(), in))
	})
}
