package main

import (
	"context"
	"fmt"
	"time"

	"countersign/store"
)

// outboxNotice is the age of the oldest outbox row that is warned of: the dispatchers take new rows within seconds.
const outboxNotice = 2 * time.Minute

// outbox reports committed changes that their workflows have not heard of.
func (x *doctor) outbox(ctx context.Context, s *store.Store) {
	rows, oldest, err := s.OutboxDepth(ctx)
	switch {
	case err != nil:
		x.fail("outbox", err, "See the database.")
	case oldest > outboxNotice:
		x.add("outbox", warned, fmt.Sprintf("%d change(s) wait for Temporal, the oldest for %s", rows, oldest.Round(time.Second)),
			"See the lines temporal and workers; an API or a worker must run, because they hand the changes over.")
	default:
		x.ok("outbox", fmt.Sprintf("%d change(s) wait for Temporal", rows))
	}
}

// unsealed reports envelopes that all have signed and whose documents cannot be sealed.
func (x *doctor) unsealed(ctx context.Context, s *store.Store) {
	n, err := s.CountUnsealed(ctx)
	switch {
	case err != nil:
		x.fail("unsealed", err, "See the database.")
	case n > 0:
		x.add("unsealed", warned, fmt.Sprintf("%d envelope(s) that all have signed cannot be sealed", n), "`countersign envelope stuck` names them and the problem.")
	default:
		x.ok("unsealed", "every envelope that all have signed can be sealed")
	}
}
