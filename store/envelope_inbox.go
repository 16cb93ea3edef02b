package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"countersign/models"
)

// Inbox is a section of the inbox, which is the task list of an app's senders.
type Inbox string

// The sections of the inbox. Every envelope that was sent and has not ended is in one of the first two sections.
const (
	InboxActionNeeded Inbox = "action_needed" // see actionNeeded
	InboxWaiting      Inbox = "waiting"       // waits for other people or for the service
	InboxDrafts       Inbox = "drafts"
	InboxCompleted    Inbox = "completed"
)

// Inboxes lists the sections in order.
var Inboxes = []Inbox{InboxActionNeeded, InboxWaiting, InboxDrafts, InboxCompleted}

// deadlineNotice is the period before the deadline in which an envelope needs action. declinedNotice is the
// corresponding period after a signer declined.
const (
	deadlineNotice = 3 * 24 * time.Hour
	declinedNotice = 30 * 24 * time.Hour
)

// rejectedMails selects the open envelopes of an app for which the last email to an awaited signer was permanently
// rejected.
const rejectedMails = `SELECT e.id FROM mails AS m JOIN envelopes AS e ON e.id = m.envelope_id JOIN signers AS s ON s.id = m.signer_id
	WHERE m.failed_at IS NOT NULL AND e.app_id = @app AND e.status IN ('sent', 'in_progress') AND s.status IN ('sent', 'viewed')
	AND NOT EXISTS (SELECT 1 FROM mails AS n WHERE n.envelope_id = m.envelope_id AND n.signer_id = m.signer_id AND n.created_at > m.created_at AND n.failed_at IS NULL)`

// actionNeeded selects the envelopes of an app that need action because they were recently declined, will expire soon
// or cannot be sealed, or because of rejectedMails. Each part of the query uses an index.
const actionNeeded = `SELECT e.id FROM envelopes AS e WHERE e.app_id = @app AND e.status = 'declined' AND e.updated_at >= @declined
	UNION SELECT e.id FROM envelopes AS e WHERE e.app_id = @app AND e.status IN ('sent', 'in_progress') AND e.expires_at <= @expiring
	UNION SELECT e.id FROM envelopes AS e WHERE e.app_id = @app AND e.status = 'sealing' AND e.sealing_problem IS NOT NULL
	UNION ` + rejectedMails

// waiting is the condition for an open envelope that is not selected by actionNeeded. It reads each row once, instead of
// first reading all envelopes that need action.
const waiting = `(status IN ('sent', 'in_progress') AND (expires_at IS NULL OR expires_at > @expiring) OR status = 'sealing' AND sealing_problem IS NULL)
	AND id NOT IN (` + rejectedMails + `)`

// inInbox restricts a query to the envelopes in a section of the inbox.
func (s *EnvelopeListRepository) inInbox(q *gorm.DB, f EnvelopeFilter) *gorm.DB {
	now := s.now()
	args := map[string]any{"app": f.App, "declined": now.Add(-declinedNotice), "expiring": now.Add(deadlineNotice)}
	switch f.Inbox {
	case InboxActionNeeded:
		return q.Where("id IN ("+actionNeeded+")", args)
	case InboxWaiting:
		return q.Where(waiting, args)
	case InboxDrafts:
		return q.Where("status = ?", models.StatusDraft)
	case InboxCompleted:
		return q.Where("status = ?", models.StatusCompleted)
	}
	return q
}

// InboxCounts returns the number of envelopes that match a filter in each section of the inbox, up to countLimit each.
func (s *EnvelopeListRepository) InboxCounts(ctx context.Context, f EnvelopeFilter) (map[Inbox]int64, error) {
	out := make(map[Inbox]int64, len(Inboxes))
	for _, part := range Inboxes {
		f.Inbox, f.Page, f.Size, f.Peek = part, 1, 0, false
		_, total, err := s.Envelopes(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", part, err)
		}
		out[part] = total
	}
	return out, nil
}
