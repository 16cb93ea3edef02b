package activities_test

import (
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/prepare"
	"countersign/seal/manifest"
	"countersign/store/blob"
)

// TestSeal_PreparedFile checks that the sealer receives the prepared file and the description of its preparation.
func TestSeal_PreparedFile(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		key := fmt.Sprintf("envelopes/%s/prepared/1.pdf", e.ID)
		f, err := env.Blobs.Temp()
		require.NoError(env.t, err)
		_, err = f.WriteString("prepared")
		require.NoError(env.t, err)
		require.NoError(env.t, env.Blobs.Put(env.t.Context(), f, key))
		blob.Discard(f)
		const hash = "b0f4b2e7996a5f4f315bdbc6233973376144870ecd6524e417c05c36dde88745"
		db, err := env.Store.DB()
		require.NoError(env.t, err)
		_, err = db.ExecContext(env.t.Context(), `UPDATE documents SET prepared_sha256 = '`+hash+`', prepared_size = 8, prepared_key = '`+key+
			`', preparation = '{"as":"appended","writer":1,"options":{"tags":"detect"},"changes":[{"kind":"tags_removed","page":1,"count":2}],"plan":{"texts":[3]}}'
			WHERE document_order = 2 AND envelope_id = '`+e.ID.String()+"'")
		require.NoError(env.t, err)
		env.signAll(e)
		env.sealed(in)
		job := env.sealer.last
		require.NotNil(env.t, job.Prepared)
		assert.Equal(env.t, int64(8), job.Size)
		assert.Equal(env.t, emptyHash, job.OriginalSHA256)
		assert.Equal(env.t, int64(0), job.Prepared.UploadSize)
		assert.Equal(env.t, hash, job.Prepared.SHA256)
		assert.Equal(env.t, hash, job.Document.PreparedSHA256)
		assert.Equal(env.t, manifest.Appended, job.Prepared.As)
		assert.Equal(env.t, []prepare.Change{{Kind: "tags_removed", Page: 1, Count: 2}}, job.Prepared.Changes)
		assert.Equal(env.t, []int{3}, job.Prepared.Plan.Texts)

		env.change(e, func(e *models.Envelope) error {
			e.SetRetention(1)
			return nil
		})
		env.clock.Add(48 * time.Hour)
		require.NoError(env.t, env.Purge(env.t.Context(), in))
		for _, k := range []string{key, e.Originals()[1].BlobKey} {
			_, err = env.Blobs.Open(env.t.Context(), k)
			require.ErrorIs(env.t, err, fs.ErrNotExist, k)
		}
	})
}
