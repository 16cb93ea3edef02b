package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/temporal"
)

// Reinvite sends a signer the link that was renewed for them.
func Reinvite(ctx workflow.Context, in temporal.ReinviteInput) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, HeartbeatTimeout: activities.Silence, RetryPolicy: patient(), Summary: "Invite signer " + in.SignerID.String() + " again",
	})
	return workflow.ExecuteActivity(ctx, acts.Invite, activities.SignerInput{EnvelopeInput: in.EnvelopeInput, SignerID: in.SignerID}).Get(ctx, nil)
}
