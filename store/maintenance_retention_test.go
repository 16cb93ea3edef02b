package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestRetentionSteps_AreTakenOnce checks that due steps are returned in chronological order and up to a limit. If two
// processes perform the same step, only one of them requests a reminder.
func TestRetentionSteps_AreTakenOnce(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		f.completed(time.Time{}, 0)
		later, sooner := f.completed(time.Time{}, 30), f.completed(time.Time{}, 20)
		drainOutbox(t, s)
		due := func(n int) (ids []uuid.UUID) {
			steps, err := s.RetentionSteps(ctx, n)
			require.NoError(t, err)
			for _, step := range steps {
				ids = append(ids, step.ID)
			}
			return ids
		}
		assert.Empty(t, due(9))
		clock.Add(16 * 24 * time.Hour)
		assert.Equal(t, []uuid.UUID{sooner.ID, later.ID}, due(9))
		assert.Equal(t, []uuid.UUID{sooner.ID}, due(1))

		steps, err := s.RetentionSteps(ctx, 1)
		require.NoError(t, err)
		next := clock.Now().Add(time.Hour)
		for range 2 {
			require.NoError(t, s.SetRetentionStep(ctx, steps[0], &next, 4))
		}
		rows := drainOutbox(t, s)
		require.Len(t, rows, 1)
		assert.Equal(t, models.OutboxDeletion, rows[0].Kind)
		assert.Equal(t, models.OutboxRefs{AppID: f.app.ID, TenantID: "t", Days: 4}, rows[0].Refs)
		assert.Equal(t, []uuid.UUID{later.ID}, due(9))
		clock.Add(time.Hour)
		steps, err = s.RetentionSteps(ctx, 9)
		require.NoError(t, err)
		for _, step := range steps {
			require.NoError(t, s.SetRetentionStep(ctx, step, nil, 0))
		}
		clock.Add(1000 * time.Hour)
		assert.Empty(t, due(9), "no further step is due")
		assert.Empty(t, drainOutbox(t, s))
	})
}
