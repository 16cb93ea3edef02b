package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/operate/renewal"
	"countersign/store"
	"countersign/temporal"
)

// Anchorer obtains time-stamps for the heads of the audit chains.
type Anchorer interface {
	Run(ctx context.Context) (*store.Anchor, error)
}

// AnchorResult identifies a created anchor.
type AnchorResult struct {
	Number  int64 `json:"number"`
	Entries int64 `json:"entries"`
}

// AnchorAudit creates the next anchor of the audit trail. It also logs the anchor's digest, because someone with access
// to the database cannot change the logs.
func (a *Activities) AnchorAudit(ctx context.Context) (AnchorResult, error) {
	if a.Anchors == nil {
		return AnchorResult{}, errors.New("this worker has no time-stamp authority: set COUNTERSIGN_TSA_ANCHOR")
	}
	made, err := a.Anchors.Run(ctx)
	if err != nil {
		return AnchorResult{}, err
	}
	activity.GetLogger(ctx).Info("audit trail anchored", "number", made.Number, "entries", made.Entries, "digest", made.Digest)
	return AnchorResult{Number: made.Number, Entries: made.Entries}, nil
}

// errTypeStampsBusy is the error type of an attempt that was rejected because of the concurrency limit. A later attempt
// is expected to succeed.
const errTypeStampsBusy = "StampsBusy"

// Timestamp adds time-stamps that the authority did not provide while the documents of an envelope were being sealed.
// It does not use SealLimit and does not wait for other Timestamp activities, because a hanging authority would
// otherwise delay sealing. If the concurrency limit is reached, Timestamp leaves the envelope to a later attempt.
func (a *Activities) Timestamp(ctx context.Context, in temporal.EnvelopeInput) error {
	release, ok := a.StampLimit.TryAcquire(1)
	if !ok {
		return sdktemporal.NewApplicationErrorWithOptions("the limit of concurrent requests to the time-stamp authority is reached", errTypeStampsBusy,
			sdktemporal.ApplicationErrorOptions{Category: sdktemporal.ApplicationErrorCategoryBenign})
	}
	defer release()
	r := renewal.Renewer{Store: a.Store, Blobs: a.Blobs, Sealer: a.Sealer, Now: a.Now, NewID: a.NewID}
	return nonRetryable(r.Pending(ctx, store.EnvelopeRef{ID: in.EnvelopeID, AppID: in.AppID}))
}
