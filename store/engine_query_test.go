package store_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/store"
	"countersign/test/kit"
)

// TestCursorLists_ReadIndexes checks that each page of a list is read in index order, starting at the cursor.
func TestCursorLists_ReadIndexes(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		plans, err := s.PlansOfLists(t.Context(), newFixture(t, s, clock).app.ID, newID())
		require.NoError(t, err)
		require.Len(t, plans, 8)
		for list, plan := range plans {
			assert.Regexp(t, `(?i)index`, plan, list)
			assert.NotRegexp(t, `Sort|TEMP B-TREE|SCAN `, plan, list)
		}
	})
}
