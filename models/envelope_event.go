package models

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// EventName is the name of an audit event.
type EventName string

// The audit events. WebhookEvents lists the events that are also sent to webhooks.
const (
	EventEnvelopeCreated    EventName = "envelope.created"
	EventDocumentAdded      EventName = "document.added"
	EventDocumentPrepared   EventName = "document.prepared"
	EventSignerAdded        EventName = "signer.added"
	EventFieldAdded         EventName = "field.added"
	EventEnvelopeSent       EventName = "envelope.sent"
	EventInvitationSent     EventName = "invitation.sent"
	EventInvitationFailed   EventName = "invitation.failed"
	EventReminderRequested  EventName = "reminder.requested"
	EventReminderSent       EventName = "reminder.sent"
	EventSignerViewed       EventName = "signer.viewed"
	EventOTPRequested       EventName = "otp.requested"
	EventOTPVerified        EventName = "otp.verified"
	EventSignerOTPFailed    EventName = "signer.otp_failed"
	EventConsentGiven       EventName = "consent.given"
	EventPageViewed         EventName = "page_viewed"
	EventPagesViewedAgain   EventName = "pages_viewed_again"
	EventAttachmentAdded    EventName = "attachment.added"
	EventSignerSigned       EventName = "signer.signed"
	EventSignerDeclined     EventName = "signer.declined"
	EventEnvelopeDeclined   EventName = "envelope.declined"
	EventEnvelopeVoided     EventName = "envelope.voided"
	EventEnvelopeExpired    EventName = "envelope.expired"
	EventDocumentSealed     EventName = "document.sealed"
	EventEnvelopeCompleted  EventName = "envelope.completed"
	EventDocumentDownloaded EventName = "document.downloaded"
	EventDocumentPurged     EventName = "document.purged"
	EventLinkRenewed        EventName = "link.renewed"
	EventDocumentStamped    EventName = "document.timestamped"
	EventSealingFailed      EventName = "sealing.failed"
	EventDraftPrepared      EventName = "draft.prepared"
	EventEnvelopeDeleted    EventName = "envelope.deleted"
	EventEnvelopeUpdated    EventName = "envelope.updated"
	EventSignerReplaced     EventName = "signer.replaced"
	EventSignerDelegated    EventName = "signer.delegated"
	EventLinkIssued         EventName = "link.issued"
	EventCopyAnnounced      EventName = "copy.announced"
	EventCopyReplaced       EventName = "copy.replaced"
	EventCopyRequested      EventName = "copy.requested"
	EventCopySent           EventName = "copy.sent"
)

// EventPing is the event that tests an endpoint. It belongs to no envelope, and endpoints cannot subscribe to it.
const EventPing EventName = "ping"

// EventBulkCompleted reports that every row of a bulk send was sent or has failed. It belongs to no envelope and
// appears in no audit trail.
const EventBulkCompleted EventName = "bulk.completed"

// WebhookEvents lists the events that an endpoint can subscribe to.
var WebhookEvents = []EventName{
	EventEnvelopeCreated, EventEnvelopeSent, EventEnvelopeCompleted, EventEnvelopeDeclined, EventEnvelopeVoided,
	EventEnvelopeExpired, EventSignerViewed, EventSignerSigned, EventSignerDeclined, EventSignerOTPFailed,
	EventInvitationFailed, EventReminderSent, EventSignerReplaced, EventSignerDelegated, EventCopySent, EventLinkIssued, EventEnvelopeUpdated,
	EventDocumentStamped, EventDocumentPurged, EventBulkCompleted,
}

// Detail contains the data of an event: IDs, hashes, counts and reasons. Values are strings, integers and booleans, so
// that the canonical form is unambiguous. Names, addresses and codes are not permitted.
type Detail map[string]any

// Event is a link in an envelope's audit chain.
type Event struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	Seq        int64 // 1, 2, 3 … without gaps
	Name       EventName
	Timestamp  time.Time // UTC, to the microsecond
	Actor      string    // such as "system", "app:<id>" or "signer:<id>"
	IP         *string
	UserAgent  *string
	Detail     Detail `gorm:"serializer:json"`
	PrevHash   string // Hash of the preceding event; ChainStart for the first
	Hash       string // lowercase hexadecimal, see Digest

	// SignerID is the signer that the event concerns. It is used to route the event to webhooks and workflows.
	SignerID uuid.UUID `gorm:"-"`
	// MailID identifies the email that the event reports as sent or, if MailRejection contains a reason, as
	// permanently rejected. It is empty for all other events.
	MailID        string `gorm:"-"`
	MailRejection string `gorm:"-"`
}

// TableName returns the name of the database table.
func (Event) TableName() string { return "audit_events" }

// ChainStart is the PrevHash of an envelope's first event.
var ChainStart = strings.Repeat("0", 64)

// timeFormat is RFC 3339 in UTC with exactly six decimal places.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// FormatTime formats t in the format used by the audit chain.
func FormatTime(t time.Time) string { return t.UTC().Format(timeFormat) }

// Canonical returns the event as RFC 8785 canonical JSON, including Hash.
func (e *Event) Canonical() ([]byte, error) { return e.canonical(true) }

// Digest returns the event's hash, which is the SHA-256 hash, in lowercase hexadecimal, of the event's RFC 8785
// canonical JSON. The JSON excludes the member "hash" but includes "prevHash".
func (e *Event) Digest() (string, error) {
	b, err := e.canonical(false)
	if err != nil {
		return "", err
	}
	return hexDigest(b), nil
}

func (e *Event) canonical(withHash bool) ([]byte, error) {
	m := map[string]any{
		"id": e.ID, "envelopeId": e.EnvelopeID, "seq": e.Seq, "event": e.Name, "timestamp": FormatTime(e.Timestamp),
		"actor": e.Actor, "ip": e.IP, "userAgent": e.UserAgent, "detail": e.Detail, "prevHash": e.PrevHash,
	}
	if withHash {
		m["hash"] = e.Hash
	}
	b, err := canonicalJSON(m)
	if err != nil {
		return nil, fmt.Errorf("encode audit event %d: %w", e.Seq, err)
	}
	return b, nil
}

// VerifyChain verifies a complete chain. It checks each hash, each link to the preceding event, and the sequence
// numbers, which must start at 1 without gaps. The chain must have n events, and the hash of the last event must be
// head, which detects truncation. The error identifies the first invalid event.
func VerifyChain(events []Event, n int64, head string) error {
	prev := ChainStart
	for i := range events {
		e := &events[i]
		if e.Seq != int64(i)+1 {
			return fmt.Errorf("audit chain: event %d is missing or out of order", i+1)
		}
		if e.PrevHash != prev {
			return fmt.Errorf("audit chain: event %d does not link to the one before it", e.Seq)
		}
		h, err := e.Digest()
		if err != nil {
			return err
		}
		if h != e.Hash {
			return fmt.Errorf("audit chain: event %d was modified", e.Seq)
		}
		prev = e.Hash
	}
	if int64(len(events)) != n || prev != head {
		return fmt.Errorf("audit chain: ends at event %d, but %d events were recorded", len(events), n)
	}
	return nil
}
