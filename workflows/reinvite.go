package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/temporal"
)

// Reinvite sends a signer the link that was renewed for them.
func Reinvite(ctx workflow.Context, in temporal.ReinviteInput) error {
	opts := activityOptions("Invite signer "+in.SignerID.String()+" again", time.Minute)
	return runShown(ctx, stuckInvitation, opts, acts.Invite, activities.SignerInput{EnvelopeInput: in.EnvelopeInput, SignerID: in.SignerID})
}
