package models

import (
	"slices"

	"github.com/google/uuid"
)

// BuilderSession permits the preparation of one draft or one template.
type BuilderSession struct {
	PageSession

	EnvelopeID *uuid.UUID // the draft; nil for a template
	TemplateID *uuid.UUID
	Features   BuilderFeatures `gorm:"serializer:json"`
}

// BuilderFeatures lists what a builder session permits in addition to placing fields.
type BuilderFeatures struct {
	Recipients bool        `json:"recipients"` // add, change and remove recipients
	Documents  bool        `json:"documents"`  // add, reorder, prepare and remove documents
	Send       bool        `json:"send"`       // set the subject, message and deadline, and send; rename a template
	FieldTypes []FieldType `json:"fieldTypes"` // the field types that can be added or edited
}

// BuilderFeature is a feature that a request can require.
type BuilderFeature int

// The builder features. No builder session permits requests that require BuilderNever.
const (
	BuilderNever BuilderFeature = iota
	BuilderAlways
	BuilderRecipients
	BuilderDocuments
	BuilderSend
)

// Allow returns an error unless the session has the feature.
func (s *BuilderSession) Allow(f BuilderFeature) error {
	allowed := map[BuilderFeature]bool{
		BuilderAlways: true, BuilderRecipients: s.Features.Recipients, BuilderDocuments: s.Features.Documents, BuilderSend: s.Features.Send,
	}
	if !allowed[f] {
		return Reject(KindForbidden, "feature_forbidden", "This builder session does not allow this operation.")
	}
	return nil
}

// AllowField returns an error unless the session permits fields of type t.
func (s *BuilderSession) AllowField(t FieldType) error {
	if t.Valid() && !slices.Contains(s.Features.FieldTypes, t) {
		return Reject(KindForbidden, "feature_forbidden", "This builder session does not allow fields of type %s.", string(t))
	}
	return nil
}

// BuilderActor returns the actor of an event that is caused by a builder session.
func BuilderActor(id uuid.UUID) string { return "builder:" + id.String() }

// CheckBuild returns an error if the envelope is no longer a draft.
func (e *Envelope) CheckBuild() error {
	if e.Status != StatusDraft {
		return Reject(KindConflict, "envelope_not_draft", "The envelope is %s; only a draft can be prepared.", e.Status.Public())
	}
	return nil
}
