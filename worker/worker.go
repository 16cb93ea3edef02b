// Package worker registers workflows and activities with Temporal and tunes
// how many run at once; nothing else.
package worker

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/temporal"
	"countersign/workflows"
)

// Workers are the workers of one process, one for each task queue.
type Workers []sdkworker.Worker

// workflowCacheSize is how many workflows a process keeps in memory between their steps,
// some 50 KB each; others are replayed from their short histories.
const workflowCacheSize = 2000

// When a worker is stopped, running activities may end by themselves for a
// while: what talks to a mail server longer than what can be begun again without
// harm. Then they are handed back; after the limit the process ends.
const (
	stopLimit = 20 * time.Second
	mainGrace = 10 * time.Second
	sealGrace = 2 * time.Second
	bulkGrace = 2 * time.Second
)

// finishing is how many activities of the sealing queue a process takes for each that it seals:
// the others send copies, which waits for the mail server.
const finishing = 16

// bulkBatches is how many batches of bulk sends a process works on at a time: what they
// leave of the processor and of the connections to the database is for everything else.
const bulkBatches = 2

// Deployment names the workers of one version to Temporal's worker versioning,
// which gives workflow tasks to the version that was made current. Workflows move
// on to a new version with their next task; the saved histories show that they can.
type Deployment struct {
	Name    string // "": no versioning
	BuildID string
}

func (d Deployment) options() sdkworker.DeploymentOptions {
	if d.Name == "" {
		return sdkworker.DeploymentOptions{}
	}
	return sdkworker.DeploymentOptions{
		UseVersioning: true, Version: sdkworker.WorkerDeploymentVersion{DeploymentName: d.Name, BuildID: d.BuildID},
		DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
	}
}

// New makes the workers without starting them.
func New(c client.Client, a *activities.Activities, d Deployment) Workers {
	sdkworker.SetStickyWorkflowCacheSize(workflowCacheSize)
	alive := func(grace time.Duration) []interceptor.WorkerInterceptor {
		return []interceptor.WorkerInterceptor{&activities.KeepAlive{Grace: grace}}
	}
	main := sdkworker.New(c, temporal.QueueMain, sdkworker.Options{
		WorkflowTaskPollerBehavior: autoscalingPollers(), ActivityTaskPollerBehavior: autoscalingPollers(),
		MaxConcurrentActivityExecutionSize: 100, MaxConcurrentLocalActivityExecutionSize: 100, WorkerStopTimeout: stopLimit, DeploymentOptions: d.options(),
		Interceptors: alive(mainGrace), MaxHeartbeatThrottleInterval: activities.HeartbeatInterval,
	})
	if a.BulkRoom == nil {
		a.BulkRoom = &activities.BulkRoom{}
	}
	if a.SealSlots == nil {
		a.SealSlots = make(chan struct{}, runtime.GOMAXPROCS(0))
	}
	Register(main, a)
	sealing := sdkworker.New(c, temporal.QueueSeal, sdkworker.Options{
		ActivityTaskPollerBehavior:         autoscalingPollers(),
		MaxConcurrentActivityExecutionSize: finishing * runtime.GOMAXPROCS(0), DisableWorkflowWorker: true, WorkerStopTimeout: stopLimit,
		DeploymentOptions: d.options(),
		Interceptors:      alive(sealGrace), MaxHeartbeatThrottleInterval: activities.HeartbeatInterval,
	})
	sealing.RegisterActivity(a.Finish)
	sealing.RegisterActivity(a.Seal)
	sealing.RegisterActivity(a.Timestamp)
	webhooks := sdkworker.New(c, temporal.QueueWebhooks, sdkworker.Options{
		ActivityTaskPollerBehavior:         autoscalingPollers(),
		MaxConcurrentActivityExecutionSize: 400, DisableWorkflowWorker: true, WorkerStopTimeout: stopLimit,
		DeploymentOptions: d.options(),
	})
	webhooks.RegisterActivity(a.Deliver)
	bulk := sdkworker.New(c, temporal.QueueBulk, sdkworker.Options{
		MaxConcurrentActivityExecutionSize: bulkBatches, DisableWorkflowWorker: true, WorkerStopTimeout: stopLimit,
		DeploymentOptions: d.options(),
		Interceptors:      alive(bulkGrace), MaxHeartbeatThrottleInterval: activities.HeartbeatInterval,
	})
	bulk.RegisterActivity(a.SendBulkRows)
	return Workers{main, sealing, webhooks, bulk}
}

// autoscalingPollers lets their number follow the backlog. A queue has several
// partitions, and takes turns in each by itself: with the two pollers that are
// the SDK's default, a task could wait half a minute in a partition that is not polled.
func autoscalingPollers() sdkworker.PollerBehavior {
	return sdkworker.NewPollerBehaviorAutoscaling(sdkworker.PollerBehaviorAutoscalingOptions{})
}

// Register makes all workflows and activities known to r.
func Register(r sdkworker.Registry, a *activities.Activities) {
	r.RegisterWorkflowWithOptions(workflows.Envelope, workflow.RegisterOptions{Name: temporal.WorkflowEnvelope})
	r.RegisterWorkflowWithOptions(workflows.Delivery, workflow.RegisterOptions{Name: temporal.WorkflowDelivery})
	r.RegisterWorkflowWithOptions(workflows.Reinvite, workflow.RegisterOptions{Name: temporal.WorkflowReinvite})
	r.RegisterWorkflowWithOptions(workflows.Copies, workflow.RegisterOptions{Name: temporal.WorkflowCopies})
	r.RegisterWorkflowWithOptions(workflows.Retention, workflow.RegisterOptions{Name: temporal.WorkflowRetention})
	r.RegisterWorkflowWithOptions(workflows.Timestamp, workflow.RegisterOptions{Name: temporal.WorkflowTimestamp})
	r.RegisterWorkflowWithOptions(workflows.Anchor, workflow.RegisterOptions{Name: temporal.WorkflowAnchor})
	r.RegisterWorkflowWithOptions(workflows.Cleanup, workflow.RegisterOptions{Name: temporal.WorkflowCleanup})
	r.RegisterWorkflowWithOptions(workflows.BulkSend, workflow.RegisterOptions{Name: temporal.WorkflowBulk})
	r.RegisterActivity(a)
}

// Start starts all workers, or none.
func (ws Workers) Start() error {
	for i, w := range ws {
		if err := w.Start(); err != nil {
			ws[:i].Stop()
			return fmt.Errorf("start worker: %w", err)
		}
	}
	return nil
}

// Stop stops them all at the same time; activities in flight end first, or are
// handed back.
func (ws Workers) Stop() {
	var wg sync.WaitGroup
	for _, w := range ws {
		wg.Go(w.Stop)
	}
	wg.Wait()
}
