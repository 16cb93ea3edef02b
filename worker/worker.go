// Package worker registers workflows and activities with Temporal and tunes
// how many run at once; nothing else.
package worker

import (
	"fmt"
	"runtime"
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

// cached is how many workflows a process keeps in memory between their steps,
// some 50 KB each; others are replayed from their short histories.
const cached = 2000

// stopLimit is how long activities in flight may take to end.
const stopLimit = 20 * time.Second

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
	sdkworker.SetStickyWorkflowCacheSize(cached)
	alive := []interceptor.WorkerInterceptor{&activities.KeepAlive{}}
	main := sdkworker.New(c, temporal.QueueMain, sdkworker.Options{
		MaxConcurrentActivityExecutionSize: 100, WorkerStopTimeout: stopLimit, DeploymentOptions: d.options(),
		Interceptors: alive, MaxHeartbeatThrottleInterval: activities.Heartbeat,
	})
	Register(main, a)
	sealing := sdkworker.New(c, temporal.QueueSeal, sdkworker.Options{
		MaxConcurrentActivityExecutionSize: runtime.GOMAXPROCS(0), DisableWorkflowWorker: true, WorkerStopTimeout: stopLimit,
		DeploymentOptions: d.options(),
		Interceptors:      alive, MaxHeartbeatThrottleInterval: activities.Heartbeat,
	})
	sealing.RegisterActivity(a.Seal)
	sealing.RegisterActivity(a.Timestamp)
	webhooks := sdkworker.New(c, temporal.QueueWebhooks, sdkworker.Options{
		MaxConcurrentActivityExecutionSize: 400, DisableWorkflowWorker: true, WorkerStopTimeout: stopLimit,
		DeploymentOptions: d.options(),
	})
	webhooks.RegisterActivity(a.Deliver)
	return Workers{main, sealing, webhooks}
}

// Register makes all workflows and activities known to r.
func Register(r sdkworker.Registry, a *activities.Activities) {
	r.RegisterWorkflowWithOptions(workflows.Envelope, workflow.RegisterOptions{Name: temporal.WorkflowEnvelope})
	r.RegisterWorkflowWithOptions(workflows.Delivery, workflow.RegisterOptions{Name: temporal.WorkflowDelivery})
	r.RegisterWorkflowWithOptions(workflows.Reinvite, workflow.RegisterOptions{Name: temporal.WorkflowReinvite})
	r.RegisterWorkflowWithOptions(workflows.Retention, workflow.RegisterOptions{Name: temporal.WorkflowRetain})
	r.RegisterWorkflowWithOptions(workflows.Timestamp, workflow.RegisterOptions{Name: temporal.WorkflowStamp})
	r.RegisterWorkflowWithOptions(workflows.Anchor, workflow.RegisterOptions{Name: temporal.WorkflowAnchor})
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

// Stop stops them; activities in flight may end first.
func (ws Workers) Stop() {
	for _, w := range ws {
		w.Stop()
	}
}
