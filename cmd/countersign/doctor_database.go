package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"countersign/config"
	"countersign/store"
)

// database checks the database. It returns nil if the database cannot be used.
func (x *doctor) database(ctx context.Context, cfg config.Config) *store.Store {
	within, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	s, _, err := openStore(within, cfg)
	if err != nil {
		x.fail("database", err, "Check that the server of COUNTERSIGN_DATABASE_URL is running, is reachable from here, and accepts the user, password and database.")
		x.skip("not checked: no database", "migrations", "master_key", "clock")
		return nil
	}
	x.ok("database", "responds")
	if weak, err := s.WeakDurability(within); err != nil || len(weak) > 0 {
		x.add("durability", warned, "a crash may lose acknowledged data: "+cmp.Or(strings.Join(weak, ", "), "the server did not return its settings"), "Turn on these PostgreSQL settings, and check that they are not turned off for this user or this database.")
	}
	x.planner(within, s)
	x.clock(within, s)
	if err := s.Migrated(within); err != nil {
		x.fail("migrations", err, "Run `countersign migrate`, then restart the service.")
		x.skip("not checked: migrations are missing", "master_key")
		_ = s.Close() // nothing was written
		return nil
	}
	x.ok("migrations", "up to date")
	x.masterKey(within, s)
	x.partitions(within, s)
	x.outbox(within, s)
	x.unsealed(within, s)
	x.overdueWork(within, cfg, s)
	return s
}

// planner checks the planner settings of the database. They are lost when the database is restored, and `migrate` may
// have set them only for another database user.
func (x *doctor) planner(ctx context.Context, s *store.Store) {
	if !s.HasPartitions() { // SQLite has no such settings
		return
	}
	switch slow, err := s.SlowPlanner(ctx); {
	case err != nil:
		x.fail("planner", err, "Check the database.")
	case len(slow) > 0:
		x.add("planner", warned, "searching millions of envelopes takes ten times as long: "+strings.Join(slow, ", "),
			"Run `countersign migrate` as the user of COUNTERSIGN_DATABASE_URL and restart the service (and PgBouncer's connections), or set jit to off and max_parallel_workers_per_gather to 0 for this user in this database.")
	default:
		x.ok("planner", "the settings meet the requirements of the service's queries")
	}
}

// monthEnd is the minimum time until the end of the last partition. The cleanup creates partitions months ahead, so
// doctor warns if less time remains.
const monthEnd = 31 * 24 * time.Hour

// partitions checks that the monthly partitioned tables have partitions for the coming weeks.
func (x *doctor) partitions(ctx context.Context, s *store.Store) {
	if !s.HasPartitions() {
		return
	}
	until, err := s.PartitionsUntil(ctx)
	switch {
	case err != nil:
		x.fail("partitions", err, "Check the database.")
	case until.Sub(now()) < monthEnd:
		x.add("partitions", warned, "created up to "+until.Format(time.DateOnly), "The Cleanup workflow creates partitions. In Temporal, check that the schedule `cleanup` is not paused, and look for the error if the workflow fails. No data is lost: rows without a monthly partition are stored in the default partition.")
	default:
		x.ok("partitions", "created up to "+until.Format(time.DateOnly))
	}
}

func (x *doctor) masterKey(ctx context.Context, s *store.Store) {
	if err := checkMasterKey(ctx, s); err != nil {
		x.fail("master_key", err, "Append the former master key of this database to COUNTERSIGN_MASTER_KEY, after a comma.")
		return
	}
	x.ok("master_key", "the master key decrypts the service's keys")
}

// Limits for clock skew. Above skewNotice, doctor warns. Above skewLimit, the check fails. Links, codes and the order
// of the audit trail depend on the clocks.
const (
	skewNotice = time.Second
	skewLimit  = 30 * time.Second
)

func (x *doctor) clock(ctx context.Context, s *store.Store) {
	const advice = "Synchronize the clocks of this machine and the database server with NTP."
	ahead, within, err := s.ClockSkew(ctx)
	if err != nil {
		x.fail("clock", err, "Check the database.")
		return
	}
	detail := fmt.Sprintf("the database clock is %s ahead of this machine (± %s)", ahead.Round(time.Millisecond), within.Round(time.Millisecond))
	switch off := ahead.Abs() - within; {
	case off > skewLimit:
		x.add("clock", failed, detail, advice)
	case off > skewNotice:
		x.add("clock", warned, detail, advice)
	default:
		x.ok("clock", detail)
	}
}

// replica checks the standby database from which lists are read.
func (x *doctor) replica(ctx context.Context, s *store.Store) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	there, err := s.CheckReplica(ctx)
	switch {
	case err != nil:
		x.add("replica", warned, oneLine(err), "DATABASE_READ_URL must refer to a standby that keeps up with the primary. Until it does, lists are read from the primary.")
	case there:
		x.ok("replica", "the replica is as current as the primary")
	}
}
