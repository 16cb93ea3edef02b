package activities_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/operate/reconcile"
	"countersign/store"
	"countersign/test/kit"
)

// fakeReconciler returns the same results in every round.
type fakeReconciler struct {
	counts reconcile.Counts
	next   reconcile.Position
	err    error
}

func (r *fakeReconciler) Round(context.Context, reconcile.Position, int) (reconcile.Counts, reconcile.Position, error) {
	return r.counts, r.next, r.err
}

// TestReconcile_CountsRestartedWorkflows checks that missing workflows are counted by kind, even if the round fails
// afterwards, and that running workflows are not counted.
func TestReconcile_CountsRestartedWorkflows(t *testing.T) {
	t.Parallel()
	failed := errors.New("no answer")
	r := &fakeReconciler{counts: reconcile.Counts{store.WorkEnvelopes: {Unfinished: 5, Missing: 2}, store.WorkClosings: {Unfinished: 3}}, err: failed}
	restarted := map[string]int{}
	clock := kit.NewClock()
	s := kit.Store(t, "sqlite", clock.Now)
	a := &activities.Activities{Store: s, Reconciler: r, Restarted: func(kind string, n int) { restarted[kind] += n }}
	round, err := a.Reconcile(t.Context(), reconcile.Position{})
	require.ErrorIs(t, err, failed)
	require.Equal(t, r.counts, round.Counts)
	require.Equal(t, map[string]int{string(store.WorkEnvelopes): 2}, restarted)
	lag, err := s.Lag(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, lag.Reconciled.IsZero(), "a failed round is not recorded")
	a.Restarted, r.err = nil, nil
	_, err = a.Reconcile(t.Context(), reconcile.Position{})
	require.NoError(t, err, "no metric must be increased")
	lag, err = s.Lag(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, int64(2), lag.Lost)
	require.Equal(t, clock.Now(), lag.Reconciled.UTC())
}
