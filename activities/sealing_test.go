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
	"countersign/seal/refusal"
	"countersign/store/blob"
)

// problem is the recorded reason why an envelope cannot be sealed; "" if none is.
func (h *house) problem(id uuid.UUID) models.SealingProblem {
	h.t.Helper()
	e, err := h.Store.Envelope(h.t.Context(), h.app.ID, id)
	require.NoError(h.t, err)
	if e.SealingProblem == nil {
		return ""
	}
	return *e.SealingProblem
}

// TestADocumentThatCannotBeSealed: a file that is gone from the file store is
// named as the problem, once, and sealed when it is back.
func TestADocumentThatCannotBeSealed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com")
		h.signAll(e)
		key := e.Originals()[1].BlobKey
		require.NoError(h.t, h.Blobs.Delete(h.t.Context(), key))
		for range 2 {
			_, err := h.env.ExecuteActivity(h.Seal, in)
			var failed *sdktemporal.ApplicationError
			require.ErrorAs(h.t, err, &failed)
			assert.False(h.t, failed.NonRetryable(), "somebody may mend it")
			assert.Equal(h.t, "original_missing", failed.Type())
			assert.Equal(h.t, time.Hour, failed.NextRetryDelay())
		}
		assert.Equal(h.t, models.SealingOriginalMissing, h.problem(e.ID))
		assert.Equal(h.t, 1, h.events(e, models.EventSealingFailed), "told once")
		stuck, err := h.Store.UnsealedEnvelopes(h.t.Context(), 10)
		require.NoError(h.t, err)
		require.Len(h.t, stuck, 1)
		assert.Equal(h.t, e.ID, stuck[0].ID)
		n, err := h.Store.CountUnsealed(h.t.Context())
		require.NoError(h.t, err)
		assert.EqualValues(h.t, 1, n)
		h.clock.Add(time.Hour)
		plan, err := h.LoadPlan(h.t.Context(), in)
		require.NoError(h.t, err)
		assert.Equal(h.t, models.SealingOriginalMissing, plan.Problem, "a workflow that is started anew knows it")

		f, err := h.Blobs.Temp()
		require.NoError(h.t, err)
		require.NoError(h.t, h.Blobs.Keep(h.t.Context(), f, key))
		blob.Discard(f)
		h.sealed(in)
		assert.Empty(h.t, h.problem(e.ID))
		n, err = h.Store.CountUnsealed(h.t.Context())
		require.NoError(h.t, err)
		assert.Zero(h.t, n)
	})
}

// TestProblems: which failures are told at once, and which after a while.
func TestProblems(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com")
		h.signAll(e)
		fails := func(err error, want models.SealingProblem) {
			h.t.Helper()
			h.stamp.fail = err
			_, err = h.env.ExecuteActivity(h.Seal, in)
			require.Error(h.t, err)
			assert.Equal(h.t, want, h.problem(e.ID))
		}
		down := errors.New("time-stamp authority is down")
		fails(down, "")
		h.clock.Add(models.SealingPatience - time.Second)
		fails(down, "")
		h.clock.Add(time.Second)
		fails(down, models.SealingFailing)
		fails(refusal.New(refusal.GlyphMissing, "no glyph"), models.SealingRefused)
		fails(refusal.New(refusal.OriginalChanged, "changed"), models.SealingOriginalChanged)
		fails(down, models.SealingFailing)
		assert.Equal(h.t, 4, h.events(e, models.EventSealingFailed), "each change of the reason is told")
		h.stamp.fail = nil
		h.sealed(in)
	})
}

// TestVoidStuck: an operator closes what cannot be sealed, and nothing else.
func TestVoidStuck(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com")
		void := func() error {
			_, err := h.Store.Change(h.t.Context(), h.app.ID, e.ID, func(e *models.Envelope) error { return e.VoidStuck(h.act(), "the file is lost") })
			return err
		}
		require.ErrorContains(h.t, void(), "envelope_not_sealing")
		h.signAll(e)
		require.ErrorContains(h.t, void(), "envelope_not_stuck", "sealing may succeed")
		require.NoError(h.t, h.Blobs.Delete(h.t.Context(), e.Originals()[0].BlobKey))
		_, err := h.Seal(h.t.Context(), in)
		require.Error(h.t, err)
		require.NoError(h.t, void())
		require.ErrorContains(h.t, void(), "envelope_not_sealing", "once")
		got, log, err := h.Store.EnvelopeWithEvents(h.t.Context(), h.app.ID, e.ID)
		require.NoError(h.t, err)
		assert.Equal(h.t, models.StatusVoided, got.Status)
		assert.NotNil(h.t, got.VoidedAt)
		last := log[len(log)-1]
		assert.Equal(h.t, models.EventEnvelopeVoided, last.Name)
		assert.Equal(h.t, "the file is lost", last.Detail["reason"])
		assert.Equal(h.t, "original_missing", last.Detail["problem"])
		require.NoError(h.t, models.VerifyChain(log, got.AuditSeq, got.AuditHead))

		status, err := h.Seal(h.t.Context(), in)
		require.NoError(h.t, err, "an attempt that was under way ends")
		assert.Equal(h.t, models.StatusVoided, status)
		require.NoError(h.t, h.SendClosing(h.t.Context(), in))
		require.Len(h.t, h.post.mails, 1, "who has signed is told")
		assert.Contains(h.t, h.post.mails[0].Text, "the file is lost")
	})
}

// TestVoidAndSealRace: if sealing succeeds after all, one of the two wins, and
// the envelope is whole either way.
func TestVoidAndSealRace(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		won := map[models.Status]int{}
		for range 12 {
			e, in := h.sent("a@example.com")
			h.signAll(e)
			h.change(e, func(e *models.Envelope) error { return e.SealingFailed(h.act(), models.SealingFailing) })
			var (
				wg      sync.WaitGroup
				voided  error
				status  models.Status
				sealErr error
			)
			wg.Go(func() { status, sealErr = h.Seal(h.t.Context(), in) })
			wg.Go(func() {
				_, voided = h.Store.Change(h.t.Context(), h.app.ID, e.ID, func(e *models.Envelope) error { return e.VoidStuck(h.act(), "lost") })
			})
			wg.Wait()
			require.NoError(h.t, sealErr)
			got, log, err := h.Store.EnvelopeWithEvents(h.t.Context(), h.app.ID, e.ID)
			require.NoError(h.t, err)
			won[got.Status]++
			assert.Equal(h.t, got.Status, status, "the activity tells who won")
			assert.Equal(h.t, got.Status == models.StatusVoided, voided == nil)
			require.NoError(h.t, models.VerifyChain(log, got.AuditSeq, got.AuditHead))
			files, err := h.Blobs.List(h.t.Context(), "envelopes/"+e.ID.String()+"/sealed/")
			require.NoError(h.t, err)
			if got.Status == models.StatusVoided {
				assert.Empty(h.t, got.Sealed())
				assert.Empty(h.t, files, "what was sealed too late is removed")
				assert.Equal(h.t, 0, h.events(e, models.EventEnvelopeCompleted))
			} else {
				assert.Equal(h.t, models.StatusCompleted, got.Status)
				assert.Len(h.t, files, 2)
				assert.Equal(h.t, 0, h.events(e, models.EventEnvelopeVoided))
			}
		}
		h.t.Log(won)
	})
}
