package workflows

import (
	"math"
	"time"

	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
)

// activityOptions are those of an activity that is retried until it succeeds.
// limit bounds each attempt. The heartbeat timeout notices a worker that has died.
func activityOptions(summary string, limit time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: limit, HeartbeatTimeout: activities.HeartbeatTimeout, RetryPolicy: retryForever(time.Minute), Summary: summary,
	}
}

// localOptions are those of a short read of the database, as a local activity.
func localOptions(summary string) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 365 * 24 * time.Hour, StartToCloseTimeout: 10 * time.Second, RetryPolicy: retryForever(time.Minute), Summary: summary,
	}
}

// onceOptions are those of a local activity that is tried once, and for what it does not
// come to has an activity that can be retried and watched follow. Where it takes seconds
// the SDK keeps the workflow task, in which it runs, alive.
func onceOptions(summary string, limit time.Duration) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{StartToCloseTimeout: limit, RetryPolicy: &sdktemporal.RetryPolicy{MaximumAttempts: 1}, Summary: summary}
}

// retryForever never gives up: a signature that was given must not be lost because
// a server is down for a night. longest bounds the delay between two attempts.
func retryForever(longest time.Duration) *sdktemporal.RetryPolicy {
	return &sdktemporal.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: longest,
		MaximumAttempts: math.MaxInt32, // the SDK's test environment takes 0, which means no limit, for 10
	}
}

// execute starts an activity.
func execute(ctx workflow.Context, opts workflow.ActivityOptions, activity, in any) workflow.Future {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), activity, in)
}
