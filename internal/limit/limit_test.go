package limit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/limit"
)

// TestAcquire_IsInOrderOfArrival checks that units are granted in order of arrival, even if a later request needs fewer
// units.
func TestAcquire_IsInOrderOfArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(3)
		first, err := l.Acquire(t.Context(), 2, 0)
		require.NoError(t, err)
		var order []string
		take := func(name string, n int64) {
			go func() {
				release, err := l.Acquire(t.Context(), n, time.Hour)
				if assert.NoError(t, err) {
					order = append(order, name)
					release()
				}
			}()
			synctest.Wait()
		}
		take("large", 9) // more than the size, which means all units
		take("small", 1)
		assert.Empty(t, order)
		first()
		synctest.Wait()
		assert.Equal(t, []string{"large", "small"}, order)
		release, ok := l.TryAcquire(3)
		require.True(t, ok, "all units are free again")
		release()
	})
}

// TestAcquire_TimesOut checks that Acquire stops waiting at the time limit or when the context ends, and
// then acquires nothing.
func TestAcquire_TimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(1)
		release, err := l.Acquire(t.Context(), 1, 0)
		require.NoError(t, err)
		_, ok := l.TryAcquire(1)
		require.False(t, ok)
		_, err = l.Acquire(t.Context(), 1, time.Second)
		require.ErrorIs(t, err, limit.ErrBusy)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = l.Acquire(ctx, 1, 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		release()
		release, err = l.Acquire(t.Context(), 1, time.Second)
		require.NoError(t, err)
		release()
	})
}

// TestNilLimit_IsUnlimited checks that a nil limit is unlimited.
func TestNilLimit_IsUnlimited(t *testing.T) {
	t.Parallel()
	var l *limit.Limit
	for range 3 {
		release, err := l.Acquire(t.Context(), 1<<40, time.Second)
		require.NoError(t, err)
		defer release()
	}
}
