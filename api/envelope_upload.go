package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/store"
	"countersign/store/blob"
)

// admitUpload examines a received PDF. It is dear: whatever else can be wrong with the
// request is looked at before.
func (s *Server) admitUpload(c *gin.Context, u *upload) error {
	ctx := c.Request.Context()
	info, err := s.admitPrepared(ctx, u)
	if err != nil {
		return err
	}
	if err := s.scan(ctx, u.file, u.Size); err != nil {
		return err
	}
	if err := s.writePrepared(u); err != nil {
		return err
	}
	sizes := make([][2]float64, 0, len(info.Pages))
	for _, p := range info.Pages {
		sizes = append(sizes, [2]float64{p.Width, p.Height})
	}
	for _, w := range info.Warnings {
		u.Warnings = append(u.Warnings, w.Code)
	}
	if len(u.Warnings) > 0 {
		s.Log.InfoContext(ctx, "programs may show a document differently", "warnings", u.Warnings, "request", requestID(c))
	}
	u.Pages, u.PageCount, u.Encrypted = models.PageRuns(sizes), len(info.Pages), blob.Encrypts(s.Blobs)
	u.SealFacts = info.Facts.Encode()
	return nil
}

// maxConcurrentAdmissions is how many PDFs are examined at a time: each may take
// Admission.MaxMemory.
const maxConcurrentAdmissions = 8

// admitAttachment admits a PDF that a signer attaches, when its turn has come.
func (s *Server) admitAttachment(ctx context.Context, f *os.File, size int64) (admission.Info, error) {
	if err := s.admissions.Acquire(ctx, 1); err != nil {
		return admission.Info{}, err
	}
	defer s.admissions.Release(1)
	return admission.AdmitAttachment(ctx, f, size, s.Admission)
}

// admitPrepared admits an upload, prepared, when its turn has come.
func (s *Server) admitPrepared(ctx context.Context, u *upload) (info admission.Info, err error) {
	hash, err := hex.DecodeString(u.SHA256)
	if err != nil {
		return info, err
	}
	if err := s.admissions.Acquire(ctx, 1); err != nil {
		return info, err
	}
	defer s.admissions.Release(1)
	if u.preparing.password != nil { // what is decrypted is in memory
		release, err := s.takeWork(ctx, memoryPerByte*u.Size)
		if err != nil {
			return info, err
		}
		defer release()
	}
	in := admission.Upload{File: u.file, Size: u.Size, SHA256: [sha256.Size]byte(hash), Password: u.preparing.password}
	info, u.revision, err = admission.AdmitUpload(ctx, in, s.Admission, u.preparing.Options)
	return info, err
}

// readSuggestions reads tags and form of an upload when its turn has come.
func (s *Server) readSuggestions(c *gin.Context, u *upload) ([]prepare.FoundTag, []prepare.FormField, error) {
	ctx := c.Request.Context()
	if err := s.admissions.Acquire(ctx, 1); err != nil {
		return nil, nil, err
	}
	defer s.admissions.Release(1)
	return admission.Suggest(ctx, u.file, u.Size, s.Admission)
}

// scan refuses a file that the virus scanner knows, and any while that does not
// answer.
func (s *Server) scan(ctx context.Context, f io.ReaderAt, size int64) error {
	if s.Scanner == nil {
		return nil
	}
	found, err := s.Scanner.Scan(ctx, io.NewSectionReader(f, 0, size))
	if err != nil && ctx.Err() == nil {
		s.Log.ErrorContext(ctx, "virus scanner failed", "error", err)
		e := models.Refuse(models.KindUnavailable, "scanner_unavailable", "The file cannot be examined for malware right now; please try again later.")
		e.RetryAfter = time.Minute
		return e
	}
	if err == nil && found != "" {
		s.Log.WarnContext(ctx, "malware refused", "found", plaintext.Strip(found))
		err = models.Refuse(models.KindInvalid, "file_malware", "The file holds known malware.")
	}
	return err
}

// addDocument stores an upload as the envelope's next document.
// It answers with status and what view makes of the document.
func (s *Server) addDocument(c *gin.Context, app caller, u *upload, status int, view func(*models.Document) any) error {
	e, err := s.callerEnvelope(c, app)
	if err != nil {
		return err
	}
	if _, err := e.Status.Next(models.ActionAddDocument); err != nil {
		return err
	}
	if err := s.admitUpload(c, u); err != nil {
		return err
	}
	s.nameUpload(e, u)
	if err := s.keepUpload(c, u); err != nil {
		return err
	}
	limits := s.Store.PlanLimits(app.Plan)
	var d *models.Document
	err = command(s, c, func(st *store.Store) (*models.Envelope, error) {
		return st.Change(c.Request.Context(), app.ID, e.ID, s.by(c, app, nil, func(e *models.Envelope, act models.ActionContext) (err error) {
			if d, err = e.AddDocument(act, u.DocumentInput, limits.Documents); err != nil {
				return err
			}
			return addFoundFields(app, e, act, d, u)
		}))
	}, func(e *models.Envelope) (*store.StoredResponse, error) {
		r, err := inJSON(status, view(d))
		return withETag(r, e), err
	})
	if models.IsRefusal(err) {
		s.discardUpload(c, u)
	}
	return err
}

// discardBlob removes a file that no envelope came to hold.
func (s *Server) discardBlob(c *gin.Context, key string) {
	if err := s.Blobs.Delete(c.Request.Context(), key); err != nil {
		s.Log.WarnContext(c.Request.Context(), "stray file stays", "key", key, "error", err)
	}
}

// discardUnreferenced removes files that nothing names any more.
func (s *Server) discardUnreferenced(c *gin.Context, keys ...string) {
	gone, err := s.Store.Unreferenced(c.Request.Context(), keys...)
	if err != nil {
		s.Log.WarnContext(c.Request.Context(), "stray files stay", "error", err)
	}
	for _, key := range gone {
		s.discardBlob(c, key)
	}
}

func (s *Server) uploadDocument(c *gin.Context, app caller) error {
	if t, _, err := mime.ParseMediaType(c.ContentType()); err == nil && t != "application/octet-stream" && t != "application/pdf" {
		return models.Refuse(models.KindInvalid, "content_type", "The body must be application/octet-stream or application/pdf, not %s.", t)
	}
	options, err := queryOptions(c)
	if err != nil {
		return err
	}
	if err := s.checkUpload(c, app); err != nil {
		return err
	}
	u, err := s.receiveUpload(c.Request.Body, "", s.UploadLimit)
	if err != nil {
		return err
	}
	defer u.discard()
	u.preparing = options
	return s.addDocument(c, app, u, http.StatusOK, func(d *models.Document) any {
		return gin.H{"documentId": d.ID, "sha256": d.SHA256, "pageCount": d.PageCount}
	})
}

// checkUpload refuses another app's envelope, one in another version than the caller has
// seen, and one that takes no more documents, before a byte is read.
func (s *Server) checkUpload(c *gin.Context, app caller) error {
	e, err := s.callerEnvelope(c, app)
	if err != nil {
		return err
	}
	if err := checkIfMatch(c, e); err != nil {
		return err
	}
	return e.CheckAddDocument(s.Store.PlanLimits(app.Plan).Documents)
}

func (s *Server) uploadConsoleDocument(c *gin.Context, app caller) error {
	if err := s.checkUpload(c, app); err != nil {
		return err
	}
	in, err := s.readParts(c, s.UploadLimit)
	if err != nil {
		return err
	}
	defer in.file.discard()
	if in.file == nil {
		return models.InvalidField("file", "is required")
	}
	if in.file.preparing, err = partOptions(c, in.text); err != nil {
		return err
	}
	return s.addDocument(c, app, in.file, http.StatusCreated, func(d *models.Document) any { return viewDocument(d) })
}
