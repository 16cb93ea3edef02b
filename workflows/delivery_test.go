package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/activities"
	"countersign/temporal"
	"countersign/webhook"
	"countersign/workflows"
)

// deliver runs a delivery to an endpoint that accepts only the attempt with the given number, or no attempt if the
// number is zero. It returns the wait before each attempt.
func deliver(t *testing.T, schedule string, takes int) (waits []time.Duration, abandoned bool, failed error) {
	t.Helper()
	s, err := webhook.ParseSchedule(schedule)
	require.NoError(t, err)
	env := newEnvironment(quiet(t))
	env.RegisterActivity(acts)
	last := env.Now()
	env.OnActivity(acts.Deliver, mock.Anything, mock.Anything).Return(func(ctx context.Context, in activities.DeliverInput) (activities.DeliverResult, error) {
		waits = append(waits, env.Now().Sub(last).Round(time.Second))
		last = env.Now()
		attempt := int(activity.GetInfo(ctx).Attempt)
		if attempt == takes {
			return activities.DeliverResult{Delivered: true}, nil
		}
		opts := sdktemporal.ApplicationErrorOptions{NonRetryable: attempt == len(in.Delays)} // as in the real activity
		if attempt < len(in.Delays) {
			opts.NextRetryDelay = in.Delays[attempt]
		}
		return activities.DeliverResult{}, sdktemporal.NewApplicationErrorWithOptions("no", "NotDelivered", opts)
	})
	env.OnActivity(acts.AbandonDelivery, mock.Anything, mock.Anything, mock.Anything).Return(func(context.Context, uuid.UUID, int) error {
		abandoned = true
		return nil
	}).Maybe()
	env.ExecuteWorkflow(workflows.Delivery, temporal.DeliveryInput{DeliveryID: uuid.New(), WebhookID: uuid.New(), Delays: s[:]})
	require.True(t, env.IsWorkflowCompleted())
	return waits, abandoned, env.GetWorkflowError()
}

func TestDelivery_FiveFailedAttemptsOnEachSchedule(t *testing.T) {
	t.Parallel()
	for schedule, want := range map[string][]time.Duration{
		"quickstart":     {0, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour},
		"detailed":       {30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour},
		"1s,2s,3s,4s,5s": {time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second},
	} {
		t.Run(schedule, func(t *testing.T) {
			t.Parallel()
			waits, abandoned, err := deliver(t, schedule, 0)
			assert.Equal(t, want, waits)
			assert.True(t, abandoned)
			require.ErrorContains(t, err, "NotDelivered", "operators can find the workflow by its status")
		})
	}
}

func TestDelivery_SucceedsEventually(t *testing.T) {
	t.Parallel()
	waits, abandoned, err := deliver(t, "quickstart", 3)
	require.NoError(t, err)
	assert.Len(t, waits, 3)
	assert.False(t, abandoned)
}

// TestDelivery_NoAttemptWasMade_CountsNone checks that the five attempts do not include interrupted attempts or waiting
// for the concurrency limit. It also checks that the attempt limit passed to Temporal is the number of remaining
// attempts.
func TestDelivery_NoAttemptWasMade_CountsNone(t *testing.T) {
	t.Parallel()
	env := newEnvironment(quiet(t))
	env.RegisterActivity(acts)
	calls, made := 0, 0
	var attempts []int32 // the numbers shown in the Temporal UI
	env.OnActivity(acts.Deliver, mock.Anything, mock.Anything).Return(func(ctx context.Context, in activities.DeliverInput) (activities.DeliverResult, error) {
		attempts = append(attempts, activity.GetInfo(ctx).Attempt)
		switch calls++; {
		case calls == 2: // after the first attempt
			return activities.DeliverResult{Wait: time.Minute, Attempts: made}, nil
		case calls >= 4 && calls <= 7: // interrupted until Temporal has no attempts left
			return activities.DeliverResult{}, errors.New("worker died")
		}
		made++
		return activities.DeliverResult{}, sdktemporal.NewApplicationErrorWithOptions("no", activities.ErrTypeNotDelivered,
			sdktemporal.ApplicationErrorOptions{NonRetryable: made == len(in.Delays), NextRetryDelay: time.Minute})
	})
	env.OnActivity(acts.AbandonDelivery, mock.Anything, mock.Anything, mock.Anything).Return(nil)
	env.ExecuteWorkflow(workflows.Delivery, temporal.DeliveryInput{DeliveryID: uuid.New(), WebhookID: uuid.New(), Delays: make([]time.Duration, 5)})
	require.ErrorContains(t, env.GetWorkflowError(), "NotDelivered")
	assert.Equal(t, 5, made)
	assert.Equal(t, []int32{1, 2, 1, 2, 3, 4, 1, 2, 3, 4}, attempts)
}
