package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/store"
	"countersign/test/kit"
)

// TestPageFiles_FilterByProfile checks that the pages of the requested files with one profile are listed in order.
func TestPageFiles_FilterByProfile(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		want := []string{"a 1 1", "a 1 2", "a 2 1", "b 1 1"}
		for _, p := range []store.PageFile{
			{BlobKey: "b", Page: 1, Level: 1},
			{BlobKey: "a", Page: 2, Level: 1},
			{BlobKey: "a", Page: 1, Level: 2},
			{BlobKey: "a", Page: 1, Level: 1},
			{BlobKey: "a", Page: 1, Level: 1, Profile: 2},
			{BlobKey: "c", Page: 1, Level: 1},
		} {
			p.Profile = max(1, p.Profile)
			_, err := s.AddPageFile(t.Context(), p)
			require.NoError(t, err)
		}
		rows, err := s.PageFiles(t.Context(), 1, "a", "b")
		require.NoError(t, err)
		var got []string
		for _, p := range rows {
			require.Equal(t, 1, p.Profile)
			got = append(got, fmt.Sprintf("%s %d %d", p.BlobKey, p.Page, p.Level))
		}
		require.Equal(t, want, got)
	})
}

// TestReplacePageFile_AnotherEncoding_IsRecorded checks that another encoding with the same appearance is recorded for
// a single page.
func TestReplacePageFile_AnotherEncoding_IsRecorded(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		ctx := t.Context()
		first := store.PageFile{BlobKey: "a", Profile: 1, Page: 1, Level: 1, Appearance: "look", SHA256: "one", MediaType: "image/png"}
		others := make([]store.PageFile, 4)
		for i, change := range []func(*store.PageFile){
			func(p *store.PageFile) { p.BlobKey = "b" }, func(p *store.PageFile) { p.Profile = 2 }, func(p *store.PageFile) { p.Page = 2 }, func(p *store.PageFile) { p.Level = 2 },
		} {
			others[i] = first
			change(&others[i])
		}
		for _, p := range append(others, first) {
			_, err := s.AddPageFile(ctx, p)
			require.NoError(t, err)
		}
		next := first
		next.SHA256, next.MediaType, next.Encrypted = "two", "image/webp", true
		known, err := s.AddPageFile(ctx, next)
		require.NoError(t, err)
		require.Equal(t, "one", known.SHA256, "a page is recorded once")
		other := next
		other.Appearance = "another look"
		require.NoError(t, s.ReplacePageFile(ctx, other))
		require.Equal(t, "one", must(s.PageFile(ctx, "a", 1, 1, 1)).SHA256)
		require.NoError(t, s.ReplacePageFile(ctx, next))
		got := must(s.PageFile(ctx, "a", 1, 1, 1))
		require.Equal(t, []any{"look", "two", "image/webp", true}, []any{got.Appearance, got.SHA256, got.MediaType, got.Encrypted})
		for _, p := range others {
			require.Equal(t, "one", must(s.PageFile(ctx, p.BlobKey, p.Profile, p.Page, p.Level)).SHA256, "%+v", p)
		}
	})
}
