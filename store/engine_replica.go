package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"countersign/models"
)

// replica is a standby of the PostgreSQL database, from which lists are read.
type replica struct {
	db *gorm.DB
	// notBefore is the earliest time for using a failed replica again, in Unix nanoseconds.
	notBefore atomic.Int64
}

const (
	// replicaWait is the maximum wait of a list for the replica to be as new as the primary.
	replicaWait = 100 * time.Millisecond
	replicaPoll = 5 * time.Millisecond
	// replicaPause is the time for which a failed replica is not used.
	replicaPause = 10 * time.Second
)

var (
	// errBehind reports that the replica has not replayed all transactions committed at the time of the query.
	errBehind    = errors.New("the replica is behind the primary")
	errNoStandby = errors.New("the replica is not a standby: it is not in recovery")
)

func openReplica(cfg Config, gc gorm.Config) (*replica, error) {
	gc.DisableAutomaticPing = true // it may be down
	cfg.URL = cfg.ReadURL
	db, err := openPostgres(cfg, &gc)
	if err != nil {
		return nil, fmt.Errorf("replica: %w", err)
	}
	return &replica{db: db}, nil
}

func (r *replica) close() error {
	conn, err := r.db.DB()
	if err != nil {
		return err
	}
	return conn.Close()
}

// fromReplica calls list with an engine that reads from the replica, once the replica has replayed everything
// committed before the call, so a client finds its own writes through any process. Without a replica, after
// replicaWait or if the replica fails, list reads from the primary.
func (s *engine) fromReplica(ctx context.Context, list func(*engine) error) error {
	r := s.replica
	if r == nil || s.now().UnixNano() < r.notBefore.Load() {
		return list(s)
	}
	err := s.waitForReplica(ctx)
	if err == nil {
		of := *s
		of.db, of.replica, of.primary = r.db, nil, s
		err = list(&of)
	}
	switch {
	case err == nil, ctx.Err() != nil, models.IsRefusal(err):
		return err
	case !errors.Is(err, errBehind):
		r.notBefore.Store(s.now().Add(replicaPause).UnixNano())
		slog.WarnContext(ctx, "replica failed: lists are read from the primary", "pause", replicaPause, "error", err)
	}
	return list(s)
}

// listFromReplica is fromReplica for a list with the number of all rows.
func listFromReplica[T any](ctx context.Context, s *engine, list func(*engine) ([]T, int64, error)) (rows []T, total int64, err error) {
	err = s.fromReplica(ctx, func(s *engine) error {
		rows, total, err = list(s)
		return err
	})
	return rows, total, err
}

// CheckReplica reports whether there is a replica, and why it cannot be read.
func (s *engine) CheckReplica(ctx context.Context) (there bool, err error) {
	if s.replica == nil {
		return false, nil
	}
	return true, s.waitForReplica(ctx)
}

// waitForReplica waits until the replica has replayed the primary's current flush position, which includes every
// acknowledged commit.
func (s *engine) waitForReplica(ctx context.Context) error {
	var flushed string
	// SQL: functions of PostgreSQL.
	if err := s.db.WithContext(ctx).Raw("SELECT pg_current_wal_flush_lsn()::text").Scan(&flushed).Error; err != nil {
		return fmt.Errorf("position of the primary: %w", err)
	}
	limit, cancel := context.WithTimeout(ctx, replicaWait)
	defer cancel()
	tick := time.NewTicker(replicaPoll)
	defer tick.Stop()
	for {
		var at struct{ Standby, Ready bool }
		// SQL: functions of PostgreSQL.
		err := s.replica.db.WithContext(limit).Raw("SELECT pg_is_in_recovery() AS standby, pg_last_wal_replay_lsn() >= CAST(? AS pg_lsn) AS ready", flushed).Scan(&at).Error
		switch {
		case err != nil:
			return fmt.Errorf("position of the replica: %w", err)
		case !at.Standby: // promoted, no longer a copy
			return errNoStandby
		case at.Ready:
			return nil
		}
		select {
		case <-tick.C:
		case <-limit.Done():
			return errBehind
		}
	}
}
