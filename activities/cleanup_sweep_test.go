package activities_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store/blob"
	"countersign/temporal"
)

// watchedFiles is a file store that calls its hook whenever files are listed or deleted.
type watchedFiles struct {
	blob.Store

	before func()
}

func (w watchedFiles) List(ctx context.Context, prefix string) ([]string, error) {
	w.before()
	return w.Store.List(ctx, prefix)
}

func (w watchedFiles) Delete(ctx context.Context, key string) error {
	w.before()
	return w.Store.Delete(ctx, key)
}

// storeFile stores an empty file.
func (env *fakeEnv) storeFile(key string) {
	env.t.Helper()
	f, err := env.Blobs.Temp()
	require.NoError(env.t, err)
	defer blob.Discard(f)
	require.NoError(env.t, env.Blobs.Put(env.t.Context(), f, key))
}

func (env *fakeEnv) load(in temporal.EnvelopeInput) *models.Envelope {
	env.t.Helper()
	e, err := env.Store.Envelope(env.t.Context(), in.AppID, in.EnvelopeID)
	require.NoError(env.t, err)
	return e
}

// timestamps stores a newer version of the first sealed file of a completed envelope. The returned function records
// that version and its time-stamp.
func (env *fakeEnv) timestamps(in temporal.EnvelopeInput) (key string, record func()) {
	env.t.Helper()
	d := env.load(in).Sealed()[0]
	key = "envelopes/" + in.EnvelopeID.String() + "/sealed/" + d.OriginalID.String() + "-later.pdf"
	env.storeFile(key)
	return key, func() {
		file := models.SealedFile{SHA256: emptyHash, Size: 1, PageCount: 2, BlobKey: key, TimestampedUntil: env.clock.Now().AddDate(1, 0, 0)}
		env.change(env.load(in), func(e *models.Envelope) error { return e.Timestamped(env.act(), d.ID, d.SHA256, file) })
	}
}

// TestSweep_KeepsLaterFiles checks that sealing deletes the files of interrupted runs, but no files stored after the
// envelope was completed.
func TestSweep_KeepsLaterFiles(t *testing.T) {
	t.Parallel()
	t.Run("sealing completes the envelope", func(t *testing.T) {
		t.Parallel()
		onBothDatabases(t, func(env *fakeEnv) {
			e, in := env.sent("a@example.com")
			env.signAll(e)
			left := "envelopes/" + e.ID.String() + "/sealed/left.pdf"
			env.storeFile(left)
			var once sync.Once
			files := env.Blobs
			env.Blobs = watchedFiles{files, func() {
				if env.load(in).Status == models.StatusCompleted {
					once.Do(func() { _, record := env.timestamps(in); record() })
				}
			}}
			env.sealed(in)
			keys, err := files.List(env.t.Context(), "envelopes/"+e.ID.String()+"/sealed/")
			require.NoError(env.t, err)
			assert.NotContains(env.t, keys, left)
			now := env.load(in).Sealed()
			assert.Contains(env.t, now[0].BlobKey, "-later.pdf")
			for _, d := range now {
				assert.Contains(env.t, keys, d.BlobKey)
			}
		})
	})
	t.Run("another run has completed the envelope", func(t *testing.T) {
		t.Parallel()
		onBothDatabases(t, func(env *fakeEnv) {
			e, in := env.sent("a@example.com")
			env.signAll(e)
			var later string
			var record func()
			env.sealer.onSeal = func() {
				env.sealer.onSeal = nil
				env.sealed(in)
				later, record = env.timestamps(in)
			}
			env.sealed(in)
			record()
			keys, err := env.Blobs.List(env.t.Context(), "envelopes/"+e.ID.String()+"/sealed/")
			require.NoError(env.t, err)
			assert.Contains(env.t, keys, later)
			assert.Len(env.t, keys, 3, "includes the replaced file, but not the files of the late run")
		})
	})
}
