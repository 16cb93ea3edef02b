package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"countersign/activities"
)

// ReplayFailure describes a running workflow that this build cannot continue.
type ReplayFailure struct {
	Type, WorkflowID string
	Err              error
}

// MaxReplays is the maximum number of workflows of each type that are replayed.
const MaxReplays = 1000

// Replay replays the histories of up to n running workflows of each type with the code of this build. It returns the
// number of replayed histories, and a failure for each history that this build cannot continue.
func Replay(ctx context.Context, c client.Client, namespace string, n int) (replayed int, failures []ReplayFailure, err error) {
	known := &replayRegistry{WorkflowReplayer: sdkworker.NewWorkflowReplayer()}
	Register(known, &activities.Activities{})
	quiet := sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	for _, name := range known.names {
		listed, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: namespace, PageSize: int32(min(n, MaxReplays)), //nolint:gosec // bounded
			Query: `ExecutionStatus = "Running" AND WorkflowType = "` + name + `"`,
		})
		if err != nil {
			return replayed, failures, fmt.Errorf("list running workflows %s: %w", name, err)
		}
		for _, w := range listed.GetExecutions() {
			id := w.GetExecution().GetWorkflowId()
			err := known.ReplayWorkflowExecution(ctx, c.WorkflowService(), quiet, namespace, workflow.Execution{ID: id, RunID: w.GetExecution().GetRunId()})
			if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
				continue
			}
			if ctx.Err() != nil {
				return replayed, failures, ctx.Err()
			}
			if replayed++; err != nil {
				failures = append(failures, ReplayFailure{name, id, err})
			}
		}
	}
	return replayed, failures, nil
}

// replayRegistry registers workflows with a replayer, and ignores activities.
type replayRegistry struct {
	sdkworker.WorkflowReplayer
	sdkworker.ActivityRegistry
	sdkworker.NexusServiceRegistry

	names []string
}

func (r *replayRegistry) RegisterWorkflowWithOptions(fn any, o workflow.RegisterOptions) {
	r.names = append(r.names, o.Name)
	r.WorkflowReplayer.RegisterWorkflowWithOptions(fn, o)
}

func (*replayRegistry) RegisterActivity(any) {}
