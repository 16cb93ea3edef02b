package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/cli/terminal"
	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

type sendCommand struct {
	remote

	Files   []string      `arg:"" help:"PDFs, in order." type:"existingfile" name:"file"`
	To      []string      `help:"Signer, as ada@example.com, \"Ada Lovelace <ada@example.com>\" or \"Client=Ada Lovelace <ada@example.com>\" with a role; may be repeated. If a name is missing, it is derived from the address." required:"" placeholder:"NAME <ADDRESS>" sep:"none"`
	InOrder bool          `help:"Signers sign in order."`
	NoCode  bool          `help:"Signers do not need a one-time code."`
	Field   []string      `help:"Field, as TYPE:SIGNER:PAGE:X:Y:WIDTH:HEIGHT in points from the top left, SIGNER counted from 0; may be repeated. Default: a signature for each signer where the first file's form or text tags have one, otherwise at the bottom of its last page." placeholder:"FIELD" sep:"none"`
	Subject string        `help:"Subject. Default: the name of the first file."`
	Message string        `help:"Message in the invitation."`
	Days    int           `help:"Deadline in days. Default: the tenant's." placeholder:"N"`
	Tags    bool          `help:"Convert text tags such as {{signature;role=Client}} to fields; set the role as in --to \"Client=Ada <ada@example.com>\"."`
	Form    bool          `help:"Convert the fields of a PDF form to fields."`
	Draft   bool          `help:"Create a draft without sending it." xor:"wait"`
	Wait    bool          `help:"Wait until everyone has signed." xor:"wait"`
	Timeout time.Duration `help:"Maximum time to wait." default:"24h"`
	Out     string        `help:"With --wait, write the first sealed PDF to this new file." type:"path" placeholder:"FILE"`
}

// Validate rejects flags that would have no effect.
func (s sendCommand) Validate() error {
	if s.Out != "" && !s.Wait {
		return errors.New("--out requires --wait: the PDF is sealed after everyone has signed")
	}
	return nil
}

// Run creates an envelope, uploads its files and sends it.
func (s sendCommand) Run(ctx context.Context) error {
	if err := checkNewFile(s.Out); err != nil { // before anyone is invited
		return err
	}
	c, tenant, err := s.clientAndTenant()
	if err != nil {
		return err
	}
	req, err := s.request(tenant)
	if err != nil {
		return err
	}
	for _, path := range s.Files {
		if err := checkPDF(path); err != nil {
			return err
		}
	}
	e, err := c.Create(ctx, *req)
	if err != nil {
		return coded(err)
	}
	var first *countersign.Document
	for i, path := range s.Files {
		doc, err := s.upload(ctx, c, e.ID, path)
		if err != nil {
			return fmt.Errorf("%s (envelope %s remains a draft): %w", path, e.ID, coded(err))
		}
		if i == 0 {
			first = doc
		}
	}
	if err := s.addSignatures(ctx, c, e.ID, first); err != nil {
		return fmt.Errorf("envelope %s remains a draft: %w", e.ID, coded(err))
	}
	if !s.Draft {
		id := e.ID
		if e, err = c.Send(ctx, id, s.Message); err != nil {
			return fmt.Errorf("envelope %s: %w", id, coded(err))
		}
	}
	if !s.Wait {
		return s.printEnvelope(e)
	}
	if e, err = s.wait(ctx, c, e); err != nil {
		return err
	}
	if s.Out != "" {
		if err := save(ctx, c, e.ID, countersign.Sealed, s.Out); err != nil {
			return err
		}
	}
	return s.printEnvelope(e)
}

// wait waits until all signers have signed. It first prints the envelope, so that a user who interrupts the wait knows
// that it was sent and does not send it again.
func (s sendCommand) wait(ctx context.Context, c *countersign.Client, sent *countersign.Envelope) (*countersign.Envelope, error) {
	if s.JSON {
		terminal.Inform("%s  %s", sent.ID, sent.Status)
	} else if err := s.printEnvelope(sent); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	e, err := c.WaitUntilCompleted(waiting, sent.ID)
	if err == nil {
		return e, nil
	}
	err = waitError(waiting, err, "the envelope "+sent.ID.String())
	if s.JSON {
		err = cmp.Or(s.printEnvelope(cmp.Or(e, sent)), err)
	}
	return nil, err
}

func (s sendCommand) printEnvelope(e *countersign.Envelope) error {
	for i := range e.Signers {
		e.Signers[i].SigningURL = nil // the link is a credential of the signer
	}
	return s.print(e, "%s  %s", e.ID, e.Status)
}

// request returns the request described by the flags.
func (s sendCommand) request(tenant string) (*countersign.EnvelopeRequest, error) {
	subject := cmp.Or(s.Subject, strings.TrimSuffix(filepath.Base(s.Files[0]), filepath.Ext(s.Files[0])))
	req := &countersign.EnvelopeRequest{TenantID: tenant, Subject: &subject, ExpiresInDays: countersign.Optional(max(s.Days, 0))}
	for i, to := range s.To {
		role, a, err := parsePerson("--to", to)
		if err != nil {
			return nil, err
		}
		signer := countersign.SignerRequest{Name: a.Name, Email: a.Address, Role: countersign.Optional(role)}
		if s.InOrder {
			signer.RoutingOrder = countersign.Ptr(i + 1)
		}
		if s.NoCode {
			signer.AuthMethod = countersign.Ptr(api.SignerRequestAuthMethodNone)
		}
		req.Signers = append(req.Signers, signer)
	}
	for _, text := range s.Field {
		f, err := parseField(text)
		if err != nil {
			return nil, err
		}
		req.Fields = append(req.Fields, f)
	}
	return req, nil
}

// parseField parses a field in the form TYPE:SIGNER:PAGE:X:Y:WIDTH:HEIGHT.
func parseField(text string) (countersign.FieldRequest, error) {
	wrong := fmt.Errorf("--field %q: write it as TYPE:SIGNER:PAGE:X:Y:WIDTH:HEIGHT, such as signature:0:1:72:600:180:50", text)
	parts := strings.Split(text, ":")
	if len(parts) != 7 {
		return countersign.FieldRequest{}, wrong
	}
	page, err := strconv.Atoi(parts[2])
	var box [4]float64
	for i := range box {
		v, err2 := strconv.ParseFloat(parts[3+i], 64)
		box[i], err = v, errors.Join(err, err2)
	}
	if err != nil {
		return countersign.FieldRequest{}, wrong
	}
	return countersign.NewField(api.FieldType(parts[0]), parts[1], page, box[0], box[1], box[2], box[3]), nil
}

// addSignatures adds a signature field for each signer to the first document. The position comes from the document's
// form or text tags. The default is the bottom of the last page. It adds no fields if the user specified any, and none
// for signers who already have fields from tags or a form.
func (s sendCommand) addSignatures(ctx context.Context, c *countersign.Client, id uuid.UUID, first *countersign.Document) error {
	if len(s.Field) > 0 {
		return nil
	}
	e, err := c.Envelope(ctx, id)
	if err != nil {
		return err
	}
	var wanted []countersign.FieldRequest
	if !s.Tags && !s.Form { // otherwise, tags and form fields were already converted to fields
		if wanted, err = signaturePlaces(ctx, c, id, first); err != nil {
			return err
		}
	}
	for n, signer := range e.Signers {
		if slices.ContainsFunc(e.Fields, func(f api.Field) bool { return f.SignerID == signer.ID }) {
			continue
		}
		f := bottomSignature(first, n)
		if n < len(wanted) {
			f = wanted[n]
		}
		f.SignerID, f.DocumentID = countersign.Ptr(strconv.Itoa(n)), &first.DocumentID
		if err := addField(ctx, c, id, f); err != nil {
			return err
		}
	}
	return nil
}

// signaturePlaces returns the signature fields described by a document's form and text tags, in order.
func signaturePlaces(ctx context.Context, c *countersign.Client, id uuid.UUID, doc *countersign.Document) (places []countersign.FieldRequest, err error) {
	found, err := countersign.Answer(c.API.SuggestFieldsWithResponse(ctx, id, doc.DocumentID))
	if err != nil {
		return nil, err
	}
	for _, f := range found.Data {
		if f.Type == string(api.FieldTypeSignature) {
			places = append(places, countersign.NewField(api.FieldTypeSignature, "", f.Page, f.X, f.Y, f.W, f.H))
		}
	}
	return places, nil
}

// bottomSignature returns the nth signature field at the bottom of the last page. Fields are arranged in rows of three,
// from bottom to top.
func bottomSignature(doc *countersign.Document, n int) countersign.FieldRequest {
	const w, h, gap, margin = 150, 45, 10, 50
	f := countersign.NewField(api.FieldTypeSignature, "", doc.PageCount, float64(margin+(n%3)*(w+gap)), float64(margin+(n/3)*(h+gap)), w, h)
	f.Origin = countersign.Ptr(api.FieldRequestOriginBottomLeft)
	return f
}

func addField(ctx context.Context, c *countersign.Client, id uuid.UUID, f countersign.FieldRequest) error {
	var body api.FieldOrListRequest
	if err := body.FromFieldRequest(f); err != nil {
		return err
	}
	_, err := c.API.CreateFieldWithResponse(ctx, id, nil, body)
	return err
}

// checkPDF returns an error if a file is obviously not a PDF, so that the command fails early.
func checkPDF(path string) error {
	f, err := os.Open(path) //nolint:gosec // chosen by the user
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	head := make([]byte, 1024)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	if !strings.Contains(string(head[:n]), "%PDF-") {
		return fmt.Errorf("%s is not a PDF", path)
	}
	return nil
}

// upload uploads a file. On a terminal, it shows the progress.
func (s sendCommand) upload(ctx context.Context, c *countersign.Client, id uuid.UUID, path string) (*countersign.Document, error) {
	f, err := os.Open(path) //nolint:gosec // chosen by the user
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	p := &progress{File: f, size: st.Size(), Bar: terminal.Bar{Visible: terminal.Is(os.Stderr) && st.Size() > 1<<20}}
	var o countersign.UploadOptions
	if s.Tags {
		o.Tags = countersign.Ptr(countersign.DetectTags)
	}
	if s.Form {
		o.Form = countersign.Ptr(countersign.ImportForm)
	}
	doc, err := c.UploadWith(ctx, id, p, o)
	p.End()
	return doc, err
}

// progress is a file that shows how much of it has been read.
type progress struct {
	*os.File
	terminal.Bar

	size int64
}

// ReadAt implements io.ReaderAt.
func (p *progress) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.File.ReadAt(b, off)
	p.Show(off+int64(n), p.size)
	return n, err
}

// checkNewFile returns an error if save could not create a file at the path.
func checkNewFile(path string) error {
	if path == "" || path == "-" {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s already exists and was not overwritten", path)
	}
	if st, err := os.Stat(filepath.Dir(path)); err != nil || !st.IsDir() {
		return fmt.Errorf("%s: the folder does not exist", path)
	}
	return nil
}

// save writes a document to a new file. If it fails, no file remains. The path "-" means standard output.
func save(ctx context.Context, c *countersign.Client, id uuid.UUID, kind api.DownloadDocumentParamsKind, path string) (err error) {
	body, err := c.Download(ctx, id, kind)
	if err != nil {
		return coded(err)
	}
	defer func() { _ = body.Close() }() // opened only for reading
	if path == "-" {
		_, err = io.Copy(os.Stdout, body)
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // chosen by the user
	if err != nil {
		return err
	}
	_, err = io.Copy(f, body)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
