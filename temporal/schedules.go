package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"
)

// EnsureAnchorSchedule creates or updates the schedule that anchors the audit trail. The schedule runs when it is
// created, and then every day at 03:00 UTC. A single run makes up for all missed runs.
func EnsureAnchorSchedule(ctx context.Context, c client.Client) error {
	every := client.ScheduleIntervalSpec{Every: 24 * time.Hour, Offset: 3 * time.Hour}
	if err := ensureSchedule(ctx, c, ScheduleAnchor, WorkflowAnchor, every, 0, "Time-stamps the heads of the audit chains", "COUNTERSIGN_TSA_ANCHOR"); err != nil {
		return fmt.Errorf("schedule the anchoring of the audit trail: %w", err)
	}
	return nil
}

// DeleteAnchorSchedule cancels the running anchor workflow and removes the schedule. Without a worker that has a
// time-stamp authority, the workflow would retry forever. A missing schedule is not an error. The schedule is removed
// last, so that repeating an interrupted call completes it.
func DeleteAnchorSchedule(ctx context.Context, c client.Client) error {
	schedule := c.ScheduleClient().GetHandle(ctx, ScheduleAnchor)
	d, err := schedule.Describe(ctx)
	if err == nil {
		for _, run := range d.Info.RunningWorkflows {
			err = errors.Join(err, ignoreNotFound(c.CancelWorkflow(ctx, run.WorkflowID, "")))
		}
	}
	if err == nil {
		err = schedule.Delete(ctx)
	}
	if err := ignoreNotFound(err); err != nil {
		return fmt.Errorf("stop anchoring the audit trail: %w", err)
	}
	return nil
}

// ignoreNotFound returns err, or nil if err means that the object does not exist.
func ignoreNotFound(err error) error {
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return nil
	}
	return err
}

// EnsureCleanupSchedule creates or updates the schedule that removes old rows. The schedule runs when it is created,
// and then every ten minutes. Runs do not overlap.
func EnsureCleanupSchedule(ctx context.Context, c client.Client) error {
	every := client.ScheduleIntervalSpec{Every: 10 * time.Minute}
	if err := ensureSchedule(ctx, c, ScheduleCleanup, WorkflowCleanup, every, 6*time.Hour, "Deletes data after its retention period", "COUNTERSIGN_HISTORY_DAYS"); err != nil {
		return fmt.Errorf("schedule the cleanup: %w", err)
	}
	return nil
}

// EnsureReconcileSchedule creates or updates the schedule that starts lost workflows. The schedule runs when it is
// created, and then every three minutes. Runs do not overlap. Workers call this function at startup, so that a new
// namespace has the schedule after Temporal's data was lost.
func EnsureReconcileSchedule(ctx context.Context, c client.Client) error {
	every := client.ScheduleIntervalSpec{Every: 3 * time.Minute}
	if err := ensureSchedule(ctx, c, ScheduleReconcile, WorkflowReconcile, every, 15*time.Minute, "Restarts lost workflows", "docs/run/troubleshooting.md"); err != nil {
		return fmt.Errorf("schedule the reconciliation: %w", err)
	}
	return nil
}

// ScheduleState reports whether a schedule exists, and whether it is paused.
func ScheduleState(ctx context.Context, c client.Client, id string) (exists, paused bool, err error) {
	d, err := c.ScheduleClient().GetHandle(ctx, id).Describe(ctx)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("describe schedule %s: %w", id, err)
	}
	return true, d.Schedule.State.Paused, nil
}

// ensureSchedule creates a schedule that runs a workflow immediately and then at intervals, one run at a time. It
// updates an existing schedule to match this version of the program, and leaves a paused schedule paused. The note
// states the setting on which the schedule depends. The limit is the maximum duration of a run, or zero for no limit.
// It ends a hanging run, for example one whose version no longer has any workers.
func ensureSchedule(ctx context.Context, c client.Client, id, workflow string, every client.ScheduleIntervalSpec, limit time.Duration, summary, note string) error {
	spec := client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{every}}
	action := &client.ScheduleWorkflowAction{ID: id, Workflow: workflow, TaskQueue: QueueMain, StaticSummary: summary, WorkflowRunTimeout: limit}
	const overlap = enums.SCHEDULE_OVERLAP_POLICY_SKIP
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: id, Spec: spec, Action: action, Overlap: overlap, CatchupWindow: every.Every, TriggerImmediately: true, Note: note,
	})
	if !errors.Is(err, sdktemporal.ErrScheduleAlreadyRunning) {
		return err
	}
	return c.ScheduleClient().GetHandle(ctx, id).Update(ctx, client.ScheduleUpdateOptions{DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
		s := in.Description.Schedule
		is, ok := s.Action.(*client.ScheduleWorkflowAction)
		if ok && is.Workflow == workflow && is.TaskQueue == QueueMain && is.StaticSummary == summary && is.WorkflowRunTimeout == limit &&
			slices.Equal(s.Spec.Intervals, spec.Intervals) && s.Policy.Overlap == overlap && s.Policy.CatchupWindow == every.Every {
			return nil, sdktemporal.ErrSkipScheduleUpdate
		}
		s.Spec, s.Action, s.Policy.Overlap, s.Policy.CatchupWindow = &spec, action, overlap, every.Every
		return &client.ScheduleUpdate{Schedule: &s}, nil
	}})
}
