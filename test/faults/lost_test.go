package faults_test

import (
	"database/sql"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"

	"countersign/models"
	"countersign/temporal"
)

// reconciled runs the "reconcile" schedule, which normally runs every few minutes, until done returns true.
func (w *scenario) reconciled(c sdkclient.Client, what string, done func() bool) {
	w.t.Helper()
	w.scheduled(c, temporal.ScheduleReconcile, what, done)
}

// scheduled triggers a schedule until done returns true. One trigger is not sufficient, because the schedule skips runs
// while a run waits for the timeout of a killed worker.
func (w *scenario) scheduled(c sdkclient.Client, schedule, what string, done func() bool) {
	w.t.Helper()
	last := time.Time{}
	eventually(w.t, func() bool {
		if time.Since(last) > 2*time.Second {
			w.trigger(c, schedule)
			last = time.Now()
		}
		return done()
	}, "%s", what)
}

// TestWorkflowsAreLost terminates, cancels and deletes the workflows of envelopes that wait for signers, for their
// deadline, or for disk space that sealing requires. It checks that the "reconcile" schedule restarts them without any
// operator command, and that no recipient receives an email twice.
func TestWorkflowsAreLost(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.start(1, 1)
		open, err := w.send(2)
		require.NoError(t, err)
		due, _, err := w.sendDue(1, 20*time.Second)
		require.NoError(t, err)
		w.set("blob.keep", "")
		sealing, err := w.send(2)
		require.NoError(t, err)
		eventually(t, func() bool {
			return w.invitations() == 5
		}, "not all signers were invited")
		w.set("blob.keep", "full")
		require.NoError(t, sealing.complete())
		eventually(t, func() bool { return w.logged("no space left on device") }, "sealing did not fail")

		c := w.temporalClient()
		lose := []func(id string) error{
			func(id string) error { return c.TerminateWorkflow(t.Context(), id, "", "a mistake") },
			func(id string) error { return c.CancelWorkflow(t.Context(), id, "") },
			func(id string) error {
				_, err := c.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
					Namespace: w.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
				})
				return err
			},
		}
		rnd.Shuffle(len(lose), func(i, j int) { lose[i], lose[j] = lose[j], lose[i] })
		for i, e := range []*envelope{open, due, sealing} {
			require.NoError(t, lose[i](temporal.EnvelopeWorkflowID(idOf(e))))
		}
		eventually(t, func() bool { return w.running(c, temporal.WorkflowEnvelope) == 0 }, "the workflows were not removed")
		w.set("blob.keep", "")

		w.reconciled(c, "the run that detected the missing workflows did not report them", func() bool { return w.count("SELECT count(*) FROM reconcile_runs WHERE missing > 0") > 0 })
		w.reconciled(c, "the envelope did not expire after its deadline", func() bool { return w.status(due) == models.StatusExpired })
		w.reconciled(c, "the signed envelope was not sealed", func() bool { return w.status(sealing) == models.StatusCompleted })
		require.NoError(t, open.complete())
		w.check("/all")
		for id, all := range w.mails() {
			assert.Len(t, all, 1, "mail %s", id)
		}
	})
}

// TestTemporal_DatabaseOfAnotherVersion starts the bundled Temporal with the database of another release, as happens
// when `dev` is upgraded. It checks that the database is moved aside, and that the workflows of open envelopes are
// restarted in a new one.
func TestTemporal_DatabaseOfAnotherVersion(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, _ *rand.Rand) {
		server := startTemporal(t)
		w := newScenario(t, setting{temporal: server.running.Address, namespace: "default"})
		w.start(1, 1)
		e, err := w.send(2)
		require.NoError(t, err)
		eventually(t, func() bool {
			return w.count("SELECT count(*) FROM mails WHERE sent_at IS NOT NULL") == 2 && w.count("SELECT count(*) FROM webhook_deliveries WHERE status = 'pending'") == 0
		}, "the workflow did not send all invitations and events")
		require.NoError(t, server.running.Kill())
		file := server.flags[2]
		db, err := sql.Open("sqlite", "file:"+file)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "PRAGMA user_version = 1007") // represents version 1.7
		require.NoError(t, err)
		require.NoError(t, db.Close())

		server.start()
		aside, err := filepath.Glob(file + ".1.7*")
		require.NoError(t, err)
		assert.NotEmpty(t, aside, "the previous database must be retained")
		c := w.temporalClient()
		eventually(t, func() bool {
			exists, _, err := temporal.ScheduleState(t.Context(), c, temporal.ScheduleReconcile)
			return err == nil && exists
		}, "the worker did not detect that Temporal is empty")
		w.reconciled(c, "the workflow was not restarted", func() bool { return w.running(c, temporal.WorkflowEnvelope) == 1 })
		require.NoError(t, e.complete())
		w.check("/all")
	})
}
