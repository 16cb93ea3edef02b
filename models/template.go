package models

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Template is a template for envelopes. It has numbered versions.
type Template struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	AppID      uuid.UUID
	TenantID   string // empty for all tenants of the app
	ExternalID *string
	Name       string
	Labels     []string `gorm:"serializer:json"`
	Version    int      // number of the latest version, starting at 1
	CreatedBy  string
	CreatedAt  time.Time
	UpdatedAt  time.Time `gorm:"autoUpdateTime:false"`
	ArchivedAt *time.Time
}

// TemplateVersion is an immutable version of a template.
type TemplateVersion struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	TemplateID uuid.UUID
	Number     int    // starts at 1
	Content    string // TemplateContent as JSON
	CreatedBy  string
	CreatedAt  time.Time
}

// TemplateContent is the content of a template's version, except for its files.
type TemplateContent struct {
	Subject       *string           `json:"subject,omitempty"` // the subject and the message can contain {{variables}}
	Message       *string           `json:"message,omitempty"`
	ExpiresInDays *int              `json:"expiresInDays,omitempty"` // nil for the tenant's default, 0 for no deadline
	ReminderHours *int              `json:"reminderHours,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	FieldOrigin   Origin            `json:"fieldOrigin,omitempty"`
	Roles         []TemplateRole    `json:"roles"`
	Fields        []TemplateField   `json:"fields"`
}

// TemplateRole describes a signer of an envelope without naming a person.
type TemplateRole struct {
	Role         string     `json:"role"`
	RoutingOrder int        `json:"routingOrder"`
	AuthMethod   AuthMethod `json:"authMethod"`
	// AllowDelegation permits the signer to delegate.
	AllowDelegation bool          `json:"allowDelegation,omitempty"`
	Kind            RecipientKind `json:"kind,omitempty"`       // default RecipientSigner
	Language        string        `json:"language,omitempty"`   // BCP 47; "" for the tenant's
	Silent          bool          `json:"silent,omitempty"`     // whether the sender delivers the links
	WitnessFor      string        `json:"witnessFor,omitempty"` // witnessed role, which determines RoutingOrder
}

// TemplateField describes a field of an envelope.
type TemplateField struct {
	Role string `json:"role"`
	// Field has the DocumentID of a TemplateDocument, or uuid.Nil if the template has no document yet.
	Field
}

// TemplateDocument is a PDF in a template's version. Its files can be shared with other versions and with envelopes.
type TemplateDocument struct {
	RowID      uuid.UUID
	VersionID  uuid.UUID
	TemplateID uuid.UUID
	// Document is like an original, but without an envelope. Fields refer to its ID, which is the same in every version
	// that contains the document.
	Document

	Warnings []string // codes of content that other programs may display differently
	Released bool     // whether the template is archived and no longer needs the files
}

// SameContent reports whether two fields have the same properties and position, regardless of how they were created.
func (f TemplateField) SameContent(other TemplateField) bool {
	f.Source, f.Origin, f.Attributes.Named = other.Source, other.Origin, other.Attributes.Named
	return reflect.DeepEqual(f, other)
}

// LoadedTemplate is a template with one of its versions.
type LoadedTemplate struct {
	Template

	Of        TemplateVersion // the version that Content and Documents belong to
	Content   TemplateContent
	Documents []*TemplateDocument
	// Versions lists the latest versions without their content, newest first. It is nil if the versions were not
	// requested.
	Versions []*TemplateVersion
}

// Limits for templates.
const (
	maxTemplateName = 200 // characters
	// maxTemplateText is the maximum length of a text with variables, in characters. The resulting text has its own
	// limit.
	maxTemplateText = 4000
)

// Check records the problems with a template's name, external ID and labels.
func (t *Template) Check(p Problems) {
	if len(p["name"]) == 0 {
		CheckText(p, "name", t.Name, 1, maxTemplateName)
	}
	checkExternalID(p, t.ExternalID)
	checkLabels(p, t.Labels)
}

// ErrTemplateArchived is returned for a change to an archived template.
var ErrTemplateArchived = Reject(KindConflict, "template_archived", "The template is archived and can no longer be changed.")

// Check records the problems with a template's texts and roles. It copies the routing order of each witnessed role to
// its witness role.
func (c *TemplateContent) Check(p Problems) {
	checkTemplateText(p, "subject", c.Subject, checkSubject)
	checkTemplateText(p, "message", c.Message, checkMessage)
	if Deref(c.ExpiresInDays, 0) != 0 {
		checkExpiresInDays(p, c.ExpiresInDays)
	}
	checkReminderHours(p, c.ReminderHours)
	checkMetadata(p, c.Metadata)
	seen := make(map[string]bool)
	rolePath := func(i int) string { return fmt.Sprintf("roles[%d].", i) }
	for i, r := range c.Roles {
		path := rolePath(i)
		CheckText(p, path+"role", r.Role, 1, maxRole)
		if r.Role != "" && seen[r.Role] {
			p.addFirst(path+"role", "must not repeat")
		}
		seen[r.Role] = true
		problems := Problems{}
		r.placeholder(i).Check(problems, path)
		for at, texts := range problems {
			if len(p[at]) == 0 {
				p[at] = texts
			}
		}
	}
	resolved := c.Placeholders()
	ResolveWitnesses(p, resolved, rolePath)
	for i, in := range resolved {
		c.Roles[i].RoutingOrder = in.RoutingOrder
	}
}

func (c *TemplateContent) role(name string) *TemplateRole {
	if i := slices.IndexFunc(c.Roles, func(r TemplateRole) bool { return r.Role == name }); i >= 0 {
		return &c.Roles[i]
	}
	return nil
}

// placeholder returns a placeholder for the person in a role, so that a template can be examined like an envelope.
func (r TemplateRole) placeholder(i int) SignerInput {
	in := SignerInput{Name: "-", Email: fmt.Sprintf("role%d@template.invalid", i+1), Phone: new("+10000000")}
	if rules, ok := r.Kind.rules(); ok && rules.hosted {
		in.Host = &Host{Name: "-", Email: "host@template.invalid"}
	}
	return r.signer(in)
}

// signer completes the input for a signer with the properties of the role.
func (r TemplateRole) signer(in SignerInput) SignerInput {
	in.Role, in.Kind, in.WitnessFor = r.Role, cmp.Or(r.Kind, RecipientSigner), r.WitnessFor
	if r.WitnessFor == "" { // otherwise, the order of the witnessed signer applies
		in.RoutingOrder = cmp.Or(in.RoutingOrder, r.RoutingOrder)
	}
	in.AuthMethod = cmp.Or(in.AuthMethod, r.AuthMethod)
	in.AllowDelegation = in.AllowDelegation || r.AllowDelegation
	in.Language = cmp.Or(in.Language, r.Language)
	in.Silent = in.Silent || r.Silent
	return in
}

// Draft returns an envelope with the template's documents and a placeholder for each role's signer. The rules for an
// envelope can then be applied to the template.
func (c *TemplateContent) Draft(act ActionContext, t *Template, documents []*TemplateDocument) (*Envelope, error) {
	e, err := NewEnvelope(act, Envelope{AppID: t.AppID, TenantID: "-", CreatedBy: "-", FieldOrigin: c.FieldOrigin})
	if err != nil {
		return nil, err
	}
	for i, r := range c.Roles {
		if _, err := e.AddSigner(act, r.placeholder(i)); err != nil {
			return nil, err
		}
	}
	for _, d := range documents {
		e.Documents = append(e.Documents, &d.Document)
	}
	if len(e.Documents) > 0 {
		e.FirstDocumentID = e.Documents[0].ID
	}
	return e, nil
}

// Placeholders returns placeholders for the people in all roles.
func (c *TemplateContent) Placeholders() []SignerInput {
	out := make([]SignerInput, 0, len(c.Roles))
	for i, r := range c.Roles {
		out = append(out, r.placeholder(i))
	}
	return out
}

// FieldsFor returns the input for the fields in a version with the given documents. A field whose document was
// replaced is moved to the first document, or is dropped if it was detected in the replaced document.
func (c *TemplateContent) FieldsFor(documents []*TemplateDocument) []FieldInput {
	var out []FieldInput
	for _, f := range c.Fields {
		known := slices.ContainsFunc(documents, func(d *TemplateDocument) bool { return d.ID == f.DocumentID })
		if !known && f.Source != SourceRequest {
			continue
		}
		in := f.input()
		if !known {
			in.DocumentID = nil
		}
		out = append(out, in)
	}
	return out
}

// FromEnvelope copies the settings, roles and fields of an envelope, without the names and addresses of its recipients.
// A signer without a role is assigned a numbered role.
func (c *TemplateContent) FromEnvelope(e *Envelope) {
	c.Subject, c.Message, c.ReminderHours, c.FieldOrigin = e.Subject, e.Message, e.ReminderHours, e.FieldOrigin
	c.ExpiresInDays = new(Deref(e.ExpiresInDays, 0))
	names, roles := make(map[string]bool), make(map[uuid.UUID]string)
	all := e.Recipients()
	for _, s := range all {
		names[s.Role] = true
	}
	c.Roles = make([]TemplateRole, 0, len(all))
	for i, s := range all {
		name := s.Role
		for n := i + 1; name == ""; n++ {
			if made := fmt.Sprintf("signer%d", n); !names[made] {
				name, names[made] = made, true
			}
		}
		roles[s.ID] = name
		c.Roles = append(c.Roles, TemplateRole{
			Role: name, RoutingOrder: s.RoutingOrder, AuthMethod: s.AuthMethod, AllowDelegation: s.AllowDelegation,
			Kind: s.DisplayKind(), Language: s.Language, Silent: s.Silent, WitnessFor: s.WitnessFor,
		})
	}
	c.FieldsOf(e)
	for i, f := range e.Fields {
		c.Fields[i].Role = roles[f.SignerID]
	}
}

// FieldsOf replaces the fields of the content with copies of an envelope's fields.
func (c *TemplateContent) FieldsOf(e *Envelope) {
	c.Fields = make([]TemplateField, 0, len(e.Fields))
	for _, f := range e.Fields {
		own := TemplateField{Field: *f}
		if s := e.Recipient(f.SignerID); s != nil {
			own.Role = s.Role
		}
		own.ID, own.EnvelopeID, own.SignerID, own.Position = uuid.Nil, uuid.Nil, uuid.Nil, 0
		c.Fields = append(c.Fields, own)
	}
}

// TemplateDocuments returns the originals of an envelope as documents of a template.
func TemplateDocuments(e *Envelope) []*TemplateDocument {
	return mapSlice(e.Originals(), func(d *Document) *TemplateDocument { return &TemplateDocument{Document: *d} })
}

// ShareFiles makes documents refer to identical files that the template already has.
func (t *LoadedTemplate) ShareFiles(documents []*TemplateDocument) {
	for _, d := range documents {
		for _, was := range t.Documents {
			if was.SHA256 == d.SHA256 && was.PreparedSHA256 == d.PreparedSHA256 && was.Preparation == d.Preparation {
				d.BlobKey, d.Encrypted, d.PreparedKey, d.PreparedEncrypted = was.BlobKey, was.Encrypted, was.PreparedKey, was.PreparedEncrypted
				break
			}
		}
	}
}

// NewVersion adds a version to the template. Previous versions remain unchanged.
func (t *LoadedTemplate) NewVersion(act ActionContext, by string, c TemplateContent, documents []*TemplateDocument) {
	t.Version++
	t.Of = TemplateVersion{ID: act.NewID(), TemplateID: t.ID, Number: t.Version, CreatedBy: by, CreatedAt: act.At}
	t.Versions = slices.Insert(t.Versions, 0, &TemplateVersion{ID: t.Of.ID, TemplateID: t.ID, Number: t.Version, CreatedBy: by, CreatedAt: act.At})
	t.Content, t.Documents = c, make([]*TemplateDocument, 0, len(documents))
	for i, d := range documents {
		own := *d
		own.RowID, own.VersionID, own.TemplateID, own.Order = act.NewID(), t.Of.ID, t.ID, i+1
		own.EnvelopeID, own.Shared, own.Released = uuid.Nil, false, false
		own.RetentionUntil, own.PurgeStatus, own.CreatedAt = nil, PurgeActive, act.At
		t.Documents = append(t.Documents, &own)
	}
}

// NewTemplate returns a template without any version.
func NewTemplate(act ActionContext, t Template) *LoadedTemplate {
	t.ID, t.Version, t.CreatedAt, t.UpdatedAt, t.ArchivedAt = act.NewID(), 0, act.At, act.At, nil
	return &LoadedTemplate{Template: t}
}
