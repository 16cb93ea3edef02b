package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

type signerInput struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Role  string `json:"role,omitempty" jsonschema:"how text tags in the document name this signer"`
	Order int    `json:"order,omitempty" jsonschema:"signing order from 1; equal numbers sign at the same time"`
	Auth  string `json:"auth,omitempty" jsonschema:"email_otp, sms_otp or none; default email_otp"`
	Phone string `json:"phone,omitempty" jsonschema:"for sms_otp, such as +4915112345678"`
}

type draftInput struct {
	Subject       string        `json:"subject"`
	Files         []string      `json:"files" jsonschema:"names of PDFs in the shared folder, in order"`
	Signers       []signerInput `json:"signers"`
	ExpiresInDays int           `json:"expires_in_days,omitempty" jsonschema:"default: the tenant's deadline"`
}

// Limits on one call, in addition to the limits of the service.
const (
	maxFiles   = 20
	maxSigners = 50
	maxFields  = 200
)

func (s *server) createDraft(ctx context.Context, _ *mcp.CallToolRequest, in draftInput) (any, error) {
	if len(in.Files) == 0 || len(in.Files) > maxFiles {
		return nil, fmt.Errorf("files: specify 1 to %d", maxFiles)
	}
	if len(in.Signers) == 0 || len(in.Signers) > maxSigners {
		return nil, fmt.Errorf("signers: specify 1 to %d", maxSigners)
	}
	for _, name := range in.Files { // check all files before creating anything
		f, err := s.openPDF(name)
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	req := countersign.EnvelopeRequest{TenantID: s.Tenant, Subject: &in.Subject, ExpiresInDays: countersign.Optional(in.ExpiresInDays)}
	for i := range in.Signers {
		req.Signers = append(req.Signers, signerRequest(&in.Signers[i]))
	}
	e, err := s.Client.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	for _, name := range in.Files {
		if err := s.upload(ctx, e.ID, name); err != nil {
			return nil, fmt.Errorf("%s (draft %s was created without it): %w", clean(name, maxText), e.ID, err)
		}
	}
	if e, err = s.Client.Envelope(ctx, e.ID); err != nil {
		return nil, err
	}
	return s.view(e), nil
}

func signerRequest(in *signerInput) countersign.SignerRequest {
	return countersign.SignerRequest{
		Name: in.Name, Email: in.Email, Role: countersign.Optional(in.Role), RoutingOrder: countersign.Optional(in.Order),
		AuthMethod: countersign.Optional(api.SignerRequestAuthMethod(in.Auth)), Phone: countersign.Optional(in.Phone),
	}
}

func (s *server) upload(ctx context.Context, id uuid.UUID, name string) error {
	f, err := s.openPDF(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	_, err = s.Client.Upload(ctx, id, f)
	return err
}

type fieldInput struct {
	Type       string  `json:"type" jsonschema:"signature, initials, date, text, checkbox or another type of field"`
	Signer     string  `json:"signer" jsonschema:"id or address of the signer"`
	DocumentID string  `json:"document_id,omitempty" jsonschema:"default: the first document"`
	Page       int     `json:"page" jsonschema:"from 1"`
	X          float64 `json:"x" jsonschema:"left edge in points"`
	Y          float64 `json:"y" jsonschema:"top edge in points, from the top of the page"`
	W          float64 `json:"w"`
	H          float64 `json:"h"`
	Label      string  `json:"label,omitempty"`
	Name       string  `json:"name,omitempty"`
	Optional   bool    `json:"optional,omitempty" jsonschema:"the field is optional for the signer"`
}

type fieldsInput struct {
	EnvelopeID string       `json:"envelope_id" jsonschema:"id of a draft"`
	Fields     []fieldInput `json:"fields"`
}

func (s *server) addFields(ctx context.Context, _ *mcp.CallToolRequest, in fieldsInput) (any, error) {
	if len(in.Fields) == 0 || len(in.Fields) > maxFields {
		return nil, fmt.Errorf("fields: specify 1 to %d", maxFields)
	}
	e, _, err := s.envelope(ctx, in.EnvelopeID)
	if err != nil {
		return nil, err
	}
	if e.Status != api.EnvelopeStatusDraft {
		return nil, fmt.Errorf("fields can be added only to drafts; the envelope is %s", e.Status)
	}
	requests := make([]countersign.FieldRequest, 0, len(in.Fields))
	for i := range in.Fields {
		f, err := fieldRequest(&in.Fields[i])
		if err != nil {
			return nil, fmt.Errorf("fields[%d].%w", i, err)
		}
		requests = append(requests, f)
	}
	if _, err := s.Client.AddFields(ctx, e.ID, requests...); err != nil {
		return nil, err
	}
	return map[string]any{"envelopeId": e.ID, "added": len(requests), "page": s.page(e.ID)}, nil
}

func fieldRequest(in *fieldInput) (countersign.FieldRequest, error) {
	f := countersign.NewField(api.FieldType(in.Type), in.Signer, in.Page, in.X, in.Y, in.W, in.H)
	if in.DocumentID != "" {
		doc, err := parseID("document_id", in.DocumentID)
		if err != nil {
			return f, err
		}
		f.DocumentID = &doc
	}
	f.Label, f.Name = countersign.Optional(in.Label), countersign.Optional(in.Name)
	if in.Optional {
		f.Required = countersign.Ptr(false)
	}
	return f, nil
}

type downloadInput struct {
	EnvelopeID string `json:"envelope_id"`
	Kind       string `json:"kind,omitempty" jsonschema:"sealed or original; default sealed"`
	DocumentID string `json:"document_id,omitempty" jsonschema:"default: the first document"`
	File       string `json:"file" jsonschema:"name of the new file in the shared folder"`
}

func (s *server) downloadDocument(ctx context.Context, _ *mcp.CallToolRequest, in downloadInput) (any, error) {
	kind := cmp.Or(api.DownloadDocumentParamsKind(in.Kind), countersign.Sealed)
	if kind != countersign.Sealed && kind != countersign.Original {
		return nil, errors.New("kind must be sealed or original")
	}
	if _, err := s.inFolder(in.File); err != nil {
		return nil, err
	}
	e, _, err := s.envelope(ctx, in.EnvelopeID)
	if err != nil {
		return nil, err
	}
	params := countersign.DownloadOptions{Kind: &kind}
	if in.DocumentID != "" {
		doc, err := parseID("document_id", in.DocumentID)
		if err != nil {
			return nil, err
		}
		params.DocumentID = &doc
	}
	body, err := s.Client.DownloadWith(ctx, e.ID, params)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // opened only for reading
	return s.save(in.File, body)
}
