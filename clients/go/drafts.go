package countersign

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"countersign/clients/go/api"
)

// AddSigner adds a signer to a draft.
func (c *Client) AddSigner(ctx context.Context, id uuid.UUID, s SignerRequest) (*Signer, error) {
	res, err := c.API.AddASignerWithResponse(ctx, id, nil, s)
	if err != nil {
		return nil, err
	}
	return answered(res.JSON201, res)
}

// AddFields adds fields to a draft, all or none. A field that stands at texts of
// the document (Anchor) may become several or none, so that more or fewer come back.
func (c *Client) AddFields(ctx context.Context, id uuid.UUID, fields ...FieldRequest) ([]Field, error) {
	var body api.FieldOrListRequest
	if err := body.FromFieldOrListRequest1(fields); err != nil {
		return nil, fmt.Errorf("countersign: write fields: %w", err)
	}
	res, err := c.API.AddAFieldWithResponse(ctx, id, nil, body)
	if err != nil {
		return nil, err
	}
	added, err := answered(res.JSON201, res)
	if err != nil {
		return nil, err
	}
	list, err := added.AsFieldOrList1()
	if err != nil {
		return nil, fmt.Errorf("countersign: read fields: %w", err)
	}
	return list, nil
}
