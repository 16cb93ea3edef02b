package faults_test

import (
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKillWhileArchiving kills the process at each step of archiving or restoring an envelope. It checks that all
// events of the envelope are always stored in one place, and that the cleanup removes leftover files.
func TestKillWhileArchiving(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, _ *rand.Rand) {
		w := newScenario(t, setting{})
		w.api()
		w.login()
		e, err := w.draft(1)
		require.NoError(t, err)
		at := "/v1/envelopes/" + e.id
		a, err := w.client.do(http.MethodPost, at+"/void", "application/json", []byte(`{"reason":"by mistake"}`))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, a.status, "%s", a.body)
		ask := func() string {
			h := http.Header{"Authorization": {"Bearer " + w.client.token}}
			status, body, err := w.client.once(t.Context(), http.MethodGet, w.client.base(false)+at, h, nil)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, "%s", body)
			return string(body)
		}
		before := ask()
		archived := func() int {
			return w.count("SELECT count(*) FROM envelopes WHERE archived AND id = $1", uuid.MustParse(e.id))
		}
		for _, step := range []struct {
			command, place string
			archived       int
		}{
			{"archive", "blob.kept", 0},
			{"archive", "archive.kept", 0},
			{"archive", "archive.verified", 0},
			{"archive", "archive.deleted", 0},
			{"archive", "archive.moved", 1},
			{"restore", "restore.written", 1},
			{"restore", "restore.committed", 0},
			{"archive", "archive.moved", 1},
		} {
			w.set(step.place, "kill")
			p := &process{w: w, args: []string{"envelope", step.command, e.id}}
			p.start()
			p.waitDead()
			require.False(t, p.cmd.ProcessState.Exited(), "the worker must be killed at %s", step.place)
			assert.Equal(t, step.archived, archived(), step.place)
			assert.Equal(t, before, ask(), step.place)
			w.run("audit", "verify", "--all")
		}
		w.age()
		assert.Contains(t, string(w.run("files", "sweep", "--delete")), "4 file(s)", "files of attempts before the record")
		assert.Equal(t, before, ask())
		w.run("envelope", "restore", e.id)
		w.run("envelope", "archive", e.id)
		assert.Equal(t, before, ask())
		w.run("audit", "verify", "--all")
	})
}
