package store_test

import (
	"bytes"
	"compress/flate"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/store"
	"countersign/test/kit"
)

// TestCompression_RoundTrip checks that JSON of any length, incompressible content, and uncompressed rows are read
// back unchanged.
func TestCompression_RoundTrip(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{
		"", "{}", `{"event":"ping"}`, `{"a":"` + strings.Repeat("signer", 1000) + `"}`, `{"a":"` + strings.Repeat("x", 2<<20) + `"}`, "[1]", "\x02 no JSON",
	} {
		stored := store.Compress([]byte(plain))
		assert.LessOrEqual(t, len(stored), len(plain))
		got, err := store.Decompress(stored)
		require.NoError(t, err)
		assert.Equal(t, plain, string(got))
		got, err = store.Decompress([]byte(plain))
		require.NoError(t, err)
		assert.Equal(t, plain, string(got), "from before")
	}
	stored := store.Compress([]byte(strings.Repeat(`{"a":1}`, 100)))
	for n := 1; n < len(stored); n++ {
		_, err := store.Decompress(stored[:n])
		require.Error(t, err, "cut at %d", n)
	}
	longest := bytes.Repeat([]byte{'{'}, 32<<20)
	stored = store.Compress(longest)
	assert.Less(t, len(stored), 1<<20)
	got, err := store.Decompress(stored)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(longest, got))
	large := append(longest, '{')
	assert.True(t, bytes.Equal(large, store.Compress(large)), "too long")
	var bomb bytes.Buffer
	bomb.WriteByte(1) // marker of compressed data
	w, err := flate.NewWriter(&bomb, flate.BestSpeed)
	require.NoError(t, err)
	_, err = w.Write(large)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = store.Decompress(bomb.Bytes())
	require.ErrorContains(t, err, "larger than 32 MiB")
}

// TestWebhookBodies_AreCompressed checks that a webhook body is compressed to less than half its size, and that
// uncompressed bodies can be read and re-encrypted.
func TestWebhookBodies_AreCompressed(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		f.sent(2, nil)
		page, err := s.Events(ctx, store.EventQuery{App: f.app.ID, Limit: 100})
		require.NoError(t, err)
		require.Len(t, page.Events, 2)
		db, err := s.DB()
		require.NoError(t, err)
		for _, ev := range page.Events {
			var stored []byte
			require.NoError(t, db.QueryRowContext(ctx, "SELECT body FROM webhook_events WHERE id = $1", ev.ID).Scan(&stored))
			assert.Less(t, len(stored), len(ev.Body)*6/10)
			plain := kit.Vault(t).EncryptBytes(ev.Body, "webhook_events.body "+ev.ID.String())
			_, err := db.ExecContext(ctx, "UPDATE webhook_events SET body = $1 WHERE id = $2", plain, ev.ID)
			require.NoError(t, err)
		}
		again, err := s.Events(ctx, store.EventQuery{App: f.app.ID, Limit: 100})
		require.NoError(t, err)
		assert.Equal(t, page.Events, again.Events, "rows from before compression")
		assert.Contains(t, string(again.Events[0].Body), `"event":"envelope.created"`)
	})
}
