package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/store"
	"countersign/test/kit"
)

// TestPageFiles_OfAProfile_InOrder checks that the page images of one profile are listed for the named files.
func TestPageFiles_OfAProfile_InOrder(t *testing.T) {
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
