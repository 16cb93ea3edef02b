package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"countersign/config"
	"countersign/store"
	"countersign/temporal"
)

// reconcileNotice is the maximum time since the last run of the reconcile schedule before doctor warns. The schedule
// runs every three minutes.
const reconcileNotice = 15 * time.Minute

func (x *doctor) overdueWork(ctx context.Context, cfg config.Config, s *store.Store) {
	lag, err := s.Lag(ctx, cfg.WebhookSchedule[:])
	if err != nil {
		x.fail("late", err, "Check the database.")
		return
	}
	const workers = "Check that workers are running and that Temporal responds; lost workflows are restarted by the schedule " + temporal.ScheduleReconcile + " within minutes, or by `countersign reconcile`."
	for _, c := range []struct {
		check, none, some string
		n                 int64
		status, advice    string
	}{
		{"overdue", "no envelope is open past its deadline", "%d envelope(s) are open past their deadline", lag.Overdue, failed, workers},
		{
			"sealing", "no fully signed envelope is waiting to be sealed", "%d envelope(s) are not sealed 5 minutes after the last signature", lag.Sealing, failed,
			"`countersign envelope stuck` lists envelopes that cannot be sealed. " + workers,
		},
		{
			"deliveries", "no webhook delivery is late", "%d webhook deliveries are late", lag.Deliveries, warned,
			"An endpoint that hangs delays only its own deliveries; the console shows it. " + workers,
		},
		{
			"purges", "no purge is late", "the files of %d envelope(s) should have been purged", lag.Purges, warned,
			"For the cause, see the latest run of the schedule " + temporal.ScheduleCleanup + " in the Temporal UI and the worker's log.",
		},
		{
			"lost", "the last run of reconcile found no missing workflows", "the last run of reconcile found %d missing workflow(s) and started them", lag.Lost, warned,
			"Check in the Temporal UI what closed them, and that the number drops to zero within minutes.",
		},
	} {
		if c.n == 0 {
			x.ok(c.check, c.none)
			continue
		}
		x.add(c.check, c.status, fmt.Sprintf(c.some, c.n), c.advice)
	}
	const run = "Check that a worker is running, and in the Temporal UI that the schedule " + temporal.ScheduleReconcile + " is not paused."
	switch age := now().Sub(lag.Reconciled); {
	case lag.Reconciled.IsZero():
		x.add("reconcile", warned, "no check for lost workflows has run yet", run)
	case age > reconcileNotice:
		x.add("reconcile", warned, "the last check for lost workflows was "+age.Round(time.Minute).String()+" ago", run)
	default:
		x.ok("reconcile", "the last check for lost workflows was "+age.Round(time.Second).String()+" ago")
	}
}

// schedules reports schedules that are missing or paused. If the schedules do not run, no data is cleaned up and no
// lost workflow is found.
func (x *doctor) schedules(ctx context.Context, c client.Client) {
	var missing, paused []string
	for _, id := range []string{temporal.ScheduleCleanup, temporal.ScheduleReconcile} {
		switch exists, isPaused, err := temporal.ScheduleState(ctx, c, id); {
		case err != nil:
			x.fail("schedules", err, "Check the Temporal server's log.")
			return
		case !exists:
			missing = append(missing, id)
		case isPaused:
			paused = append(paused, id)
		}
	}
	switch {
	case len(missing) > 0:
		x.add("schedules", warned, "missing: "+strings.Join(missing, ", "), "Start `countersign worker`, which creates the schedules.")
	case len(paused) > 0:
		x.add("schedules", warned, "paused: "+strings.Join(paused, ", "), "Unpause the schedules in the Temporal UI, or with `temporal schedule toggle --unpause --schedule-id ID --reason …`.")
	default:
		x.ok("schedules", temporal.ScheduleCleanup+" and "+temporal.ScheduleReconcile+" run")
	}
}
