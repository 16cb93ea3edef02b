package store

import (
	"context"
	"fmt"
	"time"
)

// Awaiting counts envelopes that were sent lately.
type Awaiting struct {
	// All are those of which no invitation has begun.
	All int
	// Singles are those that no bulk send has sent, their invitations begun or not.
	Singles int
}

// AwaitingInvitation counts the envelopes of all apps that were sent since a moment.
// One of which the service sends no link awaits no invitation. Of many events since then
// the newest are looked at.
func (s *Store) AwaitingInvitation(ctx context.Context, since time.Time) (out Awaiting, err error) {
	// The newest events are read from the end of the primary key, and the rest from indexes: less than a millisecond.
	err = s.db.WithContext(ctx).Raw(`SELECT
		count(*) FILTER (WHERE (SELECT count(*) FROM mails AS m WHERE m.envelope_id = ev.envelope_id) = 0
			AND (SELECT count(*) FROM signers AS s WHERE s.envelope_id = ev.envelope_id AND s.status = 'sent' AND NOT s.silent) > 0) AS "all",
		count(*) FILTER (WHERE (SELECT count(*) FROM bulk_send_rows AS r WHERE r.envelope_id = ev.envelope_id) = 0) AS singles
		FROM (SELECT envelope_id, name FROM webhook_events WHERE id >= ? ORDER BY id DESC LIMIT 100) AS ev
		WHERE ev.name = 'envelope.sent'`, firstID(since)).Scan(&out).Error
	if err != nil {
		return Awaiting{}, fmt.Errorf("count envelopes that await their invitations: %w", err)
	}
	return out, nil
}
