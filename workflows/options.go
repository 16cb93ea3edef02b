package workflows

import (
	"math"
	"time"

	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/temporal"
)

// activityOptions returns the options of an activity that is retried until it succeeds. limit limits each attempt. The
// heartbeat timeout detects a dead worker.
func activityOptions(summary string, limit time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: limit, HeartbeatTimeout: activities.HeartbeatTimeout, RetryPolicy: retryForever(time.Minute), Summary: summary,
	}
}

// localOptions returns the options of a short read of the database, as a local activity.
func localOptions(summary string) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 365 * 24 * time.Hour, StartToCloseTimeout: 10 * time.Second, RetryPolicy: retryForever(time.Minute), Summary: summary,
	}
}

// mailOptions returns the options of an activity that sends emails. Email has a separate task queue, so that a hanging
// server does not delay other work. The limit is for the emails of all recipients; each email has a shorter one.
func mailOptions(summary string) workflow.ActivityOptions {
	opts := activityOptions(summary, 10*time.Minute)
	opts.TaskQueue = temporal.QueueMail
	return opts
}

// retryForever returns a policy without a limit: a signature must not be lost because a server is down overnight.
// longest limits the delay between two attempts.
func retryForever(longest time.Duration) *sdktemporal.RetryPolicy {
	return &sdktemporal.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: longest,
		MaximumAttempts: math.MaxInt32, // the SDK's test environment interprets 0, which means no limit, as 10
	}
}

// execute starts an activity.
func execute(ctx workflow.Context, opts workflow.ActivityOptions, activity, in any) workflow.Future {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), activity, in)
}
