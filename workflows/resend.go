package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/temporal"
)

// Reinvite sends a signer the link that was renewed for them.
func Reinvite(ctx workflow.Context, in temporal.InviteInput) error {
	workflow.SetCurrentDetails(ctx, "Sending a renewed link; if this stays, see the pending activity's last failure: the mail server does not take it.")
	opts := activityOptions("Invite signer "+in.SignerID.String()+" again", time.Minute)
	return runReportingStuck(ctx, stuckInvitation, opts, acts.Invite, in)
}

// Copies sends the sealed files' links again to somebody who asked for them.
func Copies(ctx workflow.Context, in temporal.CopiesInput) error {
	workflow.SetCurrentDetails(ctx, "Sending the sealed files again; if this stays, see the pending activity's last failure: the mail server does not take it.")
	opts := activityOptions("Send the sealed documents to signer "+in.SignerID.String()+" again", time.Minute)
	return runReportingStuck(ctx, stuckCopies, opts, acts.SendCopiesAgain, in)
}
