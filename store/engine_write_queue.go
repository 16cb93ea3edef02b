package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"
)

// writeQueue is the lock of a process's writers, first come, first served. SQLite has one writer at a time and no
// queue: a writer that finds the lock taken retries after pauses, and whoever retries at the right moment gets it. A
// nil queue admits everyone.
type writeQueue struct{ lock *semaphore.Weighted }

func newWriteQueue() *writeQueue { return &writeQueue{semaphore.NewWeighted(1)} }

// writeQueueLimit bounds the wait for the lock, as busy_timeout does that for other processes.
const writeQueueLimit = 10 * time.Second

var errWriteQueue = errors.New("store: others are writing to the database for too long")

// acquire waits for the lock.
func (q *writeQueue) acquire(ctx context.Context) error {
	if q == nil || q.lock.TryAcquire(1) {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, writeQueueLimit)
	defer cancel()
	if err := q.lock.Acquire(limited, 1); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errWriteQueue
	}
	return nil
}

// release passes the lock to the writer that has waited longest.
func (q *writeQueue) release() {
	if q != nil {
		q.lock.Release(1)
	}
}

const writeQueueKey = "store:write_queue"

// queueWrites has GORM's writes outside of transactions wait for the lock; those within are of
// a writer that holds it.
func queueWrites(db *gorm.DB, q *writeQueue) error {
	acquire := func(db *gorm.DB) {
		if _, ok := db.Statement.ConnPool.(*sql.Conn); ok || db.DryRun {
			return
		}
		if err := q.acquire(db.Statement.Context); err != nil {
			_ = db.AddError(err)
			return
		}
		db.InstanceSet(writeQueueKey, true)
	}
	release := func(db *gorm.DB) {
		if _, ok := db.InstanceGet(writeQueueKey); ok {
			q.release()
		}
	}
	acquireUnlessRead := func(db *gorm.DB) {
		// Statements that GORM writes are not there yet, and read.
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
