package store_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// enqueue starts a write, and waits until it is queued.
func enqueue(write func()) {
	go write()
	synctest.Wait()
}

// checkQueuePosition acquires the lock after write i, and checks that write i has finished and no later write has.
func checkQueuePosition(ctx context.Context, s *store.Store, done []chan error, i int) error {
	release, err := s.AcquireWrites(ctx)
	if err != nil {
		return err
	}
	defer release()
	select {
	case err := <-done[i]:
		if err != nil {
			return fmt.Errorf("write %d: %w", i, err)
		}
	case <-ctx.Done():
		return fmt.Errorf("write %d released the lock, but has not finished", i)
	}
	for later, ch := range done[i+1:] {
		if len(ch) > 0 {
			return fmt.Errorf("write %d finished before it acquired the lock, after write %d", i+1+later, i)
		}
	}
	return nil
}

// TestSQLite_WritersQueue checks that transactions, outbox claims and single statements write in order of arrival, and
// that a writer leaves the queue when its context ends.
func TestSQLite_WritersQueue(t *testing.T) {
	t.Parallel()
	clock := kit.NewClock()
	s := kit.Store(t, "sqlite", clock.Now)
	f := newFixture(t, s, clock)
	e := f.sent(1, nil)
	b, err := f.bulk(1, 0)
	require.NoError(t, err)
	kinds := []struct {
		name string
		do   func(context.Context) error
	}{
		{"change an envelope", func(ctx context.Context) error {
			_, err := s.Change(ctx, f.app.ID, e.ID, func(*models.Envelope) error { return nil })
			return err
		}},
		{"claim the outbox", func(ctx context.Context) error { return errOf(s.ClaimOutbox(ctx, 1, time.Minute)) }},
		{"finish a row of it", func(ctx context.Context) error { return s.FinishOutbox(ctx, 999) }},
		{"give a row of it back", func(ctx context.Context) error { return s.RetryOutbox(ctx, 999, time.Second) }},
		{"note a mail", func(ctx context.Context) error {
			return errOf(s.BeginMail(ctx, models.Mail{ID: "m", EnvelopeID: e.ID, SignerID: e.Signers[0].ID, Kind: models.MailInvitation}))
		}},
		{"note that it was sent", func(ctx context.Context) error { return s.MailSent(ctx, "m") }},
		{"count a request", func(ctx context.Context) error {
			_, _, err := s.ReserveQuota(ctx, "key", clock.Now(), time.Minute, 1, 9)
			return err
		}},
		{"take rows of a bulk send", func(ctx context.Context) error { return errOf(s.BulkWork(ctx, f.app.ID, b.ID, 1, 1)) }},
	}
	synctest.Test(t, func(t *testing.T) { // detects when a writer is waiting
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		const rounds = 3
		release, err := s.AcquireWrites(ctx)
		require.NoError(t, err)
		var (
			done   = make([]chan error, rounds*len(kinds)) // one channel per write
			looked = make(chan error, rounds*len(kinds))
		)
		for i := range done {
			done[i] = make(chan error, 1)
		}
		impatient, giveUp := context.WithCancel(ctx)
		gaveUp := make(chan error, len(kinds))
		for i := range done {
			k := kinds[i%len(kinds)]
			enqueue(func() { done[i] <- k.do(ctx) })
			// The next writer checks that this write has finished and no later write has.
			enqueue(func() { looked <- checkQueuePosition(ctx, s, done, i) })
			if i == len(done)/2 { // canceled in the middle of the queue
				for _, k := range kinds {
					enqueue(func() { gaveUp <- k.do(impatient) })
				}
			}
		}
		giveUp()
		for range kinds {
			require.ErrorIs(t, <-gaveUp, context.Canceled)
		}
		release()
		for range done {
			require.NoError(t, <-looked)
		}
		release, err = s.AcquireWrites(ctx)
		require.NoError(t, err, "the lock is free again")
		require.ErrorContains(t, s.FinishOutbox(ctx, 999), "timed out waiting", "a writer does not wait indefinitely")
		release()
	})
}

// TestSQLite_ReadsDoNotQueue checks that a read does not wait for a running write.
func TestSQLite_ReadsDoNotQueue(t *testing.T) {
	t.Parallel()
	s := kit.Store(t, "sqlite", kit.NewClock().Now)
	f := newFixture(t, s, kit.NewClock())
	e := f.sent(1, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	release, err := s.AcquireWrites(ctx)
	require.NoError(t, err)
	defer release()
	for name, read := range map[string]func() error{
		"an envelope": func() error { return errOf(s.Envelope(ctx, f.app.ID, e.ID)) },
		"a list": func() error {
			return lastErrOf(s.Envelopes(ctx, store.EnvelopeFilter{App: f.app.ID, Page: 1, Size: 9}))
		},
		"users":           func() error { return errOf(s.Users(ctx, f.app.ID)) },
		"attachments":     func() error { return errOf(s.Attachments(ctx, e.ID)) },
		"unfinished work": func() error { return lastErrOf(s.Unfinished(ctx, store.WorkEnvelopes, uuid.Nil, 9)) },
	} {
		require.NoError(t, read(), name)
	}
}
