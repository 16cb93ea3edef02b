package activities

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/models"
	"countersign/notify/templates"
	"countersign/seal/pdf"
	"countersign/seal/refusal"
	"countersign/store/blob"
)

// Causes of failures that do not go away by themselves.
var (
	errChainBroken = errors.New("the audit trail is not what was recorded")
	errNoOriginal  = errors.New("an uploaded document is missing in the file store")
)

// stuckDelay is after what time sealing is tried again that cannot succeed
// before somebody has mended the cause.
const stuckDelay = time.Hour

// problemOf tells what kind of problem it is that keeps documents from being
// sealed; "" if it may go away by itself.
func problemOf(err error) models.SealingProblem {
	var refused *refusal.Error
	switch {
	case errors.As(err, &refused) && refused.Code == refusal.OriginalChanged, errors.Is(err, blob.ErrAltered), errors.Is(err, blob.ErrDamaged):
		return models.SealingOriginalChanged
	case refused != nil, errors.Is(err, pdf.ErrDamaged), errors.Is(err, pdf.ErrLimit):
		return models.SealingRefused
	case errors.Is(err, errNoOriginal):
		return models.SealingOriginalMissing
	case errors.Is(err, errChainBroken):
		return models.SealingChainBroken
	}
	return ""
}

// sealingFailed records why sealing failed, if that does not go away by itself
// or has lasted for a while, so that sender and operators see it. It returns the
// error of the attempt.
func (a *Activities) sealingFailed(ctx context.Context, e *models.Envelope, err error) error {
	if ctx.Err() != nil { // the worker stops
		return err
	}
	problem := problemOf(err)
	if problem == "" && a.Now().Sub(e.AllSignedAt()) >= models.SealingPatience {
		problem = models.SealingFailing
	}
	if problem == "" {
		return err
	}
	if e.SealingProblem == nil || *e.SealingProblem != problem {
		slog.ErrorContext(ctx, "an envelope cannot be sealed", "envelope", e.ID, "problem", problem)
	}
	_, changed := a.Store.Change(ctx, e.AppID, e.ID, func(e *models.Envelope) error { return e.SealingFailed(a.act(), problem) })
	if changed != nil && !models.IsRefusal(changed) {
		return errors.Join(err, changed)
	}
	if changed == nil {
		a.tellStuck(ctx, e, problem)
	}
	if !problem.Lasting() {
		return err
	}
	return sdktemporal.NewApplicationErrorWithOptions("cannot be sealed: "+problem.Sentence(), string(problem), sdktemporal.ApplicationErrorOptions{
		NextRetryDelay: stuckDelay, Cause: err,
	})
}

// tellStuck tells the tenant's people, once for each problem. A mail that fails
// is tried again with the next attempt at sealing.
func (a *Activities) tellStuck(ctx context.Context, e *models.Envelope, problem models.SealingProblem) {
	v, err := a.voiceOf(ctx, e.AppID, e.TenantID)
	if err == nil {
		err = a.notify(ctx, e, v, uuid.Nil, templates.Notice{Kind: templates.NoticeStuck, ReasonText: problem.Sentence(), At: e.AllSignedAt()}, string(problem))
	}
	if err != nil {
		slog.WarnContext(ctx, "nobody was told of an envelope that cannot be sealed", "envelope", e.ID, "error", err)
	}
}
