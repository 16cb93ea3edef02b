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
	// BulkSendRequest describes envelopes of one template, one for each row.
	BulkSendRequest = api.BulkSendRequest
	// BulkRow reports the outcome of a row.
	BulkRow = api.BulkRow
)

// SendBulk sends an envelope for each row. It validates all rows before it returns; the envelopes are sent afterwards.
// Use WaitUntilBulkSent to wait for them.
func (c *Client) SendBulk(ctx context.Context, b BulkSendRequest) (*api.BulkSendAccepted, error) {
	b.DryRun = nil
	res, err := c.API.CreateBulkSendWithResponse(ctx, nil, b)
	if err != nil {
		return nil, err
	}
	return answered(res.JSON202, res)
}

// CheckBulk validates rows as SendBulk does, and sends nothing. The Details of the *Error describe their problems:
// {"total", "faultCount", "faults"}.
func (c *Client) CheckBulk(ctx context.Context, b BulkSendRequest) (*api.BulkSendCheck, error) {
	b.DryRun = Ptr(true)
	return Answer(c.API.CreateBulkSendWithResponse(ctx, nil, b))
}

// WaitUntilBulkSent waits until no row is pending, or until the bulk send is canceled. The context limits the time.
// Counts reports how many rows failed.
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

// BulkRows lists the rows of a bulk send in their order, of one status or, with
// "", all. After an error it ends. A row that changes its status while a list of
// one status is read may be missed.
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
