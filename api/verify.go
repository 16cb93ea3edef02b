package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/seal/rejection"
	"countersign/seal/trust"
	"countersign/seal/verify"
)

const (
	verifyPerMinute     = 30 // per address
	verifyTimeoutFactor = 3  // a multiple of the CPU time limit, because the CPUs also do other work
)

// countVerification returns an error if the client has recently verified too many documents.
func (s *verifyHandler) countVerification(c *gin.Context) error {
	return s.newAttempts("verify:"+callerNetwork(c), rateWindow, verifyPerMinute).count(c, tooManyAttempts)
}

// verify examines a PDF, which is sent as the raw body or in the part "file". It stores nothing.
func (s *verifyHandler) verify(c *gin.Context) error {
	u, err := s.receiveSealed(c)
	if err != nil {
		return err
	}
	defer u.discard()
	ctx := c.Request.Context()
	done, err := acquire(ctx, s.verifications, 1, cmp.Or(s.queueWait, verifyWait), "Too many documents are being verified")
	if err != nil {
		return err
	}
	defer done()
	policy, err := s.trustPolicy(ctx)
	if err != nil {
		return err
	}
	opt := verify.Options{Trust: policy, Now: s.now}
	work, stop := context.WithTimeout(ctx, verifyTimeoutFactor*verify.ExaminationTime(u.Size))
	defer stop()
	found, err := s.examineSealed(work, u.file, u.Size)
	if err != nil {
		return err
	}
	report := found.Report(opt)
	if err := s.compareWithRecord(ctx, &report); err != nil {
		return err
	}
	return respond(c, http.StatusOK, report)
}

// examineSealed examines an untrusted file, in a separate process if one is available.
func (s *verifyHandler) examineSealed(ctx context.Context, f io.ReaderAt, size int64) (found *verify.Examination, err error) {
	if s.admission.Validators != nil {
		found, err = verify.ExamineIn(ctx, s.admission.Validators, f, size)
	} else {
		found, err = verify.Examine(ctx, f, size)
	}
	_, rejected := errors.AsType[*rejection.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && s.admission.Validators == nil: // without a separate process, there is no other limit
		return nil, models.Reject(models.KindInvalid, "file_too_complex", "The file could not be examined within %s.", verifyTimeoutFactor*verify.ExaminationTime(size))
	case rejected:
		return nil, models.Reject(models.KindInvalid, "file_too_complex", "The file is too complex to be examined.")
	case err != nil:
		return nil, fmt.Errorf("verify document: %w", err)
	}
	return found, nil
}

// trustPolicy returns the trust policy for verdicts. It consists of this installation's own sealing certificates and
// record keys, and the trust anchors in the configuration.
func (s *verifyHandler) trustPolicy(ctx context.Context) (trust.Policy, error) {
	p, err := s.store.Trust(ctx)
	if err != nil {
		return p, err
	}
	p.Sealers = append(p.Sealers, s.trust.Sealers...)
	p.Stampers = s.trust.Stampers
	for id, key := range s.trust.RecordKeys {
		if _, own := p.RecordKeys[id]; !own {
			p.RecordKeys[id] = key
		}
	}
	return p, nil
}

// receiveSealed receives the file, which is sent as the raw body or in the part "file". The caller must discard it.
func (s *verifyHandler) receiveSealed(c *gin.Context) (u *upload, err error) {
	limit := s.uploadLimit + maxSealOverhead
	t, _, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	switch {
	case err != nil || t == "application/pdf" || t == "application/octet-stream":
		u, err = s.receiveUpload(c.Request.Body, "", limit)
	case t == "multipart/form-data":
		var in *parts
		if in, err = s.readParts(c, limit); err == nil {
			u = in.file
		}
	default:
		err = models.Reject(models.KindInvalid, "content_type", "The body must be application/pdf or multipart/form-data, not %s.", t)
	}
	if err != nil {
		return nil, err
	}
	if u == nil || u.Size == 0 {
		u.discard()
		return nil, models.InvalidField("file", "is required")
	}
	return u, nil
}

// compareWithRecord compares a document sealed by this service with the database record of its envelope. It does not
// query the database for other documents, because their content is untrusted.
func (s *verifyHandler) compareWithRecord(ctx context.Context, r *verify.Report) error {
	if r.Verdict != verify.VerdictValid && r.Verdict != verify.VerdictAltered {
		return nil
	}
	envelope, _ := uuid.Parse(r.EnvelopeID) // an invalid ID becomes the zero ID, which no envelope has
	document, _ := uuid.Parse(r.DocumentID)
	rec, err := s.store.SealRecord(ctx, envelope, document, r.Events)
	if isNotFound(err) {
		r.CompareRecorded(nil)
		return nil
	}
	if err != nil {
		return err
	}
	r.CompareRecorded(&verify.Recorded{OriginalSHA256: rec.OriginalSHA256, SealedSHA256: rec.SealedSHA256, ChainHead: rec.ChainHead})
	return nil
}
