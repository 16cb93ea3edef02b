package activities_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/internal/limit"
	"countersign/internal/pulse"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
)

// TestProgress_IsReported checks that a long activity reports progress with every email, document, batch and archived
// envelope.
func TestProgress_IsReported(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		archives, err := blob.OpenDir(t.TempDir())
		require.NoError(env.t, err)
		env.Store.UseArchives(archives)
		beats := func(want int, run func(ctx context.Context) error) {
			env.t.Helper()
			var n atomic.Int32
			require.NoError(env.t, run(pulse.With(env.t.Context(), func() { n.Add(1) })))
			assert.EqualValues(env.t, want, n.Load())
		}
		e, in := env.sent("a@example.com", "b@example.com")
		beats(1, func(ctx context.Context) error {
			return env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID})
		})
		env.signAll(e)
		beats(2*2, func(ctx context.Context) error { // each of two documents is sealed and stored
			_, err := env.seal(ctx, in)
			return err
		})
		beats(2, func(ctx context.Context) error { return env.SendCopies(ctx, in) })

		kinds := len(store.AllExpiredRows) // one batch of rows of each kind
		beats(kinds, func(ctx context.Context) error { _, err := env.Cleanup(ctx); return err })
		voided, _ := env.sent("c@example.com")
		env.change(voided, func(e *models.Envelope) error { return e.Void(env.act(), nil) })
		env.ArchiveAfter = time.Second
		env.clock.Add(time.Minute)
		beats(kinds+2, func(ctx context.Context) error { _, err := env.Cleanup(ctx); return err })
	})
}

// TestCleanupRound_More checks that a round continues if any of its steps may have left work to do.
func TestCleanupRound_More(t *testing.T) {
	t.Parallel()
	var round activities.CleanupRound
	round.Count("nothing", 0, false)
	assert.Equal(t, activities.CleanupRound{}, round)
	round.Count("rows", 2, true)
	round.Count("others", 1, false)
	assert.Equal(t, activities.CleanupRound{More: true, Removed: []activities.RemovedRows{{Kind: "rows", Rows: 2}, {Kind: "others", Rows: 1}}}, round)
}

// TestSeal_ReportsProgressWhileWaiting checks that an activity is not restarted as stalled while it waits for the
// worker to seal other envelopes.
func TestSeal_ReportsProgressWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // simulated time passes instantly
		beats := 0
		ctx, cancel := context.WithTimeout(pulse.With(t.Context(), func() { beats++ }), 3*activities.HeartbeatInterval-time.Second)
		defer cancel()
		_, err := (&activities.Activities{SealLimit: limit.New(0)}).Seal(ctx, temporal.EnvelopeInput{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 2, beats)
	})
}
