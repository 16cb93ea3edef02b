package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"

	"countersign/activities"
	"countersign/internal/pulse"
)

// TestHandBack_NotLocalActivities checks that KeepAlive does not cancel local activities, because the worker itself
// ends them.
func TestHandBack_NotLocalActivities(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(sdkworker.Options{Interceptors: []interceptor.WorkerInterceptor{&activities.KeepAlive{Grace: time.Millisecond}}})
	stop := make(chan struct{})
	close(stop)
	env.SetWorkerStopChannel(stop)
	_, err := env.ExecuteLocalActivity(func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond): // much longer than the grace period
			return nil
		}
	})
	require.NoError(t, err)
}

// TestHandBack_AfterTheGracePeriod checks that an activity that is running when the worker stops is canceled after the
// grace period and returned to Temporal. An activity that fails on its own returns its own error, and one that ends in
// time succeeds.
func TestHandBack_AfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	run := func(stop chan struct{}, work func(context.Context) error) error {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.SetWorkerOptions(sdkworker.Options{Interceptors: []interceptor.WorkerInterceptor{&activities.KeepAlive{Grace: 50 * time.Millisecond}}})
		env.SetWorkerStopChannel(stop)
		env.RegisterActivityWithOptions(work, activity.RegisterOptions{Name: "Work"})
		_, err := env.ExecuteActivity("Work")
		return err
	}
	var failed *sdktemporal.ApplicationError
	require.ErrorAs(t, run(make(chan struct{}), func(context.Context) error { return errors.New("disk full") }), &failed)
	assert.Contains(t, failed.Error(), "disk full")
	assert.NotEqual(t, "HandedBack", failed.Type())

	stop := make(chan struct{})
	close(stop)
	require.NoError(t, run(stop, func(context.Context) error { return nil }))
	began := time.Now()
	err := run(stop, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "HandedBack", failed.Type())
	assert.False(t, failed.NonRetryable())
	assert.Positive(t, failed.NextRetryDelay())
	assert.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond, "the activity had its grace period")

	// An activity that fails within the grace period has failed.
	require.ErrorAs(t, run(stop, func(context.Context) error { return errors.New("disk full") }), &failed)
	assert.NotEqual(t, "HandedBack", failed.Type())
}

// TestKeepAlive_StalledActivity_IsCanceled checks that a stalled activity is canceled and retried, and that an
// activity that reports progress continues.
func TestKeepAlive_StalledActivity_IsCanceled(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 5*time.Minute, activities.Stall((&activities.KeepAlive{}).InterceptActivity(t.Context(), nil)))
	const stall = 200 * time.Millisecond
	run := func(work func(context.Context) error) error {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.SetWorkerOptions(sdkworker.Options{Interceptors: []interceptor.WorkerInterceptor{&activities.KeepAlive{Grace: time.Minute, Stall: stall}}})
		env.RegisterActivityWithOptions(work, activity.RegisterOptions{Name: "Work"})
		_, err := env.ExecuteActivity("Work")
		return err
	}
	err := run(func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	require.ErrorContains(t, err, "no progress")
	var failed *sdktemporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	assert.False(t, failed.NonRetryable())

	require.NoError(t, run(func(ctx context.Context) error {
		tick, end := time.NewTicker(stall/10), time.After(3*stall)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
				pulse.Beat(ctx)
			case <-end:
				return nil
			}
		}
	}))
}
