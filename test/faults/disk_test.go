package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// smallDisk is a directory on a disk that a test can fill. It is a separate file system if this process is allowed to
// mount one. Otherwise, it is an ordinary directory with a failpoint that simulates a full disk.
type smallDisk struct {
	w    *scenario
	dir  string
	size int // MB
	real bool
}

func newSmallDisk(t *testing.T, size int) *smallDisk {
	t.Helper()
	d := &smallDisk{dir: t.TempDir(), size: size}
	if err := syscall.Mount("tmpfs", d.dir, "tmpfs", 0, fmt.Sprintf("size=%dm", size)); err == nil {
		d.real = true
		t.Cleanup(func() { _ = syscall.Unmount(d.dir, syscall.MNT_DETACH) })
	}
	return d
}

// fill fills the disk except for the given number of bytes. A call to empty frees the space.
func (d *smallDisk) fill(t *testing.T, leave int) {
	t.Helper()
	if !d.real {
		d.w.set("blob.keep", "full")
		return
	}
	f, err := os.Create(filepath.Join(d.dir, "ballast"))
	require.NoError(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	st, err := f.Stat()
	require.NoError(t, err)
	require.NoError(t, f.Truncate(st.Size()-int64(leave)))
	require.NoError(t, f.Close())
}

func (d *smallDisk) empty(t *testing.T) {
	t.Helper()
	d.w.set("blob.keep", "")
	if err := os.Remove(filepath.Join(d.dir, "ballast")); err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

// TestDiskFull fills the disk of the file store. It checks that sealing is retried until space is available, and that
// readers never see a truncated file.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		disk := newSmallDisk(t, 4)
		w := newScenario(t, setting{files: filepath.Join(disk.dir, "files")})
		disk.w = w
		w.start(1, 1)
		seen := watch(t, filepath.Join(disk.dir, "files", "envelopes"))
		require.NoError(t, w.sendAndComplete(1))
		e, err := w.send(2)
		require.NoError(t, err)
		draft, err := w.draft(1)
		require.NoError(t, err)
		eventually(t, func() bool { return w.status(w.envelopes[0]) == models.StatusCompleted }, "the first envelope was not completed")

		leave := 4096 * rnd.IntN(4)
		disk.fill(t, leave)
		require.NoError(t, e.complete(), "signing requires no space in the file store")
		failed := func() bool { return w.logged("no space left on device") }
		eventually(t, failed, "sealing did not fail")
		if !disk.real || leave == 0 {
			for probe, want := range map[string]int{"/readyz": http.StatusServiceUnavailable, "/readyz?for=uploads": http.StatusServiceUnavailable, "/readyz?for=requests": http.StatusOK} {
				assert.Equal(t, want, w.request(http.MethodGet, probe, "", nil).StatusCode, probe)
			}
			res := w.request(http.MethodPost, "/v1/envelopes/"+draft.id+"/document", "application/pdf", onePage)
			assert.Equal(t, http.StatusServiceUnavailable, res.StatusCode, "an upload can be repeated once there is space")
			assert.NotEmpty(t, res.Header.Get("Retry-After"))
		}
		assert.Equal(t, models.StatusSealing, w.status(e))
		assert.Empty(t, w.sealedFiles(e))
		disk.empty(t)
		w.check("/all")
		for _, problem := range seen() {
			t.Error(problem)
		}
		if disk.real {
			left, err := os.ReadDir(filepath.Join(disk.dir, "files", "tmp"))
			require.NoError(t, err)
			assert.Empty(t, left, "no partially written file may remain")
		}
	})
}

// watch reads every file as soon as it appears under dir. The returned function stops watching and returns an error
// for each incomplete file.
func watch(t *testing.T, dir string) (problems func() []error) {
	t.Helper()
	done, out := make(chan struct{}), make(chan []error)
	go func() {
		var all []error
		checked := map[string]bool{}
		for running := true; running; {
			select {
			case <-done:
				running = false
			case <-time.After(2 * time.Millisecond):
			}
			_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if err != nil || e.IsDir() || checked[path] {
					return nil //nolint:nilerr // the file does not exist yet, or has been removed
				}
				b, err := os.ReadFile(path)
				if err != nil {
					return nil //nolint:nilerr // removed in the meantime
				}
				checked[path] = true
				if !bytes.HasPrefix(b, []byte("%PDF")) || !strings.HasSuffix(strings.TrimSpace(string(b)), "%%EOF") {
					all = append(all, errors.New("truncated file seen: "+path))
				}
				return nil
			})
		}
		out <- all
	}()
	return func() []error { close(done); return <-out }
}
