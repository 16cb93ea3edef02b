package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/workflows"
)

// TestAnchor_WaitsForTheAuthority checks that anchoring succeeds after the time-stamp authority has been unavailable
// for two days.
func TestAnchor_WaitsForTheAuthority(t *testing.T) {
	t.Parallel()
	env := newEnvironment(quiet(t))
	start := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	env.SetStartTime(start)
	env.SetWorkflowRunTimeout(30 * 24 * time.Hour)
	a := &activities.Activities{}
	env.RegisterActivity(a)
	env.OnActivity(a.AnchorAudit, mock.Anything).Return(func(context.Context) (activities.AnchorResult, error) {
		if env.Now().Sub(start) < 48*time.Hour {
			return activities.AnchorResult{}, errors.New("no time-stamp: 503")
		}
		return activities.AnchorResult{Number: 7, Entries: 3}, nil
	})
	env.ExecuteWorkflow(workflows.Anchor)
	require.NoError(t, env.GetWorkflowError())
	require.Less(t, env.Now().Sub(start), 49*time.Hour, "soon after the authority responds again")
}
