package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/internal/pulse"
)

const (
	// HeartbeatInterval is the interval of the heartbeats of a running activity.
	HeartbeatInterval = 5 * time.Second
	// HeartbeatTimeout is the time without heartbeats after which the worker is considered dead and another one
	// restarts the activity.
	HeartbeatTimeout = 3 * HeartbeatInterval
	// StallTimeout is the time without progress (see package pulse) after which another worker restarts an activity, so
	// that a hung task does not delay its envelope until the activity's timeout.
	StallTimeout = 5 * time.Minute
)

// KeepAlive makes a worker send the heartbeats of its activities, and hand back running ones when it is stopped:
// another worker restarts them immediately. Deliver does not need it: it ends within seconds.
type KeepAlive struct {
	interceptor.WorkerInterceptorBase

	// Grace is the time in which an activity can finish after the worker is stopped, so that an email being sent is not
	// sent again. It must be shorter than the worker's WorkerStopTimeout, after which nothing is reported to Temporal.
	Grace time.Duration
	// Stall is the time without progress after which an activity is restarted; 0: StallTimeout.
	Stall time.Duration
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (k *KeepAlive) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &keepAlive{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, grace: k.Grace, stall: cmp.Or(k.Stall, StallTimeout)}
}

type keepAlive struct {
	interceptor.ActivityInboundInterceptorBase

	grace, stall time.Duration
}

// errWorkerStopping is why an activity is cancelled that is to be handed back.
var errWorkerStopping = errors.New("the worker stops")

// errStalled is why an activity is canceled that has made no progress for too long.
var errStalled = errors.New("no progress")

// handBackDelay is the delay after which Temporal assigns the activity to another worker. Zero would mean the delay of
// the retry policy.
const handBackDelay = time.Millisecond

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (k *keepAlive) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if activity.GetInfo(ctx).IsLocalActivity {
		return k.Next.ExecuteActivity(ctx, in)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	progress := make(chan struct{}, 1)
	ctx = pulse.With(ctx, func() {
		select {
		case progress <- struct{}{}:
		default: // the last one was not seen yet
		}
	})
	go k.watch(ctx, cancel, progress)
	out, err := k.Next.ExecuteActivity(ctx, in)
	if err != nil && errors.Is(context.Cause(ctx), errWorkerStopping) {
		return nil, sdktemporal.NewApplicationErrorWithOptions("handed back: "+errWorkerStopping.Error(), "HandedBack", sdktemporal.ApplicationErrorOptions{
			NextRetryDelay: handBackDelay, Category: sdktemporal.ApplicationErrorCategoryBenign, Cause: err,
		})
	}
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return nil, fmt.Errorf("%w for %s: %w", errStalled, k.stall, err)
	}
	return out, err
}

// watch sends heartbeats until ctx ends, as long as the activity makes progress. It cancels ctx after too long without
// progress, and some time after the worker was stopped.
func (k *keepAlive) watch(ctx context.Context, cancel context.CancelCauseFunc, progress <-chan struct{}) {
	beat := time.NewTicker(HeartbeatInterval)
	defer beat.Stop()
	stalled := time.NewTimer(k.stall)
	defer stalled.Stop()
	stopping := activity.GetWorkerStopChannel(ctx)
	var over <-chan time.Time // nil until then
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			activity.RecordHeartbeat(ctx)
		case <-progress:
			stalled.Reset(k.stall)
		case <-stalled.C:
			activity.GetLogger(ctx).Error("activity makes no progress; another worker takes it over", "for", k.stall)
			cancel(errStalled)
			return
		case <-stopping:
			stopping, over = nil, time.After(k.grace)
		case <-over:
			cancel(errWorkerStopping)
			return
		}
	}
}
