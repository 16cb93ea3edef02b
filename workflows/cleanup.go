package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"countersign/activities"
)

// cleanupRounds is the maximum number of rounds in one run. The next run continues where the previous one stopped.
const cleanupRounds = 200

// Cleanup removes, in several rounds, the data whose retention period has ended, and reports its progress. A Temporal
// Schedule starts it.
func Cleanup(ctx workflow.Context) error {
	var removed []activities.RemovedRows
	var made, dropped []string // partitions
	for round := 1; round <= cleanupRounds; round++ {
		workflow.SetCurrentDetails(ctx, "Deleting data after its retention period; completed so far: "+describeRemoved(removed)+
			". If this text does not change, see the last failure of the pending activity.")
		opts := activityOptions(fmt.Sprintf("Delete expired data, round %d", round), 10*time.Minute)
		opts.RetryPolicy = retryForever(10 * time.Minute)
		var done activities.CleanupRound
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), acts.Cleanup).Get(ctx, &done); err != nil {
			return err
		}
		removed = addRemoved(removed, done.Removed)
		made, dropped = append(made, done.Created...), append(dropped, done.Dropped...)
		if !done.More {
			break
		}
	}
	workflow.SetCurrentDetails(ctx, "Done: "+describeRemoved(removed)+"."+describePartitions("created", made)+describePartitions("dropped", dropped))
	return nil
}

// addRemoved adds a round's removed rows to the totals by kind.
func addRemoved(total, round []activities.RemovedRows) []activities.RemovedRows {
	for _, r := range round {
		if i := slices.IndexFunc(total, func(t activities.RemovedRows) bool { return t.Kind == r.Kind }); i >= 0 {
			total[i].Rows += r.Rows
		} else {
			total = append(total, r)
		}
	}
	return total
}

func describeRemoved(removed []activities.RemovedRows) string {
	if len(removed) == 0 {
		return "nothing"
	}
	parts := make([]string, 0, len(removed))
	for _, r := range removed {
		parts = append(parts, fmt.Sprintf("%d %s", r.Rows, r.Kind))
	}
	return strings.Join(parts, ", ")
}

func describePartitions(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " Partitions " + what + ": " + strings.Join(names, ", ") + "."
}
