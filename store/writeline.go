package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"
)

// writeLine has the writers of a process take turns, first come, first served. SQLite has one
// writer at a time and no queue: who finds its lock taken asks again after pauses, and whoever asks at the
// right moment gets it. A nil line lets everybody through.
type writeLine struct {
	mu      sync.Mutex
	taken   bool
	waiting []chan struct{} // closed when it is one's turn
}

// writeLineLimit bounds the wait for a turn, as busy_timeout does that for other processes.
const writeLineLimit = 10 * time.Second

var errWriteLine = errors.New("store: others are writing to the database for too long")

// enter waits for a turn.
func (l *writeLine) enter(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	if !l.taken {
		l.taken = true
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	l.mu.Unlock()
	limit := time.NewTimer(writeLineLimit)
	defer limit.Stop()
	err := errWriteLine
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-limit.C:
	}
	if !l.giveUp(turn) {
		l.leave() // it came meanwhile
	}
	return err
}

// giveUp leaves the line before it is one's turn. It reports false if the turn has come.
func (l *writeLine) giveUp(turn chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, turn)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	return i >= 0
}

// leave gives the turn to who has waited longest.
func (l *writeLine) leave() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.taken = false
		return
	}
	close(l.waiting[0])
	l.waiting = slices.Delete(l.waiting, 0, 1)
}

const writeLineKey = "store:write_line"

// orderWrites has GORM's writes outside of transactions wait in the line; those within are of
// a writer whose turn it is.
func orderWrites(db *gorm.DB, l *writeLine) error {
	enter := func(db *gorm.DB) {
		if _, ok := db.Statement.ConnPool.(*sql.Conn); ok || db.DryRun {
			return
		}
		if err := l.enter(db.Statement.Context); err != nil {
			_ = db.AddError(err)
			return
		}
		db.InstanceSet(writeLineKey, true)
	}
	leave := func(db *gorm.DB) {
		if _, ok := db.InstanceGet(writeLineKey); ok {
			l.leave()
		}
	}
	enterUnlessRead := func(db *gorm.DB) {
		// Statements that GORM writes are not there yet, and read.
		if q := strings.TrimSpace(db.Statement.SQL.String()); q != "" && !strings.HasPrefix(q, "SELECT") {
			enter(db)
		}
	}
	c := db.Callback()
	const first, last = "store:enter_write_line", "store:leave_write_line"
	err := errors.Join(
		c.Create().Before("*").Register(first, enter), c.Create().After("*").Register(last, leave),
		c.Update().Before("*").Register(first, enter), c.Update().After("*").Register(last, leave),
		c.Delete().Before("*").Register(first, enter), c.Delete().After("*").Register(last, leave),
		c.Raw().Before("*").Register(first, enterUnlessRead), c.Raw().After("*").Register(last, leave),
		c.Query().Before("*").Register(first, enterUnlessRead), c.Query().After("*").Register(last, leave),
	)
	return wrap(err, "order writes")
}
