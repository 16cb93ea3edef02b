package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/google/uuid"

	"countersign/cli/terminal"
	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

type templateCommand struct {
	List templateListCommand `cmd:"" help:"List templates."`
	Push templatePushCommand `cmd:"" help:"Create a template, or a new version, from a folder."`
	Pull templatePullCommand `cmd:"" help:"Write a template into a folder."`
}

type templateListCommand struct {
	remote

	Query    string `help:"Part of the name." placeholder:"TEXT"`
	Archived bool   `help:"List archived templates."`
	Limit    int    `help:"Maximum number of results." default:"100"`
}

// Run prints templates, newest first.
func (l templateListCommand) Run(ctx context.Context) error {
	c, tenant, err := l.client()
	if err != nil {
		return err
	}
	params := &api.ListTemplatesParams{
		PageSize: countersign.Ptr(100), TenantID: countersign.Optional(tenant), Q: countersign.Optional(l.Query), Archived: countersign.Optional(l.Archived),
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for n := 0; ; {
		list, err := countersign.Answer(c.API.ListTemplatesWithResponse(ctx, params))
		if err != nil {
			return coded(err)
		}
		for _, t := range list.Data {
			if n++; n > l.Limit {
				return w.Flush()
			}
			if l.JSON {
				err = terminal.PrintJSON(t)
			} else {
				_, err = fmt.Fprintf(w, "%s\tv%d\t%s\t%s\n", t.ID, t.Version, plain(t.ExternalID), plain(&t.Name))
			}
			if err != nil {
				return err
			}
		}
		if params.Cursor = list.NextCursor; params.Cursor == nil {
			return w.Flush()
		}
	}
}

var errNoJSON = codedError{errors.New("the response is not JSON: check the address"), exitUnavailable}

type templatePushCommand struct {
	remote

	Dir        string `arg:"" help:"Folder with template.yaml and the PDF." type:"existingdir"`
	AllTenants bool   `help:"For all tenants of the application."`
	Check      bool   `help:"Validate the files without pushing."`
}

// Help returns the additional help text of the command.
func (templatePushCommand) Help() string {
	return "template.yaml contains the members of POST /v1/templates (docs/build/templates.md) and document, the name of the PDF. If a template with its externalId exists, it gets a new version. The default externalId is the name of the folder."
}

// Run pushes a template to the service.
func (p templatePushCommand) Run(ctx context.Context) error {
	s, err := readTemplateDir(p.Dir)
	if err != nil {
		return err
	}
	if err := checkPDF(s.document); err != nil {
		return err
	}
	if p.Check {
		return terminal.Printf("%s is complete", p.Dir)
	}
	c, tenant, err := p.client()
	switch {
	case err != nil:
		return err
	case p.AllTenants:
		tenant = ""
	case tenant == "":
		return errNoTenant
	}
	t, err := pushTemplate(ctx, c, s, countersign.Optional(tenant))
	if err != nil {
		return err
	}
	return p.print(t, "%s  v%d  %s", t.ID, t.Version, plain(&t.Name))
}

// pushTemplate creates a template or a new version of it.
func pushTemplate(ctx context.Context, c *countersign.Client, s *templateSource, tenant *string) (*api.Template, error) {
	pdf, err := os.ReadFile(s.document)
	if err != nil {
		return nil, err
	}
	s.data["tenantId"] = tenant
	data, err := json.Marshal(s.data)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.WriteField("data", string(data)); err != nil {
		return nil, err
	}
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition("file", filepath.Base(s.document))}, "Content-Type": {"application/pdf"},
	})
	if err != nil {
		return nil, err
	}
	if _, err := part.Write(pdf); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	res, err := c.API.CreateTemplateWithBodyWithResponse(ctx, nil, w.FormDataContentType(), bytes.NewReader(body.Bytes()))
	if err != nil {
		return nil, coded(err)
	}
	t := cmp.Or(res.JSON201, res.JSON200)
	if t == nil {
		return nil, errNoJSON
	}
	return t, nil
}

type templatePullCommand struct {
	remote

	Template string `arg:"" help:"Id or externalId."`
	Dir      string `arg:"" help:"Folder to write to; created if missing." type:"path"`
	Version  int    `help:"Version. Default: the newest." placeholder:"N"`
	Force    bool   `help:"Overwrite the files of the folder."`
}

// Run writes the description and the document of a template to a folder.
func (p templatePullCommand) Run(ctx context.Context) error {
	c, tenant, err := p.client()
	if err != nil {
		return err
	}
	t, answer, err := findTemplate(ctx, c, tenant, p.Template, p.Version)
	if err != nil {
		return err
	}
	if len(t.Documents) != 1 {
		return codedError{fmt.Errorf("the template has %d documents: only a template with one document can be written to files", len(t.Documents)), exitRejected}
	}
	name := fileName(t.Documents[0].Name)
	text, err := templateYAML(t, answer, name)
	if err != nil {
		return err
	}
	params := &api.DownloadTemplateDocumentParams{Version: &t.Version}
	if t.Documents[0].Prepared != nil { // the description already contains the fields from tags and forms, so they must not be found again
		params.Kind = countersign.Ptr(api.DownloadTemplateDocumentParamsKindPrepared)
	}
	res, err := c.API.DownloadTemplateDocumentWithResponse(ctx, t.ID, params)
	if err != nil {
		return coded(err)
	}
	if err := os.MkdirAll(p.Dir, 0o750); err != nil {
		return err
	}
	for file, content := range map[string][]byte{templateFile: text, name: res.Body} {
		if err := p.write(filepath.Join(p.Dir, file), content); err != nil {
			return err
		}
	}
	files := []string{filepath.Join(p.Dir, templateFile), filepath.Join(p.Dir, name)}
	return p.print(map[string]any{"templateId": t.ID, "version": t.Version, "files": files}, "%s\n%s", files[0], files[1])
}

func (p templatePullCommand) write(path string, b []byte) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if p.Force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644) //nolint:gosec // chosen by the user, and contains no secret
	if err != nil {
		return err
	}
	_, err = io.Copy(f, bytes.NewReader(b))
	return errors.Join(err, f.Close())
}

// fileName converts the name of a document to a valid file name.
func fileName(name string) string {
	name = filepath.Base(filepath.FromSlash(strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)))
	if name == "" || strings.HasPrefix(name, ".") || name == templateFile || name == string(filepath.Separator) {
		name = "document.pdf"
	}
	if !strings.EqualFold(filepath.Ext(name), ".pdf") {
		name += ".pdf"
	}
	return name
}

// findTemplate returns the template with the given ID or externalId, and the service's raw response.
func findTemplate(ctx context.Context, c *countersign.Client, tenant, name string, version int) (*api.Template, []byte, error) {
	id, err := uuid.Parse(name)
	if err != nil {
		params := &api.ListTemplatesParams{ExternalID: &name, TenantID: countersign.Optional(tenant)}
		list, err := countersign.Answer(c.API.ListTemplatesWithResponse(ctx, params))
		if err != nil {
			return nil, nil, coded(err)
		}
		switch len(list.Data) {
		case 0:
			return nil, nil, codedError{fmt.Errorf("template %q not found", name), exitNotFound}
		case 1:
			id = list.Data[0].ID
		default:
			return nil, nil, codedError{fmt.Errorf("multiple templates match %q: specify a template id, or set the tenant", name), exitRejected}
		}
	}
	params := &api.GetTemplateParams{Version: countersign.Optional(max(version, 0))}
	res, err := c.API.GetTemplateWithResponse(ctx, id, params)
	t, err := countersign.Answer(res, err)
	if err != nil {
		return nil, nil, coded(err)
	}
	return t, res.Body, nil
}
