// Package reconcile compares the unfinished work in the database with the workflows that Temporal is running. It
// starts missing workflows, for example after a workflow was terminated, Temporal lost its data, or the database was
// restored.
package reconcile

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"countersign/internal/pulse"
	"countersign/models"
	"countersign/store"
	"countersign/temporal"
)

// Store lists unfinished work and queues missing workflows to be started.
type Store interface {
	Unfinished(ctx context.Context, work store.Work, after uuid.UUID, n int) (rows []models.OutboxRow, next uuid.UUID, err error)
	Requeue(ctx context.Context, rows []models.OutboxRow) error
}

// Reconciler starts missing workflows.
type Reconciler struct {
	Store  Store
	Client client.Client
	// DryRun counts missing workflows without starting them.
	DryRun bool
}

// Count is the result for one kind of work.
type Count struct {
	Unfinished int `json:"unfinished"`
	// Missing is the number of unfinished items without a running workflow. Unless DryRun is set, these workflows were
	// started.
	Missing int `json:"missing"`
}

// Counts holds the results for each kind of work.
type Counts map[store.Work]Count

// Missing returns the total number of missing workflows.
func (c Counts) Missing() int {
	total := 0
	for _, work := range Order { // in a fixed order, because the workflow calls this method
		total += c[work].Missing
	}
	return total
}

// Position is a position in the list of all unfinished work. The zero value is the beginning of the list.
type Position struct {
	Work  store.Work `json:"work,omitempty"`
	After uuid.UUID  `json:"after,omitzero"`
}

// Order lists the kinds of work in the order of examination.
var Order = store.AllWork

const (
	pageSize    = 200
	concurrency = 16 // concurrent calls to Temporal
	callTimeout = 8 * time.Second
)

// Run examines all unfinished work. If it returns an error, the workflows that it already started keep running, and it
// can be called again at any time.
func (r *Reconciler) Run(ctx context.Context) (Counts, error) {
	counts, _, err := r.Round(ctx, Position{}, math.MaxInt)
	return counts, err
}

// Round examines up to the given number of pages of unfinished work, beginning at the given position. Each page has up
// to 200 items. It returns the position at which the next round begins, which is the zero value after the last page.
func (r *Reconciler) Round(ctx context.Context, from Position, pages int) (Counts, Position, error) {
	out := make(Counts)
	for _, work := range Order[max(0, slices.Index(Order, from.Work)):] {
		at := Position{Work: work}
		if work == from.Work {
			at = from
		}
		for more := true; more; pages-- {
			if pages == 0 {
				return out, at, nil
			}
			pulse.Beat(ctx)
			count, next, err := r.page(ctx, at)
			if err != nil {
				return out, at, err
			}
			out[work] = Count{Unfinished: out[work].Unfinished + count.Unfinished, Missing: out[work].Missing + count.Missing}
			at.After, more = next, next != uuid.Nil
		}
	}
	return out, Position{}, nil
}

// page examines the page that follows a position, and starts its missing workflows.
func (r *Reconciler) page(ctx context.Context, at Position) (count Count, next uuid.UUID, err error) {
	rows, next, err := r.Store.Unfinished(ctx, at.Work, at.After, pageSize)
	if err != nil {
		return Count{}, uuid.Nil, err
	}
	missing, err := r.withoutWorkflow(ctx, rows)
	if err == nil && len(missing) > 0 {
		missing, err = r.stillUnfinished(ctx, at, missing)
	}
	if err == nil && !r.DryRun {
		err = r.Store.Requeue(ctx, missing)
	}
	return Count{Unfinished: len(rows), Missing: len(missing)}, next, err
}

// stillUnfinished returns the rows that a second query still lists as unfinished. The other rows were finished in the
// meantime by a workflow that has ended.
func (r *Reconciler) stillUnfinished(ctx context.Context, at Position, rows []models.OutboxRow) ([]models.OutboxRow, error) {
	again, _, err := r.Store.Unfinished(ctx, at.Work, at.After, pageSize)
	return slices.DeleteFunc(rows, func(row models.OutboxRow) bool {
		return !slices.ContainsFunc(again, func(a models.OutboxRow) bool { return a.ListedBy() == row.ListedBy() })
	}), err
}

// withoutWorkflow returns the rows without a running workflow.
func (r *Reconciler) withoutWorkflow(ctx context.Context, rows []models.OutboxRow) ([]models.OutboxRow, error) {
	var calls errgroup.Group
	calls.SetLimit(concurrency)
	running := make([]bool, len(rows))
	for i, row := range rows {
		calls.Go(func() (err error) {
			running[i], err = r.running(ctx, row)
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, err
	}
	var out []models.OutboxRow
	for i, row := range rows {
		if !running[i] {
			out = append(out, row)
		}
	}
	return out, nil
}

func (r *Reconciler) running(ctx context.Context, row models.OutboxRow) (bool, error) {
	id := temporal.EnvelopeWorkflowID(row.Key)
	switch row.Kind { //nolint:exhaustive // the kinds with a separate workflow
	case models.OutboxTimestamp:
		id = temporal.TimestampWorkflowID(row.Key)
	case models.OutboxDeliver:
		id = temporal.DeliveryWorkflowID(row.Key, row.Refs.Resend)
	case models.OutboxBulk:
		id = temporal.BulkWorkflowID(row.Key)
	case models.OutboxReinvite: // reminders only; renewed links are listed with their envelopes
		id = temporal.ReinviteWorkflowID(row.ID)
	case models.OutboxCopies:
		id = temporal.CopiesWorkflowID(row.ID)
	case models.OutboxNotify:
		id = temporal.NotificationWorkflowID(row.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return temporal.Running(ctx, r.Client, id)
}
