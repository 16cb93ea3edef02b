package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/temporal"
	"countersign/workflows"
)

// TestTimestamp_WaitsForTheAuthority checks that the time-stamps are added after the authority has been unavailable for
// two days.
func TestTimestamp_WaitsForTheAuthority(t *testing.T) {
	t.Parallel()
	env := newEnvironment(quiet(t))
	start := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	env.SetStartTime(start)
	env.SetWorkflowRunTimeout(30 * 24 * time.Hour)
	a := &activities.Activities{}
	env.RegisterActivity(a)
	tries := 0
	env.OnActivity(a.Timestamp, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) error {
		tries++
		if env.Now().Sub(start) < 48*time.Hour {
			return errors.New("no time-stamp: 503")
		}
		return nil
	})
	env.ExecuteWorkflow(workflows.Timestamp, temporal.EnvelopeInput{AppID: uuid.New(), EnvelopeID: uuid.New()})
	require.NoError(t, env.GetWorkflowError())
	require.Less(t, env.Now().Sub(start), 49*time.Hour, "soon after it is back")
	require.Less(t, tries, 6*49+12, "at most every ten minutes, except at the beginning")
}
