package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/seal"
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
