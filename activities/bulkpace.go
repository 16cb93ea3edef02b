package activities

import (
	"context"
	"sync"
	"time"

	"countersign/store"
)

const (
	// roomLimit is the maximum wait of a bulk send's row for the limit, and the time for which a sent envelope counts
	// if its invitation does not begin. If invitations are stuck, four rows a second are still sent.
	roomLimit = 250 * time.Millisecond
	// roomInterval is the interval for checking the limit, in addition to the beginning of each invitation in this
	// process.
	roomInterval = 8 * time.Millisecond
	// singlesInterval is the time after a single envelope in which others are expected.
	singlesInterval = 10 * time.Second
	// roomAlone multiplies the limit when no other envelopes are expected.
	roomAlone = 6
	// roomRest is the time between rows, divided by the number of envelopes that may be in flight: the work after an
	// invitation also takes processor time.
	roomRest = 75 * time.Millisecond
)

// BulkPace decides when a bulk send can send its next row: when few envelopes of any sender await their invitations.
// Then the row neither waits in a queue nor delays others. While others send, it also pauses after each row.
//
// It reads the database, so that the envelopes of all processes count. The state in memory only makes a bulk send
// slower or faster.
type BulkPace struct {
	// InFlight is the number of envelopes awaiting their invitations above which no further row is sent; 0: one.
	InFlight int

	began   broadcast
	mu      sync.Mutex
	singles time.Time // when a single envelope was last seen
	row     time.Time // when a row was last admitted
}

// admit reports whether a row can be sent now, given the recently sent envelopes.
func (p *BulkPace) admit(now time.Time, lately store.Awaiting) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lately.Singles > 0 {
		p.singles = now
	}
	room, rest := max(1, p.InFlight), time.Duration(0)
	if now.Sub(p.singles) < singlesInterval {
		rest = roomRest / time.Duration(room)
	} else {
		room *= roomAlone
	}
	if lately.All >= room || now.Sub(p.row) < rest {
		return false
	}
	p.row = now
	return true
}

// invitationBegan notifies the bulk sends of this process that there may be room.
func (p *BulkPace) invitationBegan() {
	if p != nil {
		p.began.send()
	}
}

// awaitRoom waits until the next row of a bulk send may be sent, and at most so long.
func (a *Activities) awaitRoom(ctx context.Context, most time.Duration) error {
	limit := time.NewTimer(most)
	defer limit.Stop()
	tick := time.NewTicker(roomInterval)
	defer tick.Stop()
	for {
		began := a.BulkPace.began.next()
		now := a.Now()
		lately, err := a.Store.AwaitingInvitation(ctx, now.Add(-most))
		if err != nil || a.BulkPace.admit(now, lately) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return nil
		case <-began:
		case <-tick.C:
		}
	}
}

// broadcast notifies all current waiters of an event.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{} // nil: no waiter
}

// next is closed when it happens again.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
