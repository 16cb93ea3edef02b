package models

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// EventName names an audit event.
type EventName string

// The audit events. Webhooks also receive the events that WebhookEvents lists.
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

// EventPing is the event that tests an endpoint. It belongs to no envelope and
// cannot be subscribed to.
const EventPing EventName = "ping"

// EventBulkCompleted reports that every row of a bulk send was sent or has failed. It belongs to no envelope and is in
// no audit trail.
const EventBulkCompleted EventName = "bulk.completed"

// WebhookEvents are the events an endpoint can subscribe to.
var WebhookEvents = []EventName{
	EventEnvelopeCreated, EventEnvelopeSent, EventEnvelopeCompleted, EventEnvelopeDeclined, EventEnvelopeVoided,
	EventEnvelopeExpired, EventSignerViewed, EventSignerSigned, EventSignerDeclined, EventSignerOTPFailed,
	EventInvitationFailed, EventReminderSent, EventSignerReplaced, EventSignerDelegated, EventCopySent, EventLinkIssued, EventEnvelopeUpdated,
	EventDocumentStamped, EventDocumentPurged, EventBulkCompleted,
}

// Detail is the data of an event: ids, hashes, counts and reasons. Values are strings, integers and booleans, so that
// the canonical form is unambiguous. Names, addresses and codes do not belong here.
type Detail map[string]any

// Event is one link of an envelope's audit chain.
type Event struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	Seq        int64 // 1, 2, 3 … without a gap
	Name       EventName
	Timestamp  time.Time // UTC, microseconds
	Actor      string    // "system", "app:<id>" or "signer:<id>"
	IP         *string
	UserAgent  *string
	Detail     Detail `gorm:"serializer:json"`
	PrevHash   string // Hash of the event before it; ChainStart for the first
	Hash       string // lowercase hex, see Digest

	// SignerID is the signer the event is about, for routing it to webhooks and workflows.
	SignerID uuid.UUID `gorm:"-"`
	// MailID is the email that the event reports as sent or, if MailRefused has a reason, as permanently rejected; ""
	// for all other events.
	MailID      string `gorm:"-"`
	MailRefused string `gorm:"-"`
}

// TableName is the table of the audit chain.
func (Event) TableName() string { return "audit_events" }

// ChainStart is the PrevHash of an envelope's first event.
var ChainStart = strings.Repeat("0", 64)

// timeFormat is RFC 3339 in UTC with exactly six decimals.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// FormatTime formats t as in the audit chain.
func FormatTime(t time.Time) string { return t.UTC().Format(timeFormat) }

// Canonical is the event as RFC 8785 canonical JSON, Hash included.
func (e *Event) Canonical() ([]byte, error) { return e.canonical(true) }

// Digest is the event's hash: SHA-256 over its RFC 8785 canonical JSON without
// the member "hash" and with "prevHash", in lowercase hex.
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
		return nil, fmt.Errorf("audit event %d: canonical form: %w", e.Seq, err)
	}
	return b, nil
}

// VerifyChain verifies a whole chain: a sequence without a gap from 1, each link to the previous event, and each hash.
// The chain must end in head at length n, which detects truncation. The error names the first invalid event.
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
			return fmt.Errorf("audit chain: event %d was changed", e.Seq)
		}
		prev = e.Hash
	}
	if int64(len(events)) != n || prev != head {
		return fmt.Errorf("audit chain: ends at event %d, but %d were recorded", len(events), n)
	}
	return nil
}
