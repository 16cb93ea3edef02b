package audit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/operate/audit"
	"countersign/store"
	"countersign/store/blob"
	"countersign/test/kit"
)

// TestVerify_Archives checks that archived data is compared with the sealed files and with every anchor.
func TestVerify_Archives(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		a := newAnchorFixture(t, kind)
		ctx := t.Context()
		require.NoError(t, a.Store.Archive(ctx, store.EnvelopeRef{ID: a.sealed, AppID: a.app}))
		found, n := a.problems()
		require.Empty(t, found)
		require.Equal(t, 2+3, n, "envelopes and anchors")
		require.NoError(t, a.One(ctx, a.sealed, func(r *audit.Report) error {
			assert.Empty(t, r.Problems)
			if r.EnvelopeID == a.sealed {
				assert.Positive(t, r.Events)
				assert.Equal(t, 1, r.Sealed)
			}
			return nil
		}))
		keys, err := a.blobs.List(ctx, blob.Archives)
		require.NoError(t, err)
		require.Len(t, keys, 1)
		content := a.read(keys[0])
		flipped := append([]byte(nil), content...)
		flipped[len(flipped)-20] ^= 1
		var key []byte
		require.NoError(t, a.db.QueryRowContext(ctx, "SELECT key FROM envelope_archives").Scan(&key))
		damaged := append([]byte(nil), key...)
		damaged[len(damaged)-1] ^= 1
		attacks := map[string]struct {
			do, undo func()
			want     string
		}{
			"its file is changed": {func() { put(t, a.blobs, keys[0], flipped) }, func() { put(t, a.blobs, keys[0], content) }, "does not match its recorded hash"},
			"its file is gone":    {func() { require.NoError(t, a.blobs.Delete(ctx, keys[0])) }, func() { put(t, a.blobs, keys[0], content) }, "is missing"},
			"its key is changed": {
				func() { a.exec("UPDATE envelope_archives SET key = $1 WHERE envelope_id = $2", damaged, a.sealed) },
				func() { a.exec("UPDATE envelope_archives SET key = $1 WHERE envelope_id = $2", key, a.sealed) }, "has a key that cannot be decrypted",
			},
			"its envelope ends with another event": {
				func() { a.exec("UPDATE envelopes SET audit_seq = audit_seq - 1 WHERE id = $1", a.sealed) },
				func() { a.exec("UPDATE envelopes SET audit_seq = audit_seq + 1 WHERE id = $1", a.sealed) }, "audit chain: ends at event",
			},
			"its envelope is said to be in no archive": {
				func() { a.exec("UPDATE envelopes SET archived = false WHERE id = $1", a.sealed) },
				func() { a.exec("UPDATE envelopes SET archived = true WHERE id = $1", a.sealed) }, "audit chain: ends at event",
			},
		}
		for name, attack := range attacks {
			attack.do()
			found, _ := a.problems()
			assert.Contains(t, strings.Join(found, "\n"), attack.want, name)
			attack.undo()
			found, _ = a.problems()
			require.Empty(t, found, name)
		}
		a.exec("UPDATE envelope_archives SET released_at = created_at WHERE envelope_id = $1", a.sealed)
		found, _ = a.problems()
		assert.Contains(t, strings.Join(found, "\n"), "has no record")
	})
}

// TestAnchor_CoversEarlierArchives checks that an anchor also lists an envelope that was archived since the
// previous anchor.
func TestAnchor_CoversEarlierArchives(t *testing.T) {
	t.Parallel()
	a := newAnchorFixture(t, "sqlite")
	a.clock.Add(time.Hour)
	id := a.envelope(a.Store, a.clock)
	_, err := a.Store.Change(t.Context(), a.app, id, func(e *models.Envelope) error { return e.Void(act(a.clock), nil) })
	require.NoError(t, err)
	require.NoError(t, a.Store.Archive(t.Context(), store.EnvelopeRef{ID: id, AppID: a.app}))
	a.clock.Add(24 * time.Hour)
	a.anchor(1)
	last := a.made[len(a.made)-1]
	assert.Contains(t, string(a.read(last.BlobKey)), id.String())
	var about []uuid.UUID
	require.NoError(t, a.One(t.Context(), id, func(r *audit.Report) error {
		if r.Anchor == nil {
			about = append(about, r.EnvelopeID)
		} else {
			assert.Empty(t, r.Problems)
		}
		return nil
	}))
	assert.Equal(t, []uuid.UUID{id}, about)
}
