package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"gorm.io/gorm"

	"countersign/internal/limit"
)

// SQLite permits one writer at a time and has no queue. A waiting writer retries after a pause, and the first one to
// retry after a release acquires the lock. The writers in this process therefore wait in a queue. PostgreSQL needs no
// such queue.

// writeQueueLimit is the maximum time to wait for the lock. It equals busy_timeout, which applies to waiting for other
// processes.
const writeQueueLimit = 10 * time.Second

var errWriteQueue = errors.New("store: timed out waiting to write to the database")

func acquireWrite(ctx context.Context, writers *limit.Limit) (release func(), err error) {
	release, err = writers.Acquire(ctx, 1, writeQueueLimit)
	if errors.Is(err, limit.ErrBusy) {
		return nil, errWriteQueue
	}
	return release, err
}

const writeQueueKey = "store:write_queue"

// queueWrites makes GORM's writes outside transactions wait for the lock. Writes within a transaction already hold it.
func queueWrites(db *gorm.DB, writers *limit.Limit) error {
	acquire := func(db *gorm.DB) {
		if _, ok := db.Statement.ConnPool.(gormConn); ok || db.DryRun {
			return
		}
		release, err := acquireWrite(db.Statement.Context, writers)
		if err != nil {
			_ = db.AddError(err)
			return
		}
		db.InstanceSet(writeQueueKey, release)
	}
	release := func(db *gorm.DB) {
		if v, ok := db.InstanceGet(writeQueueKey); ok {
			if release, ok := v.(func()); ok {
				release()
			}
		}
	}
	acquireUnlessRead := func(db *gorm.DB) {
		// If the SQL text is empty, GORM generates the statement, which is always a SELECT.
		if query := strings.TrimSpace(db.Statement.SQL.String()); query != "" && !strings.HasPrefix(query, "SELECT") {
			acquire(db)
		}
	}
	c := db.Callback()
	const first, last = "store:acquire_write_queue", "store:release_write_queue"
	err := errors.Join(
		c.Create().Before("*").Register(first, acquire), c.Create().After("*").Register(last, release),
		c.Update().Before("*").Register(first, acquire), c.Update().After("*").Register(last, release),
		c.Delete().Before("*").Register(first, acquire), c.Delete().After("*").Register(last, release),
		c.Raw().Before("*").Register(first, acquireUnlessRead), c.Raw().After("*").Register(last, release),
		c.Query().Before("*").Register(first, acquireUnlessRead), c.Query().After("*").Register(last, release),
	)
	return wrap(err, "queue writes")
}
