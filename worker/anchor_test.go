package worker_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/activities"
	"countersign/operate/audit"
	"countersign/seal/cms"
	"countersign/store/blob"
	"countersign/temporal"
	"countersign/test/kit"
)

// TestAnchorSchedule_RunsOnce checks on a real Temporal server that the schedule runs immediately, and only once even
// if several workers create it.
func TestAnchorSchedule_RunsOnce(t *testing.T) {
	t.Parallel()
	clock := kit.NewClock()
	s := kit.Store(t, "sqlite", clock.Now)
	blobs, err := blob.OpenDir(t.TempDir())
	require.NoError(t, err)
	c := dial(t)
	tsa := kit.NewTSA(t)
	tsa.Down.Store(true)
	startWorkers(t, c, &activities.Activities{
		Store: s, Blobs: blobs, Now: clock.Now, NewID: uuid.New, Anchors: audit.Anchorer{
			Store: s, Blobs: blobs, Now: clock.Now,
			Authority: &cms.Authority{URL: tsa.URL, Client: &http.Client{Timeout: waitTimeout}, Rand: rand.Reader},
		},
	})

	require.NoError(t, temporal.DeleteAnchorSchedule(t.Context(), c), "a missing schedule is not an error")
	for range 3 {
		require.NoError(t, temporal.EnsureAnchorSchedule(t.Context(), c))
	}
	schedule := c.ScheduleClient().GetHandle(t.Context(), temporal.ScheduleAnchor)
	run := firstRun(t, schedule)
	assert.Contains(t, run, temporal.ScheduleAnchor)
	require.Eventually(t, func() bool {
		d, err := c.DescribeWorkflowExecution(t.Context(), run, "")
		return err == nil && len(d.GetPendingActivities()) == 1 && d.GetPendingActivities()[0].GetLastFailure().GetMessage() != ""
	}, waitTimeout, pollInterval, "operators see the failure")
	last, err := s.LastAnchor(t.Context())
	require.NoError(t, err)
	require.Nil(t, last)
	tsa.Down.Store(false)
	require.Eventually(t, func() bool {
		last, err := s.LastAnchor(t.Context())
		return err == nil && last != nil
	}, waitTimeout, pollInterval)
	require.NoError(t, c.GetWorkflow(t.Context(), run, "").Get(t.Context(), nil))
	d, err := schedule.Describe(t.Context())
	require.NoError(t, err)
	assert.Equal(t, run, d.Info.RecentActions[0].StartWorkflowResult.WorkflowID, "once for all workers")
	require.Len(t, d.Info.NextActionTimes, 10)
	assert.Equal(t, 3, d.Info.NextActionTimes[0].UTC().Hour())
	assert.Equal(t, 24*time.Hour, d.Info.NextActionTimes[1].Sub(d.Info.NextActionTimes[0]))
	assert.Equal(t, enums.SCHEDULE_OVERLAP_POLICY_SKIP, d.Schedule.Policy.Overlap)

	tsa.Down.Store(true)
	require.NoError(t, schedule.Trigger(t.Context(), client.ScheduleTriggerOptions{}))
	waits := ""
	require.Eventually(t, func() bool {
		d, err := schedule.Describe(t.Context())
		if err != nil || len(d.Info.RunningWorkflows) == 0 {
			return false
		}
		waits = d.Info.RunningWorkflows[0].WorkflowID
		return true
	}, waitTimeout, pollInterval)
	require.NoError(t, temporal.DeleteAnchorSchedule(t.Context(), c))
	require.NoError(t, temporal.DeleteAnchorSchedule(t.Context(), c))
	limited, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	err = c.GetWorkflow(limited, waits, "").Get(limited, nil)
	assert.True(t, sdktemporal.IsCanceledError(err), "an activity that waits for the authority must end: %v", err)
	require.Eventually(t, func() bool {
		_, err := schedule.Describe(t.Context())
		return err != nil
	}, waitTimeout, pollInterval)
}

// TestSchedules_FollowTheProgram checks that a schedule created by another version is updated to this version's times,
// and that a paused schedule remains paused.
func TestSchedules_FollowTheProgram(t *testing.T) {
	t.Parallel()
	c := dial(t)
	schedule, err := c.ScheduleClient().Create(t.Context(), client.ScheduleOptions{
		ID: temporal.ScheduleAnchor, Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: 48 * time.Hour}}},
		Action:  &client.ScheduleWorkflowAction{ID: temporal.ScheduleAnchor, Workflow: "Former", TaskQueue: "former", StaticSummary: "Before"},
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL, CatchupWindow: time.Hour, Note: "COUNTERSIGN_FORMER",
	})
	require.NoError(t, err)
	require.NoError(t, schedule.Pause(t.Context(), client.SchedulePauseOptions{Note: "until Monday"}))

	var changed time.Time
	for range 2 {
		require.NoError(t, temporal.EnsureAnchorSchedule(t.Context(), c))
		d, err := schedule.Describe(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []client.ScheduleIntervalSpec{{Every: 24 * time.Hour, Offset: 3 * time.Hour}}, d.Schedule.Spec.Intervals)
		action, ok := d.Schedule.Action.(*client.ScheduleWorkflowAction)
		require.True(t, ok)
		assert.Equal(t, temporal.WorkflowAnchor, action.Workflow)
		assert.Equal(t, temporal.QueueMain, action.TaskQueue)
		assert.Equal(t, "Time-stamps the heads of the audit chains", action.StaticSummary)
		assert.Equal(t, enums.SCHEDULE_OVERLAP_POLICY_SKIP, d.Schedule.Policy.Overlap)
		assert.Equal(t, 24*time.Hour, d.Schedule.Policy.CatchupWindow)
		assert.True(t, d.Schedule.State.Paused)
		assert.Equal(t, "until Monday", d.Schedule.State.Note)
		if !changed.IsZero() {
			assert.Equal(t, changed, d.Info.LastUpdateAt, "no chain has changed since")
		}
		changed = d.Info.LastUpdateAt
	}
}
