package faults_test

import (
	"encoding/base64"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"countersign/models"
	"countersign/temporal"
	"countersign/workflows"
)

// rejected runs a command that must fail, and returns its output.
func (w *scenario) rejected(env []string, args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), built, args...)
	cmd.Env, cmd.Stdin = slices.Concat(os.Environ(), w.env, env), strings.NewReader("a long password\n")
	out, err := cmd.CombinedOutput()
	require.Error(w.t, err, "%v: %s", args, out)
	return string(out)
}

// TestOlderBuildTakesOver checks that, before an older build is rolled out, `doctor --replay` lists the envelopes of a
// newer build that the older one cannot continue. If the older build is rolled out nevertheless, only the workflows of
// these envelopes fail. After these workflows have been terminated, they are restarted and continue.
func TestOlderBuildTakesOver(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, _ *rand.Rand) {
		w := newScenario(t, setting{})
		w.start(1, 0)
		c := w.temporalClient()
		newer := sdkworker.New(c, temporal.QueueMain, sdkworker.Options{})
		newer.RegisterWorkflowWithOptions(func(ctx workflow.Context, in temporal.EnvelopeStart) error {
			if workflow.GetVersion(ctx, "of a newer build", workflow.DefaultVersion, 1) == 1 {
				if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
					return err
				}
			}
			return workflows.Envelope(ctx, in)
		}, workflow.RegisterOptions{Name: temporal.WorkflowEnvelope})
		require.NoError(t, newer.Start())
		e, err := w.send(2)
		require.NoError(t, err)
		id := temporal.EnvelopeWorkflowID(idOf(e))
		eventually(t, func() bool {
			described, err := c.DescribeWorkflowExecution(t.Context(), id, "")
			return err == nil && len(described.GetPendingActivities()) > 0
		}, "the newer build did not begin the workflow")
		newer.Stop()

		var said string
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("output of doctor: %s", said)
			}
		})
		eventually(t, func() bool { // wait until Temporal's list of running workflows is up to date
			cmd := exec.CommandContext(t.Context(), built, "doctor", "--replay", "10")
			cmd.Env = slices.Concat(os.Environ(), w.env)
			out, _ := cmd.CombinedOutput() // the exit status is not relevant, because doctor also reports that no worker is running
			said = string(out)
			return strings.Contains(said, "this build cannot continue 1 of ")
		}, "doctor did not report the workflow")
		assert.Contains(t, said, id)

		w.worker()
		other, err := w.send(1)
		require.NoError(t, err)
		require.NoError(t, other.complete())
		eventually(t, func() bool { return w.status(other) == models.StatusCompleted }, "the other envelope was not completed")
		require.NoError(t, c.TerminateWorkflow(t.Context(), id, "", "started by a newer build"))
		w.reconciled(c, "the workflow was not restarted", func() bool {
			return w.count("SELECT count(*) FROM mails WHERE envelope_id = $1 AND sent_at IS NOT NULL", e.id) == 2
		})
		require.NoError(t, e.complete())
		w.check("/all")
	})
}

// TestWrongMasterKey checks that no command writes with a master key that is unknown to the database, because a later
// rotation could not decrypt that data. It also checks that one damaged row does not prevent the rotation of the
// others.
func TestWrongMasterKey(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.start(1, 1)
		w.subscribe("/damaged")
		require.NoError(t, w.sendAndComplete(2))
		eventually(t, func() bool { return w.status(w.envelopes[0]) == models.StatusCompleted }, "the envelope was not completed")

		const setting = "COUNTERSIGN_MASTER_KEY="
		key := make([]byte, 32)
		for i := range key {
			key[i] = byte(rnd.IntN(256))
		}
		wrong := base64.StdEncoding.EncodeToString(key)
		before := w.count("SELECT (SELECT count(*) FROM apps) + (SELECT count(*) FROM client_secrets) + (SELECT count(*) FROM console_users) + (SELECT count(*) FROM signing_keys)")
		for _, args := range [][]string{
			{"app", "create", "--name", "Other", "--plan", "free"},
			{"user", "create", "--app", w.clientID, "--email", "a@example.com", "--name", "A", "--role", "admin"},
			{"key", "rewrap"},
			{"key", "rotate", "records"},
			{"reconcile"},
			{"worker"},
			{"api"},
		} {
			assert.Contains(t, w.rejected([]string{setting + wrong}, args...), "MASTER_KEY is not the master key of this database", "%v", args)
		}
		assert.Equal(t, before, w.count("SELECT (SELECT count(*) FROM apps) + (SELECT count(*) FROM client_secrets) + (SELECT count(*) FROM console_users) + (SELECT count(*) FROM signing_keys)"))

		w.exec(`UPDATE webhooks SET secret = decode('00', 'hex') || substr(secret, 2) WHERE url LIKE '%/damaged'`)
		at := slices.IndexFunc(w.env, func(s string) bool { return strings.HasPrefix(s, setting) })
		both := setting + wrong + "," + strings.TrimPrefix(w.env[at], setting)
		said := w.rejected([]string{both}, "key", "rewrap")
		assert.Contains(t, said, "not re-encrypted: webhooks ")
		assert.Equal(t, 1, strings.Count("\n"+said, "\nnot re-encrypted: "), "%s", said)
		w.exec(`DELETE FROM webhooks WHERE url LIKE '%/damaged'`)
		w.env = slices.Clone(w.env)
		w.env[at] = both
		assert.NotContains(t, string(w.run("key", "rewrap")), "not re-encrypted")
	})
}
