package budget_test

import (
	"context"
	"crypto/sha256"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal/budget"
)

// TestWithProcessorTime_CountsWorkAndNotWaiting checks that only CPU time of the goroutine's own thread counts toward
// the limit.
func TestWithProcessorTime_CountsWorkAndNotWaiting(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		return // only elapsed time is limited; see TestWithProcessorTime_EndsByTheClock
	}
	ctx, release := budget.WithProcessorTime(t.Context(), 20*time.Millisecond, time.Minute)
	defer release()
	<-time.After(60 * time.Millisecond) // three times the limit
	require.NoError(t, ctx.Err())
	other := make(chan error)
	go func() { other <- ctx.Err() }()
	require.NoError(t, <-other, "the time of other threads does not count")
	block := make([]byte, 1<<16)
	for deadline := time.Now().Add(30 * time.Second); ctx.Err() == nil && time.Now().Before(deadline); {
		sum := sha256.Sum256(block)
		copy(block, sum[:])
	}
	require.ErrorIs(t, ctx.Err(), budget.ErrSpent)
}

// TestWithProcessorTime_EndsByTheClock checks the elapsed-time limit, and the cancellation of the parent context.
func TestWithProcessorTime_EndsByTheClock(t *testing.T) {
	t.Parallel()
	ctx, release := budget.WithProcessorTime(t.Context(), time.Minute, time.Millisecond)
	defer release()
	<-ctx.Done()
	require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)

	parent, cancel := context.WithCancel(t.Context())
	ctx, release = budget.WithProcessorTime(parent, time.Minute, time.Minute)
	defer release()
	require.NoError(t, ctx.Err())
	cancel()
	<-ctx.Done()
	require.ErrorIs(t, ctx.Err(), context.Canceled)
}
