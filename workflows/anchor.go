package workflows

import (
	"fmt"
	"math"
	"time"

	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
)

// Anchor has the heads of all audit chains that have grown since the last anchor
// time-stamped. It asks the authority again for as long as it takes.
func Anchor(ctx workflow.Context) error {
	workflow.SetCurrentDetails(ctx, "Having the heads of the audit chains time-stamped; if this stays, see the pending activity's last failure.")
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 12 * time.Hour, HeartbeatTimeout: activities.Silence, Summary: "Anchor the audit trail",
		// Without end; the SDK's test environment takes 0 for 10 attempts.
		RetryPolicy: &sdktemporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Minute, MaximumAttempts: math.MaxInt32},
	})
	var done activities.Anchored
	if err := workflow.ExecuteActivity(ctx, acts.AnchorAudit).Get(ctx, &done); err != nil {
		return err
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("Anchor %d holds %d audit chains.", done.Number, done.Entries))
	return nil
}
