package activities_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store/blob"
	"countersign/test/kit"
)

// TestSeal_AlteredOriginal checks that neither a replaced file nor an unencrypted copy of an encrypted file is sealed.
func TestSeal_AlteredOriginal(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		plain := env.Blobs
		encrypted := blob.NewEncrypted(plain, kit.Vault(env.t), true)
		env.Blobs = encrypted
		e, in := env.sent("a@example.com")
		for _, d := range e.Documents {
			require.NoError(env.t, env.Store.MarkEncrypted(env.t.Context(), d.BlobKey))
		}
		env.signAll(e)
		put := func(s blob.Store, text string) {
			env.t.Helper()
			f, err := s.Temp()
			require.NoError(env.t, err)
			defer blob.Discard(f)
			_, err = f.WriteString(text)
			require.NoError(env.t, err)
			require.NoError(env.t, s.Put(env.t.Context(), f, e.Documents[0].BlobKey))
		}
		seal := func() error { _, err := env.env.ExecuteActivity(env.Seal, in); return err }
		put(plain, "")
		require.ErrorContains(env.t, seal(), "cannot be sealed")
		assert.Equal(env.t, models.SealingOriginalChanged, env.problem(e.ID))
		put(encrypted, "%PDF another")
		require.ErrorContains(env.t, seal(), "cannot be sealed")
		assert.Equal(env.t, models.SealingOriginalChanged, env.problem(e.ID))
		got, err := env.Store.Envelope(env.t.Context(), env.app.ID, e.ID)
		require.NoError(env.t, err)
		assert.Equal(env.t, models.StatusSealing, got.Status)
		put(encrypted, "")
		require.NoError(env.t, seal())
		got, err = env.Store.Envelope(env.t.Context(), env.app.ID, e.ID)
		require.NoError(env.t, err)
		assert.Equal(env.t, models.StatusCompleted, got.Status)
		for _, d := range got.Sealed() {
			assert.True(env.t, d.Encrypted)
		}
	})
}
