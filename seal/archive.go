package seal

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"

	"countersign/seal/archive1"
	"countersign/seal/cms"
	"countersign/seal/verify"
)

// Renew copies a sealed document into out, an empty file. It adds validation data (DSS, ISO 32000-2, 12.8.4.3) and a
// document time-stamp (12.8.5) that covers all preceding content (PAdES B-LTA). The seal stays verifiable for decades
// if the document is always renewed before the certificate of its last time-stamp expires. Renew rejects a document
// that fails verification.
func (s *Sealer) Renew(ctx context.Context, in io.ReaderAt, size int64, out *os.File) (Result, error) {
	if s.tsa == nil {
		return Result{}, errors.New("seal: no time-stamp authority is configured")
	}
	x, err := verify.Examine(ctx, in, size)
	if err != nil {
		return Result{}, err
	}
	// Renewal does not require a trusted sealer.
	r := x.Report(verify.Options{Now: s.cfg.Now})
	if r.Verdict != verify.VerdictValid && r.Verdict != verify.VerdictUntrusted {
		return Result{}, fmt.Errorf("seal: the document to renew is %s: %s", r.Verdict, r.FirstFailure())
	}
	if slices.ContainsFunc(r.Findings, func(f verify.Finding) bool { return f.Status == verify.Failed }) { // a failed check means that anyone may have altered the file
		return Result{}, fmt.Errorf("seal: the document to renew is %s: %s", verify.VerdictAltered, r.FirstFailure())
	}
	if r.Has("revocation.revoked") {
		return Result{}, errors.New("seal: the document to renew was sealed with a revoked certificate")
	}
	err = verify.ReadRange(ctx, in, 0, size, func(at int64, b []byte) error {
		_, err := out.WriteAt(b, at)
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("seal: copying: %w", err)
	}
	return s.extend(ctx, out, x, nil)
}

// extend appends one increment with validation data and a document time-stamp to the examined sealed file in out. If
// done is not nil, it is a prefix of the file that has already been read back.
func (s *Sealer) extend(ctx context.Context, out *os.File, x *verify.Examination, done *verify.Prefix) (Result, error) {
	a := x.Archive
	if a.Stamps >= verify.MaxArchiveStamps {
		return Result{}, fmt.Errorf("seal: the document already has the maximum number of time-stamps (%d) and cannot be renewed again", a.Stamps)
	}
	evidence, err := s.evidence(ctx, &a)
	if err != nil {
		return Result{}, fmt.Errorf("seal: validation data: %w", err)
	}
	var nonce [archive1.NonceSize]byte
	if _, err := io.ReadFull(s.cfg.Rand, nonce[:]); err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	inc, stamp, err := s.stampIncrement(ctx, x.Whole, a.Revision, evidence, nonce)
	if err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	whole, err := verify.CloneHash(x.Whole)
	if err != nil {
		return Result{}, err
	}
	whole.Write(inc.Bytes)
	if err := writeBack(out, inc.Bytes, a.Revision.Size); err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	report, err := s.verifyOwn(ctx, out, inc.Revision.Size, done, done != nil)
	if err == nil && report.SHA256 != hex.EncodeToString(whole.Sum(nil)) {
		err = errors.New("seal: the file differs from the written bytes")
	}
	res := Result{SHA256: report.SHA256, Size: inc.Revision.Size, TimestampedUntil: stamp.Certificate.NotAfter}
	if report.Record != nil {
		res.PageCount = report.Record.Pages.Total
	}
	return res, err
}

// stampIncrement creates an increment and requests its time-stamp.
func (s *Sealer) stampIncrement(ctx context.Context, before hash.Hash, r archive1.Revision, e archive1.Evidence, nonce [archive1.NonceSize]byte) (archive1.Increment, *cms.Token, error) {
	issuers, err := s.tsa.issuers(ctx)
	for try := 1; err == nil; try++ {
		var inc archive1.Increment
		if inc, err = archive1.Write(r, e, nonce, issuers); err != nil {
			break
		}
		var covered hash.Hash
		if covered, err = verify.CloneHash(before); err != nil {
			break
		}
		covered.Write(inc.Bytes[:inc.Contents])
		covered.Write(inc.Bytes[inc.End:])
		var der []byte
		var token *cms.Token
		stamped := issuers
		if der, token, issuers, err = s.tsa.stamp(ctx, covered.Sum(nil)); err != nil {
			break
		}
		switch {
		case len(der) > archive1.TokenSize:
			err = fmt.Errorf("the time-stamp is %d bytes long, but only %d bytes are reserved", len(der), archive1.TokenSize)
		case issuers == stamped:
			hex.Encode(inc.Bytes[inc.Contents+1:], der)
			return inc, token, nil
		case try == maxStampTries:
			err = errIssuersChanged
		}
	}
	return archive1.Increment{}, nil, fmt.Errorf("%w: %w", errNoStamp, err)
}

// maxStampTries limits the number of requests. Another request is needed if the authority changes its certificates
// between two requests.
const maxStampTries = 3

// evidence collects the validation data for the next increment. It fails if a certificate is revoked.
func (s *Sealer) evidence(ctx context.Context, a *verify.Archive) (archive1.Evidence, error) {
	certs, questions := a.Plan()
	e := archive1.Evidence{Certs: certs}
	size := 0
	for _, c := range certs {
		size += len(c)
	}
	for _, q := range questions {
		answer, err := cms.FetchStatement(ctx, s.cfg.HTTPClient, q.Certificate, q.Issuer)
		if err != nil {
			return e, err
		}
		if err := answer.CheckGood(q.Certificate, q.Issuer, s.cfg.Now()); err != nil {
			return e, err
		}
		der := slices.Concat(answer.OCSP, answer.CRL) // exactly one of the two is set
		e.Statements = append(e.Statements, archive1.Statement{CRL: answer.OCSP == nil, DER: der})
		size += len(der)
	}
	if size > a.Budget {
		return e, fmt.Errorf("%d bytes are needed, but the file can grow by only %d bytes", size, a.Budget)
	}
	return e, nil
}
