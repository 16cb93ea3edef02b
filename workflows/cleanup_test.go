package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/workflows"
)

// TestCleanup_RunsUntilNothingRemains checks that rounds continue despite failures, and that a run ends even if more
// rows always remain.
func TestCleanup_RunsUntilNothingRemains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rounds, want int }{{1, 1}, {3, 3}, {1 << 30, 200}} {
		env := newEnvironment(quiet(t))
		env.SetWorkflowRunTimeout(24 * time.Hour)
		a := &activities.Activities{}
		env.RegisterActivity(a)
		calls, done := 0, 0
		env.OnActivity(a.Cleanup, mock.Anything).Return(func(context.Context) (activities.CleanupRound, error) {
			if calls++; calls == 1 {
				return activities.CleanupRound{}, errors.New("the database is down")
			}
			done++
			return activities.CleanupRound{Removed: []activities.RemovedRows{{Kind: "deliveries", Rows: 5}, {Kind: "mails", Rows: 1}}, More: done < c.rounds}, nil
		})
		env.ExecuteWorkflow(workflows.Cleanup)
		require.NoError(t, env.GetWorkflowError())
		assert.Equal(t, c.want, done)
	}
}
