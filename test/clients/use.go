// Package clients uses the generated client as an application would: it
// compiles, or the contract is wrong.
package clients

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"countersign/clients/client"
)

// Send sends an envelope and returns its new state.
func Send(ctx context.Context, base, token string, id uuid.UUID) (client.EnvelopeStatus, error) {
	c, err := client.NewClientWithResponses(base, client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}))
	if err != nil {
		return "", err
	}
	res, err := c.SendAnEnvelopeWithResponse(ctx, id, &client.SendAnEnvelopeParams{}, client.SendRequest{})
	if err != nil {
		return "", err
	}
	if res.JSON200 == nil {
		return "", fmt.Errorf("answer %d", res.StatusCode())
	}
	return res.JSON200.Status, nil
}
