package seal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"countersign/seal/trust"
	"countersign/seal/verify"
)

// finish signs the written bytes and verifies the file.
func (s *Sealer) finish(ctx context.Context, out *os.File, a *assembly, done verify.Prefix) (Result, error) {
	total := a.w.Offset()
	if done.Size != a.sig.contents {
		return Result{}, errors.New("seal: the parts of the file do not match")
	}
	tail := a.w.Bytes()
	rest := tail[int64(len(tail))-(total-done.Size):] // starting at the signature
	hole, after := rest[:a.sig.contentsEnd-a.sig.contents], rest[a.sig.contentsEnd-a.sig.contents:]
	// The bytes before the signature are a common prefix of the signed bytes and the complete file, so their hash is
	// reused.
	covered, err := verify.CloneHash(done.Hash)
	if err != nil {
		return Result{}, err
	}
	covered.Write(after)
	der, stamped, err := s.sign(ctx, [sha256.Size]byte(covered.Sum(nil)), a)
	if err != nil {
		return Result{}, err
	}
	if len(der) > s.contents {
		return Result{}, fmt.Errorf("seal: the signature is %d bytes long, but only %d bytes are reserved", len(der), s.contents)
	}
	hex.Encode(hole[1:], der)
	if err := writeBack(out, hole, a.sig.contents); err != nil {
		return Result{}, fmt.Errorf("seal: %w", err)
	}
	if s.cfg.LongTerm && stamped {
		x, err := verify.ExamineFrom(ctx, out, total, &done)
		if err != nil {
			return Result{}, fmt.Errorf("seal: verifying the sealed file: %w", err)
		}
		if _, err := s.evaluateOwn(x, true); err != nil {
			return Result{}, err
		}
		return s.extend(ctx, out, x, &verify.Prefix{Size: total, Hash: x.Whole, Original: done.Original, Marks: x.Marks, Begun: x.Begun, Record: done.Record})
	}
	report, err := s.verifyOwn(ctx, out, total, &done, true)
	return Result{SHA256: report.SHA256, Size: total, PageCount: a.pages + len(a.certPages), Pending: s.tsa != nil && !stamped}, err
}

// prepareStamp determines the signature dictionary's entries for the time-stamp.
func (s *Sealer) prepareStamp(ctx context.Context, a *assembly) error {
	if s.tsa == nil {
		return nil
	}
	if s.cfg.TSAOptional && s.tsa.hangs() {
		a.stamp = verify.StampNone
		return nil
	}
	issuers, err := s.tsa.issuers(ctx)
	switch {
	case err == nil:
		a.issuers = verify.UpperHex(issuers)
	case s.cfg.TSAOptional && ctx.Err() == nil:
		a.stamp = verify.StampNone
	default:
		return fmt.Errorf("%w: %w", errNoStamp, err)
	}
	return nil
}

// sign returns the signature, including a time-stamp if the signature dictionary declares one.
func (s *Sealer) sign(ctx context.Context, digest [sha256.Size]byte, a *assembly) (der []byte, stamped bool, err error) {
	if a.stamp == verify.StampRequired || a.stamp == verify.StampOptional && !s.tsa.hangs() {
		der, err = s.signer.Sign(ctx, digest, func(ctx context.Context, digest []byte) ([]byte, error) { return s.stampDigest(ctx, digest, a.issuers) })
		if err == nil {
			return der, true, nil
		}
		if a.stamp == verify.StampRequired || !errors.Is(err, errNoStamp) || ctx.Err() != nil {
			return nil, false, fmt.Errorf("seal: %w", err)
		}
	}
	der, err = s.signer.Sign(ctx, digest, nil)
	if err != nil {
		return nil, false, fmt.Errorf("seal: %w", err)
	}
	return der, false, nil
}

// errNoStamp reports that the time-stamp authority did not return a time-stamp.
var errNoStamp = errors.New("no time-stamp")

// stampDigest requests a time-stamp for a digest. It fails unless issuers is the hash of the additional certificates in
// the token.
func (s *Sealer) stampDigest(ctx context.Context, digest []byte, issuers string) ([]byte, error) {
	der, _, got, err := s.tsa.stamp(ctx, digest)
	if err == nil && verify.UpperHex(got) != issuers {
		err = errIssuersChanged
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoStamp, err)
	}
	return der, nil
}

// verifyOwn verifies the sealed file, so that an unverifiable file is never stored. The time-stamp authority need not
// be trusted here. If the argument freshlySealed is false, the document was sealed earlier, perhaps with other keys,
// and an untrusted sealer is accepted. The argument done is the part of the file that has already been read back and
// hashed.
func (s *Sealer) verifyOwn(ctx context.Context, out *os.File, size int64, done *verify.Prefix, freshlySealed bool) (verify.Report, error) {
	x, err := verify.ExamineFrom(ctx, out, size, done)
	if err != nil {
		return verify.Report{}, fmt.Errorf("seal: verifying the sealed file: %w", err)
	}
	return s.evaluateOwn(x, freshlySealed)
}

func (s *Sealer) evaluateOwn(x *verify.Examination, freshlySealed bool) (verify.Report, error) {
	report := x.Report(verify.Options{Now: s.cfg.Now, Trust: trust.Policy{
		Sealers:    []trust.Sealer{trust.PinnedCertificate(s.signer.Certificate())},
		RecordKeys: map[string]trust.RecordKey{s.cfg.ManifestKeyID: {Key: s.cfg.ManifestSigner.Public()}},
	}})
	for _, f := range report.Findings {
		if f.Status == verify.Failed || f.Status == verify.Untrusted && freshlySealed {
			return report, fmt.Errorf("seal: the sealed file does not verify: %s: %s", f.Check, f.Detail)
		}
	}
	if freshlySealed && report.StampedAt != nil && report.StampedAt.Before(report.SealedAt.Add(-trust.Skew)) {
		return report, fmt.Errorf("seal: the time-stamp authority states %s, but the local clock showed %s before the request: synchronize the clock with NTP",
			verify.Moment(*report.StampedAt), verify.Moment(*report.SealedAt))
	}
	return report, nil
}
