package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/seal"
	"countersign/store"
	"countersign/store/blob"
)

// upload is a PDF that was received and admitted, in a temporary file.
type upload struct {
	file *os.File
	models.DocumentInput
}

func (u *upload) discard() {
	if u != nil {
		blob.Discard(u.file)
	}
}

// receive takes a PDF from r, hashing it on the way, and admits it.
func (s *Server) receive(c *gin.Context, r io.Reader, name string) (*upload, error) {
	f, err := s.Blobs.Temp()
	if err != nil {
		return nil, err
	}
	u := &upload{file: f}
	if err := s.fill(c, u, r, name); err != nil {
		u.discard()
		return nil, err
	}
	return u, nil
}

func (s *Server) fill(c *gin.Context, u *upload, r io.Reader, name string) error {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(u.file, h), io.LimitReader(r, s.UploadLimit+1))
	var tooLarge *http.MaxBytesError
	switch {
	case n > s.UploadLimit || errors.As(err, &tooLarge):
		return models.Refuse(models.KindTooLarge, "file_too_large", "The file is larger than %d bytes.", s.UploadLimit)
	case err != nil && c.Request.Context().Err() == nil && !isWriteError(err):
		return models.Refuse(models.KindInvalid, "body_unreadable", "The request's body could not be read to its end.")
	case err != nil:
		return fmt.Errorf("receive upload: %w", err)
	}
	info, err := s.examine(c.Request.Context(), u.file, n)
	if err != nil {
		return err
	}
	if err := s.scan(c.Request.Context(), u.file, n); err != nil {
		return err
	}
	sizes := make([][2]float64, 0, len(info.Pages))
	for _, p := range info.Pages {
		sizes = append(sizes, [2]float64{p.Width, p.Height})
	}
	var warnings []string
	for _, w := range info.Warnings {
		warnings = append(warnings, w.Code)
	}
	if len(warnings) > 0 {
		s.log.InfoContext(c.Request.Context(), "programs may show a document differently", "warnings", warnings, "request", requestID(c))
	}
	u.DocumentInput = models.DocumentInput{
		Warnings: warnings,
		Name:     fileName(name), SHA256: hex.EncodeToString(h.Sum(nil)), Size: n, Pages: models.PageRuns(sizes), Count: len(info.Pages),
		Encrypted: blob.Encrypts(s.Blobs),
	}
	return nil
}

// admitAtOnce is how many PDFs are examined at a time: each may take
// Admission.MaxMemory.
const admitAtOnce = 8

// examine admits a PDF when its turn has come.
func (s *Server) examine(ctx context.Context, f *os.File, size int64) (seal.Info, error) {
	select {
	case s.admitting <- struct{}{}:
		defer func() { <-s.admitting }()
		return seal.Admit(ctx, f, size, s.Admission)
	case <-ctx.Done():
		return seal.Info{}, ctx.Err()
	}
}

// scan refuses a file that the virus scanner knows, and any while that does not
// answer.
func (s *Server) scan(ctx context.Context, f io.ReaderAt, size int64) error {
	if s.Scanner == nil {
		return nil
	}
	found, err := s.Scanner.Scan(ctx, io.NewSectionReader(f, 0, size))
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "virus scanner failed", "error", err)
		e := models.Refuse(models.KindUnavailable, "scanner_unavailable", "The file cannot be examined for malware right now; please try again later.")
		e.RetryAfter = time.Minute
		return e
	}
	if err == nil && found != "" {
		s.log.WarnContext(ctx, "malware refused", "found", clean(found))
		err = models.Refuse(models.KindInvalid, "file_malware", "The file holds known malware.")
	}
	return err
}

// isWriteError reports whether err came from our own file, not from the client.
func isWriteError(err error) bool {
	var p *os.PathError
	return errors.As(err, &p)
}

// fileName keeps the last part of an uploaded file's name, without what may
// not be in one.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(clean(name), `\`, "/"))
	if name == "." || name == "/" {
		return ""
	}
	if r := []rune(name); len(r) > 200 {
		name = string(r[:200])
	}
	return name
}

const (
	maxParts = 20
	fileSlop = 1 << 20 // what a multipart body may hold beside the file
)

// parts is a multipart body: the admitted file and the other parts as text.
type parts struct {
	file *upload
	text map[string][]string // more than one only of signers and fields
}

// readParts reads a multipart body as it arrives. The caller discards the file.
func (s *Server) readParts(c *gin.Context) (*parts, error) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, s.UploadLimit+fileSlop)
	mr, err := c.Request.MultipartReader()
	if err != nil {
		return nil, models.Refuse(models.KindInvalid, "content_type", "The body must be multipart/form-data with a boundary.")
	}
	out := &parts{text: make(map[string][]string)}
	for n := 0; ; n++ {
		part, err := mr.NextPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil && n >= maxParts {
			err = models.Refuse(models.KindInvalid, "too_many_parts", "The body has more than %d parts.", maxParts)
		} else if err != nil {
			err = unreadable(err)
		} else {
			err = s.readPart(c, out, part)
		}
		if err != nil {
			out.file.discard()
			return nil, err
		}
	}
}

func (s *Server) readPart(c *gin.Context, out *parts, part *multipart.Part) error {
	name := part.FormName()
	if name == "file" {
		if out.file != nil {
			p := models.Problems{}
			p.Add("file", "must be given once")
			return p.Err()
		}
		u, err := s.receive(c, part, part.FileName())
		out.file = u
		return err
	}
	repeatable := name == "signers" || name == "fields"
	if given := out.text[name]; len(given) > 0 && !repeatable {
		p := models.Problems{}
		p.Add(clean(name), "must be given once")
		return p.Err()
	}
	b, err := io.ReadAll(io.LimitReader(part, maxJSON+1))
	if err != nil {
		return unreadable(err)
	}
	if len(b) > maxJSON {
		return models.Refuse(models.KindTooLarge, "request_too_large", "The part %s is larger than %d bytes.", clean(name), maxJSON)
	}
	out.text[name] = append(out.text[name], string(b))
	return nil
}

func unreadable(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return models.Refuse(models.KindTooLarge, "request_too_large", "The request is larger than %d bytes.", tooLarge.Limit)
	}
	return models.Refuse(models.KindInvalid, "body_unreadable", "The multipart body could not be read to its end.")
}

// addDocument stores an upload as the envelope's next document.
// It answers with status and what view makes of the document.
func (s *Server) addDocument(c *gin.Context, app caller, u *upload, status int, view func(*models.Document) any) error {
	e, err := s.ownEnvelope(c, app)
	if err != nil {
		return err
	}
	if _, err := e.Status.Next(models.ActionAddDocument); err != nil {
		return err
	}
	u.BlobKey = originalKey(e, s.NewID())
	if err := s.Blobs.Keep(c.Request.Context(), u.file, u.BlobKey); err != nil {
		return err
	}
	limits := s.Store.PlanLimits(app.Plan)
	var d *models.Document
	promise(c, status, func() any { return view(d) })
	_, err = s.Store.Change(c.Request.Context(), app.ID, e.ID, func(e *models.Envelope) (err error) {
		d, err = e.AddDocument(s.act(c, app.actor()), u.DocumentInput, limits.Documents)
		return err
	})
	if err != nil {
		if models.IsRefusal(err) {
			s.forget(c, u.BlobKey)
		}
		return err
	}
	c.JSON(status, view(d))
	return nil
}

// forget removes a file that no envelope came to hold.
func (s *Server) forget(c *gin.Context, key string) {
	if err := s.Blobs.Delete(c.Request.Context(), key); err != nil {
		s.log.WarnContext(c.Request.Context(), "stray file stays", "key", key, "error", err)
	}
}

func (s *Server) uploadDocument(c *gin.Context, app caller) error {
	if t, _, err := mime.ParseMediaType(c.ContentType()); err == nil && t != "application/octet-stream" && t != "application/pdf" {
		return models.Refuse(models.KindInvalid, "content_type", "The body must be application/octet-stream or application/pdf, not %s.", t)
	}
	if err := s.mayUpload(c, app); err != nil {
		return err
	}
	u, err := s.receive(c, http.MaxBytesReader(c.Writer, c.Request.Body, s.UploadLimit+1), "")
	if err != nil {
		return err
	}
	defer u.discard()
	return s.addDocument(c, app, u, http.StatusOK, func(d *models.Document) any {
		return gin.H{"documentId": d.ID, "sha256": d.SHA256, "pageCount": d.PageCount}
	})
}

// mayUpload refuses somebody else's envelope, and one that takes no more
// documents, before a byte is read.
func (s *Server) mayUpload(c *gin.Context, app caller) error {
	e, err := s.ownEnvelope(c, app)
	if err != nil {
		return err
	}
	return e.MayAddDocument(s.Store.PlanLimits(app.Plan).Documents)
}

func (s *Server) uploadConsoleDocument(c *gin.Context, app caller) error {
	if err := s.mayUpload(c, app); err != nil {
		return err
	}
	in, err := s.readParts(c)
	if err != nil {
		return err
	}
	defer in.file.discard()
	if in.file == nil {
		p := models.Problems{}
		p.Add("file", "is required")
		return p.Err()
	}
	return s.addDocument(c, app, in.file, http.StatusCreated, func(d *models.Document) any { return viewDocument(d) })
}

var errPurged = models.Refuse(models.KindGone, "document_purged", "The document was deleted at the end of its retention.")

// sendFile streams a stored PDF, with ranges.
func (s *Server) sendFile(c *gin.Context, e *models.Envelope, d *models.Document, disposition string) error {
	f, err := s.openFile(c.Request.Context(), e, d)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	return serveFile(c, e, d, f, disposition)
}

// openFile opens a document's file. One that is being purged is open in whole or
// not at all.
func (s *Server) openFile(ctx context.Context, e *models.Envelope, d *models.Document) (*blob.Content, error) {
	if d.PurgeStatus == models.PurgePurged {
		return nil, models.ErrPurged
	}
	f, err := s.files.Open(ctx, store.RecordOf(d))
	if errors.Is(err, fs.ErrNotExist) {
		fresh, err1 := s.Store.Envelope(ctx, e.AppID, e.ID) // it may have been purged or replaced since e was loaded
		if err1 != nil {
			return nil, err1
		}
		now := fresh.Document(d.ID)
		if now == nil || now.PurgeStatus == models.PurgePurged {
			return nil, models.ErrPurged
		}
		if now.BlobKey != d.BlobKey {
			*d = *now
			return s.openFile(ctx, fresh, d)
		}
		return nil, s.fileMissing(ctx, e, d)
	}
	if errors.Is(err, blob.ErrAltered) || errors.Is(err, blob.ErrDamaged) {
		s.log.ErrorContext(ctx, "a document's file is not the one that was recorded", "envelope", e.ID, "document", d.ID, "error", err)
		return nil, models.Refuse(models.KindUnavailable, "document_unavailable", "The document's file cannot be given: it is not the one that was recorded.")
	}
	if err != nil {
		return nil, fmt.Errorf("document %s: %w", d.ID, err)
	}
	return f, nil
}

// errFileMissing is the answer where a file is gone that should be there.
var errFileMissing = models.Refuse(models.KindUnavailable, "file_missing", "The document's file cannot be read at the moment. The operator has been told.")

// isUnavailable reports a document whose file is gone or not the one that was recorded.
func isUnavailable(err error) bool {
	var e *models.Error
	return errors.As(err, &e) && e.Kind == models.KindUnavailable
}

// fileMissing tells the operator of a file that is gone.
func (s *Server) fileMissing(ctx context.Context, e *models.Envelope, d *models.Document) error {
	s.log.ErrorContext(ctx, "a document's file is missing from the file store", "envelope", e.ID, "document", d.ID, "key", d.BlobKey)
	if s.FileMissing != nil {
		s.FileMissing()
	}
	return errFileMissing
}

func serveFile(c *gin.Context, e *models.Envelope, d *models.Document, f io.ReadSeeker, disposition string) error {
	h := c.Writer.Header()
	h.Set("Content-Type", d.MimeType)
	h.Set("Content-Disposition", contentDisposition(disposition, e.FileName(d)))
	h.Set("ETag", `"`+d.SHA256+`"`)
	http.ServeContent(c.Writer, c.Request, "", d.CreatedAt, f)
	return nil
}

// contentDisposition names a file for any client (RFC 6266): in plain ASCII, and
// in UTF-8 where that says more.
func contentDisposition(disposition, name string) string {
	ascii := strings.Map(func(r rune) rune {
		if r > 126 || r == '"' || r == '\\' || r == '%' {
			return '_'
		}
		return r
	}, name)
	v := fmt.Sprintf(`%s; filename="%s"`, disposition, ascii)
	if ascii != name {
		v += "; filename*=UTF-8''" + percent(name)
	}
	return v
}

// percent encodes all but attr-char of RFC 8187.
func percent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		ch := s[i]
		if ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9' || strings.IndexByte("!#$&+-.^_`|~", ch) >= 0 {
			b.WriteByte(ch)
		} else {
			fmt.Fprintf(&b, "%%%02X", ch)
		}
	}
	return b.String()
}

// ownEnvelope loads the envelope that the path names, if it is the caller's.
func (s *Server) ownEnvelope(c *gin.Context, app caller) (*models.Envelope, error) {
	id, err := pathID(c, "id")
	if err != nil {
		return nil, err
	}
	return s.ownEnvelopeByID(c, app, id)
}

func (s *Server) ownEnvelopeByID(c *gin.Context, app caller, id uuid.UUID) (*models.Envelope, error) {
	e, err := s.Store.Envelope(c.Request.Context(), app.ID, id)
	if err != nil {
		return nil, err
	}
	if app.MayUse(e.TenantID) != nil {
		return nil, models.ErrNotFound
	}
	return e, nil
}
