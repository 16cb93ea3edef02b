package activities

import (
	"context"
	"sync"
	"time"

	"countersign/store"
)

const (
	// maxThrottleWait is the maximum time that a row of a bulk send waits for capacity. It is also the time after which
	// a sent envelope no longer counts toward InFlight, even if its invitation has not begun. The rate is therefore at
	// least four rows per second even if invitations are stuck.
	maxThrottleWait = 250 * time.Millisecond
	// throttlePollInterval is the polling interval while a row waits for capacity. Each invitation that begins in this
	// process also triggers a check.
	throttlePollInterval = 8 * time.Millisecond
	// singlesInterval is the time after a single envelope during which further single envelopes are expected.
	singlesInterval = 10 * time.Second
	// idleFactor is the factor by which the limit increases when no single envelopes are expected.
	idleFactor = 6
	// rowInterval is the minimum time between two rows if InFlight is one. A higher InFlight shortens it
	// proportionally. The pause leaves CPU time for the work that follows an invitation.
	rowInterval = 75 * time.Millisecond
)

// BulkThrottle decides when a bulk send can send its next row. It admits a row only when few envelopes, including those
// of other senders, await their invitations. The row therefore neither waits in a queue nor delays other envelopes.
// While single envelopes are being sent, it also enforces a pause after each row.
//
// It reads the database, so it counts the envelopes of all processes. Its state in memory only affects the speed of
// bulk sends.
type BulkThrottle struct {
	// InFlight is the number of envelopes awaiting their invitations at which no more rows are sent. Zero means one.
	InFlight int

	invitationStarts broadcast
	mu               sync.Mutex
	lastSingle       time.Time // time at which a single envelope was last seen
	lastRow          time.Time // time at which a row was last admitted
}

// admit reports whether a row can be sent now, given the envelopes that currently await their invitations.
func (p *BulkThrottle) admit(now time.Time, lately store.Awaiting) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lately.Singles > 0 {
		p.lastSingle = now
	}
	capacity, rest := max(1, p.InFlight), time.Duration(0)
	if now.Sub(p.lastSingle) < singlesInterval {
		rest = rowInterval / time.Duration(capacity)
	} else {
		capacity *= idleFactor
	}
	if lately.All >= capacity || now.Sub(p.lastRow) < rest {
		return false
	}
	p.lastRow = now
	return true
}

// invitationStarted notifies the bulk sends of this process that capacity may be available.
func (p *BulkThrottle) invitationStarted() {
	if p != nil {
		p.invitationStarts.send()
	}
}

// awaitThrottle waits until the next row of a bulk send may be sent. The parameter timeout is the maximum waiting time.
func (a *Activities) awaitThrottle(ctx context.Context, timeout time.Duration) error {
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	tick := time.NewTicker(throttlePollInterval)
	defer tick.Stop()
	for {
		began := a.BulkThrottle.invitationStarts.next()
		now := a.Now()
		lately, err := a.Store.AwaitingInvitation(ctx, now.Add(-timeout))
		if err != nil || a.BulkThrottle.admit(now, lately) {
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
	ch chan struct{} // nil if there are no waiters
}

// next returns a channel that is closed when the next event occurs.
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
