// Package reconcile compares what the database says is unfinished with the
// workflows that run, and has those started that do not: after Temporal was lost,
// or the database was restored.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"countersign/models"
	"countersign/temporal"
)

// Store is the reconciler's side of the store.
type Store interface {
	Unfinished(ctx context.Context, kind models.OutboxKind, after uuid.UUID, n int) ([]models.OutboxRow, error)
	Requeue(ctx context.Context, rows []models.OutboxRow) error
}

// Reconciler starts the workflows that are missing.
type Reconciler struct {
	Store  Store
	Client client.Client
	// DryRun only counts.
	DryRun bool
}

// Count is what was found of one kind of workflow.
type Count struct {
	Unfinished int `json:"unfinished"`
	Started    int `json:"started"` // had no running workflow
}

const (
	pageSize    = 200
	concurrency = 16 // questions to Temporal at the same time
	callTimeout = 8 * time.Second
)

// Kinds are the outbox rows that start the workflows that are looked for, with the names that
// operators read.
var Kinds = []struct {
	Kind models.OutboxKind
	Name string
}{
	{models.OutboxStart, "envelopes"},
	{models.OutboxRetention, "retentions"},
	{models.OutboxTimestamp, "timestamps"},
	{models.OutboxDeliver, "deliveries"},
	{models.OutboxBulk, "bulk_sends"},
	{models.OutboxCopies, "copies"},
}

// Run looks at all kinds. What was started up to an error stays started, and it
// can be run again at any time.
func (r *Reconciler) Run(ctx context.Context) (map[models.OutboxKind]Count, error) {
	out := make(map[models.OutboxKind]Count)
	for _, k := range Kinds {
		kind := k.Kind
		var sum Count
		for after := uuid.Nil; ; {
			rows, err := r.Store.Unfinished(ctx, kind, after, pageSize)
			if err != nil {
				return out, err
			}
			lost, err := r.withoutWorkflow(ctx, rows)
			if err == nil && !r.DryRun {
				err = r.Store.Requeue(ctx, lost)
			}
			if err != nil {
				return out, err
			}
			sum.Unfinished += len(rows)
			sum.Started += len(lost)
			out[kind] = sum
			if len(rows) < pageSize {
				break
			}
			after = rows[len(rows)-1].ListedBy()
		}
	}
	return out, nil
}

// withoutWorkflow are the rows whose workflow does not run.
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
	switch row.Kind { //nolint:exhaustive // those that are looked at
	case models.OutboxTimestamp:
		id = temporal.TimestampWorkflowID(row.Key)
	case models.OutboxRetention:
		id = temporal.RetentionWorkflowID(row.Key)
	case models.OutboxDeliver:
		id = temporal.DeliveryWorkflowID(row.Key, row.Refs.Resend)
	case models.OutboxBulk:
		id = temporal.BulkWorkflowID(row.Key)
	case models.OutboxCopies:
		id = temporal.CopiesWorkflowID(row.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	d, err := r.Client.DescribeWorkflowExecution(ctx, id, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at workflow %s: %w", id, err)
	}
	return d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}
