package faults_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	sdkclient "go.temporal.io/sdk/client"

	"countersign/temporal"
	"countersign/test/kit"
)

// TestRollingRestart replaces the worker and then the API under load, as in an upgrade. It checks that each process is
// shut down cleanly once its successor is running, and that no client is affected. The saved histories in package
// workflows show that a new version can continue the workflows of an older one.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		api, worker := w.api(), w.worker()
		w.login()
		w.subscribe("/all")
		before, err := w.send(2)
		require.NoError(t, err)
		stop := w.load(2)
		pause(rnd, 300*time.Millisecond)
		w.worker()
		worker.stop()
		pause(rnd, 300*time.Millisecond)
		w.api()
		api.stop()
		pause(rnd, 300*time.Millisecond)
		stop()
		require.NoError(t, before.complete())
		t.Logf("%d envelopes, %d requests sent again", len(w.envelopes), w.client.retried)
		w.check("/all")
	})
}

// TestWorkerVersions performs an upgrade with worker versioning. It checks that the old version keeps its workflows
// until the new version becomes current, and that each workflow then moves to the new one.
func TestWorkerVersions(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, _ *rand.Rand) {
		opts := kit.Temporal(t)
		w := newScenario(t, setting{temporal: opts.HostPort, namespace: opts.Namespace, env: []string{"COUNTERSIGN_WORKER_DEPLOYMENT=countersign"}})
		c, err := sdkclient.NewLazyClient(opts) // a client that does not time out on a busy machine
		require.NoError(t, err)
		t.Cleanup(c.Close)
		versioned := func(build string) *process {
			p := &process{w: w, args: []string{"worker"}, env: []string{"COUNTERSIGN_WORKER_BUILD_ID=" + build}}
			p.start()
			return p
		}
		current := func(build string) {
			deployment := c.WorkerDeploymentClient().GetHandle("countersign")
			eventually(t, func() bool {
				_, err := deployment.SetCurrentVersion(t.Context(), sdkclient.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
				return err == nil // the version is unknown until its workers have polled
			}, "version %s cannot be made current", build)
		}
		w.api()
		w.login()
		w.subscribe("/all")
		before := versioned("one")
		current("one")
		e, err := w.send(2)
		require.NoError(t, err)
		require.NoError(t, e.consent(0))
		_, err = e.sign(0)
		require.NoError(t, err)
		eventually(t, func() bool { return w.count("SELECT count(*) FROM outbox") == 0 }, "the first version did not process the signature")

		versioned("two")
		current("two")
		before.stop()
		require.NoError(t, e.consent(1))
		_, err = e.sign(1)
		require.NoError(t, err)
		require.NoError(t, w.sendAndComplete(1))
		w.check("/all")
		require.Equal(t, []string{"one", "two"}, builds(t, c, temporal.EnvelopeWorkflowID(idOf(e))), "the workflow must move to the second version")
	})
}

// builds returns the versions that have processed a workflow, in order.
func builds(t *testing.T, c sdkclient.Client, workflow string) (out []string) {
	t.Helper()
	it := c.GetWorkflowHistory(t.Context(), workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		ev, err := it.Next()
		require.NoError(t, err)
		done := ev.GetWorkflowTaskCompletedEventAttributes()
		if done == nil {
			continue
		}
		if b := done.GetDeploymentVersion().GetBuildId(); len(out) == 0 || out[len(out)-1] != b {
			out = append(out, b)
		}
	}
	return out
}
