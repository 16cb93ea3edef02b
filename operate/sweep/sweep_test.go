package sweep_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/operate/sweep"
	"countersign/store"
	"countersign/store/blob"
	"countersign/test/kit"
)

// stores returns the kinds of file stores: a directory and a bucket. Each comes with a function that creates a file
// of a given age.
func stores(t *testing.T) map[string]func() (blob.Store, func(key string, age time.Duration)) {
	t.Helper()
	return map[string]func() (blob.Store, func(string, time.Duration)){
		"directory": func() (blob.Store, func(string, time.Duration)) {
			root := t.TempDir()
			b, err := blob.OpenDir(root)
			require.NoError(t, err)
			return b, func(key string, age time.Duration) {
				past := time.Now().Add(-age)
				require.NoError(t, os.Chtimes(filepath.Join(root, key), past, past))
			}
		},
		"bucket": func() (blob.Store, func(string, time.Duration)) {
			s3 := kit.NewS3(t)
			b, err := blob.Open(t.Context(), s3.URL)
			require.NoError(t, err)
			return b, s3.Age
		},
	}
}

func put(t *testing.T, s blob.Store, key string) {
	t.Helper()
	f, err := s.Temp()
	require.NoError(t, err)
	defer blob.Discard(f)
	_, err = f.WriteString("content")
	require.NoError(t, err)
	require.NoError(t, s.Put(t.Context(), f, key))
}

// envelope stores a draft with one document, and returns the key of the document's file.
func envelope(t *testing.T, s *store.Store, clock *kit.Clock, app uuid.UUID) (e *models.Envelope, key string) {
	t.Helper()
	act := models.ActionContext{At: clock.Now(), Actor: models.ActorSystem, NewID: uuid.New}
	e, err := models.NewEnvelope(act, models.Envelope{AppID: app, TenantID: "t", CreatedBy: "me"})
	require.NoError(t, err)
	key = fmt.Sprintf("envelopes/%s/original/%s.pdf", e.ID, uuid.New())
	sum := sha256.Sum256([]byte("content"))
	_, err = e.AddDocument(act, models.DocumentInput{Document: models.Document{
		SHA256: hex.EncodeToString(sum[:]), Size: 7, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: key,
	}}, 9)
	require.NoError(t, err)
	require.NoError(t, s.Create(t.Context(), e))
	return e, key
}

// TestSweep checks that unreferenced files are reported and deleted, but not recent files, referenced files or
// evidence.
func TestSweep(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
		require.NoError(t, err)
		pool, err := s.DB()
		require.NoError(t, err)
		number := int64(0)
		for name, open := range stores(t) {
			b, age := open()
			e, original := envelope(t, s, clock, app.ID)
			p, purged := envelope(t, s, clock, app.ID)
			_, err := pool.ExecContext(t.Context(), "UPDATE documents SET purge_status = 'purged' WHERE id = '"+p.Documents[0].ID.String()+"'")
			require.NoError(t, err)
			number++
			list := fmt.Sprintf("anchors/%08d-ab.txt", number)
			require.NoError(t, s.AddAnchor(t.Context(), store.Anchor{Number: number, At: clock.Now(), Digest: "ab", BlobKey: list, Token: []byte("t")}))
			recorded := store.Archive{ID: uuid.New(), EnvelopeID: e.ID}
			_, err = pool.ExecContext(t.Context(), "INSERT INTO envelope_archives (id, envelope_id, sha256, size, events, last_event_at, created_at, released_at) SELECT '"+recorded.ID.String()+"', id, 'ab', 1, 1, created_at, created_at, created_at FROM envelopes WHERE id = '"+e.ID.String()+"'")
			require.NoError(t, err)
			stays := []string{
				original, list, recorded.BlobKey(), "archives/of-somebody-else.csa",
				fmt.Sprintf("envelopes/%s/sealed/superseded.pdf", e.ID),
				fmt.Sprintf("envelopes/%s/sealed/evidence.pdf", uuid.New()),
				"anchors/00000099-removed.txt", "anchors/00000099-removed.txt.tst",
				"envelopes/of-somebody-else.pdf", "other/file.pdf",
			}
			goes := map[string]string{
				fmt.Sprintf("envelopes/%s/original/%s.pdf", e.ID, uuid.New()):       sweep.ReasonUnrecorded,
				fmt.Sprintf("envelopes/%s/original/%s.pdf", uuid.New(), uuid.New()): sweep.ReasonUnrecorded,
				(&store.Archive{ID: uuid.New(), EnvelopeID: e.ID}).BlobKey():        sweep.ReasonUnrecorded,
				purged: sweep.ReasonPurged,
				fmt.Sprintf("envelopes/%s/sealed/restored.pdf", p.ID): sweep.ReasonPurged,
				"anchors/00000098-cut-off.txt":                        sweep.ReasonUnrecorded,
				"check/1.part":                                        sweep.ReasonCheck,
			}
			for _, key := range stays {
				put(t, b, key)
				age(key, sweep.Age+time.Hour)
			}
			for key := range goes {
				put(t, b, key)
				age(key, sweep.Age+time.Hour)
			}
			young := fmt.Sprintf("envelopes/%s/original/%s.pdf", uuid.New(), uuid.New())
			put(t, b, young)
			older := fmt.Sprintf("envelopes/%s/original/%s.pdf", uuid.New(), uuid.New())
			put(t, b, older)
			age(older, 23*time.Hour)
			run := func(remove bool) map[string]string {
				found := make(map[string]string)
				require.NoError(t, sweep.Sweeper{Store: s, Blobs: b, Delete: remove}.Run(t.Context(), func(o sweep.Orphan) error {
					assert.Equal(t, remove, o.Deleted)
					assert.EqualValues(t, 7, o.Size)
					found[o.Key] = o.Reason
					return nil
				}))
				return found
			}
			assert.Equal(t, goes, run(false), name)
			assert.Equal(t, goes, run(true), name)
			assert.Empty(t, run(true), name)
			left, err := b.List(t.Context(), "")
			require.NoError(t, err)
			assert.ElementsMatch(t, append(stays, young, older), left, name)
		}
	})
}
