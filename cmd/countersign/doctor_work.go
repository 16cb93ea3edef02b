package main

import (
	"context"
	"fmt"
	"time"

	"countersign/store"
)

// outboxNotice is the age of the oldest outbox row above which doctor warns. Dispatchers normally process new rows
// within seconds.
const outboxNotice = 2 * time.Minute

// outbox reports committed changes that have not been forwarded to Temporal.
func (x *doctor) outbox(ctx context.Context, s *store.Store) {
	rows, oldest, err := s.OutboxDepth(ctx)
	switch {
	case err != nil:
		x.fail("outbox", err, "Check the database.")
	case oldest > outboxNotice:
		x.add("outbox", warned, fmt.Sprintf("%d change(s) are waiting for Temporal, the oldest for %s", rows, oldest.Round(time.Second)),
			"Check the lines temporal and workers; an API or worker process must be running to forward the changes.")
	default:
		x.ok("outbox", fmt.Sprintf("%d change(s) are waiting for Temporal", rows))
	}
}

// unsealed reports envelopes that all signers have signed but whose documents cannot be sealed.
func (x *doctor) unsealed(ctx context.Context, s *store.Store) {
	n, err := s.CountUnsealed(ctx)
	switch {
	case err != nil:
		x.fail("unsealed", err, "Check the database.")
	case n > 0:
		x.add("unsealed", warned, fmt.Sprintf("%d fully signed envelope(s) cannot be sealed", n), "`countersign envelope stuck` lists these envelopes with their problems.")
	default:
		x.ok("unsealed", "every fully signed envelope can be sealed")
	}
}
