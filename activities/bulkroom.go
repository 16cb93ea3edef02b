package activities

import (
	"context"
	"sync"
	"time"
)

const (
	// roomLimit is how long a row of a bulk send waits for room, and how long an
	// envelope that is sent takes up room if its invitation does not begin: where all is held up,
	// or others are never done, four rows a second are sent all the same.
	roomLimit = 250 * time.Millisecond
	// roomInterval is how often it is looked for room, beside the moments in which an invitation
	// begins in this process.
	roomInterval = 8 * time.Millisecond
)

// awaitRoom waits until few envelopes, whoever sent them, await their invitations: the next row
// of a bulk send then finds no queue, and makes none for others. What is read is the
// database's, so that the envelopes of all processes count, and nothing is lost with one.
func (a *Activities) awaitRoom(ctx context.Context, most time.Duration) error {
	limit := time.NewTimer(most)
	defer limit.Stop()
	tick := time.NewTicker(roomInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return nil
		case <-a.InvitationBegan.next():
		case <-tick.C:
		}
		n, err := a.Store.AwaitingInvitation(ctx, a.Now().Add(-most))
		if err != nil || n < max(1, a.BulkInFlight) {
			return err
		}
	}
}

// Broadcast tells all who wait at the time that something has happened. A nil one never does.
type Broadcast struct {
	mu sync.Mutex
	ch chan struct{} // nil: nobody waits
}

// next is closed when it happens again.
func (b *Broadcast) next() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *Broadcast) send() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
