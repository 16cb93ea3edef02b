package api

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"countersign/models"
)

// The view types represent resources in API responses.

type envelopeView struct {
	ID                   uuid.UUID      `json:"id"`
	TenantID             string         `json:"tenantId"`
	Status               models.Status  `json:"status"`
	CreatedBy            string         `json:"createdBy"`
	Subject              *string        `json:"subject"`
	DocumentHashOriginal *string        `json:"documentHashOriginal"`
	DocumentHashFinal    *string        `json:"documentHashFinal"`
	CompletedAt          *time.Time     `json:"completedAt"`
	ExpiresAt            *time.Time     `json:"expiresAt"`
	VoidedAt             *time.Time     `json:"voidedAt"`
	CreatedAt            time.Time      `json:"createdAt"`
	Signers              []signerView   `json:"signers"`
	Copies               []copyView     `json:"copies,omitempty"` // recipients who receive only the completed copies
	Fields               []fieldView    `json:"fields"`
	Documents            []documentView `json:"documents"`
	UpdatedAt            time.Time      `json:"updatedAt"`
	// These members are present only if they were set.
	ExternalID    *string           `json:"externalId,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	Labels        []string          `json:"labels,omitempty"`
	Message       *string           `json:"message,omitempty"`
	ReminderHours *int              `json:"reminderHours,omitempty"`
	// These members are present only if the envelope was created from a template.
	TemplateID      *uuid.UUID `json:"templateId,omitempty"`
	TemplateVersion int        `json:"templateVersion,omitempty"`
	// SealingProblem is present only while all signers have signed and the documents cannot be sealed.
	SealingProblem *sealingView `json:"sealingProblem,omitempty"`
	AuditLog       []eventView  `json:"auditLog"`
}

// sealingView describes why the documents cannot be sealed.
type sealingView struct {
	Code    models.SealingProblem `json:"code"`
	Message string                `json:"message"`
	Since   *time.Time            `json:"since"`
}

type signerView struct {
	ID           uuid.UUID           `json:"id"`
	Name         string              `json:"name"`
	Email        string              `json:"email"`
	Phone        *string             `json:"phone"`
	RoutingOrder int                 `json:"routingOrder"`
	Status       models.SignerStatus `json:"status"`
	AuthMethod   models.AuthMethod   `json:"authMethod"`
	SignedAt     *time.Time          `json:"signedAt"`
	recipientView
	// These members are present only if they differ from the default.
	AllowDelegation bool           `json:"allowDelegation,omitempty"`
	Previous        []previousView `json:"previous,omitempty"`
	// SigningURL is a credential. It is present only in responses to requests that send the envelope.
	SigningURL string `json:"signingUrl,omitempty"`
}

type previousView struct {
	Name   string    `json:"name"`
	Email  string    `json:"email"`
	Until  time.Time `json:"until"`
	Reason *string   `json:"reason"`
}

type documentView struct {
	ID             uuid.UUID           `json:"id"`
	EnvelopeID     uuid.UUID           `json:"envelopeId"`
	Kind           models.DocumentKind `json:"kind"`
	MimeType       string              `json:"mimeType"`
	SHA256         string              `json:"sha256"`
	PageCount      int                 `json:"pageCount"`
	RetentionUntil *string             `json:"retentionUntil"`
	PurgeStatus    models.PurgeStatus  `json:"purgeStatus"`
	Order          int                 `json:"document_order"`
	Name           string              `json:"name"`
	Size           int64               `json:"size"`
	// Prepared is present only for originals. It describes the prepared file, or is null if there is none.
	Prepared *json.RawMessage `json:"prepared,omitempty"`
	// Warnings contains warnings about the document for its sender. It is omitted if it is empty.
	Warnings []warningView `json:"warnings,omitempty"`
}

type eventView struct {
	ID         uuid.UUID        `json:"id"`
	EnvelopeID uuid.UUID        `json:"envelopeId"`
	Event      models.EventName `json:"event"`
	Timestamp  string           `json:"timestamp"`
	Actor      string           `json:"actor"`
	IP         *string          `json:"ip"`
	UserAgent  *string          `json:"userAgent"`
	Detail     models.Detail    `json:"detail"`
	Seq        int64            `json:"seq"`
	PrevHash   string           `json:"prevHash"`
	Hash       string           `json:"hash"`
}

func viewEnvelope(e *models.Envelope, log []models.Event) envelopeView {
	extended := e.Extended()
	v := envelopeView{
		ID: e.ID, TenantID: e.TenantID, Status: e.Status.Public(), CreatedBy: e.CreatedBy, Subject: e.Subject,
		DocumentHashOriginal: e.HashOriginal, DocumentHashFinal: e.HashFinal, CompletedAt: utcPtr(e.CompletedAt),
		ExpiresAt: utcPtr(e.ExpiresAt), VoidedAt: utcPtr(e.VoidedAt), CreatedAt: e.CreatedAt.UTC(),
		UpdatedAt: e.UpdatedAt.UTC(), ExternalID: e.ExternalID, Metadata: e.Metadata, Labels: e.Labels, Message: e.Message, ReminderHours: e.ReminderHours,
		TemplateID: e.TemplateID, TemplateVersion: e.TemplateVersion,
		Signers: viewEach(e.Signers, viewSigner), Copies: viewEach(e.Copies, viewCopy),
		Fields:    viewEach(e.Fields, func(f *models.Field) fieldView { return viewField(f, extended) }),
		Documents: viewEach(e.Documents, viewDocument), AuditLog: views(log, viewEvent),
	}
	if e.Status == models.StatusSealing && e.SealingProblem != nil {
		v.SealingProblem = &sealingView{Code: *e.SealingProblem, Message: e.SealingProblem.Message(), Since: utcPtr(e.SealingProblemAt)}
	}
	return v
}

func viewSigner(s *models.Signer) signerView {
	return signerView{
		ID: s.ID, Name: s.Name, Email: s.Email, Phone: s.Phone, RoutingOrder: s.RoutingOrder, Status: s.Status,
		AuthMethod: s.AuthMethod, SignedAt: utcPtr(s.SignedAt), recipientView: viewRecipient(s), AllowDelegation: s.AllowDelegation,
		Previous: viewPrevious(s),
	}
}

func viewPrevious(s *models.Signer) (out []previousView) {
	for _, p := range s.Previous() {
		out = append(out, previousView{p.Name, p.Email, p.Until.UTC(), nilIfZero(p.Reason)})
	}
	return out
}

func viewDocument(d *models.Document) documentView {
	v := documentView{
		ID: d.ID, EnvelopeID: d.EnvelopeID, Kind: d.Kind, MimeType: d.MimeType, SHA256: d.SHA256, PageCount: d.PageCount,
		PurgeStatus: d.PurgeStatus, Order: d.Order, Name: d.Name, Size: d.Size,
	}
	if d.Kind == models.DocumentOriginal {
		v.Prepared, v.Warnings = viewPrepared(d), viewNotes(d)
	}
	if d.RetentionUntil != nil {
		v.RetentionUntil = new(d.RetentionUntil.UTC().Format(time.DateOnly))
	}
	return v
}

func viewEvent(e *models.Event) eventView {
	return eventView{
		ID: e.ID, EnvelopeID: e.EnvelopeID, Event: e.Name, Timestamp: models.FormatTime(e.Timestamp), Actor: e.Actor, IP: e.IP,
		UserAgent: e.UserAgent, Detail: e.Detail, Seq: e.Seq, PrevHash: e.PrevHash, Hash: e.Hash,
	}
}

// positionView is a position and size on a page.
type positionView struct {
	Page int     `json:"page"`
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	W    float64 `json:"w"`
	H    float64 `json:"h"`
}
