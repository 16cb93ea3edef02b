package activities

import (
	"context"

	"countersign/operate/reconcile"
)

// Reconciler starts workflows that are missing.
type Reconciler interface {
	Round(ctx context.Context, from reconcile.Position, pages int) (reconcile.Counts, reconcile.Position, error)
}

// ReconcileRound is the result of one run of the workflow Reconcile.
type ReconcileRound struct {
	Counts reconcile.Counts `json:"counts"`
	// Next is the position at which the next run begins; the zero value is the start of the list.
	Next reconcile.Position `json:"next,omitzero"`
}

// reconcilePages limits the pages of one round, and thereby the calls to Temporal: 200 per page.
const reconcilePages = 20

// Reconcile starts the workflows that the database needs and Temporal does not run, for a bounded part of the unfinished
// work from a position on. It may run twice: a workflow that was started runs, and is not missing.
func (a *Activities) Reconcile(ctx context.Context, from reconcile.Position) (ReconcileRound, error) {
	counts, next, err := a.Reconciler.Round(ctx, from, reconcilePages)
	for work, count := range counts {
		if count.Missing > 0 && a.Restarted != nil {
			a.Restarted(string(work), count.Missing)
		}
	}
	if err == nil {
		err = a.Store.RecordReconcile(ctx, counts.Missing())
	}
	return ReconcileRound{Counts: counts, Next: next}, err
}
