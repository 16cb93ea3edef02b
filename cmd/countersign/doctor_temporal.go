package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"go.temporal.io/sdk/client"

	"countersign/config"
	"countersign/temporal"
)

func (x *doctor) temporal(ctx context.Context, cfg config.Config) {
	c, err := temporal.Dial(cfg, slog.New(slog.DiscardHandler), temporal.Observer{})
	if err == nil {
		defer c.Close()
		within, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		err = temporal.Check(within, c)
	}
	if err != nil {
		x.fail("temporal", err, "Check that COUNTERSIGN_TEMPORAL_ADDRESS is correct and reachable from here. For Temporal Cloud, also check the API key or certificate. Signing continues without Temporal; everything else is delayed.")
		x.skip("not checked: no connection to Temporal", "namespace", "search_attributes", "workers")
		return
	}
	x.ok("temporal", cfg.TemporalAddress+" responds")
	x.namespace(ctx, c, cfg)
	x.replay(ctx, c, cfg.TemporalNamespace)
}

func (x *doctor) namespace(ctx context.Context, c client.Client, cfg config.Config) {
	name := cfg.TemporalNamespace
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := temporal.CheckNamespace(ctx, c, name); err != nil {
		x.fail("namespace", err, "Create it: temporal operator namespace create --namespace "+name+" --retention 30d")
		x.skip("not checked: the namespace is missing", "search_attributes", "workers")
		return
	}
	x.ok("namespace", name+" exists")
	missing, err := temporal.MissingAttributes(ctx, c, name)
	add := "Add each: temporal operator search-attribute create --namespace " + name + " --type Keyword --name " + strings.Join(missing, "|")
	switch {
	case errors.Is(err, temporal.ErrAttributesNotReadable):
		x.add("search_attributes", warned, err.Error(), "Check in the console of Temporal Cloud that AppId, TenantId, EnvelopeId, EnvelopeStatus and Stuck exist with type Keyword.")
	case err != nil:
		x.fail("search_attributes", err, "Check the Temporal server's log.")
	case len(missing) > 0:
		x.add("search_attributes", failed, "missing: "+strings.Join(missing, ", "), add)
	default:
		x.ok("search_attributes", "AppId, TenantId, EnvelopeId, EnvelopeStatus and Stuck exist")
	}
	unserved, err := temporal.QueuesWithoutWorkers(ctx, c, name)
	switch {
	case err != nil:
		x.fail("workers", err, "Check the Temporal server's log.")
	case len(unserved) > 0:
		x.add("workers", warned, fmt.Sprintf("%d of %d task queues have no worker", len(unserved), len(temporal.Queues)), "Start `countersign worker`.")
	default:
		x.ok("workers", "every task queue has a worker")
	}
	x.versions(ctx, c, cfg)
	x.workflowTasks(ctx, c, name)
	x.schedules(ctx, c)
}

// workflowTasks reports workflows that are blocked because their code fails.
func (x *doctor) workflowTasks(ctx context.Context, c client.Client, name string) {
	n, example, err := temporal.FailingWorkflowTasks(ctx, c, name)
	switch {
	case err != nil:
		x.add("workflow_tasks", warned, oneLine(err), "Search for TemporalReportedProblems in the Temporal UI.")
	case n > 0:
		x.add("workflow_tasks", failed, fmt.Sprintf("%d workflow(s) are blocked because their code fails, including %s", n, example),
			"Run the build that started the workflows, or terminate them: the schedule reconcile restarts them within minutes. See docs/run/troubleshooting.md.")
	default:
		x.ok("workflow_tasks", "no workflow tasks are failing")
	}
}
