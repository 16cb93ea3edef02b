package worker_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"

	"countersign/activities"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
	"countersign/test/kit"
)

// TestCleanupSchedule_RunsEveryTenMinutes checks on a real Temporal server that the cleanup runs immediately and then
// every ten minutes.
func TestCleanupSchedule_RunsEveryTenMinutes(t *testing.T) {
	t.Parallel()
	clock := kit.NewClock()
	s := kit.Store(t, "sqlite", clock.Now)
	blobs, err := blob.OpenDir(t.TempDir())
	require.NoError(t, err)
	_, _, err = s.ClaimKey(t.Context(), store.IdempotentRequest{Scope: "s", Method: "POST", Path: "/", Key: "k", Fingerprint: []byte("f")}, time.Hour)
	require.NoError(t, err)
	clock.Add(2 * time.Hour)
	c := dial(t)
	startWorkers(t, c, &activities.Activities{Store: s, Blobs: blobs, Now: clock.Now, NewID: uuid.New})

	for range 3 {
		require.NoError(t, temporal.EnsureCleanupSchedule(t.Context(), c))
	}
	schedule := c.ScheduleClient().GetHandle(t.Context(), temporal.ScheduleCleanup)
	t.Cleanup(func() { _ = schedule.Delete(t.Context()) }) // other tests may use the namespace
	run := firstRun(t, schedule)
	require.NoError(t, c.GetWorkflow(t.Context(), run, "").Get(t.Context(), nil))
	db, err := s.DB()
	require.NoError(t, err)
	var left int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM idempotency_keys").Scan(&left))
	assert.Zero(t, left)
	d, err := schedule.Describe(t.Context())
	require.NoError(t, err)
	assert.Equal(t, run, d.Info.RecentActions[0].StartWorkflowResult.WorkflowID, "once for all workers")
	require.NotEmpty(t, d.Info.NextActionTimes)
	assert.Equal(t, 10*time.Minute, d.Info.NextActionTimes[1].Sub(d.Info.NextActionTimes[0]))
	assert.Equal(t, enums.SCHEDULE_OVERLAP_POLICY_SKIP, d.Schedule.Policy.Overlap)
}
