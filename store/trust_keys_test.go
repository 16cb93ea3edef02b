package store_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

func TestKeys_AreCreatedOnce(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		a, err := s.Keys(t.Context(), models.KeyTokens)
		require.NoError(t, err)
		b, err := s.Keys(t.Context(), models.KeyTokens)
		require.NoError(t, err)
		require.Len(t, b, 1)
		assert.True(t, a[0].Private.Equal(b[0].Private))
		m, err := s.Keys(t.Context(), models.KeyManifests)
		require.NoError(t, err)
		assert.False(t, m[0].Private.Equal(a[0].Private))
	})
}
