package models

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// What one envelope may hold. They bound every request that builds one.
const (
	MaxSigners   = 100
	MaxFields    = 2000
	MaxDocuments = 50
)

// Envelope is a set of documents that signers are asked to sign: the aggregate
// that every change goes through.
type Envelope struct {
	ID            uuid.UUID `gorm:"primaryKey"`
	AppID         uuid.UUID
	TenantID      string
	Status        Status
	Subject       *string
	CreatedBy     string
	Message       *string // shown in the invitation
	ExpiresInDays *int    // nil: no deadline
	ExpiresAt     *time.Time
	HashOriginal  *string // lowercase hex, see CombineHashes
	HashFinal     *string
	// FirstDocumentID is the id that the first document will have. It is known
	// before the document is, so that fields can be placed on it beforehand.
	FirstDocumentID uuid.UUID
	FieldOrigin     Origin // of the fields that name none
	// ExternalID is what the sender calls the envelope; nil: nothing.
	ExternalID *string
	// Metadata are pairs that the sender keeps with the envelope.
	Metadata map[string]string `gorm:"serializer:json"`
	// ReminderHours is the time between reminders; nil: the tenant's, 0: none.
	ReminderHours *int
	// TemplateID is the template that the envelope was made of, TemplateVersion its version; nil, 0: none.
	TemplateID      *uuid.UUID
	TemplateVersion int
	// Editors are the actors who have edited the draft, see edited.
	Editors     []string `gorm:"serializer:json"`
	CreatedAt   time.Time
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"` // of the newest change that was saved
	SentAt      *time.Time
	CompletedAt *time.Time
	VoidedAt    *time.Time
	// SealingProblem says why the documents cannot be sealed, since SealingProblemAt; nil: no reason is known.
	SealingProblem   *SealingProblem
	SealingProblemAt *time.Time
	AuditSeq         int64  // Seq of the newest event
	AuditHead        string // its Hash
	Version          int64  // raised by every saved change
	// Archived says that its audit events and values are in a file, see store.Archive.
	Archived bool

	Signers   []*Signer   `gorm:"-"`
	Copies    []*Signer   `gorm:"-"` // who gets the sealed files and nothing else
	Fields    []*Field    `gorm:"-"`
	Documents []*Document `gorm:"-"`

	// What the change in hand recorded; store saves and clears it.
	Events   []Event         `gorm:"-"`
	Values   []FieldValue    `gorm:"-"`
	Adopted  *SavedSignature `gorm:"-"`
	Attached []*Attachment   `gorm:"-"` // new ones, and those that were signed with
}

// ActionContext is who does something, when and from where.
type ActionContext struct {
	At        time.Time // UTC, microseconds
	Actor     string
	IP        string
	UserAgent string
	Session   []byte // SHA-256 of the signer's session token that came with the request; nil: none
	NewID     func() uuid.UUID
}

// ActorSystem is the actor of what the service does by itself.
const ActorSystem = "system"

// AppActor and SignerActor name the actor of an event.
func AppActor(id uuid.UUID) string { return "app:" + id.String() }

// SignerActor names a signer as an event's actor.
func SignerActor(id uuid.UUID) string { return "signer:" + id.String() }

// EnvelopeInput is what a new envelope is made from.
type EnvelopeInput struct {
	AppID         uuid.UUID
	TenantID      string
	Subject       *string
	CreatedBy     string
	ExpiresInDays *int
	FieldOrigin   Origin // "": top-left
	ExternalID    *string
	Metadata      map[string]string
	ReminderHours *int
	Message       *string
	// ID is the id that the envelope will have; uuid.Nil: a new one.
	ID uuid.UUID
	// What it is made of, if that is a template.
	TemplateID      *uuid.UUID
	TemplateVersion int
}

// Check notes what is wrong with the input, beside what was noted already.
func (in EnvelopeInput) Check(p Problems) {
	if len(p["tenantId"]) == 0 {
		CheckText(p, "tenantId", in.TenantID, 1, 255)
	}
	if len(p["createdBy"]) == 0 {
		CheckText(p, "createdBy", in.CreatedBy, 1, 255)
	}
	checkSubject(p, in.Subject)
	checkMessage(p, in.Message)
	checkExpiresInDays(p, in.ExpiresInDays)
	checkReminderHours(p, in.ReminderHours)
	checkMetadata(p, in.Metadata)
	if in.ExternalID != nil {
		CheckText(p, "externalId", *in.ExternalID, 1, MaxExternalID)
	}
}

// NewEnvelope makes a draft.
func NewEnvelope(act ActionContext, in EnvelopeInput) (*Envelope, error) {
	p := Problems{}
	in.Check(p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	e := &Envelope{
		ID: in.ID, AppID: in.AppID, TenantID: in.TenantID, Status: StatusDraft, Subject: in.Subject,
		CreatedBy: in.CreatedBy, ExpiresInDays: in.ExpiresInDays, FirstDocumentID: act.NewID(),
		FieldOrigin: cmp.Or(in.FieldOrigin, OriginTopLeft),
		ExternalID:  in.ExternalID, Metadata: in.Metadata, ReminderHours: in.ReminderHours, Message: in.Message,
		TemplateID: in.TemplateID, TemplateVersion: in.TemplateVersion,
		CreatedAt: act.At, AuditHead: ChainStart,
	}
	if e.ID == uuid.Nil {
		e.ID = act.NewID()
	}
	e.resetDeadline(act.At)
	detail := Detail{"tenantId": e.TenantID, "createdBy": e.CreatedBy}
	if e.TemplateID != nil {
		detail["templateId"], detail["templateVersion"] = e.TemplateID.String(), e.TemplateVersion
	}
	e.record(act, EventEnvelopeCreated, uuid.Nil, detail)
	return e, nil
}

// resetDeadline counts the deadline from at.
func (e *Envelope) resetDeadline(at time.Time) {
	e.ExpiresAt = nil
	if e.ExpiresInDays != nil {
		t := at.AddDate(0, 0, *e.ExpiresInDays)
		e.ExpiresAt = &t
	}
}

// record notes that something happened.
func (e *Envelope) record(act ActionContext, name EventName, signer uuid.UUID, detail Detail) *Event {
	e.Events = append(e.Events, Event{
		ID: act.NewID(), EnvelopeID: e.ID, Name: name, Timestamp: act.At, Actor: act.Actor,
		IP: nilIfEmpty(act.IP), UserAgent: nilIfEmpty(act.UserAgent), Detail: detail, SignerID: signer,
	})
	return &e.Events[len(e.Events)-1]
}

// Chain gives the recorded events their place in the audit chain and moves the
// head. The store calls it once, inside the transaction that saves them.
func (e *Envelope) Chain() error {
	for i := range e.Events {
		ev := &e.Events[i]
		ev.Seq, ev.PrevHash = e.AuditSeq+1, e.AuditHead
		h, err := ev.Digest()
		if err != nil {
			return err
		}
		ev.Hash = h
		e.AuditSeq, e.AuditHead = ev.Seq, h
	}
	return nil
}

// check refuses an action that the state does not allow. Methods ask first and
// move last, so that a refused action leaves the envelope as it was.
func (e *Envelope) check(action Action) error {
	_, err := e.Status.Next(action)
	return err
}

// transition takes the envelope to the state that an allowed action leads to.
func (e *Envelope) transition(action Action) {
	if to, err := e.Status.Next(action); err == nil {
		e.Status = to
	}
}

// Signer returns the signer with that id, or nil.
func (e *Envelope) Signer(id uuid.UUID) *Signer {
	for _, s := range e.Signers {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Originals are the uploaded documents in order.
func (e *Envelope) Originals() []*Document { return e.documents(DocumentOriginal) }

// Sealed are the sealed documents in order; empty before completion.
func (e *Envelope) Sealed() []*Document { return e.documents(DocumentSealed) }

func (e *Envelope) documents(kind DocumentKind) []*Document {
	var out []*Document
	for _, d := range e.Documents {
		if d.Kind == kind {
			out = append(out, d)
		}
	}
	return out
}

// Document returns the document with that id, or nil.
func (e *Envelope) Document(id uuid.UUID) *Document {
	for _, d := range e.Documents {
		if d.ID == id {
			return d
		}
	}
	return nil
}

// Title is how people call the envelope: its subject, or a plain word.
func (e *Envelope) Title() string {
	if e.Subject != nil && strings.TrimSpace(*e.Subject) != "" {
		return *e.Subject
	}
	if docs := e.Originals(); len(docs) > 0 && docs[0].Name != "" {
		return strings.TrimSuffix(docs[0].Name, ".pdf")
	}
	return "Document"
}

// CombineHashes is the hash of several documents: SHA-256 over the concatenation
// of their lowercase hex hashes in document order; one document's own hash
// if there is only one, and nil if there is none.
func CombineHashes(docs []*Document) *string {
	switch len(docs) {
	case 0:
		return nil
	case 1:
		return &docs[0].SHA256
	}
	h := sha256.New()
	for _, d := range docs {
		fmt.Fprint(h, d.SHA256)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	return &sum
}

func nilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
