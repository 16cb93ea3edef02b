package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/activities"
	"countersign/operate/reconcile"
)

// Reconcile finds unfinished work in the database that has no workflow, and starts the missing workflows. A Temporal
// Schedule runs it every few minutes. One run examines a limited part of the work, and returns the position at which
// the next run continues.
func Reconcile(ctx workflow.Context) (reconcile.Position, error) {
	var from reconcile.Position
	if workflow.HasLastCompletionResult(ctx) {
		if err := workflow.GetLastCompletionResult(ctx, &from); err != nil {
			return from, err
		}
	}
	workflow.SetCurrentDetails(ctx, "Comparing unfinished work in the database with the running workflows. If this text does not change, see the last failure of the pending activity.")
	opts := activityOptions("Start missing workflows", 10*time.Minute)
	opts.RetryPolicy = retryForever(time.Minute)
	var round activities.ReconcileRound
	if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), acts.Reconcile, from).Get(ctx, &round); err != nil {
		return from, err
	}
	workflow.SetCurrentDetails(ctx, describeReconciled(round))
	return round.Next, nil
}

// describeReconciled describes a round's results for operators.
func describeReconciled(round activities.ReconcileRound) string {
	var parts []string
	for _, work := range reconcile.Order {
		if count, ok := round.Counts[work]; ok {
			parts = append(parts, fmt.Sprintf("%s: %d unfinished, %d without a workflow", work, count.Unfinished, count.Missing))
		}
	}
	text := "Nothing was missing. "
	if n := round.Counts.Missing(); n > 0 {
		text = fmt.Sprintf("Workflows started: %d. ", n)
	}
	if text += strings.Join(parts, "; ") + "."; round.Next != (reconcile.Position{}) {
		text += " The next run continues with " + string(round.Next.Work) + "."
	}
	return text
}
