package seal

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"countersign/seal/archive1"
	"countersign/seal/cms"
)

// Renew copies a sealed document into out, an empty file, and adds validation
// data (DSS, ISO 32000-2, 12.8.4.3) and a document time-stamp (12.8.5) that
// covers all before it: PAdES B-LTA. Done again before the last time-stamp's
// certificate ends, it keeps the seal verifiable for decades. What does not
// verify is not renewed.
func (s *Sealer) Renew(ctx context.Context, in io.ReaderAt, size int64, out *os.File) (Result, error) {
	if s.tsa == nil {
		return Result{}, errors.New("seal: no time-stamp authority is configured")
	}
	x, err := Examine(ctx, in, size)
	if err != nil {
		return Result{}, err
	}
	// Whether its sealer is trusted is not asked.
	r := x.Report(VerifyOptions{Now: s.cfg.Now})
	if r.Verdict != VerdictValid && r.Verdict != VerdictUntrusted {
		return Result{}, fmt.Errorf("seal: the document to renew is %s: %s", r.Verdict, r.firstFailure())
	}
	if r.Has("revocation.revoked") {
		return Result{}, errors.New("seal: the document to renew was sealed with a certificate that was revoked by then")
	}
	err = readRange(ctx, in, 0, size, func(at int64, b []byte) error {
		_, err := out.WriteAt(b, at)
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("seal: copying: %w", err)
	}
	return s.extend(ctx, out, x, nil)
}

func (r *Report) firstFailure() string {
	for _, f := range r.Findings {
		if f.Status == Failed {
			return f.Detail
		}
	}
	return r.Summary
}

// extend appends one increment with validation data and a document time-stamp
// to the sealed file in out, which was examined. done, if not nil, is a
// beginning of it that was read back.
func (s *Sealer) extend(ctx context.Context, out *os.File, x *Examination, done *prefix) (Result, error) {
	a := x.archive
	if a.stamps >= maxArchiveStamps {
		return Result{}, fmt.Errorf("seal: the document has %d time-stamps, which cannot be renewed any more", a.stamps)
	}
	evidence, err := s.evidence(ctx, &a)
	if err != nil {
		return Result{}, fmt.Errorf("seal: validation data: %w", err)
	}
	var nonce [archive1.NonceSize]byte
	if _, err := io.ReadFull(s.cfg.Rand, nonce[:]); err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	inc, stamp, err := s.stampIncrement(ctx, x.whole, a.revision, evidence, nonce)
	if err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	whole, err := cloneHash(x.whole)
	if err != nil {
		return Result{}, err
	}
	whole.Write(inc.Bytes)
	if err := writeBack(out, inc.Bytes, a.revision.Size); err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	report, err := s.verifyOwn(ctx, out, inc.Revision.Size, done, done != nil)
	if err == nil && report.SHA256 != hex.EncodeToString(whole.Sum(nil)) {
		err = errors.New("seal: the file does not hold what was written")
	}
	res := Result{SHA256: report.SHA256, Size: inc.Revision.Size, TimestampedUntil: stamp.Certificate.NotAfter}
	if report.Record != nil {
		res.PageCount = report.Record.Pages.Total
	}
	return res, err
}

// stampIncrement writes an increment and has it stamped.
func (s *Sealer) stampIncrement(ctx context.Context, before hash.Hash, r archive1.Revision, e archive1.Evidence, nonce [archive1.NonceSize]byte) (archive1.Increment, *cms.Token, error) {
	issuers, err := s.issuers.of(ctx, s.tsa)
	for try := 1; err == nil; try++ {
		var inc archive1.Increment
		if inc, err = archive1.Write(r, e, nonce, issuers); err != nil {
			break
		}
		var covered hash.Hash
		if covered, err = cloneHash(before); err != nil {
			break
		}
		covered.Write(inc.Bytes[:inc.Contents])
		covered.Write(inc.Bytes[inc.End:])
		var der []byte
		var token *cms.Token
		if der, err = s.tsa.Stamp(ctx, covered.Sum(nil)); err != nil {
			break
		}
		if token, err = cms.ParseTokenStrict(der); err != nil {
			break
		}
		if len(der) > archive1.TokenSize {
			err = fmt.Errorf("the time-stamp has %d bytes, but only %d are reserved", len(der), archive1.TokenSize)
			break
		}
		got := issuersOf(token)
		s.issuers.set(got)
		if got == issuers {
			hex.Encode(inc.Bytes[inc.Contents+1:], der)
			return inc, token, nil
		}
		if try == maxStampTries {
			err = errIssuers
			break
		}
		issuers = got
	}
	return archive1.Increment{}, nil, fmt.Errorf("%w: %w", errNoStamp, err)
}

// maxStampTries bounds how often an authority that changes its certificates is asked again.
const maxStampTries = 3

// evidence gathers what the next increment must hold. A certificate that is
// revoked is an error.
func (s *Sealer) evidence(ctx context.Context, a *archive) (archive1.Evidence, error) {
	certs, questions := a.plan()
	e := archive1.Evidence{Certs: certs}
	size := 0
	for _, c := range certs {
		size += len(c)
	}
	for _, q := range questions {
		answer, err := cms.Ask(ctx, s.cfg.HTTPClient, q.certificate, q.issuer)
		if err != nil {
			return e, err
		}
		if err := answer.Good(q.certificate, q.issuer, s.cfg.Now()); err != nil {
			return e, err
		}
		der := answer.OCSP
		if der == nil {
			der = answer.CRL
		}
		e.Statements = append(e.Statements, archive1.Statement{CRL: answer.OCSP == nil, DER: der})
		size += len(der)
	}
	if size > a.budget {
		return e, fmt.Errorf("%d bytes, but a file may have only %d more", size, a.budget)
	}
	return e, nil
}
