package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"countersign/config"
	"countersign/temporal"
	"countersign/worker"
)

// versions reports workers that poll but receive no workflow tasks, because worker versioning assigns the tasks to
// other workers.
func (x *doctor) versions(ctx context.Context, c client.Client, cfg config.Config) {
	problem, advice, err := temporal.DeploymentProblem(ctx, c, cfg.TemporalNamespace, cfg.WorkerDeployment)
	switch {
	case err != nil:
		x.fail("worker_versions", err, "Check the Temporal server's log.")
	case problem != "":
		x.add("worker_versions", failed, problem, advice)
	case cfg.WorkerDeployment == "":
		x.ok("worker_versions", "every worker receives workflow tasks")
	default:
		x.ok("worker_versions", "workers of the current version of "+cfg.WorkerDeployment+" receive the workflow tasks")
	}
}

// replayLimit is the time limit for all replays.
const replayLimit = 10 * time.Minute

// replay replays running workflows with this build if the user requested it.
func (x *doctor) replay(ctx context.Context, c client.Client, namespace string) {
	if x.replays == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, replayLimit)
	defer cancel()
	n, failures, err := worker.Replay(ctx, c, namespace, x.replays)
	switch {
	case err != nil:
		x.fail("replay", err, "Check the Temporal server's log.")
	case len(failures) > 0:
		first := failures[0]
		x.add("replay", failed, fmt.Sprintf("this build cannot continue %d of %d workflows, including %s: %s", len(failures), n, first.WorkflowID, oneLine(first.Err)),
			"Do not roll out this build. If you must, terminate those workflows afterwards; the schedule "+temporal.ScheduleReconcile+" starts them again from the database.")
	default:
		x.ok("replay", fmt.Sprintf("this build can continue all %d workflows that were replayed", n))
	}
}
