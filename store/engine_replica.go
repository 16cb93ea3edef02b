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

// replica is a standby of the PostgreSQL database from which lists are read.
type replica struct {
	db *gorm.DB
	// notBefore is the earliest time at which a failed replica is used again, in Unix nanoseconds.
	notBefore atomic.Int64
}

const (
	// replicaWait is the maximum time that a list waits for the replica to catch up with the primary.
	replicaWait = 100 * time.Millisecond
	replicaPoll = 5 * time.Millisecond
	// replicaPause is the time for which a failed replica is not used.
	replicaPause = 10 * time.Second
)

var (
	// errBehind means that the replica has not replayed all transactions that were committed at the time of the query.
	errBehind    = errors.New("the replica is behind the primary")
	errNoStandby = errors.New("the replica is not a standby: it is not in recovery")
)

func openReplica(cfg Config, gc gorm.Config) (*replica, error) {
	gc.DisableAutomaticPing = true // the replica may be down
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

// fromReplica calls list with an engine that reads from the replica. It first waits until the replica has replayed all
// transactions committed before the call, so that a client sees its own writes through any process. If no replica is
// running and up to date, it calls list with an engine that reads from the primary.
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
	case err == nil, ctx.Err() != nil, models.IsRejection(err):
		return err
	case !errors.Is(err, errBehind):
		r.notBefore.Store(s.now().Add(replicaPause).UnixNano())
		slog.WarnContext(ctx, "replica failed: lists are read from the primary", "pause", replicaPause, "error", err)
	}
	return list(s)
}

// listFromReplica is like fromReplica, for a list that also returns the total number of rows.
func listFromReplica[T any](ctx context.Context, s *engine, list func(*engine) ([]T, int64, error)) (rows []T, total int64, err error) {
	err = s.fromReplica(ctx, func(s *engine) error {
		rows, total, err = list(s)
		return err
	})
	return rows, total, err
}

// CheckReplica reports whether a replica is configured, and returns an error if the replica cannot be read.
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
	// SQL: the query calls PostgreSQL functions.
	if err := s.db.WithContext(ctx).Raw("SELECT pg_current_wal_flush_lsn()::text").Scan(&flushed).Error; err != nil {
		return fmt.Errorf("query position of the primary: %w", err)
	}
	limit, cancel := context.WithTimeout(ctx, replicaWait)
	defer cancel()
	tick := time.NewTicker(replicaPoll)
	defer tick.Stop()
	for {
		var at struct{ Standby, Ready bool }
		// SQL: the query calls PostgreSQL functions.
		err := s.replica.db.WithContext(limit).Raw("SELECT pg_is_in_recovery() AS standby, pg_last_wal_replay_lsn() >= CAST(? AS pg_lsn) AS ready", flushed).Scan(&at).Error
		switch {
		case err != nil:
			return fmt.Errorf("query position of the replica: %w", err)
		case !at.Standby: // it was promoted, and no longer follows the primary
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
