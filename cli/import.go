package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"strings"

	"countersign/cli/docuseal"
	"countersign/cli/terminal"
	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/pdf"
)

type importCommand struct {
	DocuSeal importDocuSeal `cmd:"" name:"docuseal" help:"Create a template or a draft from a DocuSeal template."`
}

type importDocuSeal struct {
	remote

	Template string   `arg:"" help:"The template as JSON, as returned by GET /templates/{id} of DocuSeal's API." type:"existingfile"`
	PDF      []string `help:"The template's documents, in order. Default: the files with the documents' names in the folder of the template." type:"existingfile" placeholder:"FILE" name:"pdf" sep:"none"`
	To       []string `help:"For a draft: the signer of a role, such as \"First Party=Ada Lovelace <ada@example.com>\"." placeholder:"ROLE=NAME <ADDRESS>" sep:"none"`
	DryRun   bool     `help:"Print the result without creating a template or a draft."`
}

// Help returns the additional help text of the command.
func (importDocuSeal) Help() string {
	return "Content that cannot be imported is reported on standard error. docs/build/moving-from-docuseal.md lists the result for each type of field."
}

// imported is the JSON output of the command.
type imported struct {
	EnvelopeID string                       `json:"envelopeId,omitempty"`
	TemplateID string                       `json:"templateId,omitempty"`
	ExternalID string                       `json:"externalId,omitempty"`
	Roles      []api.TemplateRoleRequest    `json:"roles,omitempty"` // only for a template
	Subject    string                       `json:"subject"`
	Signers    []countersign.SignerRequest  `json:"signers,omitempty"` // only for a draft
	Documents  []string                     `json:"documents"`
	Fields     [][]countersign.FieldRequest `json:"fields"` // for each document
	Notes      []string                     `json:"notes"`
}

// Run imports a DocuSeal template as a template or, if signers are specified, as a draft.
func (i importDocuSeal) Run(ctx context.Context) error {
	out, files, err := i.read()
	if err != nil {
		return err
	}
	if !i.JSON {
		for _, n := range out.Notes {
			_, _ = fmt.Fprintln(os.Stderr, plain(&n)) // informational only
		}
	}
	if i.DryRun {
		return terminal.PrintJSON(out)
	}
	if len(i.To) == 0 {
		return i.makeTemplate(ctx, out)
	}
	if err := i.makeDraft(ctx, out, files); err != nil {
		return err
	}
	return i.print(out, "%s  draft", out.EnvelopeID)
}

// read reads the template and its documents, and converts the template.
func (i importDocuSeal) read() (*imported, [][]byte, error) {
	f, err := os.Open(i.Template)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	t, err := docuseal.Read(f)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", i.Template, err)
	}
	paths := i.PDF
	if len(paths) == 0 {
		for _, name := range t.FileNames() {
			paths = append(paths, filepath.Join(filepath.Dir(i.Template), filepath.Base(name)))
		}
	}
	if len(paths) != len(t.Schema) {
		return nil, nil, fmt.Errorf("the template has %d documents: pass each of them with --pdf, in this order: %s", len(t.Schema), strings.Join(t.FileNames(), ", "))
	}
	files := make([][]byte, len(paths))
	sizes := make([][]pdf.Geometry, len(paths))
	for n, path := range paths {
		if files[n], sizes[n], err = readPDF(path); err != nil {
			return nil, nil, err
		}
	}
	r := t.Convert(func(document, page int) (w, h float64, ok bool) {
		if page < 0 || page >= len(sizes[document]) {
			return 0, 0, false
		}
		w, h = sizes[document][page].Size()
		return w, h, true
	})
	out := &imported{Subject: t.Name, Documents: paths, Fields: make([][]countersign.FieldRequest, len(files)), Notes: r.Notes}
	for _, p := range r.Fields {
		out.Fields[p.Document] = append(out.Fields[p.Document], p.FieldRequest)
	}
	out.ExternalID = t.ExternalID
	if len(i.To) > 0 {
		out.Signers, err = i.signers(r.Roles)
		return out, files, err
	}
	for _, role := range r.Roles {
		out.Roles = append(out.Roles, api.TemplateRoleRequest{Role: role.Name, RoutingOrder: &role.Order})
	}
	return out, files, nil
}

const maxPDF = 25 << 20 // the limit of the service

// readPDF reads a PDF and the sizes of its pages.
func readPDF(path string) ([]byte, []pdf.Geometry, error) {
	if err := checkPDF(path); err != nil {
		return nil, nil, fmt.Errorf("%w; pass the template's documents with --pdf", err)
	}
	b, err := readFile(path, maxPDF)
	if err != nil {
		return nil, nil, err
	}
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	var sizes []pdf.Geometry
	_, err = f.Walk(func(p *pdf.Page) error {
		g, err := f.Geometry(p)
		sizes = append(sizes, g)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, sizes, nil
}

func (i importDocuSeal) signers(roles []docuseal.Role) ([]countersign.SignerRequest, error) {
	people := make(map[string]*mail.Address)
	for _, to := range i.To {
		role, a, err := parsePerson("--to", to)
		if err != nil {
			return nil, err
		}
		if role == "" {
			return nil, fmt.Errorf("--to %q: write it as \"Client=Ada Lovelace <ada@example.com>\", with the role", to)
		}
		people[role] = a
	}
	signers := make([]countersign.SignerRequest, 0, len(roles))
	var missing []string
	for _, r := range roles {
		a := people[r.Name]
		if a == nil {
			missing = append(missing, r.Name)
			continue
		}
		delete(people, r.Name)
		signers = append(signers, countersign.SignerRequest{Name: a.Name, Email: a.Address, Role: countersign.Ptr(r.Name), RoutingOrder: countersign.Ptr(r.Order)})
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("set a signer with --to for each role: %s", strings.Join(missing, ", "))
	}
	for role := range people {
		return nil, fmt.Errorf("--to %q: the template has no such role", role)
	}
	return signers, nil
}

// makeTemplate creates a template, or a new version of the template with the same externalId.
func (i importDocuSeal) makeTemplate(ctx context.Context, in *imported) error {
	if len(in.Documents) != 1 {
		return errors.New("a template can have only one document: set signers with --to to create a draft instead")
	}
	c, tenant, err := i.clientAndTenant()
	if err != nil {
		return err
	}
	s := &templateSource{document: in.Documents[0], data: map[string]any{"name": in.Subject, "roles": in.Roles, "fields": in.Fields[0]}}
	if in.ExternalID != "" {
		s.data["externalId"] = in.ExternalID
	}
	t, err := pushTemplate(ctx, c, s, &tenant)
	if err != nil {
		return err
	}
	in.TemplateID = t.ID.String()
	return i.print(in, "%s  v%d  %s", t.ID, t.Version, plain(&t.Name))
}

// makeDraft creates a draft with its documents and fields.
func (i importDocuSeal) makeDraft(ctx context.Context, in *imported, files [][]byte) error {
	c, tenant, err := i.clientAndTenant()
	if err != nil {
		return err
	}
	e, err := c.Create(ctx, countersign.EnvelopeRequest{TenantID: tenant, Subject: &in.Subject, Signers: in.Signers})
	if err != nil {
		return coded(err)
	}
	in.EnvelopeID = e.ID.String()
	// Add the fields of all documents in one request, because conditions may refer to fields in other documents.
	var all []countersign.FieldRequest
	for n, b := range files {
		doc, err := c.Upload(ctx, e.ID, bytes.NewReader(b))
		if err != nil {
			return fmt.Errorf("%s (envelope %s remains a draft): %w", in.Documents[n], e.ID, coded(err))
		}
		for _, f := range in.Fields[n] {
			f.DocumentID = &doc.DocumentID
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if _, err := c.AddFields(ctx, e.ID, all...); err != nil {
		return fmt.Errorf("envelope %s remains a draft without fields: %w", e.ID, coded(err))
	}
	return nil
}
