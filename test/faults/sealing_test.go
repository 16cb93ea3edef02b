package faults_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// sealSteps lists the failpoints during sealing at which the worker is killed.
var sealSteps = []string{"seal.loaded", "seal.sealed", "seal.kept", "seal.stored", "store.committed", "seal.completed", "seal.swept"}

// TestKillWhileSealing kills the worker at each step of sealing. It checks that there is only one sealed file, and
// that the file, the database and the audit chain agree on its hash.
func TestKillWhileSealing(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.start(1, 0)
		for _, i := range rnd.Perm(len(sealSteps)) {
			worker := w.worker()
			// Sealing is interrupted only once per envelope; "countersign files sweep" would remove the leftovers of
			// two interruptions.
			for _, before := range w.envelopes {
				eventually(t, func() bool { return w.status(before) == models.StatusCompleted && len(w.sealedFiles(before)) == 1 }, "the worker did not finish the interrupted seal")
			}
			e, err := w.send(2)
			require.NoError(t, err)
			require.NoError(t, e.consent(0))
			require.NoError(t, e.consent(1))
			_, err = e.sign(0)
			require.NoError(t, err)
			if sealSteps[i] == "store.committed" { // set only during sealing
				w.set("seal.stored", "hang")
				_, err = e.sign(1)
				require.NoError(t, err)
				w.set("store.committed", "kill")
				w.set("seal.stored", "")
			} else {
				w.set(sealSteps[i], "kill")
				_, err = e.sign(1)
				require.NoError(t, err)
			}
			worker.waitDead()
			w.cutOff++ // the worker may have been sending the invitations
		}
		w.worker()
		w.check("/all")
	})
}

// TestKillWhileMailing kills the worker between sending an email and recording it. It checks that no other email
// arrives twice.
func TestKillWhileMailing(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, _ *rand.Rand) {
		w := newScenario(t, setting{})
		w.api()
		w.login()
		worker := w.worker()
		w.set("mail.sent", "kill")
		e, err := w.send(2)
		require.NoError(t, err)
		worker.waitDead()
		w.cutOff = len(e.signers) // both invitations may have been in transit
		w.worker()
		eventually(t, func() bool {
			return w.invitations() == len(e.signers)
		}, "not all signers were invited")
		require.NoError(t, e.complete())
		w.check()
	})
}

// TestKillWhileDelivering kills the worker between posting an event and recording the attempt. It checks that the
// event arrives again with the same ID and body.
func TestKillWhileDelivering(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, _ *rand.Rand) {
		w := newScenario(t, setting{})
		w.start(1, 0)
		worker := w.worker()
		w.set("deliver.posted", "kill")
		e, err := w.send(1)
		require.NoError(t, err)
		worker.waitDead()
		w.cutOff++
		w.worker()
		require.NoError(t, e.complete())
		w.check("/all")
		eventually(t, func() bool {
			return w.count("SELECT count(*) FROM webhook_deliveries WHERE status <> 'delivered'") == 0
		}, "not all deliveries succeeded")
		twice := 0
		w.hooks.mu.Lock()
		defer w.hooks.mu.Unlock()
		for _, all := range w.hooks.received["/all"] {
			if len(all) > 1 {
				twice++
			}
		}
		require.Positive(t, twice, "the interrupted event must be delivered again")
	})
}
