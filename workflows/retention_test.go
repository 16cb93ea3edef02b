package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"countersign/activities"
	"countersign/temporal"
	"countersign/workflows"
)

// TestRetention skips through the months: reminders 14, 7 and 1 days before, then the purge.
func TestRetention(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		keep    int // days
		remind  []int
		looks   []int // the days before the end on which it is checked again who has only a link; after the last it is known
		fails   bool
		expects []string // day.what
	}{
		"ninety days":          {keep: 90, remind: []int{14, 7, 1}, expects: []string{"76 remind 14", "83 remind 7", "89 remind 1", "90 purge"}},
		"ten days":             {keep: 10, remind: []int{14, 7, 1}, expects: []string{"3 remind 7", "9 remind 1", "10 purge"}},
		"everybody has a copy": {keep: 30, remind: []int{}, expects: []string{"30 purge"}},
		"seen later":           {keep: 90, remind: []int{14, 7, 1}, looks: []int{14}, expects: []string{"76 remind 14", "83 remind 7", "89 remind 1", "90 purge"}},
		"nobody later, either": {keep: 30, remind: []int{}, looks: []int{14, 7, 1}, expects: []string{"30 purge"}},
		"seen a week before":   {keep: 30, remind: []int{14, 7, 1}, looks: []int{14, 7}, expects: []string{"23 remind 7", "29 remind 1", "30 purge"}},
		"seen on the last day": {keep: 30, remind: []int{14, 7, 1}, looks: []int{14, 7, 1}, expects: []string{"29 remind 1", "30 purge"}},
		"mail server is down":  {keep: 10, remind: []int{7, 1}, fails: true, expects: []string{"10 purge"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var suite testsuite.WorkflowTestSuite
			suite.SetLogger(quiet(t))
			env := newEnvironment(&suite)
			env.SetStartTime(start)
			a := &activities.Activities{}
			env.RegisterActivity(a)
			until := start.AddDate(0, 0, test.keep)
			plan := activities.RetentionPlan{Until: &until, RemindDays: test.remind}
			for _, days := range test.looks {
				at := until.AddDate(0, 0, -days).Add(-time.Hour)
				env.OnActivity(a.LoadRetention, mock.Anything, mock.Anything).Return(activities.RetentionPlan{Until: &until, RemindDays: []int{}, LookAgainAt: &at}, nil).Once()
			}
			env.OnActivity(a.LoadRetention, mock.Anything, mock.Anything).Return(plan, nil)
			var happened []string
			note := func(what string) {
				happened = append(happened, fmt.Sprintf("%d %s", int(env.Now().Sub(start).Hours()/24), what))
			}
			env.OnActivity(a.RemindDeletion, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.RemindDeletionInput) error {
				if test.fails {
					return errors.New("no mail server")
				}
				note(fmt.Sprintf("remind %d", in.Days))
				return nil
			})
			env.OnActivity(a.Purge, mock.Anything, mock.Anything).Return(func(context.Context, temporal.EnvelopeInput) error {
				note("purge")
				return nil
			})
			env.ExecuteWorkflow(workflows.Retention, temporal.EnvelopeInput{AppID: uuid.New(), EnvelopeID: uuid.New()})
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, test.expects, happened)
		})
	}
}
