package faults_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// TestStandbyIsPromoted removes the PostgreSQL server under load, with two API processes and three workers behind a
// PgBouncer, and promotes its synchronous standby. It checks that no acknowledged change is lost, that clients that
// retry requests receive no error, and that no other process needs a restart.
func TestStandbyIsPromoted(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		ctx := t.Context()
		primary := startPostgres(t)
		standby, err := primary.StartStandby(ctx, kit.PostgresOptions{})
		require.NoError(t, err)
		stopAfter(t, "the standby", standby)
		for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
			require.NoError(t, primary.Exec(ctx, statement))
		}
		pool, err := kit.StartPgBouncer(ctx, primary.URL)
		require.NoError(t, err)
		stopAfter(t, "PgBouncer", pool)

		w := newScenario(t, setting{postgres: pool.URL, env: []string{"COUNTERSIGN_DATABASE_READ_URL=" + standby.URL}})
		require.Equal(t, 1, w.count("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"))
		for range 2 {
			w.api()
		}
		for range 3 {
			w.worker()
		}
		w.login()
		w.subscribe("/all")
		end := w.load(4)
		eventually(t, func() bool { return w.acknowledgedSignatures() > 0 }, "no signature was acknowledged before the promotion")
		pause(rnd, 2*time.Second)
		require.NoError(t, primary.Stop(ctx)) // also removes the server's data
		w.cutOff += 24                        // emails that the three workers may have sent without recording them
		before := w.acknowledgedSignatures()
		pause(rnd, 300*time.Millisecond)
		began := time.Now()
		require.NoError(t, standby.Exec(ctx, "SELECT pg_promote()"))
		require.NoError(t, standby.Exec(ctx, "ALTER SYSTEM RESET synchronous_standby_names"))
		require.NoError(t, standby.Exec(ctx, "SELECT pg_reload_conf()"))
		require.NoError(t, pool.Point(standby.URL))
		eventually(t, func() bool { return w.acknowledgedSignatures() > before }, "no signature was acknowledged after the promotion")
		t.Logf("signing resumed %v after the start of the promotion", time.Since(began).Round(time.Millisecond))
		pause(rnd, 500*time.Millisecond)
		end()
		t.Logf("%d envelopes, %d of %d signatures before the promotion, %d requests retried", len(w.envelopes), before, w.acknowledgedSignatures(), w.client.retried)
		w.check("/all")
	})
}

// acknowledgedSignatures returns the number of signatures acknowledged to clients.
func (w *scenario) acknowledgedSignatures() (n int) {
	w.mu.Lock()
	of := append([]*envelope(nil), w.envelopes...)
	w.mu.Unlock()
	for _, e := range of {
		n += e.signed()
	}
	return n
}
