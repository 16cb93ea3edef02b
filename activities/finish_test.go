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
)

// TestFinish: what the mail server does not take is left to SendCopies, and a seal that was
// recorded is not made again.
func TestFinish(t *testing.T) {
	t.Parallel()
	onBoth(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com", "b@example.com")
		env.signAll(e)
		got, err := env.Finish(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.Finished{Status: models.StatusCompleted, Copied: true}, got)
		assert.Len(env.t, env.mails.mails, 2)
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		assert.Len(env.t, env.mails.mails, 2, "each has one")
	})
	onBoth(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com", "b@example.com")
		env.signAll(e)
		env.mails.fail = errors.New("451 later")
		got, err := env.Finish(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.Finished{Status: models.StatusCompleted}, got)
		runs := env.sealer.n
		env.mails.fail = nil
		got, err = env.Finish(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.Finished{Status: models.StatusCompleted, Copied: true}, got)
		assert.Equal(env.t, runs, env.sealer.n)
		assert.Len(env.t, env.mails.mails, 2)
	})
	onBoth(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.signAll(e)
		late, cancel := context.WithTimeout(env.t.Context(), 18*time.Second)
		defer cancel()
		got, err := env.Finish(late, in)
		require.NoError(env.t, err)
		assert.Equal(env.t, activities.Finished{Status: models.StatusCompleted}, got)
		assert.Empty(env.t, env.mails.mails, "the activity could end before the mail has gone out")
	})
	onBoth(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.signAll(e)
		env.sealer.fail = errors.New("no key")
		_, err := env.Finish(env.t.Context(), in)
		require.ErrorContains(env.t, err, "no key")
		assert.Empty(env.t, env.mails.mails)
	})
}

// TestSealSlots: a slow mail server keeps no document from being sealed, and no more are
// sealed at a time than there are slots.
func TestSealSlots(t *testing.T) {
	t.Parallel()
	onBoth(t, func(env *fakeEnv) {
		env.SealSlots = make(chan struct{}, 1)
		first, one := env.sent("a@example.com")
		second, two := env.sent("b@example.com")
		env.signAll(first)
		env.signAll(second)
		sending, send := make(chan struct{}), make(chan struct{})
		env.mails.meanwhile = func() {
			select {
			case sending <- struct{}{}:
				<-send
			case <-send:
			}
		}
		env.sealer.meanwhile = func() { assert.Len(env.t, env.SealSlots, 1) }
		done := make(chan error, 1)
		go func() {
			_, err := env.Finish(env.t.Context(), one)
			done <- err
		}()
		<-sending
		status, err := env.Seal(env.t.Context(), two)
		require.NoError(env.t, err)
		assert.Equal(env.t, models.StatusCompleted, status)
		close(send)
		require.NoError(env.t, <-done)
		assert.Empty(env.t, env.SealSlots)
	})
}

// TestAHangingTimestampAuthorityHoldsUpNoSeal: one that is asked for the time-stamps of one
// envelope keeps no other from being sealed, and no activity waits for another's answer.
func TestAHangingTimestampAuthorityHoldsUpNoSeal(t *testing.T) {
	t.Parallel()
	onBoth(t, func(env *fakeEnv) {
		env.SealSlots, env.StampSlots = make(chan struct{}, 1), make(chan struct{}, 1)
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
		status, err := env.Seal(limited, two)
		require.NoError(env.t, err)
		assert.Equal(env.t, models.StatusCompleted, status)
		err = env.Timestamp(limited, two)
		busy, is := errors.AsType[*sdktemporal.ApplicationError](err)
		require.True(env.t, is, "it does not wait: %v", err)
		assert.Equal(env.t, "StampsBusy", busy.Type())
		assert.False(env.t, busy.NonRetryable())
		close(answer)
		require.ErrorContains(env.t, <-done, "not renewed here")
		assert.Empty(env.t, env.StampSlots)
	})
}

// TestInviteGroup: whom the mail server does not take yet is named; the others have their mail.
func TestInviteGroup(t *testing.T) {
	t.Parallel()
	onBoth(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com", "b@example.com", "c@example.com")
		var ids []uuid.UUID
		for _, s := range e.Signers {
			ids = append(ids, s.ID)
		}
		group := activities.GroupInput{EnvelopeInput: in, SignerIDs: ids}
		env.mails.later = "b@example.com"
		again, err := env.InviteGroup(env.t.Context(), group)
		require.NoError(env.t, err)
		assert.Equal(env.t, ids[1:2], again)
		assert.Len(env.t, env.mails.mails, 2)
		assert.Equal(env.t, 2, env.events(e, models.EventInvitationSent))
		env.mails.later = ""
		again, err = env.InviteGroup(env.t.Context(), group)
		require.NoError(env.t, err)
		assert.Empty(env.t, again)
		assert.Len(env.t, env.mails.mails, 3, "each has one")
		env.change(e, func(e *models.Envelope) error { return e.Void(env.act(), nil) })
		group.EnvelopeID = uuid.New()
		_, err = env.InviteGroup(env.t.Context(), group)
		require.Error(env.t, err)
	})
}
