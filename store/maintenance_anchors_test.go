package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/store"
	"countersign/test/kit"
)

// TestAnchors_CoverChangedChains checks that anchors are numbered without gaps, and that each anchor contains every
// chain that has changed since the previous anchor.
func TestAnchors_CoverChangedChains(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		last, err := s.LastAnchor(ctx)
		require.NoError(t, err)
		assert.Nil(t, last)
		for n := int64(1); n <= 3; n++ {
			require.NoError(t, s.AddAnchor(ctx, store.Anchor{Number: n, At: clock.Now(), Digest: "d", Token: []byte("token"), BlobKey: "anchors/" + string(rune('0'+n))}))
		}
		require.ErrorIs(t, s.AddAnchor(ctx, store.Anchor{Number: 2, At: clock.Now(), Digest: "another", Token: []byte("token")}), store.ErrAnchored)
		last, err = s.LastAnchor(ctx)
		require.NoError(t, err)
		assert.EqualValues(t, 3, last.Number)
		list, err := s.Anchors(ctx, 1, 1)
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, []any{int64(2), "d"}, []any{list[0].Number, list[0].Digest})
		assert.Len(t, must(s.Anchors(ctx, 0, 9)), 3)
		files, err := s.AnchorFiles(ctx, []string{"anchors/2", "anchors/9"})
		require.NoError(t, err)
		assert.Equal(t, map[string]bool{"anchors/2": true}, files)

		early := f.sent(1, nil)
		clock.Add(time.Minute)
		since := clock.Now()
		late := f.sent(1, nil)
		heads := func(since time.Time) (out []store.ChainHead) {
			require.NoError(t, s.EachChainHead(ctx, since, func(h store.ChainHead) error { out = append(out, h); return nil }))
			return out
		}
		all := heads(time.Time{})
		require.Len(t, all, 2)
		assert.Less(t, all[0].EnvelopeID.String(), all[1].EnvelopeID.String())
		e, log := f.check(late.ID)
		assert.Equal(t, []store.ChainHead{{EnvelopeID: late.ID, Seq: e.AuditSeq, Hash: e.AuditHead}}, heads(since))
		assert.Empty(t, heads(since.Add(time.Microsecond)))
		boom := errors.New("boom")
		require.ErrorIs(t, s.EachChainHead(ctx, time.Time{}, func(store.ChainHead) error { return boom }), boom)

		none, err := s.ChainLinks(ctx, nil)
		require.NoError(t, err)
		assert.Empty(t, none)
		at := store.ChainHead{EnvelopeID: late.ID, Seq: 2, Hash: log[1].Hash}
		links, err := s.ChainLinks(ctx, []store.ChainHead{at, {EnvelopeID: early.ID, Seq: 99, Hash: "x"}})
		require.NoError(t, err)
		assert.Equal(t, map[store.ChainHead]bool{at: true}, links)
	})
}
