package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// TemplateUse contains the input for an envelope that a template does not provide.
type TemplateUse struct {
	Envelope Envelope // nil fields are taken from the template
	// Expiry replaces ExpiresInDays if the change is present. Its value can be nil for no deadline.
	Expiry Change[*int]
	// DefaultExpiryDays is the tenant's setting, which applies if the template has none.
	DefaultExpiryDays *int
	// Signers contains one person for each role. The role provides RoutingOrder, AuthMethod, Kind, Language and WitnessFor
	// if they are zero. If Kind or WitnessFor is set, it must match the role.
	Signers   []SignerInput
	Values    map[string]string // by name of a field or a group of radio fields
	Variables map[string]string
}

// NewEnvelope creates a draft from the loaded version. maxDocuments is the limit set by the app's plan. The error
// contains all problems with the input.
func (t *LoadedTemplate) NewEnvelope(act ActionContext, in TemplateUse, maxDocuments int) (*Envelope, error) {
	p := Problems{}
	if t.TenantID != "" && t.TenantID != in.Envelope.TenantID {
		p.Add("templateId", "refers to another tenant's template")
	}
	input := t.input(p, in)
	input.Check(p)
	signers := t.signers(p, in.Signers)
	fields := t.fields(p, in.Values)
	if err := p.Err(); err != nil {
		return nil, err
	}
	e, err := NewEnvelope(act, input)
	if err != nil {
		return nil, err
	}
	for _, s := range signers {
		if _, err := e.AddSigner(act, s); err != nil {
			return nil, err
		}
	}
	made := make(map[uuid.UUID]uuid.UUID, len(t.Documents))
	for _, d := range t.Documents {
		own, err := e.AddDocument(act, d.input(), maxDocuments)
		if err != nil {
			return nil, err
		}
		made[d.ID] = own.ID
	}
	for i := range fields {
		if id, ok := made[*fields[i].DocumentID]; ok {
			fields[i].DocumentID = &id
		} else {
			fields[i].DocumentID = nil // the field belongs to the first document
		}
	}
	if _, err := e.AddFields(act, fields, IndexedPath); err != nil {
		return nil, err
	}
	return e, nil
}

// input returns the input for the envelope itself.
func (t *LoadedTemplate) input(p Problems, in TemplateUse) Envelope {
	out := in.Envelope
	out.AppID, out.FieldOrigin, out.TemplateID, out.TemplateVersion = t.AppID, t.Content.FieldOrigin, &t.ID, t.Of.Number
	out.ReminderHours = firstNonNil(in.Envelope.ReminderHours, t.Content.ReminderHours)
	if out.Metadata == nil {
		out.Metadata = t.Content.Metadata
	}
	if out.Labels == nil {
		out.Labels = t.Labels
	}
	values := substitution{p: p, values: in.Variables}
	values.check(t.Content.Variables())
	if out.Subject == nil {
		out.Subject = values.text("subject", t.Content.Subject)
	}
	if out.Message == nil {
		out.Message = values.text("message", t.Content.Message)
	}
	switch days := t.Content.ExpiresInDays; {
	case in.Expiry.Present:
		out.ExpiresInDays = in.Expiry.Value
	case days == nil:
		out.ExpiresInDays = in.DefaultExpiryDays
	case *days > 0:
		out.ExpiresInDays = days
	}
	return out
}

// signers returns the inputs for the signers in the order of the roles.
func (t *LoadedTemplate) signers(p Problems, given []SignerInput) []SignerInput {
	at := make(map[string]int, len(given)) // index of each role's person
	path := func(i int) string { return fmt.Sprintf("signers[%d].", i) }
	for i, s := range given {
		role := t.Content.role(s.Role)
		_, twice := at[s.Role]
		switch {
		case s.Role == "":
			p.addFirst(path(i)+"role", "is required: one of the template's roles, "+t.roleNames())
		case role == nil:
			p.addFirst(path(i)+"role", "is not a role of the template, whose roles are "+t.roleNames())
		case twice:
			p.addFirst(path(i)+"role", fmt.Sprintf("occurs twice (%s)", s.Role))
		default:
			at[s.Role] = i
			role.checkSame(p, path(i), s)
			role.signer(s).Check(p, path(i))
		}
	}
	out := make([]SignerInput, 0, len(t.Content.Roles))
	for _, r := range t.Content.Roles {
		i, ok := at[r.Role]
		if !ok {
			p.Add("signers", "has no signer for the role %s", r.Role)
			continue
		}
		out = append(out, r.signer(given[i]))
	}
	if len(out) == len(t.Content.Roles) {
		ResolveWitnesses(p, out, func(i int) string { return path(at[out[i].Role]) })
	}
	return out
}

// checkSame records a problem for each member of a request's signer that contradicts the role.
func (r TemplateRole) checkSame(p Problems, path string, in SignerInput) {
	if kind := cmp.Or(r.Kind, RecipientSigner); in.Kind != "" && in.Kind != kind {
		p.addFirst(path+"kind", fmt.Sprintf("must be %s, as in the role %s of the template", kind, r.Role))
	}
	if in.WitnessFor != "" && in.WitnessFor != r.WitnessFor {
		p.addFirst(path+"witnessFor", fmt.Sprintf("must match the role %s of the template", r.Role))
	}
}

func (t *LoadedTemplate) roleNames() string {
	return strings.Join(mapSlice(t.Content.Roles, func(r TemplateRole) string { return r.Role }), ", ")
}

// fields returns the template's fields with the prefilled values of the request.
func (t *LoadedTemplate) fields(p Problems, values map[string]string) []FieldInput {
	out := make([]FieldInput, 0, len(t.Content.Fields))
	used := make(map[string]bool, len(values))
	for _, f := range t.Content.Fields {
		in := f.input()
		name := f.Name
		if f.Type == FieldRadio {
			name = f.Attributes.Group
		}
		if value, ok := values[name]; ok {
			used[name] = true
			in.DefaultValue = f.prefill(p, "values."+name, value, t.Content.Fields)
		}
		out = append(out, in)
	}
	for name := range values {
		if !used[name] {
			path := name
			if !fieldName.MatchString(name) {
				path = "?" // the name can be any text
			}
			p.addFirst("values."+path, "is not a field of the template")
		}
	}
	return out
}

// input returns the input for a field. It omits a generated name, which will be generated again.
func (f TemplateField) input() FieldInput {
	in := FieldInput{
		DocumentID: &f.DocumentID, Role: f.Role, Type: f.Type, Page: f.Page, X: f.X, Y: f.Y, W: f.W, H: f.H, Required: f.Required,
		Origin: f.Origin, DefaultValue: f.DefaultValue, Attributes: f.Attributes, Source: f.Source,
	}
	if f.Attributes.Named {
		in.Name = f.Name
	}
	return in
}

// prefill returns the prefilled value of a field for a value in the request, or "" if the value is invalid.
func (f TemplateField) prefill(p Problems, path, value string, all []TemplateField) string {
	switch {
	case f.Type.File() || f.Type == FieldSignedDate:
		p.addFirst(path, fmt.Sprintf("is a %s field: only its signer, or the service, can fill it", f.Type))
		return ""
	case value == "":
		return ""
	case f.Type == FieldRadio:
		if !slices.ContainsFunc(all, func(other TemplateField) bool {
			return other.Type == FieldRadio && other.Attributes.Group == f.Attributes.Group && other.Attributes.Option == value
		}) {
			p.addFirst(path, "is not an option of the group")
		}
		if f.Attributes.Option == value {
			return "true"
		}
		return ""
	}
	for _, problem := range f.checkText(value) {
		p.addFirst(path, problem.text)
	}
	return value
}

// input returns the input for a document of an envelope with the same files, which are not examined again.
func (d *TemplateDocument) input() DocumentInput {
	in := DocumentInput{Document: d.Document, Warnings: d.Warnings}
	in.Shared = true
	return in
}
