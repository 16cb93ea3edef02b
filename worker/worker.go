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

// Workers are the workers of one process, one for each task queue.
type Workers []sdkworker.Worker

// workflowCacheSize is the number of workflows that a process caches between their steps, at some 50 KB each; others
// are replayed from their short histories.
const workflowCacheSize = 2000

// Grace periods for running activities when a worker is stopped. Activities that send email get a longer period than
// activities that can be repeated without harm. Then they are returned to the queue. After the limit the process ends.
const (
	stopLimit = 20 * time.Second
	mainGrace = 10 * time.Second
	sealGrace = 2 * time.Second
	bulkGrace = 2 * time.Second
)

// sealingPerCore is the number of activities of the sealing queue per activity that seals. The others send copies, up
// to copyLimit of which can wait for the mail server.
const (
	sealingPerCore = 16
	copyLimit      = 8
)

// A process sends the emails of mailSlots activities at the same time, and of mailSlotsPerApp activities of one app, so
// that several apps with hanging emails leave slots to the others.
const (
	mailSlots       = 100
	mailSlotsPerApp = 16
)

// bulkBatches is the number of batches of bulk sends that a process handles concurrently. The rest of the processor
// time and of the database connections is reserved for other work.
const bulkBatches = 2

// Deployment identifies the workers of one version for Temporal's worker versioning, which gives workflow tasks to the
// current version. Register defines the workflows that move to it; the saved histories prove that they can.
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
	}
}

// New returns the workers without starting them. gaveUp, if not nil, is called when one of them stops polling. The
// SDK's workers stop after Temporal has rejected polls for two minutes, for example because the namespace is missing.
// The caller should then end the process.
func New(c client.Client, a *activities.Activities, d Deployment, gaveUp func(error)) Workers {
	sdkworker.SetStickyWorkflowCacheSize(workflowCacheSize)
	if d.BuildID != "" { // each task of a history names its build; the SDK's default is a longer checksum
		sdkworker.SetBinaryChecksum(d.BuildID)
	}
	// options returns options for a worker limited to concurrent activities. With a zero grace period it sends no
	// heartbeats for them.
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
	if a.BulkPace == nil {
		a.BulkPace = &activities.BulkPace{}
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
		a.MailLimit = activities.NewMailLimit(mailSlotsPerApp, a.Now)
	}
	Register(main, a)
	sealing := sdkworker.New(c, temporal.QueueSeal, options(sealingPerCore*runtime.GOMAXPROCS(0), sealGrace))
	sealing.RegisterActivity(a.Seal)
	sealing.RegisterActivity(a.Timestamp)
	webhooks := sdkworker.New(c, temporal.QueueWebhooks, options(400, 0))
	webhooks.RegisterActivity(a.Deliver)
	forBulk := options(bulkBatches, bulkGrace)
	forBulk.ActivityTaskPollerBehavior = nil // two activities need only the SDK's default number of pollers
	bulk := sdkworker.New(c, temporal.QueueBulk, forBulk)
	bulk.RegisterActivity(a.SendBulkRows)
	mail := sdkworker.New(c, temporal.QueueMail, options(mailSlots, mainGrace))
	for _, activity := range []any{a.Invite, a.Remind, a.SendCopies, a.SendClosing, a.SendCopiesAgain, a.RemindDeletion, a.NotifySender, a.SendDigest} {
		mail.RegisterActivity(activity)
	}
	return Workers{main, sealing, webhooks, bulk, mail}
}

// autoscalingPollers adapts the number of pollers to the backlog. A queue has several partitions, each with its own
// order. With the SDK's default of two pollers, a task could wait half a minute in a partition that is not polled.
func autoscalingPollers() sdkworker.PollerBehavior {
	return sdkworker.NewPollerBehaviorAutoscaling(sdkworker.PollerBehaviorAutoscalingOptions{})
}

// Register registers all workflows and activities with r. With worker versioning, workflows move to the current version
// with their next task: an envelope lives for weeks, and the failure of a mail server prolongs other workflows by days.
// Only workflows with a limited duration, whose loss is repaired automatically, stay with their original version.
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

// Start starts all workers, or none if one fails.
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
