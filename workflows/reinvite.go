package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/temporal"
)

// Reinvite sends a signer the link that was renewed for them.
func Reinvite(ctx workflow.Context, in temporal.ReinviteInput) error {
	workflow.SetCurrentDetails(ctx, "Sending a renewed link; if this stays, see the pending activity's last failure: the mail server does not take it.")
	opts := activityOptions("Invite signer "+in.SignerID.String()+" again", time.Minute)
	return runReportingStuck(ctx, stuckInvitation, opts, acts.Invite, activities.SignerInput{EnvelopeInput: in.EnvelopeInput, SignerID: in.SignerID, LinkID: in.LinkID})
}
