package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

const (
	// Heartbeat is how often a running activity says that it is alive.
	Heartbeat = 5 * time.Second
	// Silence is how long none may be heard before its worker is taken for dead
	// and another one starts it again.
	Silence = 3 * Heartbeat
)

// KeepAlive makes a worker send the heartbeats of its activities. It is not for
// Deliver, which keeps something in its own.
type KeepAlive struct {
	interceptor.WorkerInterceptorBase
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (*KeepAlive) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &keepAlive{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type keepAlive struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (k *keepAlive) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if activity.GetInfo(ctx).IsLocalActivity {
		return k.Next.ExecuteActivity(ctx, in)
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		t := time.NewTicker(Heartbeat)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return k.Next.ExecuteActivity(ctx, in)
}
