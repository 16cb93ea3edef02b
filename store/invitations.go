package store

import (
	"context"
	"fmt"
	"time"
)

// AwaitingInvitation is how many envelopes of all apps were sent since a moment and had
// no invitation begun yet. An envelope of which the service sends no link is not counted.
// Of many events since then the newest are looked at.
func (s *Store) AwaitingInvitation(ctx context.Context, since time.Time) (n int, err error) {
	// The newest events are read from the end of the primary key, and the rest from indexes: less than a millisecond.
	err = s.db.WithContext(ctx).Raw(`SELECT count(*) FROM (SELECT envelope_id, name FROM webhook_events WHERE id >= ? ORDER BY id DESC LIMIT 100) AS ev
		WHERE ev.name = 'envelope.sent' AND (SELECT count(*) FROM mails AS m WHERE m.envelope_id = ev.envelope_id) = 0
		AND (SELECT count(*) FROM signers AS s WHERE s.envelope_id = ev.envelope_id AND s.status = 'sent' AND NOT s.silent) > 0`, firstID(since)).Scan(&n).Error
	if err != nil {
		return 0, fmt.Errorf("count envelopes that await their invitations: %w", err)
	}
	return n, nil
}
