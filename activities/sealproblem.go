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
	"countersign/pdf"
	"countersign/seal/rejection"
	"countersign/store/blob"
)

// The causes of permanent sealing failures.
var (
	errChainBroken = errors.New("the audit trail does not match its record")
	errNoOriginal  = errors.New("an uploaded document is missing from the file store")
)

// permanentProblemRetryDelay is the delay before sealing is retried after a failure that an operator must fix.
const permanentProblemRetryDelay = time.Hour

// permanentProblem returns the kind of a permanent sealing problem, or an empty string if the error may be temporary.
func permanentProblem(err error) models.SealingProblem {
	rejected, isRejected := errors.AsType[*rejection.Error](err)
	switch {
	case isRejected && rejected.Code == rejection.OriginalChanged, errors.Is(err, blob.ErrModified), errors.Is(err, blob.ErrDamaged):
		return models.SealingOriginalChanged
	case isRejected, errors.Is(err, pdf.ErrDamaged), errors.Is(err, pdf.ErrLimit):
		return models.SealingRejected
	case errors.Is(err, errNoOriginal):
		return models.SealingOriginalMissing
	case errors.Is(err, errChainBroken):
		return models.SealingChainBroken
	}
	return ""
}

// sealingFailed records a sealing failure that is permanent or has lasted beyond the grace period, so that senders
// and operators can see it. It returns err.
func (a *Activities) sealingFailed(ctx context.Context, e *models.Envelope, err error) error {
	if ctx.Err() != nil { // the worker is stopping
		return err
	}
	problem := permanentProblem(err)
	if problem == "" && a.Now().Sub(e.AllSignedAt()) >= models.SealingGracePeriod {
		problem = models.SealingFailing
	}
	if problem == "" {
		return err
	}
	if e.SealingProblem == nil || *e.SealingProblem != problem {
		slog.ErrorContext(ctx, "envelope cannot be sealed", "envelope", e.ID, "problem", problem)
	}
	_, changed := a.Store.Change(ctx, e.AppID, e.ID, func(e *models.Envelope) error { return e.SealingFailed(a.systemContext(), problem) })
	if changed != nil && !models.IsRejection(changed) {
		return errors.Join(err, changed)
	}
	if changed == nil {
		a.notifySealingStuck(ctx, e, problem)
	}
	if !problem.Permanent() {
		return err
	}
	return sdktemporal.NewApplicationErrorWithOptions("cannot be sealed: "+problem.Message(), string(problem), sdktemporal.ApplicationErrorOptions{
		NextRetryDelay: permanentProblemRetryDelay, Cause: err,
	})
}

// notifySealingStuck notifies the tenant's contact once about each problem. A failed email is retried with the next
// sealing attempt.
func (a *Activities) notifySealingStuck(ctx context.Context, e *models.Envelope, problem models.SealingProblem) {
	v, err := a.mailSettingsFor(ctx, e.AppID, e.TenantID)
	if err == nil {
		err = a.notifyTenant(ctx, e, v, uuid.Nil, templates.Notice{Kind: templates.NoticeStuck, Cause: string(problem), At: e.AllSignedAt()}, string(problem))
	}
	if err != nil {
		slog.WarnContext(ctx, "tenant not notified of the sealing problem", "envelope", e.ID, "error", err)
	}
}
