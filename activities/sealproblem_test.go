package activities_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/models"
	"countersign/seal/rejection"
	"countersign/store/blob"
)

// problem returns the recorded sealing problem of an envelope, or an empty string if there is none.
func (env *fakeEnv) problem(id uuid.UUID) models.SealingProblem {
	env.t.Helper()
	e, err := env.Store.Envelope(env.t.Context(), env.app.ID, id)
	require.NoError(env.t, err)
	if e.SealingProblem == nil {
		return ""
	}
	return *e.SealingProblem
}

// TestSeal_MissingFileIsAProblem checks that a missing file is recorded once as a sealing problem, until the file is
// restored.
func TestSeal_MissingFileIsAProblem(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.signAll(e)
		key := e.Originals()[1].BlobKey
		require.NoError(env.t, env.Blobs.Delete(env.t.Context(), key))
		for range 2 {
			_, err := env.env.ExecuteActivity(env.Seal, in)
			var failed *sdktemporal.ApplicationError
			require.ErrorAs(env.t, err, &failed)
			assert.False(env.t, failed.NonRetryable(), "an operator may fix the cause")
			assert.Equal(env.t, "original_missing", failed.Type())
			assert.Equal(env.t, time.Hour, failed.NextRetryDelay())
		}
		assert.Equal(env.t, models.SealingOriginalMissing, env.problem(e.ID))
		assert.Equal(env.t, 1, env.events(e, models.EventSealingFailed), "told once")
		stuck, err := env.Store.UnsealedEnvelopes(env.t.Context(), 10)
		require.NoError(env.t, err)
		require.Len(env.t, stuck, 1)
		assert.Equal(env.t, e.ID, stuck[0].ID)
		n, err := env.Store.CountUnsealed(env.t.Context())
		require.NoError(env.t, err)
		assert.EqualValues(env.t, 1, n)
		env.clock.Add(time.Hour)
		plan, err := env.LoadPlan(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, models.SealingOriginalMissing, plan.Problem, "a restarted workflow reads the problem")

		f, err := env.Blobs.Temp()
		require.NoError(env.t, err)
		require.NoError(env.t, env.Blobs.Put(env.t.Context(), f, key))
		blob.Discard(f)
		env.sealed(in)
		assert.Empty(env.t, env.problem(e.ID))
		n, err = env.Store.CountUnsealed(env.t.Context())
		require.NoError(env.t, err)
		assert.Zero(env.t, n)
	})
}

// TestSealingProblems_NotifyAtOnceOrLater checks which failures are reported immediately, and which only after the
// grace period.
func TestSealingProblems_NotifyAtOnceOrLater(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.signAll(e)
		fails := func(err error, want models.SealingProblem) {
			env.t.Helper()
			env.sealer.fail = err
			_, err = env.env.ExecuteActivity(env.Seal, in)
			require.Error(env.t, err)
			assert.Equal(env.t, want, env.problem(e.ID))
		}
		down := errors.New("time-stamp authority is down")
		fails(down, "")
		env.clock.Add(models.SealingGracePeriod - time.Second)
		fails(down, "")
		env.clock.Add(time.Second)
		fails(down, models.SealingFailing)
		fails(rejection.New(rejection.GlyphMissing, "no glyph"), models.SealingRejected)
		fails(rejection.New(rejection.OriginalChanged, "changed"), models.SealingOriginalChanged)
		fails(down, models.SealingFailing)
		assert.Equal(env.t, 4, env.events(e, models.EventSealingFailed), "each change of the reason is reported")
		env.sealer.fail = nil
		env.sealed(in)
	})
}

// TestVoidStuck_OnlyUnsealable checks that an operator can void an envelope only if it cannot be sealed.
func TestVoidStuck_OnlyUnsealable(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		void := func() error {
			_, err := env.Store.Change(env.t.Context(), env.app.ID, e.ID, func(e *models.Envelope) error { return e.VoidStuck(env.act(), "the file is missing") })
			return err
		}
		require.ErrorContains(env.t, void(), "envelope_not_sealing")
		env.signAll(e)
		require.ErrorContains(env.t, void(), "envelope_not_stuck", "sealing can still succeed")
		require.NoError(env.t, env.Blobs.Delete(env.t.Context(), e.Originals()[0].BlobKey))
		_, err := env.seal(env.t.Context(), in)
		require.Error(env.t, err)
		require.NoError(env.t, void())
		require.ErrorContains(env.t, void(), "envelope_not_sealing", "once")
		got, log, err := env.Store.EnvelopeWithEvents(env.t.Context(), env.app.ID, e.ID)
		require.NoError(env.t, err)
		assert.Equal(env.t, models.StatusVoided, got.Status)
		assert.NotNil(env.t, got.VoidedAt)
		last := log[len(log)-1]
		assert.Equal(env.t, models.EventEnvelopeVoided, last.Name)
		assert.Equal(env.t, "the file is missing", last.Detail["reason"])
		assert.Equal(env.t, "original_missing", last.Detail["problem"])
		require.NoError(env.t, models.VerifyChain(log, got.AuditSeq, got.AuditHead))

		status, err := env.seal(env.t.Context(), in)
		require.NoError(env.t, err, "an attempt in progress ends")
		assert.Equal(env.t, models.StatusVoided, status)
		require.NoError(env.t, env.SendClosing(env.t.Context(), in))
		require.Len(env.t, env.mails.mails, 1, "signers who have signed are notified")
		assert.Contains(env.t, env.mails.mails[0].Text, "the file is missing")
	})
}

// TestVoidAndSeal_OneWins checks that only one of the two operations succeeds if an envelope is voided and sealed
// concurrently.
func TestVoidAndSeal_OneWins(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		won := map[models.Status]int{}
		for range 12 {
			e, in := env.sent("a@example.com")
			env.signAll(e)
			env.change(e, func(e *models.Envelope) error { return e.SealingFailed(env.act(), models.SealingFailing) })
			var (
				wg      sync.WaitGroup
				voided  error
				status  models.Status
				sealErr error
			)
			wg.Go(func() { status, sealErr = env.seal(env.t.Context(), in) })
			wg.Go(func() {
				_, voided = env.Store.Change(env.t.Context(), env.app.ID, e.ID, func(e *models.Envelope) error { return e.VoidStuck(env.act(), "lost") })
			})
			wg.Wait()
			require.NoError(env.t, sealErr)
			got, log, err := env.Store.EnvelopeWithEvents(env.t.Context(), env.app.ID, e.ID)
			require.NoError(env.t, err)
			won[got.Status]++
			assert.Equal(env.t, got.Status, status, "the activity reports which change took effect")
			assert.Equal(env.t, got.Status == models.StatusVoided, voided == nil)
			require.NoError(env.t, models.VerifyChain(log, got.AuditSeq, got.AuditHead))
			files, err := env.Blobs.List(env.t.Context(), "envelopes/"+e.ID.String()+"/sealed/")
			require.NoError(env.t, err)
			if got.Status == models.StatusVoided {
				assert.Empty(env.t, got.Sealed())
				assert.Empty(env.t, files, "a file that was sealed too late is removed")
				assert.Equal(env.t, 0, env.events(e, models.EventEnvelopeCompleted))
			} else {
				assert.Equal(env.t, models.StatusCompleted, got.Status)
				assert.Len(env.t, files, 2)
				assert.Equal(env.t, 0, env.events(e, models.EventEnvelopeVoided))
			}
		}
		env.t.Log(won)
	})
}
