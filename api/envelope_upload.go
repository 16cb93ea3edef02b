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
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/seal/picture"
	"countersign/store"
	"countersign/store/blob"
)

// admitUpload examines an upload. It first converts an image to PDF. Both steps are expensive, so all other checks of
// the request must be done first.
func (s *uploads) admitUpload(c *gin.Context, u *upload) error {
	ctx := c.Request.Context()
	if err := s.convertPicture(ctx, u); err != nil {
		return err
	}
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
		s.log.InfoContext(ctx, "document may be displayed differently by some programs", "warnings", u.Warnings, "request", requestID(c))
	}
	u.Pages, u.PageCount, u.Encrypted = models.PageRuns(sizes), len(info.Pages), blob.Encrypts(s.blobs)
	u.SealFacts = info.Facts.Encode()
	return nil
}

// convertPicture replaces a received PNG or JPEG with a one-page PDF that contains it.
func (s *uploads) convertPicture(ctx context.Context, u *upload) error {
	head := make([]byte, 8)
	if _, err := u.file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read an upload: %w", err)
	}
	if !picture.IsPicture(head) {
		return nil
	}
	done, err := s.admissions.Acquire(ctx, 1, 0)
	if err != nil {
		return err
	}
	defer done()
	release, err := s.acquireWorkMemory(ctx, memoryPerByte*u.Size)
	if err != nil {
		return err
	}
	defer release()
	b, err := picture.PageIn(ctx, s.admission.Validators, s.pictureBounds(), u.file, u.Size)
	if err != nil {
		return err
	}
	if u.Name != "" {
		u.Name = strings.TrimSuffix(u.Name, path.Ext(u.Name)) + ".pdf"
	}
	return u.replace(b)
}

// maxConcurrentAdmissions is the concurrency limit of PDF examinations. Each can use up to Admission.MaxMemory.
const maxConcurrentAdmissions = 8

// admitAttachment examines a PDF attached by a signer, subject to the concurrency limit.
func (s *uploads) admitAttachment(ctx context.Context, f *os.File, size int64) (admission.Info, error) {
	done, err := s.admissions.Acquire(ctx, 1, 0)
	if err != nil {
		return admission.Info{}, err
	}
	defer done()
	return admission.AdmitAttachment(ctx, f, size, s.admission)
}

// admitPrepared examines and prepares an upload, subject to the concurrency limit.
func (s *uploads) admitPrepared(ctx context.Context, u *upload) (info admission.Info, err error) {
	hash, err := hex.DecodeString(u.SHA256)
	if err != nil {
		return info, err
	}
	done, err := s.admissions.Acquire(ctx, 1, 0)
	if err != nil {
		return info, err
	}
	defer done()
	in := admission.Upload{
		File: u.file, Size: u.Size, SHA256: [sha256.Size]byte(hash), Password: u.preparing.password, Repair: u.preparing.repair,
		Reserve: func(ctx context.Context) (func(), error) { return s.acquireWorkMemory(ctx, memoryPerByte*u.Size) },
	}
	info, u.revision, err = admission.AdmitUpload(ctx, in, s.admission, u.preparing.Options)
	return info, err
}

// readSuggestions reads the tags and the form in an upload, subject to the concurrency limit.
func (s *uploads) readSuggestions(c *gin.Context, u *upload) ([]prepare.FoundTag, []prepare.FormField, error) {
	ctx := c.Request.Context()
	done, err := s.admissions.Acquire(ctx, 1, 0)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	return admission.Suggest(ctx, u.file, u.Size, s.admission)
}

// scan returns an error if the virus scanner does not respond or finds malware in a file.
func (s *uploads) scan(ctx context.Context, f io.ReaderAt, size int64) error {
	if s.scanner == nil {
		return nil
	}
	found, err := s.scanner.Scan(ctx, io.NewSectionReader(f, 0, size))
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "virus scanner failed", "error", err)
		e := models.Reject(models.KindUnavailable, "scanner_unavailable", "The file cannot be scanned for malware at the moment. Please try again later.")
		e.RetryAfter = time.Minute
		return e
	}
	if err == nil && found != "" {
		s.log.WarnContext(ctx, "upload rejected: malware found", "found", plaintext.Strip(found))
		err = models.Reject(models.KindInvalid, "file_malware", "The file contains known malware.")
	}
	return err
}

// addDocument stores an upload as the envelope's next document. It responds with the given status and the view of the
// document.
func (s *documentHandler) addDocument(c *gin.Context, app caller, u *upload, status int, view func(*models.Document) any) error {
	e, err := s.envelopes.callerEnvelope(c, app)
	if err != nil {
		return err
	}
	if _, err := e.Status.Next(models.ActionAddDocument); err != nil {
		return err
	}
	if err := s.uploads.admitUpload(c, u); err != nil {
		return err
	}
	s.uploads.nameUpload(e, u)
	if err := s.uploads.storeUpload(c, u); err != nil {
		return err
	}
	limits := s.store.PlanLimits(app.Plan)
	err = command(s.subject, c, func(st documentStore) (out changeResult[*models.Document], err error) {
		out.envelope, err = st.Change(c.Request.Context(), app.ID, e.ID, s.envelopes.checkedChange(c, app, nil, func(e *models.Envelope, act models.ActionContext) (err error) {
			if out.result, err = e.AddDocument(act, u.DocumentInput, limits.Documents); err != nil {
				return err
			}
			return addFoundFields(app, e, act, out.result, u)
		}))
		return out, err
	}, func(out changeResult[*models.Document]) (*store.StoredResponse, error) {
		r, err := inJSON(status, view(out.result))
		return withETag(r, out.envelope), err
	})
	if models.IsRejection(err) {
		s.uploads.discardUpload(c, u)
	}
	return err
}

// discardBlob deletes a file that was not added to an envelope.
func (s *uploads) discardBlob(c *gin.Context, key string) {
	err := blob.DeleteWithPages(c.Request.Context(), s.blobs, key)
	if err == nil {
		err = s.store.RemovePageFiles(c.Request.Context(), key)
	}
	if err != nil {
		s.log.WarnContext(c.Request.Context(), "could not delete a leftover file", "key", key, "error", err)
	}
}

// discardUnreferenced deletes the given files that are no longer referenced.
func (s *uploads) discardUnreferenced(c *gin.Context, keys ...string) {
	gone, err := s.store.Unreferenced(c.Request.Context(), keys...)
	if err != nil {
		s.log.WarnContext(c.Request.Context(), "could not delete leftover files", "error", err)
	}
	for _, key := range gone {
		s.discardBlob(c, key)
	}
}

// documentTypes lists the accepted media types of a body that contains a document.
var documentTypes = []string{"application/octet-stream", "application/pdf", "image/png", "image/jpeg"}

func (s *documentHandler) uploadDocument(c *gin.Context, app caller) error {
	if t, _, err := mime.ParseMediaType(c.ContentType()); err == nil && !slices.Contains(documentTypes, t) {
		return models.Reject(models.KindInvalid, "content_type", "The body must be application/octet-stream, application/pdf, image/png or image/jpeg, not %s.", t)
	}
	options, err := queryOptions(c)
	if err != nil {
		return err
	}
	if err := s.checkUpload(c, app); err != nil {
		return err
	}
	u, err := s.receiveUpload(c.Request.Body, "", s.uploadLimit)
	if err != nil {
		return err
	}
	defer u.discard()
	u.preparing = options
	return s.addDocument(c, app, u, http.StatusOK, func(d *models.Document) any {
		return gin.H{"documentId": d.ID, "sha256": d.SHA256, "pageCount": d.PageCount}
	})
}

// checkUpload rejects an upload before its body is read if the envelope belongs to another app, does not have the
// expected version, or accepts no more documents.
func (s *documentHandler) checkUpload(c *gin.Context, app caller) error {
	e, err := s.envelopes.callerEnvelope(c, app)
	if err != nil {
		return err
	}
	if err := checkIfMatch(c, e); err != nil {
		return err
	}
	return e.CheckAddDocument(s.store.PlanLimits(app.Plan).Documents)
}

func (s *documentHandler) uploadConsoleDocument(c *gin.Context, app caller) error {
	if err := s.checkUpload(c, app); err != nil {
		return err
	}
	in, err := s.readParts(c, s.uploadLimit)
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
