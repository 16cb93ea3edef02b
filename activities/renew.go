package activities

import (
	"context"
	"errors"
	"time"

	"countersign/models"
	"countersign/temporal"
)

// RenewLinks replaces the links of awaited signers that end soon although the
// envelope stays open. Each new one is sent as an invitation. It returns when the
// next link is to be replaced; nil where the deadline ends them all.
func (a *Activities) RenewLinks(ctx context.Context, in temporal.EnvelopeInput) (*time.Time, error) {
	e, err := a.Store.Envelope(ctx, in.AppID, in.EnvelopeID)
	if err != nil {
		return nil, nonRetryable(err)
	}
	var failed error
	for _, s := range e.Signers {
		if at := e.RenewLinkAt(s); at == nil || at.After(a.Now()) {
			continue
		}
		fresh, err := a.Store.Change(ctx, in.AppID, in.EnvelopeID, func(e *models.Envelope) error {
			if at := e.RenewLinkAt(e.Signer(s.ID)); at == nil || at.After(a.Now()) {
				return nil // it was replaced meanwhile
			}
			return e.Reinvite(a.systemContext(), s.ID)
		})
		switch {
		case models.IsRefusal(err): // acted meanwhile
		case err != nil:
			failed = errors.Join(failed, err)
		default:
			e = fresh
		}
	}
	return e.NextRenewal(), failed
}
