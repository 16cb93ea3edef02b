package activities

import (
	"context"

	"countersign/operate/reconcile"
)

// Reconciler starts workflows that are missing.
type Reconciler interface {
	Round(ctx context.Context, from reconcile.Position, pages int) (reconcile.Counts, reconcile.Position, error)
}

// ReconcileRound is the result of one run of the Reconcile workflow.
type ReconcileRound struct {
	Counts reconcile.Counts `json:"counts"`
	// Next is the position at which the next run begins. The zero value is the start of the list.
	Next reconcile.Position `json:"next,omitzero"`
}

// reconcilePages limits the number of pages in one round. Each page causes up to 200 calls to Temporal.
const reconcilePages = 20

// Reconcile starts workflows that the database requires but that Temporal is not running. Each round checks a limited
// part of the unfinished work, beginning at the given position. Running it twice is safe, because a started workflow is
// no longer missing.
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
