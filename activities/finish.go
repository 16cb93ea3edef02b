package activities

import (
	"context"
	"log/slog"
	"time"

	"countersign/models"
	"countersign/temporal"
)

// Finish begins no mail after copiesBegin. One that was begun is not cut off by a worker
// that stops, which takes longer than copiesEnd: it would arrive twice.
const (
	copiesBegin = 5 * time.Second
	copiesEnd   = 15 * time.Second
)

// Finished is what Finish has come to.
type Finished struct {
	// Status is the state that the envelope has ended in.
	Status models.Status `json:"status"`
	// Copied says that everyone has got the sealed documents.
	Copied bool `json:"copied,omitempty"`
}

// Finish seals as Seal does, and then tries once to send the sealed documents, which
// saves a step of the workflow where the mail server takes them at once. Where it does
// not, or the envelope was completed before, SendCopies has to follow.
func (a *Activities) Finish(ctx context.Context, in temporal.EnvelopeInput) (Finished, error) {
	e, err := a.seal(ctx, in)
	if err != nil {
		return Finished{}, err
	}
	done := Finished{Status: e.Status}
	if e.Status != models.StatusCompleted {
		return done, nil
	}
	if err := a.copyOnce(ctx, e); err != nil {
		slog.WarnContext(ctx, "copies not sent yet", "envelope", e.ID, "error", err)
		return done, nil
	}
	done.Copied = true
	return done, nil
}

func (a *Activities) copyOnce(ctx context.Context, e *models.Envelope) error {
	begin, cancelBegin := context.WithTimeout(ctx, copiesBegin)
	defer cancelBegin()
	mails, cancelMails := context.WithTimeout(context.WithoutCancel(ctx), copiesEnd)
	defer cancelMails()
	v, err := a.mailSettingsFor(mails, e.AppID, e.TenantID)
	if err != nil {
		return err
	}
	return a.sendCopies(mails, begin, e, v)
}

// takeSealSlot waits until an envelope may be sealed. What computes takes a slot, what
// waits for a mail server does not: otherwise a slow one would keep documents from being sealed.
func (a *Activities) takeSealSlot(ctx context.Context) (release func(), err error) {
	if a.SealSlots == nil {
		return func() {}, nil
	}
	select {
	case a.SealSlots <- struct{}{}:
		return func() { <-a.SealSlots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
