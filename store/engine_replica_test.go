package store_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestLists_FromReplica checks that a list contains all earlier writes, whether the replica is up to date, behind, down
// or promoted.
func TestLists_FromReplica(t *testing.T) {
	t.Parallel()
	kit.Needs(t, kit.PostgresVariable)
	ctx := t.Context()
	primary, err := kit.StartPostgres(ctx, kit.PostgresOptions{Durable: true}) // otherwise WeakDurability would report its settings
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, primary.Stop(context.WithoutCancel(ctx))) })
	standby, err := primary.StartStandby(ctx, kit.PostgresOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, standby.Stop(context.WithoutCancel(ctx))) })

	clock := kit.NewClock()
	cfg := store.Config{
		URL: primary.URL, ReadURL: standby.URL, BaseURL: "https://sign.example.com", PasswordCost: kit.PasswordCost, Vault: kit.Vault(t), Now: clock.Now,
		NewID: func() uuid.UUID { return uuid.Must(uuid.NewV7()) },
	}
	open := func() *store.Store {
		s, err := store.Open(ctx, cfg)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	writer, reader := open(), open() // two processes
	_, err = writer.Migrate(ctx)
	require.NoError(t, err)
	newApp := func() uuid.UUID {
		t.Helper()
		app, _, err := writer.CreateApp(ctx, "Acme", models.PlanEnterprise, nil)
		require.NoError(t, err)
		return app.ID
	}
	app, made := newApp(), 0
	sees := func() {
		t.Helper()
		e := draft(t, writer, app, "acme", "Lease")
		made++
		list, total, err := reader.Envelopes(ctx, store.EnvelopeFilter{App: app, Page: 1, Size: 200})
		require.NoError(t, err)
		require.Len(t, list, made)
		require.EqualValues(t, made, total)
		require.Equal(t, e.ID, list[0].ID, "newest first")
	}
	keepsUp := func() error {
		there, err := reader.CheckReplica(ctx)
		require.True(t, there)
		return err
	}
	readThere := func() (n int) { // counts connections whose last statement was a commit
		t.Helper()
		conn, err := pgx.Connect(ctx, standby.URL)
		require.NoError(t, err)
		require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query ILIKE 'commit'").Scan(&n))
		require.NoError(t, conn.Close(ctx))
		return n
	}
	weak, err := writer.WeakDurability(ctx)
	require.NoError(t, err)
	require.Empty(t, weak)
	require.Eventually(t, func() bool { return keepsUp() == nil }, time.Minute, 50*time.Millisecond)
	for range 20 {
		sees()
	}
	for until := time.Now().Add(4 * time.Minute); readThere() == 0 && time.Now().Before(until); { // during write-heavy tests, the standby lags
		_, total, err := reader.Envelopes(ctx, store.EnvelopeFilter{App: app, Page: 1, Size: 1})
		require.NoError(t, err)
		require.EqualValues(t, made, total)
		clock.Add(time.Minute) // ends the pause of a replica that lagged behind
	}
	require.Positive(t, readThere(), "the replica was read")

	// A list that compacts many count changes does so on the primary, and the replica does not count as failed. On a busy
	// machine, the replica may fail because it does not respond in time.
	const many = 201
	for range 5 {
		busy := newApp()
		for range many {
			draft(t, writer, busy, "acme", "Lease")
		}
		require.Eventually(t, func() bool { return keepsUp() == nil }, time.Minute, 50*time.Millisecond)
		clock.Add(time.Minute)
		_, total, err := reader.Envelopes(ctx, store.EnvelopeFilter{App: busy, Page: 1, Size: 1})
		require.NoError(t, err)
		require.EqualValues(t, many, total)
		if !reader.ReplicaPaused() {
			break
		}
	}
	require.False(t, reader.ReplicaPaused(), "the next list is read from the replica")
	left, err := writer.CompactCounts(ctx)
	require.NoError(t, err)
	require.Zero(t, left, "the changes are summed")

	require.NoError(t, standby.Exec(ctx, "SELECT pg_wal_replay_pause()"))
	sees()
	require.Error(t, keepsUp())
	sees()
	require.NoError(t, standby.Exec(ctx, "SELECT pg_wal_replay_resume()"))
	require.Eventually(t, func() bool { return keepsUp() == nil }, time.Minute, 50*time.Millisecond)
	sees()

	require.NoError(t, standby.Crash(ctx))
	sees()
	sees()
	require.NoError(t, standby.Restart(ctx))
	clock.Add(time.Minute) // ends the pause of the replica
	require.Eventually(t, func() bool { return keepsUp() == nil }, time.Minute, 50*time.Millisecond)
	var all sync.WaitGroup // concurrent writers and readers
	for range 4 {
		all.Go(func() {
			mine := newApp()
			for n := range 20 {
				e := draft(t, writer, mine, "acme", strconv.Itoa(n))
				list, _, err := reader.Envelopes(ctx, store.EnvelopeFilter{App: mine, Page: 1, Size: 1})
				found := err == nil && len(list) == 1 && list[0].ID == e.ID
				if !assert.True(t, found, "%v: %v", list, err) {
					return
				}
			}
		})
	}
	all.Wait()

	require.NoError(t, standby.Exec(ctx, "SELECT pg_promote()"))
	require.EventuallyWithT(t, func(c *assert.CollectT) { // the server is slow to respond while it is promoted
		assert.ErrorContains(c, keepsUp(), "not a standby")
	}, time.Minute, 50*time.Millisecond)
	sees()
}

// TestWeakDurability checks that WeakDurability reports settings with which a crash can lose commits.
func TestWeakDurability(t *testing.T) {
	t.Parallel()
	kit.Needs(t, kit.PostgresVariable)
	server, err := kit.StartPostgres(t.Context(), kit.PostgresOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	require.NoError(t, server.Exec(t.Context(), "ALTER ROLE postgres SET synchronous_commit = off"))
	s, err := store.Open(t.Context(), store.Config{URL: server.URL, Vault: kit.Vault(t), Now: kit.NewClock().Now, NewID: uuid.New})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	weak, err := s.WeakDurability(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"fsync = off", "full_page_writes = off", "synchronous_commit = off"}, weak)
	weak, err = kit.Store(t, "sqlite", kit.NewClock().Now).WeakDurability(t.Context())
	require.NoError(t, err)
	require.Empty(t, weak, "SQLite has no such settings")
}
