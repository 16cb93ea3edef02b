package faults_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRollingRestart replaces worker and API one after the other, as an upgrade
// does, under load: each ends in order when its successor runs, and no client
// notices. That a new version takes over the workflows of an older one is shown
// by the saved histories (workflows).
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newWorld(t, setting{})
		api, worker := w.api(), w.worker()
		w.login()
		w.subscribe("/all")
		before, err := w.send(2, "Contract")
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
