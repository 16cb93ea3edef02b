package faults_test

import (
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// TestKillWhileUploading kills the API after a file is written and before it is recorded. It checks that the upload
// can be repeated, and that the sweep removes the leftover file.
func TestKillWhileUploading(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, _ *rand.Rand) {
		w := newScenario(t, setting{})
		api := w.api()
		w.login()
		e, err := w.draft(1)
		require.NoError(t, err)
		w.set("blob.kept", "kill")
		path := "/v1/envelopes/" + e.id + "/document"
		h := http.Header{"Content-Type": {"application/octet-stream"}, "Idempotency-Key": {uuid.NewString()}, "Authorization": {"Bearer " + w.client.token}}
		_, _, err = w.client.once(t.Context(), http.MethodPost, w.client.base(false)+path, h, onePage)
		require.Error(t, err, "the API must exit before it responds")
		api.waitDead()
		assert.Equal(t, 1, w.count("SELECT count(*) FROM documents"))
		assert.Len(t, w.stored("envelopes"), 2)
		api.start()
		api.waitHealthy()
		a, err := w.client.do(http.MethodPost, path, "application/octet-stream", onePage)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, a.status, "%s", a.body)
		assert.Len(t, w.stored("envelopes"), 3)

		w.age()
		assert.Contains(t, string(w.run("files", "sweep", "--delete")), "1 file(s)")
		assert.Len(t, w.stored("envelopes"), 2)
		w.run("audit", "verify", "--all")
	})
}

// TestKillWhileAnchoring kills the worker before or after the record of an anchor is written. It checks that another
// worker creates the anchor, and that no record is reported as altered.
func TestKillWhileAnchoring(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{env: []string{"COUNTERSIGN_TSA_URL=" + kit.NewTSA(t).URL, "COUNTERSIGN_TSA_ANCHOR=true"}})
		w.api()
		w.login()
		_, err := w.draft(1)
		require.NoError(t, err)
		place := []string{"anchor.kept", "anchor.recorded"}[rnd.IntN(2)]
		records, left := 1, "1 file(s)" // a list without a record remains
		if place == "anchor.recorded" {
			records, left = 2, "0 file(s)" // the activity that recorded the first anchor is retried
		}
		w.set(place, "kill")
		w.worker().waitDead()
		w.run("audit", "verify", "--all")
		w.worker()
		eventually(t, func() bool {
			tokens := 0
			for _, f := range w.stored("anchors") {
				if strings.HasSuffix(f, ".tst") {
					tokens++
				}
			}
			return tokens == records && w.count("SELECT count(*) FROM audit_anchors") == records
		}, "no anchor was created after a worker was killed at %s", place)
		w.run("audit", "verify", "--all")
		w.age()
		assert.Contains(t, string(w.run("files", "sweep", "--delete")), left, place)
		w.run("audit", "verify", "--all")
	})
}

// stored returns the paths of the files in a folder of the file store.
func (w *scenario) stored(folder string) (files []string) {
	w.t.Helper()
	err := filepath.WalkDir(filepath.Join(w.files, folder), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	require.NoError(w.t, err)
	return files
}

// age backdates every stored file beyond the maximum age of an unfinished upload.
func (w *scenario) age() {
	w.t.Helper()
	past := time.Now().Add(-25 * time.Hour)
	for _, folder := range []string{"envelopes", "anchors", "archives"} {
		if _, err := os.Stat(filepath.Join(w.files, folder)); err != nil {
			continue
		}
		for _, f := range w.stored(folder) {
			require.NoError(w.t, os.Chtimes(f, past, past))
		}
	}
}
