package activities_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store/blob"
)

// TestAlteredOriginalsAreNotSealed: neither another file, nor the same in plain
// where an encrypted one was, is sealed; once the right one is back, it is.
func TestAlteredOriginalsAreNotSealed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		plain := h.Blobs
		encrypted := blob.Sealed(plain, testkit.Vault(h.t), true)
		h.Blobs = encrypted
		e, in := h.sent("a@example.com")
		for _, d := range e.Documents {
			require.NoError(h.t, h.Store.MarkEncrypted(h.t.Context(), d.BlobKey))
		}
		h.signAll(e)
		put := func(s blob.Store, text string) {
			h.t.Helper()
			f, err := s.Temp()
			require.NoError(h.t, err)
			defer blob.Discard(f)
			_, err = f.WriteString(text)
			require.NoError(h.t, err)
			require.NoError(h.t, s.Keep(h.t.Context(), f, e.Documents[0].BlobKey))
		}
		seal := func() error { _, err := h.env.ExecuteActivity(h.Seal, in); return err }
		put(plain, "")
		require.ErrorContains(h.t, seal(), "cannot be sealed")
		assert.Equal(h.t, models.SealingOriginalChanged, h.problem(e.ID))
		put(encrypted, "%PDF another")
		require.ErrorContains(h.t, seal(), "cannot be sealed")
		assert.Equal(h.t, models.SealingOriginalChanged, h.problem(e.ID))
		got, err := h.Store.Envelope(h.t.Context(), h.app.ID, e.ID)
		require.NoError(h.t, err)
		assert.Equal(h.t, models.StatusSealing, got.Status)
		put(encrypted, "")
		require.NoError(h.t, seal())
		got, err = h.Store.Envelope(h.t.Context(), h.app.ID, e.ID)
		require.NoError(h.t, err)
		assert.Equal(h.t, models.StatusCompleted, got.Status)
		for _, d := range got.Sealed() {
			assert.True(h.t, d.Encrypted)
		}
	})
}
