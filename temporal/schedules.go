package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// When the audit trail is anchored: every day at three, UTC. What was missed for
// a while is made up for once.
const (
	anchorEvery   = 24 * time.Hour
	anchorOffset  = 3 * time.Hour
	anchorCatchUp = 24 * time.Hour
)

// EnsureAnchorSchedule has the audit trail anchored once and then every day, by a
// schedule that it makes if there is none. An anchor that is not done when the
// next one is due takes its place.
func EnsureAnchorSchedule(ctx context.Context, c client.Client) error {
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:   ScheduleAnchor,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: anchorEvery, Offset: anchorOffset}}},
		Action: &client.ScheduleWorkflowAction{
			ID: ScheduleAnchor, Workflow: WorkflowAnchor, TaskQueue: QueueMain, StaticSummary: "Heads of audit chains, time-stamped",
		},
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: anchorCatchUp, TriggerImmediately: true,
		Note: "COUNTERSIGN_TSA_ANCHOR",
	})
	if err != nil && !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("schedule the anchors of the audit trail: %w", err)
	}
	return nil
}

// DeleteAnchorSchedule removes the schedule; one that is not there is no error.
func DeleteAnchorSchedule(ctx context.Context, c client.Client) error {
	err := c.ScheduleClient().GetHandle(ctx, ScheduleAnchor).Delete(ctx)
	var missing *serviceerror.NotFound
	if err != nil && !errors.As(err, &missing) {
		return fmt.Errorf("end the anchors of the audit trail: %w", err)
	}
	return nil
}

// cleanupEvery is how often it is looked for what is older than it is to be kept.
const cleanupEvery = 10 * time.Minute

// EnsureCleanupSchedule has old rows removed at once and then every ten minutes, by a
// schedule that it makes if there is none. A run that takes longer is not joined by
// another.
func EnsureCleanupSchedule(ctx context.Context, c client.Client) error {
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:   ScheduleCleanup,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: cleanupEvery}}},
		Action: &client.ScheduleWorkflowAction{
			ID: ScheduleCleanup, Workflow: WorkflowCleanup, TaskQueue: QueueMain, StaticSummary: "What is older than it is to be kept",
		},
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: cleanupEvery, TriggerImmediately: true,
		Note: "COUNTERSIGN_HISTORY_DAYS",
	})
	if err != nil && !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("schedule the cleanup: %w", err)
	}
	return nil
}
