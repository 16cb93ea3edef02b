package countersign

import (
	"context"
	"iter"

	"github.com/google/uuid"

	"countersign/clients/go/api"
)

type (
	// BulkSend reports the progress of a bulk send.
	BulkSend = api.BulkSend
	// BulkSendRequest describes the envelopes to create from one template, with one row per envelope.
	BulkSendRequest = api.BulkSendRequest
	// BulkRow reports the result for one row.
	BulkRow = api.BulkRow
)

// SendBulk sends one envelope for each row. It returns once all rows have been validated, and the envelopes are sent
// afterwards. Use WaitUntilBulkSent to wait for them.
func (c *Client) SendBulk(ctx context.Context, b BulkSendRequest) (*api.BulkSendAccepted, error) {
	b.DryRun = nil
	res, err := c.API.CreateBulkSendWithResponse(ctx, nil, b)
	if err != nil {
		return nil, err
	}
	return answered(res.JSON202, res)
}

// CheckBulk validates rows in the same way as SendBulk, but sends nothing. The Details of the *Error describe the
// problems found: {"total", "faultCount", "faults"}.
func (c *Client) CheckBulk(ctx context.Context, b BulkSendRequest) (*api.BulkSendCheck, error) {
	b.DryRun = Ptr(true)
	return Answer(c.API.CreateBulkSendWithResponse(ctx, nil, b))
}

// WaitUntilBulkSent waits until no row is pending or the bulk send is canceled. ctx limits the waiting time. The Counts
// field of the result contains the number of failed rows.
func (c *Client) WaitUntilBulkSent(ctx context.Context, id uuid.UUID) (*BulkSend, error) {
	for wait := firstPoll; ; wait = min(wait*3/2, maxPoll) {
		b, err := Answer(c.API.GetBulkSendWithResponse(ctx, id))
		if err != nil {
			return nil, err
		}
		switch b.Status {
		case api.BulkStatusCompleted, api.BulkStatusCancelled:
			return b, nil
		case api.BulkStatusQueued, api.BulkStatusRunning, api.BulkStatusPaused:
		}
		if err := sleep(ctx, wait); err != nil {
			return b, err
		}
	}
}

// BulkRows iterates over the rows of a bulk send, in order. It returns rows with the given status, or all rows if
// status is "". It stops after an error. If it returns only rows with a given status, it may miss a row whose status
// changes during the iteration.
func (c *Client) BulkRows(ctx context.Context, id uuid.UUID, status api.BulkRowStatus) iter.Seq2[*BulkRow, error] {
	return func(yield func(*BulkRow, error) bool) {
		params := &api.ListBulkSendRowsParams{PageSize: Ptr(100), Status: Optional(status)}
		for {
			list, err := Answer(c.API.ListBulkSendRowsWithResponse(ctx, id, params))
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range list.Data {
				if !yield(&list.Data[i], nil) {
					return
				}
			}
			if params.Cursor = list.NextCursor; params.Cursor == nil {
				return
			}
		}
	}
}
