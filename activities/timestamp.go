package activities

import (
	"context"

	"countersign/operate/renewal"
	"countersign/store"
	"countersign/temporal"
)

// Timestamp adds the time-stamps that the authority did not give when the
// documents of an envelope were sealed.
func (a *Activities) Timestamp(ctx context.Context, in temporal.EnvelopeInput) error {
	release, err := a.takeSealSlot(ctx)
	if err != nil {
		return err
	}
	defer release()
	r := renewal.Renewer{Store: a.Store, Blobs: a.Blobs, Sealer: a.Sealer, Now: a.Now, NewID: a.NewID}
	return nonRetryable(r.Pending(ctx, store.EnvelopeRef{ID: in.EnvelopeID, AppID: in.AppID}))
}
