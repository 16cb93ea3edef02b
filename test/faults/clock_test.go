package faults_test

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestClockJumps moves the clocks of the API and the worker forward and back by an hour while envelopes are in
// progress. It checks that the chain is ordered by its sequence numbers, that no operation waits for the clock to catch
// up, and that links from the future are rejected.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.start(1, 1)
		late, _, err := w.sendDue(1, 30*time.Minute)
		require.NoError(t, err)
		require.NoError(t, late.consent(0))
		first, err := w.send(2)
		require.NoError(t, err)
		require.NoError(t, first.consent(0))

		w.set("clock", "90m")
		a, err := late.sign(0)
		require.NoError(t, err)
		assert.Equal(t, http.StatusUnauthorized, a.status, "the envelope's deadline has passed: %s", a.body)
		a, err = first.sign(0)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, a.status, "%s", a.body)
		a, err = w.client.do(http.MethodGet, "/v1/envelopes/"+first.id, "", nil)
		require.NoError(t, err)
		assert.Equal(t, http.StatusUnauthorized, a.status, "an access token expires after an hour")
		w.login()

		w.set("clock", []string{"-1h", "-90m"}[rnd.IntN(2)])
		w.login()
		a, err = first.sign(1)
		require.NoError(t, err)
		assert.Equal(t, http.StatusUnauthorized, a.status, "a link from the future: %s", a.body)
		require.NoError(t, w.sendAndComplete(1))
		eventually(t, func() bool { return w.count("SELECT count(*) FROM outbox") == 0 }, "outbox rows from before the clock was set back were not delivered")

		w.set("clock", "")
		w.login()
		require.NoError(t, first.consent(1))
		_, err = first.sign(1)
		require.NoError(t, err)
		a, err = late.sign(0)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, a.status, "the envelope's deadline has not passed after all: %s", a.body)
		w.check("/all")

		// The recorded times jump back and forth, but the sequence numbers determine the order.
		_, events, err := w.store.EnvelopeWithEvents(t.Context(), w.appID, idOf(first))
		require.NoError(t, err)
		back := false
		for i := 1; i < len(events); i++ {
			assert.Equal(t, events[i-1].Seq+1, events[i].Seq)
			back = back || events[i].Timestamp.Before(events[i-1].Timestamp)
		}
		assert.True(t, back, "the clock must have been set back")
		assert.Equal(t, models.StatusCompleted, w.status(late))
	})
}
