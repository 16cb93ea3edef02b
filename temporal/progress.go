package temporal

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
)

// Workflows asks running workflows.
type Workflows struct{ Client client.Client }

// Progress is how far an envelope's workflow is.
func (w Workflows) Progress(ctx context.Context, envelope uuid.UUID) (Progress, error) {
	var p Progress
	v, err := w.Client.QueryWorkflow(ctx, EnvelopeWorkflowID(envelope), "", QueryProgress)
	if err == nil {
		err = v.Get(&p)
	}
	if err != nil {
		return p, fmt.Errorf("ask the workflow of envelope %s: %w", envelope, err)
	}
	return p, nil
}

// Check reports whether Temporal answers.
func (w Workflows) Check(ctx context.Context) error { return Check(ctx, w.Client) }
