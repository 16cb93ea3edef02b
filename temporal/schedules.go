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

// EnsureAnchorSchedule has the audit trail anchored once and then every day at three,
// UTC, by a schedule that it makes or brings up to date. What was missed for a while is made
// up for once. An anchor that is not done when the next one is due takes its place.
func EnsureAnchorSchedule(ctx context.Context, c client.Client) error {
	every := client.ScheduleIntervalSpec{Every: 24 * time.Hour, Offset: 3 * time.Hour}
	if err := ensureSchedule(ctx, c, ScheduleAnchor, WorkflowAnchor, every, "Heads of audit chains, time-stamped", "COUNTERSIGN_TSA_ANCHOR"); err != nil {
		return fmt.Errorf("schedule the anchors of the audit trail: %w", err)
	}
	return nil
}

// DeleteAnchorSchedule cancels the anchor that is being made, which would ask for ever where no
// worker has a time-stamp authority, and removes the schedule; one that is not there is no error.
// The schedule goes last, so that what was cut off is done by another call.
func DeleteAnchorSchedule(ctx context.Context, c client.Client) error {
	schedule := c.ScheduleClient().GetHandle(ctx, ScheduleAnchor)
	d, err := schedule.Describe(ctx)
	if err == nil {
		for _, run := range d.Info.RunningWorkflows {
			err = errors.Join(err, unlessMissing(c.CancelWorkflow(ctx, run.WorkflowID, "")))
		}
	}
	if err == nil {
		err = schedule.Delete(ctx)
	}
	if err := unlessMissing(err); err != nil {
		return fmt.Errorf("end the anchors of the audit trail: %w", err)
	}
	return nil
}

// unlessMissing is err, unless it says that what was asked for is not there.
func unlessMissing(err error) error {
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return nil
	}
	return err
}

// EnsureCleanupSchedule has old rows removed at once and then every ten minutes, by a
// schedule that it makes or brings up to date. A run that takes longer is not joined by
// another.
func EnsureCleanupSchedule(ctx context.Context, c client.Client) error {
	every := client.ScheduleIntervalSpec{Every: 10 * time.Minute}
	if err := ensureSchedule(ctx, c, ScheduleCleanup, WorkflowCleanup, every, "What is older than it is to be kept", "COUNTERSIGN_HISTORY_DAYS"); err != nil {
		return fmt.Errorf("schedule the cleanup: %w", err)
	}
	return nil
}

// EnsureReconcileSchedule creates or updates the schedule that starts lost workflows: at once and then every three minutes. Runs
// do not overlap. An empty namespace, after Temporal was lost, gets the schedule when a worker starts.
func EnsureReconcileSchedule(ctx context.Context, c client.Client) error {
	every := client.ScheduleIntervalSpec{Every: 3 * time.Minute}
	if err := ensureSchedule(ctx, c, ScheduleReconcile, WorkflowReconcile, every, "Lost workflows", "docs/run/troubleshooting.md"); err != nil {
		return fmt.Errorf("schedule the reconciliation: %w", err)
	}
	return nil
}

// ensureSchedule makes a schedule that runs a workflow at once and then in intervals,
// one run at a time. One that is there becomes what this version of the program makes, and
// stays paused if an operator has paused it. note names the setting that it follows.
func ensureSchedule(ctx context.Context, c client.Client, id, workflow string, every client.ScheduleIntervalSpec, summary, note string) error {
	spec := client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{every}}
	action := &client.ScheduleWorkflowAction{ID: id, Workflow: workflow, TaskQueue: QueueMain, StaticSummary: summary}
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
		if ok && is.Workflow == workflow && is.TaskQueue == QueueMain && is.StaticSummary == summary &&
			slices.Equal(s.Spec.Intervals, spec.Intervals) && s.Policy.Overlap == overlap && s.Policy.CatchupWindow == every.Every {
			return nil, sdktemporal.ErrSkipScheduleUpdate
		}
		s.Spec, s.Action, s.Policy.Overlap, s.Policy.CatchupWindow = &spec, action, overlap, every.Every
		return &client.ScheduleUpdate{Schedule: &s}, nil
	}})
}
