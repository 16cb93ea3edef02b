package activities

import (
	"context"
	"errors"
	"time"

	"countersign/internal/pulse"
	"countersign/models"
	"countersign/store"
	"countersign/temporal"
)

const (
	// bulkBatch is the number of rows per activity. It is small, so that a pause takes effect quickly and the bulk
	// sends of several apps take turns.
	bulkBatch = 50
	// bulkBacklog is the maximum number of envelopes that wait for their workflows to start. While that many envelopes
	// are waiting, no rows are sent, so that Temporal, rather than the database, determines the rate.
	bulkBacklog = 200
	// bulkBacklogWait is the delay before the next batch while the backlog is full.
	bulkBacklogWait = time.Second
)

// BulkStep describes the progress of a bulk send after a batch.
type BulkStep struct {
	Status models.BulkStatus `json:"status"`
	Counts models.BulkCounts `json:"counts"`
	// Wait is the time before the next batch.
	Wait time.Duration `json:"wait,omitempty"`
}

// ChangeBulkInput specifies an operator's change to a bulk send.
type ChangeBulkInput struct {
	temporal.BulkInput

	Action models.BulkAction `json:"action"`
}

// ChangeBulk applies an operator's signal to a bulk send. It ignores a signal that the current status does not allow,
// because the operator can see the status.
func (a *Activities) ChangeBulk(ctx context.Context, in ChangeBulkInput) error {
	_, err := a.Store.ChangeBulkSend(ctx, in.AppID, in.BulkSendID, in.Action, nil)
	if models.IsRejection(err) {
		return nil
	}
	return err
}

// SendBulkRows sends the next rows of a bulk send, and completes the bulk send when no rows are pending. If a row
// cannot be sent, only that row fails. Each row is sent in the transaction that creates its envelope, so a retry of
// the activity does not send it again.
func (a *Activities) SendBulkRows(ctx context.Context, in temporal.BulkInput) (BulkStep, error) {
	began := a.Now()
	work, err := a.Store.BulkWork(ctx, in.AppID, in.BulkSendID, bulkBatch, bulkBacklog)
	if err != nil {
		return BulkStep{}, nonRetryable(err)
	}
	if work.Status != models.BulkRunning {
		return BulkStep{Status: work.Status, Counts: work.Counts}, nil
	}
	if work.Backlog >= bulkBacklog {
		return BulkStep{Status: work.Status, Counts: work.Counts, Wait: bulkBacklogWait}, nil
	}
	rows, wait := rowsWithinRate(work, began)
	if err := a.sendBulkRows(ctx, work, rows); err != nil {
		return BulkStep{}, err
	}
	if len(rows) == work.Counts.Pending {
		if _, err := a.Store.FinishBulkSend(ctx, in.AppID, in.BulkSendID); err != nil {
			return BulkStep{}, err
		}
	}
	after, err := a.Store.BulkSend(ctx, in.AppID, in.BulkSendID)
	if err != nil {
		return BulkStep{}, err
	}
	return BulkStep{Status: after.Status, Counts: after.Counts, Wait: max(0, wait-a.Now().Sub(began))}, nil
}

// rowsWithinRate returns the rows that may be sent now without exceeding the bulk send's limit per minute, and the time until
// the next batch.
func rowsWithinRate(work *store.BulkWork, now time.Time) ([]*models.BulkRow, time.Duration) {
	if work.PerMinute == 0 {
		return work.Rows, 0
	}
	remaining := work.PerMinute - work.Settled
	if remaining <= 0 {
		return nil, max(time.Millisecond, work.SettledSince.Add(time.Minute).Sub(now))
	}
	n := min(len(work.Rows), remaining, max(1, work.PerMinute/6)) // ten seconds' worth of rows, but at least one
	return work.Rows[:n], time.Duration(n) * time.Minute / time.Duration(work.PerMinute)
}

// sendBulkRows sends rows, each as soon as BulkThrottle admits it. It continues after a rejected row, and returns any
// other error, so that the activity is retried.
func (a *Activities) sendBulkRows(ctx context.Context, work *store.BulkWork, rows []*models.BulkRow) error {
	if len(rows) == 0 {
		return nil
	}
	app, err := a.Store.App(ctx, work.AppID)
	if err != nil {
		return err
	}
	of, err := a.Store.Template(ctx, work.AppID, work.TemplateID, work.TemplateVersion)
	if err != nil {
		return err
	}
	documents := a.Store.PlanLimits(app.Plan).Documents
	for _, row := range rows {
		pulse.Beat(ctx)
		if err := a.awaitThrottle(ctx, maxThrottleWait); err != nil {
			return err
		}
		err := a.sendBulkRow(ctx, work.BulkSend, of, row, documents)
		if errors.Is(err, store.ErrBulkRowNotPending) {
			// Another attempt sent the row, or the bulk send was paused or canceled. The next batch reads the new
			// status.
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sendBulkRow sends a row, or records why it cannot be sent. It returns store.ErrBulkRowNotPending if the row is not
// pending.
func (a *Activities) sendBulkRow(ctx context.Context, b *models.BulkSend, of *models.LoadedTemplate, row *models.BulkRow, maxDocuments int) error {
	act := a.systemContext()
	act.Actor = b.Actor
	e, err := b.Envelope(act, of, row, maxDocuments)
	if err == nil {
		err = a.Store.SendBulkRow(ctx, row, e)
	}
	if rejected, ok := errors.AsType[*models.Error](err); ok && models.IsRejection(err) {
		err = a.Store.FailBulkRow(ctx, b.AppID, row, rejected)
	}
	return err
}
