package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/operate/reconcile"
	"countersign/store"
	"countersign/workflows"
)

// TestReconcile_ContinuesWhereTheLastRunEnded checks that a run begins at the position that the previous run returned.
func TestReconcile_ContinuesWhereTheLastRunEnded(t *testing.T) {
	t.Parallel()
	last := reconcile.Position{Work: store.WorkDeliveries, After: uuid.New()}
	next := reconcile.Position{Work: store.WorkBulkSends}
	for _, from := range []reconcile.Position{{}, last} {
		env := newEnvironment(quiet(t))
		env.SetWorkflowRunTimeout(24 * time.Hour)
		a := &activities.Activities{}
		env.RegisterActivity(a)
		if from == last {
			env.SetLastCompletionResult(last)
		}
		env.OnActivity(a.Reconcile, mock.Anything, from).Return(activities.ReconcileRound{}, errors.New("the database is down")).Times(3)
		env.OnActivity(a.Reconcile, mock.Anything, from).Return(activities.ReconcileRound{Next: next}, nil).Once()
		env.ExecuteWorkflow(workflows.Reconcile)
		require.NoError(t, env.GetWorkflowError())
		var result reconcile.Position
		require.NoError(t, env.GetWorkflowResult(&result))
		assert.Equal(t, next, result)
		env.AssertExpectations(t)
	}
}
