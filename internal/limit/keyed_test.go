package limit_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/limit"
)

// TestKeyed_SpreadsWaitingCalls checks that 500 waiting units of a hanging key are retried a few at a time rather than
// in waves, and that another key has its own limit.
func TestKeyed_SpreadsWaitingCalls(t *testing.T) {
	t.Parallel()
	const slots, waiting, hang = 16, 500, 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		l := &limit.Keyed{MaxWait: time.Minute, Now: time.Now}
		var mu sync.Mutex
		attempts := make(map[int]int) // by second
		start := time.Now()
		for range waiting {
			go func() {
				for {
					mu.Lock()
					attempts[int(time.Since(start)/time.Second)]++
					mu.Unlock()
					release, wait := l.TryAcquire("hangs", slots)
					if release != nil {
						time.Sleep(hang)
						release()
						return
					}
					assert.GreaterOrEqual(t, wait, time.Second)
					assert.LessOrEqual(t, wait, time.Minute)
					time.Sleep(wait)
				}
			}()
			synctest.Wait() // start the units one after the other
		}
		release, _ := l.TryAcquire("other", slots)
		require.NotNil(t, release)
		release()
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		total := 0
		for second, n := range attempts {
			total += n
			if second > 0 {
				assert.LessOrEqual(t, n, 2*slots, "attempts in second %d", second)
			}
		}
		assert.LessOrEqual(t, total, 12*waiting)
		assert.Empty(t, limit.Keys(l), "keys without work use no memory")
	})
}

// TestKeyed_AdaptsToThroughput checks that waiting work is retried soon after the work has become fast again.
func TestKeyed_AdaptsToThroughput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &limit.Keyed{MaxWait: time.Hour, Now: time.Now}
		waitOf := func(duration time.Duration) time.Duration {
			for range 20 {
				release, _ := l.TryAcquire("key", 1)
				require.NotNil(t, release)
				time.Sleep(duration)
				release()
			}
			release, _ := l.TryAcquire("key", 1)
			require.NotNil(t, release)
			defer release()
			_, wait := l.TryAcquire("key", 1)
			return wait
		}
		assert.Equal(t, time.Second, waitOf(time.Millisecond).Truncate(time.Second))
	})
}
