package models

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Send sends a draft for signing. The deadline starts to run, and links are issued to the first routing group. If
// message is nil, the draft's message is kept.
func (e *Envelope) Send(act ActionContext, message *string) error {
	if err := e.check(ActionSend); err != nil {
		return err
	}
	p := Problems{}
	checkMessage(p, message)
	if len(e.Signers) == 0 {
		p.Add("signers", "the envelope has no signers")
	}
	e.checkWitnesses(p)
	if len(e.Fields) == 0 && (len(e.Signers) == 0 || slices.ContainsFunc(e.Signers, func(s *Signer) bool { return s.rules().signs })) {
		p.Add("fields", "the envelope has no fields")
	}
	if len(e.Originals()) == 0 {
		p.Add("documents", "the envelope has no document")
	}
	e.CheckFields(p)
	if err := p.Err(); err != nil {
		return err
	}
	if err := e.recordPreparation(act); err != nil {
		return err
	}
	e.transition(ActionSend)
	if message != nil {
		e.Message = message
	}
	e.SentAt, e.AppearanceProfile = new(act.At), AppearanceProfile
	e.OwnerID = firstNonNil(act.User(), e.OwnerID)
	e.resetDeadline(act.At)
	e.openGroup(act)
	detail := Detail{"signers": len(e.Signers), "documents": len(e.Originals())}
	if len(e.Copies) > 0 {
		detail["copies"] = len(e.Copies)
	}
	e.record(act, EventEnvelopeSent, uuid.Nil, detail)
	return nil
}

// Void closes the envelope on the sender's behalf. All links are invalidated immediately.
func (e *Envelope) Void(act ActionContext, reason *string) error {
	if err := e.check(ActionVoid); err != nil {
		return err
	}
	if err := checkReason(reason); err != nil {
		return err
	}
	e.transition(ActionVoid)
	e.VoidedAt = new(act.At)
	e.record(act, EventEnvelopeVoided, uuid.Nil, addReason(nil, reason))
	return nil
}

// Expire closes the envelope after its deadline has passed.
func (e *Envelope) Expire(act ActionContext) error {
	if err := e.check(ActionExpire); err != nil {
		return err
	}
	if e.ExpiresAt == nil || act.At.Before(*e.ExpiresAt) {
		return Reject(KindConflict, "envelope_not_due", "The deadline has not passed.")
	}
	e.transition(ActionExpire)
	e.record(act, EventEnvelopeExpired, uuid.Nil, nil)
	return nil
}

// SealedFile describes a sealed document that has been stored.
type SealedFile struct {
	OriginalID uuid.UUID
	SHA256     string // lowercase hexadecimal
	Size       int64  // bytes
	PageCount  int
	BlobKey    string
	// TimestampedUntil is the expiry of the document time-stamp, or zero if there is none.
	TimestampedUntil time.Time
	// TimestampPending reports whether the time-stamp authority was unavailable.
	TimestampPending bool
	Encrypted        bool // whether the file is stored encrypted
}

// Complete completes sealing. It requires the sealed file of every original.
func (e *Envelope) Complete(act ActionContext, files []SealedFile) error {
	if err := e.check(ActionComplete); err != nil {
		return err
	}
	byOriginal := make(map[uuid.UUID]SealedFile, len(files))
	for _, f := range files {
		byOriginal[f.OriginalID] = f
	}
	for _, o := range e.Originals() {
		if _, ok := byOriginal[o.ID]; !ok {
			return Reject(KindConflict, "document_not_sealed", "Document %d has no sealed file.", o.Order)
		}
	}
	e.transition(ActionComplete)
	e.SealingProblem, e.SealingProblemAt = nil, nil
	for _, o := range e.Originals() {
		f := byOriginal[o.ID]
		d := &Document{
			ID: act.NewID(), EnvelopeID: e.ID, Kind: DocumentSealed, OriginalID: new(o.ID), Name: o.Name, MimeType: o.MimeType,
			SHA256: f.SHA256, Size: f.Size, PageCount: f.PageCount, Order: o.Order, BlobKey: f.BlobKey,
			PurgeStatus: PurgeActive, CreatedAt: act.At, TimestampedUntil: f.timestampEnd(), TimestampPending: f.TimestampPending, Encrypted: f.Encrypted,
		}
		e.Documents = append(e.Documents, d)
		detail := Detail{
			"documentId": o.ID.String(), "sealedDocumentId": d.ID.String(), "order": d.Order,
			"sha256Original": o.SHA256, "sha256": d.SHA256,
		}
		if f.TimestampPending {
			detail["timestamp"] = "pending"
		}
		e.record(act, EventDocumentSealed, uuid.Nil, detail)
	}
	e.HashFinal, e.CompletedAt = CombineHashes(e.Sealed()), new(act.At)
	e.record(act, EventEnvelopeCompleted, uuid.Nil, Detail{"documentHashFinal": *e.HashFinal})
	return nil
}

func (f *SealedFile) timestampEnd() *time.Time {
	if f.TimestampedUntil.IsZero() {
		return nil
	}
	return new(f.TimestampedUntil.UTC())
}

// Timestamped replaces the file of a sealed document with a copy that contains an additional document time-stamp. It
// returns an error if the hash of the current file differs from the given one.
func (e *Envelope) Timestamped(act ActionContext, document uuid.UUID, was string, f SealedFile) error {
	d := e.Document(document)
	switch {
	case d == nil || d.Kind != DocumentSealed:
		return ErrNotFound
	case d.PurgeStatus == PurgePurged:
		return ErrPurged
	case d.SHA256 != was:
		return Reject(KindConflict, "document_replaced", "The document now has a different file.")
	}
	d.SHA256, d.Size, d.BlobKey, d.Encrypted = f.SHA256, f.Size, f.BlobKey, f.Encrypted
	d.TimestampedUntil, d.TimestampPending = f.timestampEnd(), false
	e.HashFinal = CombineHashes(e.Sealed())
	e.record(act, EventDocumentStamped, uuid.Nil, Detail{
		"sealedDocumentId": d.ID.String(), "sha256Before": was, "sha256": d.SHA256, "documentHashFinal": *e.HashFinal,
	})
	return nil
}

// Invited records that a signer's invitation or reminder was sent by email.
func (e *Envelope) Invited(act ActionContext, signer uuid.UUID, reminder bool, mailID string) error {
	if err := e.check(ActionInvite); err != nil {
		return err
	}
	name := EventInvitationSent
	if reminder {
		name = EventReminderSent
	}
	if e.Signer(signer) == nil {
		name = EventCopyAnnounced
	}
	e.record(act, name, signer, Detail{"signerId": signer.String()}).MailID = mailID
	return nil
}

// InvitationFailed records that a signer cannot be reached by email, with the reason.
func (e *Envelope) InvitationFailed(act ActionContext, signer uuid.UUID, why, mailID string) error {
	if err := e.check(ActionInvite); err != nil {
		return err
	}
	ev := e.record(act, EventInvitationFailed, signer, Detail{"signerId": signer.String(), "reason": why})
	ev.MailID, ev.MailRejection = mailID, why
	return nil
}

// RenewLink issues a new link to an awaited signer, and invalidates the old one.
func (e *Envelope) RenewLink(act ActionContext, signer uuid.UUID) error {
	s, err := e.awaitedSigner(ActionInvite, signer)
	if err != nil {
		return err
	}
	e.issueLink(act, s)
	return nil
}

// Reinvite issues a new link, which the service sends to an awaited signer, and invalidates the old one immediately.
func (e *Envelope) Reinvite(act ActionContext, signer uuid.UUID) error {
	if err := e.RenewLink(act, signer); err != nil {
		return err
	}
	e.record(act, EventLinkRenewed, signer, Detail{"signerId": signer.String()})
	return nil
}

// SetRetention schedules the purge of a completed envelope's files for the given number of days after completion. If
// the number is zero, the files are kept.
func (e *Envelope) SetRetention(days int) {
	if days <= 0 || e.CompletedAt == nil {
		return
	}
	until := e.CompletedAt.AddDate(0, 0, days)
	for _, d := range e.Documents {
		d.RetentionUntil = &until
	}
	e.RetentionDueAt = new(RetentionStepAfter(until, *e.CompletedAt))
}

// deletionReminders contains the times, in days before the end of the retention period, at which the service sends
// reminders of the deletion to recipients who have only links to the files.
var deletionReminders = []int{14, 7, 1}

// RetentionStepAfter returns the time of the first retention step after the given time. The steps are the reminders,
// and the purge when the retention period ends at until.
func RetentionStepAfter(until, after time.Time) time.Time {
	for _, days := range deletionReminders {
		if at := until.AddDate(0, 0, -days); at.After(after) {
			return at
		}
	}
	return until
}

// RetainedUntil returns the time at which the files will be purged, or nil if they are kept indefinitely.
func (e *Envelope) RetainedUntil() *time.Time {
	if d := find(e.Documents, func(d *Document) bool { return d.RetentionUntil != nil }); d != nil {
		return d.RetentionUntil
	}
	return nil
}

// Purge records the removal of the files, and removes the default values of the fields. The store removes the values
// entered by signers in the same change. The envelope's record and audit chain are retained. Repeating Purge has no
// effect.
func (e *Envelope) Purge(act ActionContext) error {
	until := e.RetainedUntil()
	if until == nil || act.At.Before(*until) {
		return Reject(KindConflict, "retention_not_due", "The retention period has not ended.")
	}
	for _, d := range e.Documents {
		if d.PurgeStatus == PurgePurged {
			continue
		}
		d.PurgeStatus = PurgePurged
		e.record(act, EventDocumentPurged, uuid.Nil, Detail{"documentId": d.ID.String(), "kind": string(d.Kind), "sha256": d.SHA256})
	}
	for _, f := range e.Fields {
		f.DefaultValue = ""
	}
	return nil
}

// Purged reports whether the files and all entered values have been removed.
func (e *Envelope) Purged() bool {
	return slices.ContainsFunc(e.Documents, func(d *Document) bool { return d.PurgeStatus == PurgePurged })
}

// ErrPurged is returned for a document that has been purged.
var ErrPurged = Reject(KindGone, "document_purged", "The document was deleted at the end of its retention period.")

// downloadWindow is the minimum time between recorded downloads of the same document by the same recipient.
const downloadWindow = time.Hour

// Downloaded records that a recipient has downloaded a sealed document.
func (e *Envelope) Downloaded(act ActionContext, recipient, document uuid.UUID) error {
	d := e.Document(document)
	if d == nil || d.Kind != DocumentSealed {
		return ErrNotFound
	}
	if d.PurgeStatus == PurgePurged {
		return ErrPurged
	}
	if s := e.Recipient(recipient); s != nil {
		if act.At.Sub(s.Downloads[document]).Abs() < downloadWindow {
			return nil
		}
		s.Downloads = maps.Clone(s.Downloads) // the store compares the row with the loaded map
		if s.Downloads == nil {
			s.Downloads = make(map[uuid.UUID]time.Time)
		}
		s.Downloads[document] = act.At
	}
	e.record(act, EventDocumentDownloaded, uuid.Nil, Detail{"documentId": d.ID.String(), "sha256": d.SHA256})
	return nil
}

// DeadlinePassed reports whether the deadline has passed.
func (e *Envelope) DeadlinePassed(at time.Time) bool {
	return e.ExpiresAt != nil && !at.Before(*e.ExpiresAt)
}

func checkReason(reason *string) error {
	p := Problems{}
	CheckParagraph(p, "reason", Deref(reason, ""), 0, 1000)
	return p.Err()
}

// addReason adds a reason, if there is one, to an event's detail, which may be nil.
func addReason(d Detail, reason *string) Detail {
	if Deref(reason, "") == "" {
		return d
	}
	if d == nil {
		d = Detail{}
	}
	d["reason"] = *reason
	return d
}

// CanRestart returns an error if the envelope has no workflow to restart, because it is a draft or has reached a final
// status.
func (e *Envelope) CanRestart() error {
	switch {
	case e.Status == StatusDraft:
		return Reject(KindConflict, "envelope_draft", "The envelope has not been sent.")
	case e.Status.Terminal():
		return Reject(KindConflict, "envelope_terminal", "The envelope is already %s.", e.Status.Public())
	}
	return nil
}
