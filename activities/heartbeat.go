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
	// HeartbeatInterval is the interval between the heartbeats of a running activity.
	HeartbeatInterval = 5 * time.Second
	// HeartbeatTimeout is the time without heartbeats after which the worker is considered dead and the activity is
	// restarted on another worker.
	HeartbeatTimeout = 3 * HeartbeatInterval
	// stallTimeout is the time without progress (see package pulse) after which an activity is restarted on another
	// worker. Otherwise, a hung task would delay its envelope until the activity times out.
	stallTimeout = 5 * time.Minute
)

// KeepAlive is an interceptor that sends heartbeats for running activities. When the worker is stopped, KeepAlive
// returns running activities to Temporal, and another worker restarts them immediately. Deliver does not need
// KeepAlive, because a delivery attempt ends within seconds.
type KeepAlive struct {
	interceptor.WorkerInterceptorBase

	// Grace is the time in which an activity can finish after the worker is stopped, so that an email is not
	// interrupted and then sent twice. It must be shorter than the worker's WorkerStopTimeout, after which nothing is
	// reported to Temporal.
	Grace time.Duration
	// Stall is the time without progress after which an activity is restarted. Zero means stallTimeout.
	Stall time.Duration
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (k *KeepAlive) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &keepAlive{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, grace: k.Grace, stall: cmp.Or(k.Stall, stallTimeout)}
}

type keepAlive struct {
	interceptor.ActivityInboundInterceptorBase

	grace, stall time.Duration
}

// errWorkerStopping is the cancellation cause of activities that are returned to Temporal because the worker is
// stopping.
var errWorkerStopping = errors.New("the worker is stopping")

// errStalled is the cancellation cause of an activity that has made no progress for too long.
var errStalled = errors.New("no progress")

// handBackDelay is the delay after which Temporal assigns the activity to another worker. It cannot be zero, because
// zero means the delay of the retry policy.
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
		default: // the previous signal has not been received yet
		}
	})
	go k.watch(ctx, cancel, progress)
	out, err := k.Next.ExecuteActivity(ctx, in)
	if err != nil && errors.Is(context.Cause(ctx), errWorkerStopping) {
		return nil, sdktemporal.NewApplicationErrorWithOptions("returned to the task queue: "+errWorkerStopping.Error(), "HandedBack", sdktemporal.ApplicationErrorOptions{
			NextRetryDelay: handBackDelay, Category: sdktemporal.ApplicationErrorCategoryBenign, Cause: err,
		})
	}
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return nil, fmt.Errorf("%w for %s: %w", errStalled, k.stall, err)
	}
	return out, err
}

// watch sends heartbeats until ctx ends. It cancels ctx if the activity makes no progress for too long, or if the grace
// period after a worker stop has passed.
func (k *keepAlive) watch(ctx context.Context, cancel context.CancelCauseFunc, progress <-chan struct{}) {
	beat := time.NewTicker(HeartbeatInterval)
	defer beat.Stop()
	stalled := time.NewTimer(k.stall)
	defer stalled.Stop()
	stopping := activity.GetWorkerStopChannel(ctx)
	var over <-chan time.Time // nil until the worker is stopped
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			activity.RecordHeartbeat(ctx)
		case <-progress:
			stalled.Reset(k.stall)
		case <-stalled.C:
			activity.GetLogger(ctx).Error("activity is not making progress; another worker will take over", "for", k.stall)
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
