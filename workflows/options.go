package workflows

import (
	"math"
	"time"

	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/temporal"
)

// activityOptions returns the options for an activity that is retried until it succeeds. The parameter limit is the
// time limit for each attempt. The heartbeat timeout detects a worker that has died.
func activityOptions(summary string, limit time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: limit, HeartbeatTimeout: activities.HeartbeatTimeout, RetryPolicy: retryForever(time.Minute), Summary: summary,
	}
}

// localOptions returns the options for a local activity that makes a short database query.
func localOptions(summary string) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: 365 * 24 * time.Hour, StartToCloseTimeout: 10 * time.Second, RetryPolicy: retryForever(time.Minute), Summary: summary,
	}
}

// mailOptions returns the options for an activity that sends emails. Email has a separate task queue, so that a hanging
// mail server does not delay other work. The time limit covers the emails to all recipients. Each individual email has
// a shorter limit.
func mailOptions(summary string) workflow.ActivityOptions {
	opts := activityOptions(summary, 10*time.Minute)
	opts.TaskQueue = temporal.QueueMail
	return opts
}

// retryForever returns a retry policy with the given maximum delay between two attempts. The number of attempts is
// unlimited, because a signature must not be lost if a server is down overnight.
func retryForever(longest time.Duration) *sdktemporal.RetryPolicy {
	return &sdktemporal.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: longest,
		MaximumAttempts: math.MaxInt32, // not 0 (no limit), which the SDK's test environment interprets as 10
	}
}

func execute(ctx workflow.Context, opts workflow.ActivityOptions, activity, in any) workflow.Future {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), activity, in)
}
