// Package models contains the business rules of Countersign: the parts of an envelope, its state transitions, and the
// events that each transition records.
//
// An Envelope is a pure aggregate. Its methods check the transition table, change values in memory and record events.
// They do not access the database or the network, and receive the time and the actor as arguments. Package store saves
// each change, and derives its effects from the recorded events.
package models

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/seal/limits"
)

// Limits for an envelope. They apply to every request that creates one.
const (
	MaxSigners   = 100
	MaxFields    = 2000
	MaxDocuments = 50
)

// Envelope is a set of documents to be signed. It is the aggregate root for all changes.
type Envelope struct {
	ID            uuid.UUID `gorm:"primaryKey"`
	AppID         uuid.UUID
	TenantID      string
	Status        Status
	Subject       *string
	CreatedBy     string
	Message       *string // shown in the invitation
	ExpiresInDays *int    // nil for no deadline
	ExpiresAt     *time.Time
	HashOriginal  *string // lowercase hexadecimal, see CombineHashes
	HashFinal     *string
	// FirstDocumentID is the ID reserved for the first document, so that fields can be placed before the document
	// exists.
	FirstDocumentID uuid.UUID
	FieldOrigin     Origin // default origin of fields
	// ExternalID is the sender's own identifier of the envelope, or nil if there is none.
	ExternalID *string
	// Metadata contains name-value pairs that the sender stores with the envelope.
	Metadata map[string]string `gorm:"serializer:json"`
	// Labels are categories that the sender assigned to the envelope. They are not part of the envelope's audit record.
	Labels []string `gorm:"serializer:json"`
	// OwnerID is the console user who created or sent the envelope and receives its notifications. It is nil if an
	// application created the envelope.
	OwnerID *uuid.UUID
	// ReminderHours is the time between reminders. Nil means the tenant's setting, and zero means no reminders.
	ReminderHours *int
	// TemplateID and TemplateVersion identify the template that the envelope was created from. They are nil and zero if
	// there is none.
	TemplateID      *uuid.UUID
	TemplateVersion int
	// Editors lists the actors who have edited the draft (see edited).
	Editors     []string `gorm:"serializer:json"`
	CreatedAt   time.Time
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"` // time of the latest saved change
	SentAt      *time.Time
	CompletedAt *time.Time
	VoidedAt    *time.Time
	// RetentionDueAt is the due time of the next retention step, which is either a reminder of the deletion or the
	// purge. It is nil if none is scheduled.
	RetentionDueAt *time.Time
	// SealingProblem is the reason why the documents cannot be sealed, known since SealingProblemAt. It is nil if no
	// problem is known.
	SealingProblem   *SealingProblem
	SealingProblemAt *time.Time
	AuditSeq         int64  // Seq of the latest event
	AuditHead        string // Hash of the latest event
	Version          int64  // incremented by every saved change
	// Used is the capacity of the sealed documents that is already in use.
	Used SealUse `gorm:"serializer:json"`
	// AppearanceProfile is the version of the pages' appearance. It is fixed from sending to completion. Zero means the
	// current version.
	AppearanceProfile int
	// Archived reports whether audit events and values have been moved to a file (see store.Archive).
	Archived bool

	Signers   []*Signer   `gorm:"-"`
	Copies    []*Signer   `gorm:"-"` // recipients who receive only the sealed files
	Fields    []*Field    `gorm:"-"`
	Documents []*Document `gorm:"-"`

	// The records of the current change. The store saves and then clears them.
	Events   []Event         `gorm:"-"`
	Values   []FieldValue    `gorm:"-"`
	Adopted  *SavedSignature `gorm:"-"`
	Attached []*Attachment   `gorm:"-"` // new files, and the files of signed attachment fields
}

// ActionContext contains the actor, time and origin of an action.
type ActionContext struct {
	At        time.Time // UTC, to the microsecond
	Actor     string
	IP        string
	UserAgent string
	Session   []byte // SHA-256 of the session token in the signer's request, or nil
	NewID     func() uuid.UUID
}

// ActorSystem is the actor of actions that the service performs automatically.
const ActorSystem = "system"

// AppActor returns the actor of an event that is caused by an app.
func AppActor(id uuid.UUID) string { return "app:" + id.String() }

// SignerActor returns the actor of an event that is caused by a signer.
func SignerActor(id uuid.UUID) string { return "signer:" + id.String() }

// Check adds the problems with the sender's input for a new envelope to p.
func (e *Envelope) Check(p Problems) {
	if len(p["tenantId"]) == 0 {
		CheckText(p, "tenantId", e.TenantID, 1, 255)
	}
	if len(p["createdBy"]) == 0 {
		CheckText(p, "createdBy", e.CreatedBy, 1, 255)
	}
	checkSubject(p, e.Subject)
	checkMessage(p, e.Message)
	checkExpiresInDays(p, e.ExpiresInDays)
	checkReminderHours(p, e.ReminderHours)
	checkMetadata(p, e.Metadata)
	checkExternalID(p, e.ExternalID)
	checkLabels(p, e.Labels)
}

// NewEnvelope creates a draft with the values of e. It generates a missing ID, and sets a missing field origin to
// top-left.
func NewEnvelope(act ActionContext, e Envelope) (*Envelope, error) {
	p := Problems{}
	e.Check(p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	e.Status, e.FirstDocumentID, e.FieldOrigin = StatusDraft, act.NewID(), cmp.Or(e.FieldOrigin, OriginTopLeft)
	e.CreatedAt, e.AuditHead = act.At, ChainStart
	e.OwnerID = act.User()
	if e.ID == uuid.Nil {
		e.ID = act.NewID()
	}
	e.resetDeadline(act.At)
	detail := Detail{"tenantId": e.TenantID, "createdBy": e.CreatedBy}
	if e.TemplateID != nil {
		detail["templateId"], detail["templateVersion"] = e.TemplateID.String(), e.TemplateVersion
	}
	e.record(act, EventEnvelopeCreated, uuid.Nil, detail)
	return &e, nil
}

// resetDeadline sets the deadline to ExpiresInDays days after the given time, or to nil if ExpiresInDays is nil.
func (e *Envelope) resetDeadline(at time.Time) {
	e.ExpiresAt = nil
	if e.ExpiresInDays != nil {
		e.ExpiresAt = new(at.AddDate(0, 0, *e.ExpiresInDays))
	}
}

// record appends an event to the current change, and returns it.
func (e *Envelope) record(act ActionContext, name EventName, signer uuid.UUID, detail Detail) *Event {
	e.Events = append(e.Events, Event{
		ID: act.NewID(), EnvelopeID: e.ID, Name: name, Timestamp: act.At, Actor: act.Actor,
		IP: nilIfEmpty(act.IP), UserAgent: nilIfEmpty(limits.Cut(act.UserAgent, limits.UserAgent)), Detail: detail, SignerID: signer,
	})
	return &e.Events[len(e.Events)-1]
}

// Chain links the recorded events to the audit chain and updates the chain's head. The store calls it once, in the
// transaction that saves the events. It returns an error if the seal record has no capacity left for the events.
func (e *Envelope) Chain() error {
	for i := range e.Events {
		ev := &e.Events[i]
		ev.Seq, ev.PrevHash = e.AuditSeq+1, e.AuditHead
		b, err := ev.canonical(false)
		if err != nil {
			return err
		}
		h := hexDigest(b)
		ev.Hash = h
		e.Used.Trail += limits.Embedded(b) + hashMember
		e.AuditSeq, e.AuditHead = ev.Seq, h
	}
	return e.checkCapacity()
}

// hashMember is the length of the hash member in an event's JSON, plus the comma after the event.
const hashMember = len(`"hash":"",`) + 64 + 1

// check returns an error if the current state does not permit the action. Methods perform all checks before they change
// the state, so that a rejected action changes nothing.
func (e *Envelope) check(action Action) error {
	_, err := e.Status.Next(action)
	return err
}

// transition changes the envelope's status as a permitted action requires.
func (e *Envelope) transition(action Action) {
	if to, err := e.Status.Next(action); err == nil {
		e.Status = to
	}
}

// find returns the first element for which meant returns true, or nil if there is none.
func find[T any](list []*T, meant func(*T) bool) *T {
	if i := slices.IndexFunc(list, meant); i >= 0 {
		return list[i]
	}
	return nil
}

// Signer returns the signer with the given ID, or nil.
func (e *Envelope) Signer(id uuid.UUID) *Signer {
	return find(e.Signers, func(s *Signer) bool { return s.ID == id })
}

// Originals returns the uploaded documents in order.
func (e *Envelope) Originals() []*Document { return e.documents(DocumentOriginal) }

// Sealed returns the sealed documents in order. There are none before the envelope is completed.
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

// Document returns the document with the given ID, or nil.
func (e *Envelope) Document(id uuid.UUID) *Document {
	return find(e.Documents, func(d *Document) bool { return d.ID == id })
}

// Title returns the display name of the envelope, which is its subject, the name of its first document, or "Document".
func (e *Envelope) Title() string {
	if e.Subject != nil && strings.TrimSpace(*e.Subject) != "" {
		return *e.Subject
	}
	if docs := e.Originals(); len(docs) > 0 && docs[0].Name != "" {
		return strings.TrimSuffix(docs[0].Name, ".pdf")
	}
	return "Document"
}

// CombineHashes returns the combined hash of several documents, which is the SHA-256 hash of their concatenated
// lowercase hexadecimal hashes in document order. For a single document, it returns the document's own hash. For no
// documents, it returns nil.
func CombineHashes(docs []*Document) *string {
	switch len(docs) {
	case 0:
		return nil
	case 1:
		return &docs[0].SHA256
	}
	var hashes strings.Builder
	for _, d := range docs {
		hashes.WriteString(d.SHA256)
	}
	return new(hexDigest([]byte(hashes.String())))
}
