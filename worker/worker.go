// Package worker registers workflows and activities with Temporal and sets their concurrency limits.
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
	"countersign/internal/limit"
	"countersign/temporal"
	"countersign/workflows"
)

// Workers contains the workers of one process, one for each task queue.
type Workers []sdkworker.Worker

// workflowCacheSize is the number of workflows that a process caches between their tasks, at about 50 KB each. Other
// workflows are replayed from their short histories.
const workflowCacheSize = 2000

// Grace periods for running activities when a worker is stopped. Activities that send email get a longer period than
// activities that can safely be repeated. When its grace period ends, an activity is returned to its queue. After
// stopLimit, the process exits.
const (
	stopLimit = 20 * time.Second
	mainGrace = 10 * time.Second
	sealGrace = 2 * time.Second
	bulkGrace = 2 * time.Second
)

// sealingPerCore is the number of concurrent sealing activities for each CPU core. Only one of these activities
// computes a seal at any time. copyLimit is the maximum number of them in a process that send copies, and therefore
// wait for the mail server, at the same time.
const (
	sealingPerCore = 16
	copyLimit      = 8
)

// mailConcurrency and mailConcurrencyPerApp limit the activities that send email concurrently, for the process and for
// one app. The lower limit leaves capacity for other apps if the emails of several apps hang.
const (
	mailConcurrency       = 100
	mailConcurrencyPerApp = 16
)

// bulkBatches is the number of bulk send batches that a process handles concurrently. The remaining CPU time and
// database connections are reserved for other work.
const bulkBatches = 2

// Deployment identifies the workers of one version for Temporal's worker versioning, which assigns workflow tasks to
// the current version. Register specifies which workflows move to the current version. Tests with saved histories
// verify that the moved workflows can continue.
type Deployment struct {
	Name    string // empty to disable versioning
	BuildID string
}

func (d Deployment) options() sdkworker.DeploymentOptions {
	if d.Name == "" {
		return sdkworker.DeploymentOptions{}
	}
	return sdkworker.DeploymentOptions{
		UseVersioning: true, Version: sdkworker.WorkerDeploymentVersion{DeploymentName: d.Name, BuildID: d.BuildID},
	}
}

// New returns the workers without starting them. If gaveUp is not nil, it is called when a worker stops polling, and
// the caller should then end the process. The SDK's workers stop if Temporal has rejected polls for two minutes, for
// example because the namespace is missing.
func New(c client.Client, a *activities.Activities, d Deployment, gaveUp func(error)) Workers {
	sdkworker.SetStickyWorkflowCacheSize(workflowCacheSize)
	if d.BuildID != "" { // each task in a history contains its build ID; the SDK's default is a longer checksum
		sdkworker.SetBinaryChecksum(d.BuildID)
	}
	// options returns the options for a worker with the given concurrency limit. If grace is zero, the worker does not
	// send heartbeats for its activities.
	options := func(concurrent int, grace time.Duration) sdkworker.Options {
		o := sdkworker.Options{
			MaxConcurrentActivityExecutionSize: concurrent, DisableWorkflowWorker: true, WorkerStopTimeout: stopLimit,
			ActivityTaskPollerBehavior: autoscalingPollers(), DeploymentOptions: d.options(), OnFatalError: gaveUp,
		}
		if grace > 0 {
			o.Interceptors = []interceptor.WorkerInterceptor{&activities.KeepAlive{Grace: grace}}
			o.MaxHeartbeatThrottleInterval = activities.HeartbeatInterval
		}
		return o
	}
	forMain := options(100, mainGrace)
	forMain.DisableWorkflowWorker, forMain.WorkflowTaskPollerBehavior, forMain.MaxConcurrentLocalActivityExecutionSize = false, autoscalingPollers(), 100
	main := sdkworker.New(c, temporal.QueueMain, forMain)
	if a.BulkThrottle == nil {
		a.BulkThrottle = &activities.BulkThrottle{}
	}
	if a.SealLimit == nil {
		a.SealLimit = limit.New(int64(runtime.GOMAXPROCS(0)))
	}
	if a.StampLimit == nil {
		a.StampLimit = limit.New(1)
	}
	if a.CopyLimit == nil {
		a.CopyLimit = limit.New(copyLimit)
	}
	if a.MailLimit == nil {
		a.MailLimit = activities.NewMailLimit(mailConcurrencyPerApp, a.Now)
	}
	Register(main, a)
	sealing := sdkworker.New(c, temporal.QueueSeal, options(sealingPerCore*runtime.GOMAXPROCS(0), sealGrace))
	sealing.RegisterActivity(a.Seal)
	sealing.RegisterActivity(a.Timestamp)
	webhooks := sdkworker.New(c, temporal.QueueWebhooks, options(400, 0))
	webhooks.RegisterActivity(a.Deliver)
	forBulk := options(bulkBatches, bulkGrace)
	forBulk.ActivityTaskPollerBehavior = nil // the SDK's default number of pollers is enough for two activities
	bulk := sdkworker.New(c, temporal.QueueBulk, forBulk)
	bulk.RegisterActivity(a.SendBulkRows)
	mail := sdkworker.New(c, temporal.QueueMail, options(mailConcurrency, mainGrace))
	for _, activity := range []any{a.Invite, a.Remind, a.SendCopies, a.SendClosing, a.SendCopiesAgain, a.RemindDeletion, a.NotifySender, a.SendDigest} {
		mail.RegisterActivity(activity)
	}
	return Workers{main, sealing, webhooks, bulk, mail}
}

// autoscalingPollers adjusts the number of pollers to the backlog. A queue has several partitions that are polled
// independently. With the SDK's default of two pollers, a task could wait half a minute in a partition that is not
// being polled.
func autoscalingPollers() sdkworker.PollerBehavior {
	return sdkworker.NewPollerBehaviorAutoscaling(sdkworker.PollerBehaviorAutoscalingOptions{})
}

// Register registers all workflows and activities with r. With worker versioning, most workflows move to the current
// version with their next task, because they can run for days or weeks. Workflows with a limited duration stay with
// their original version if their loss is repaired automatically.
func Register(r sdkworker.Registry, a *activities.Activities) {
	register := func(name string, fn any, behavior workflow.VersioningBehavior) {
		r.RegisterWorkflowWithOptions(fn, workflow.RegisterOptions{Name: name, VersioningBehavior: behavior})
	}
	register(temporal.WorkflowEnvelope, workflows.LinkedEnvelope(a.BaseURL+"/console"), workflow.VersioningBehaviorAutoUpgrade)
	register(temporal.WorkflowDelivery, workflows.Delivery, workflow.VersioningBehaviorAutoUpgrade)
	register(temporal.WorkflowReinvite, workflows.Reinvite, workflow.VersioningBehaviorAutoUpgrade)
	register(temporal.WorkflowCopies, workflows.Copies, workflow.VersioningBehaviorAutoUpgrade)
	register(temporal.WorkflowNotification, workflows.Notification, workflow.VersioningBehaviorAutoUpgrade)
	register(temporal.WorkflowTimestamp, workflows.Timestamp, workflow.VersioningBehaviorAutoUpgrade)
	register(temporal.WorkflowAnchor, workflows.Anchor, workflow.VersioningBehaviorAutoUpgrade)
	register(temporal.WorkflowBulk, workflows.BulkSend, workflow.VersioningBehaviorAutoUpgrade)
	register(temporal.WorkflowDeletion, workflows.DeletionReminder, workflow.VersioningBehaviorPinned)
	register(temporal.WorkflowDigest, workflows.Digest, workflow.VersioningBehaviorPinned)
	register(temporal.WorkflowCleanup, workflows.Cleanup, workflow.VersioningBehaviorPinned)
	register(temporal.WorkflowReconcile, workflows.Reconcile, workflow.VersioningBehaviorPinned)
	r.RegisterActivity(a)
}

// Start starts all workers. If one fails to start, it stops the others.
func (ws Workers) Start() error {
	for i, w := range ws {
		if err := w.Start(); err != nil {
			ws[:i].Stop()
			return fmt.Errorf("start worker: %w", err)
		}
	}
	return nil
}

// Stop stops all workers concurrently. Running activities either finish first or are returned to their queue.
func (ws Workers) Stop() {
	var wg sync.WaitGroup
	for _, w := range ws {
		wg.Go(w.Stop)
	}
	wg.Wait()
}
