package api

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"countersign/models"
)

// templateView represents a template in a list.
type templateView struct {
	ID         uuid.UUID  `json:"id"`
	TenantID   *string    `json:"tenantId"` // null for all tenants
	ExternalID *string    `json:"externalId"`
	Name       string     `json:"name"`
	Labels     []string   `json:"labels"`
	Version    int        `json:"version"`
	CreatedBy  string     `json:"createdBy"`
	CreatedAt  time.Time  `json:"createdAt"`
	UpdatedAt  time.Time  `json:"updatedAt"`
	ArchivedAt *time.Time `json:"archivedAt"`
}

// templateVersionView represents a template with the content of one of its versions.
type templateVersionView struct {
	templateView

	Subject       *string                `json:"subject"`
	Message       *string                `json:"message"`
	ExpiresInDays **int                  `json:"expiresInDays,omitempty"` // null for no deadline; absent for the tenant's default
	ReminderHours *int                   `json:"reminderHours"`
	Metadata      map[string]string      `json:"metadata"`
	Variables     []string               `json:"variables"`
	Roles         []templateRoleView     `json:"roles"`
	Fields        []templateFieldView    `json:"fields"`
	Documents     []templateDocumentView `json:"documents"`
	Versions      []versionView          `json:"versions"`
}

type versionView struct {
	Version   int       `json:"version"`
	CreatedBy string    `json:"createdBy"`
	CreatedAt time.Time `json:"createdAt"`
}

type templateRoleView struct {
	Role            string               `json:"role"`
	Kind            models.RecipientKind `json:"kind"`
	RoutingOrder    int                  `json:"routingOrder"`
	AuthMethod      models.AuthMethod    `json:"authMethod"`
	Language        *string              `json:"language"` // null for the tenant's language
	AllowDelegation bool                 `json:"allowDelegation"`
	Notify          bool                 `json:"notify"`
	WitnessFor      *string              `json:"witnessFor"`
}

type templateFieldView struct {
	DocumentID *uuid.UUID       `json:"documentId"` // null for the envelope's first document
	Role       string           `json:"role"`
	Type       models.FieldType `json:"type"`
	positionView
	Required bool `json:"required"`
	fieldExtras
}

type templateDocumentView struct {
	ID        uuid.UUID `json:"id"`
	MimeType  string    `json:"mimeType"`
	SHA256    string    `json:"sha256"`
	PageCount int       `json:"pageCount"`
	Order     int       `json:"document_order"`
	Name      string    `json:"name"`
	Size      int64     `json:"size"`
	Prepared  any       `json:"prepared"`
}

func viewTemplate(t *models.Template) templateView {
	return templateView{
		ID: t.ID, TenantID: nilIfZero(t.TenantID), ExternalID: t.ExternalID, Name: t.Name, Labels: append([]string{}, t.Labels...), Version: t.Version, CreatedBy: t.CreatedBy,
		CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(), ArchivedAt: utcPtr(t.ArchivedAt),
	}
}

func viewTemplateVersion(t *models.LoadedTemplate) templateVersionView {
	content := t.Content
	v := templateVersionView{
		templateView: viewTemplate(&t.Template), Subject: content.Subject, Message: content.Message, ReminderHours: content.ReminderHours,
		Metadata: content.Metadata, Variables: content.Variables(), Roles: views(content.Roles, viewTemplateRole), Fields: []templateFieldView{},
		Documents: viewEach(t.Documents, viewTemplateDocument), Versions: viewEach(t.Versions, viewVersion),
	}
	v.Version = t.Of.Number
	if v.Metadata == nil {
		v.Metadata = map[string]string{}
	}
	if days := content.ExpiresInDays; days != nil {
		v.ExpiresInDays = new(nilIfZero(*days))
	}
	for _, f := range content.Fields {
		field := templateFieldView{
			Role: f.Role, Type: f.Type, positionView: positionView{f.Page, f.X, f.Y, f.W, f.H}, Required: f.Required,
			fieldExtras: viewExtras(&models.Field{Type: f.Type, Name: f.Name, DefaultValue: f.DefaultValue, Attributes: f.Attributes, Source: f.Source}),
		}
		if slices.ContainsFunc(t.Documents, func(d *models.TemplateDocument) bool { return d.ID == f.DocumentID }) {
			field.DocumentID = &f.DocumentID
		}
		v.Fields = append(v.Fields, field)
	}
	return v
}

func viewTemplateRole(r *models.TemplateRole) templateRoleView {
	return templateRoleView{
		Role: r.Role, Kind: cmp.Or(r.Kind, models.RecipientSigner), RoutingOrder: r.RoutingOrder, AuthMethod: r.AuthMethod,
		Language: nilIfZero(r.Language), AllowDelegation: r.AllowDelegation, Notify: !r.Silent, WitnessFor: nilIfZero(r.WitnessFor),
	}
}

func viewTemplateDocument(d *models.TemplateDocument) templateDocumentView {
	return templateDocumentView{d.ID, d.MimeType, d.SHA256, d.PageCount, d.Order, d.Name, d.Size, viewPrepared(&d.Document)}
}

func viewVersion(n *models.TemplateVersion) versionView {
	return versionView{n.Number, n.CreatedBy, n.CreatedAt.UTC()}
}

// templateTag returns the ETag for the current state of a template.
func templateTag(t *models.Template) string {
	return fmt.Sprintf(`"%d-%d"`, t.Version, t.UpdatedAt.UnixMicro())
}
