package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

type templatesInput struct {
	Search string `json:"search,omitempty" jsonschema:"part of the name"`
	Limit  int    `json:"limit,omitempty" jsonschema:"maximum number of results, 1 to 50; default 20"`
	Cursor string `json:"cursor,omitempty" jsonschema:"nextCursor of the previous page"`
}

type templateRow struct {
	ID         uuid.UUID `json:"id"`
	Name       string    `json:"name"`
	ExternalID string    `json:"externalId,omitempty"`
	Version    int       `json:"version"`
	UpdatedAt  time.Time `json:"updatedAt"`
	AllTenants bool      `json:"allTenants,omitempty"`
	Page       string    `json:"page"`
}

// templatePage returns the URL at which a person can view a template.
func (s *server) templatePage(id uuid.UUID) string {
	return s.Client.Address() + "/console#/templates/" + id.String()
}

func (s *server) listTemplates(ctx context.Context, _ *mcp.CallToolRequest, in templatesInput) (any, error) {
	size, err := pageSize(in.Limit)
	if err != nil {
		return nil, err
	}
	found, err := countersign.Answer(s.Client.API.ListTemplatesWithResponse(ctx, &api.ListTemplatesParams{
		TenantID: &s.Tenant, Q: countersign.Optional(in.Search), Cursor: countersign.Optional(in.Cursor), PageSize: &size,
	}))
	if err != nil {
		return nil, err
	}
	rows := make([]templateRow, 0, len(found.Data))
	for i := range found.Data {
		t := &found.Data[i]
		rows = append(rows, templateRow{t.ID, clean(t.Name, maxText), cleanPtr(t.ExternalID), t.Version, t.UpdatedAt, t.TenantID == nil, s.templatePage(t.ID)})
	}
	return map[string]any{"templates": rows, "nextCursor": found.NextCursor}, nil
}

type templateInput struct {
	TemplateID string `json:"template_id" jsonschema:"id of the template"`
}

type templateRoleView struct {
	Role   string `json:"role"`
	Kind   string `json:"kind"`
	Order  int    `json:"order"`
	Auth   string `json:"auth"`
	Fields int    `json:"fields"`
}

type templateFieldView struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	Type     string `json:"type"`
	Document int    `json:"document,omitempty"` // starts at 1; omitted if there is only one
	Page     int    `json:"page"`
	Optional bool   `json:"optional,omitempty"`
}

type templateDocumentView struct {
	ID    uuid.UUID `json:"id"`
	Name  string    `json:"name"`
	Pages int       `json:"pages"`
}

type templateView struct {
	templateRow

	Subject   string                 `json:"subject"`
	Message   string                 `json:"message,omitempty"`
	Variables []string               `json:"variables"`
	Roles     []templateRoleView     `json:"roles"`
	Documents []templateDocumentView `json:"documents"`
	Fields    []templateFieldView    `json:"fields"`
	More      string                 `json:"more,omitempty"`
}

// maxTemplateFields is the maximum number of fields in a result. That many fields take up a few kilobytes, but a
// template may have thousands.
const maxTemplateFields = 40

func (s *server) getTemplate(ctx context.Context, _ *mcp.CallToolRequest, in templateInput) (any, error) {
	id, err := parseID("template_id", in.TemplateID)
	if err != nil {
		return nil, err
	}
	t, err := countersign.Answer(s.Client.API.GetTemplateWithResponse(ctx, id, &api.GetTemplateParams{}))
	if err != nil {
		return nil, err
	}
	if t.TenantID != nil && *t.TenantID != s.Tenant {
		return nil, fmt.Errorf("template %s not found in tenant %s", id, s.Tenant)
	}
	return s.viewTemplate(t), nil
}

// viewTemplate converts a template for agents. It copies each member explicitly.
func (s *server) viewTemplate(t *api.Template) templateView {
	v := templateView{
		templateRow: templateRow{t.ID, clean(t.Name, maxText), cleanPtr(t.ExternalID), t.Version, t.UpdatedAt, t.TenantID == nil, s.templatePage(t.ID)},
		Subject:     cleanPtr(t.Subject), Message: cleanPtr(t.Message), Variables: []string{}, Roles: []templateRoleView{}, Documents: []templateDocumentView{}, Fields: []templateFieldView{},
	}
	for _, name := range t.Variables[:min(len(t.Variables), maxListed)] {
		v.Variables = append(v.Variables, clean(name, maxText))
	}
	number := make(map[uuid.UUID]int)
	for i, d := range t.Documents {
		number[d.ID] = i + 1
		if i < maxListed {
			v.Documents = append(v.Documents, templateDocumentView{d.ID, clean(d.Name, maxText), d.PageCount})
		}
	}
	fields := make(map[string]int)
	for i := range t.Fields {
		f := &t.Fields[i]
		fields[f.Role]++
		if i >= maxTemplateFields {
			v.More = fmt.Sprintf("%d more fields", len(t.Fields)-maxTemplateFields)
			continue
		}
		shown := templateFieldView{Name: clean(f.Name, maxText), Role: clean(f.Role, maxText), Type: string(f.Type), Page: f.Page, Optional: !f.Required}
		if f.DocumentID != nil && len(t.Documents) > 1 {
			shown.Document = number[*f.DocumentID]
		}
		v.Fields = append(v.Fields, shown)
	}
	for _, r := range t.Roles[:min(len(t.Roles), maxListed)] {
		v.Roles = append(v.Roles, templateRoleView{clean(r.Role, maxText), string(r.Kind), r.RoutingOrder, string(r.AuthMethod), fields[r.Role]})
	}
	return v
}
