package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/seal"
	"countersign/seal/trust"
	"countersign/store/blob"
)

const (
	verifyPerMinute = 30 // and address
	verifyWait      = 10 * time.Second
	verifyLimit     = 30 * time.Second
)

// verify examines a PDF, given raw or as the part "file", and keeps nothing of it.
func (s *Server) verify(c *gin.Context) error {
	if err := s.throttle(c, "verify:"+callerNetwork(c), verifyPerMinute); err != nil {
		return err
	}
	f, size, err := s.spool(c)
	if err != nil {
		return err
	}
	defer blob.Discard(f)
	ctx, cancel := context.WithTimeout(c.Request.Context(), verifyWait)
	defer cancel()
	select {
	case s.verifying <- struct{}{}:
		defer func() { <-s.verifying }()
	case <-ctx.Done():
		busy := models.Refuse(models.KindUnavailable, "busy", "Too many documents are being verified; please try again in a moment.")
		busy.RetryAfter = verifyWait
		return busy
	}
	policy, err := s.trust(ctx)
	if err != nil {
		return err
	}
	opt := seal.VerifyOptions{Trust: policy, Now: s.Now}
	work, stop := context.WithTimeout(c.Request.Context(), verifyLimit)
	defer stop()
	found, err := s.examineSealed(work, f, size)
	if err != nil {
		return err
	}
	report := found.Report(opt)
	if err := s.compareRecorded(c.Request.Context(), &report); err != nil {
		return err
	}
	c.JSON(http.StatusOK, report)
	return nil
}

// examineSealed looks at a foreign file, in a process of its own where there is one.
func (s *Server) examineSealed(ctx context.Context, f io.ReaderAt, size int64) (found *seal.Examination, err error) {
	if s.Admission.Validators != nil {
		found, err = s.Admission.Validators.Examine(ctx, f, size)
	} else {
		found, err = seal.Examine(ctx, f, size)
	}
	var refusal *seal.Refusal
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, models.Refuse(models.KindInvalid, "file_too_complex", "The file could not be examined within %s.", verifyLimit)
	case errors.As(err, &refusal):
		return nil, models.Refuse(models.KindInvalid, "file_too_complex", "The file is too complex to be examined.")
	case err != nil:
		return nil, fmt.Errorf("verify document: %w", err)
	}
	return found, nil
}

// trust is whom a verdict trusts: this installation's own sealing certificates
// and record keys, and whom the settings name.
func (s *Server) trust(ctx context.Context) (trust.Policy, error) {
	p, err := s.Store.Trust(ctx)
	if err != nil {
		return p, err
	}
	p.Sealers = append(p.Sealers, s.Trust.Sealers...)
	p.Stampers = s.Trust.Stampers
	for id, key := range s.Trust.RecordKeys {
		if _, own := p.RecordKeys[id]; !own {
			p.RecordKeys[id] = key
		}
	}
	return p, nil
}

// spool takes the file of a request into a temporary one. The caller discards it.
func (s *Server) spool(c *gin.Context) (*os.File, int64, error) {
	body := io.Reader(http.MaxBytesReader(c.Writer, c.Request.Body, s.UploadLimit+fileSlop))
	t, _, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	switch {
	case err != nil || t == "application/pdf" || t == "application/octet-stream":
	case t == "multipart/form-data":
		c.Request.Body = io.NopCloser(body)
		if body, err = filePart(c.Request); err != nil {
			return nil, 0, err
		}
	default:
		return nil, 0, models.Refuse(models.KindInvalid, "content_type", "The body must be application/pdf or multipart/form-data, not %s.", t)
	}
	f, err := s.Blobs.Temp()
	if err != nil {
		return nil, 0, err
	}
	n, err := io.Copy(f, io.LimitReader(body, s.UploadLimit+1))
	var tooLarge *http.MaxBytesError
	switch {
	case n > s.UploadLimit || errors.As(err, &tooLarge):
		err = models.Refuse(models.KindTooLarge, "file_too_large", "The file is larger than %d bytes.", s.UploadLimit)
	case err != nil && !isWriteError(err):
		err = models.Refuse(models.KindInvalid, "body_unreadable", "The request's body could not be read to its end.")
	case err == nil && n == 0:
		p := models.Problems{}
		p.Add("file", "is required")
		err = p.Err()
	}
	if err != nil {
		blob.Discard(f)
		return nil, 0, err
	}
	return f, n, nil
}

// filePart finds the part "file" of a multipart body.
func filePart(r *http.Request) (io.Reader, error) {
	mr, err := r.MultipartReader()
	if err != nil {
		return nil, models.Refuse(models.KindInvalid, "content_type", "The body must be multipart/form-data with a boundary.")
	}
	for range maxParts {
		part, err := mr.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, unreadable(err)
		}
		if part.FormName() == "file" {
			return part, nil
		}
	}
	p := models.Problems{}
	p.Add("file", "is required")
	return nil, p.Err()
}
