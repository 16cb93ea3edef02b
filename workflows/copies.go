package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/temporal"
)

// Copies sends the sealed files' links again to somebody who asked for them.
func Copies(ctx workflow.Context, in temporal.CopiesInput) error {
	workflow.SetCurrentDetails(ctx, "Sending the sealed files again; if this stays, see the pending activity's last failure: the mail server does not take it.")
	opts := activityOptions("Send the sealed documents to signer "+in.SignerID.String()+" again", time.Minute)
	return runReportingStuck(ctx, stuckCopies, opts, acts.SendCopiesAgain, in)
}
