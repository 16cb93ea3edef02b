// Package verify verifies a sealed PDF offline, using only its bytes. It finds the seal, reads the sealed revision
// separately, and reproduces the bytes that follow it to compare them with the file. It reports the parties on which
// the result depends. See docs/learn/verify.md.
package verify

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"time"

	"countersign/pdf"
	"countersign/seal/cms"
	"countersign/seal/trust"
)

// Options specifies the trusted parties. The zero value trusts no one, so that an intact document is reported as
// untrusted rather than broken.
type Options struct {
	Trust trust.Policy
	Now   func() time.Time // required; the time at which to check certificates if no time-stamp proves an earlier time
}

// File verifies a sealed PDF offline, using only its bytes. It returns an error only if the file cannot be read.
// Problems with the file's content are findings in the report.
func File(ctx context.Context, r io.ReaderAt, size int64, opt Options) (Report, error) {
	x, err := Examine(ctx, r, size)
	if err != nil {
		return Report{}, err
	}
	return x.Report(opt), nil
}

// Examination is the result of examining a file without trust anchors. It contains the file's content, and reports
// whether that content is internally valid.
type Examination struct {
	report     Report
	trustInput trustInput
	rewritten  *rewrittenSeal // nil unless a seal was rewritten by another program
	// The following fields are needed only to write the next increment.
	Archive Archive
	Whole   hash.Hash
	Marks   Marks
	Begun   map[int64]hash.Hash // as in Prefix
}

// Examine reads a file and performs all checks that do not depend on trust.
func Examine(ctx context.Context, r io.ReaderAt, size int64) (*Examination, error) {
	return ExamineFrom(ctx, r, size, nil)
}

// Report returns the report for the examination under the given trust options.
func (x *Examination) Report(opt Options) Report {
	r := x.report
	r.Findings = slices.Clone(r.Findings)
	if len(x.trustInput.Chain) > 0 {
		r.applyTrust(x.trustInput, opt)
	}
	if x.rewritten != nil {
		r.addRewritten(x.rewritten, opt)
	}
	r.conclude()
	return r
}

// examiner collects the findings about one file.
type examiner struct {
	r           io.ReaderAt
	size        int64
	prefix      *Prefix // the part that is already hashed
	examination *Examination

	seal       *sealedRevision
	mark       int64
	signed     *cms.Signed
	token      *cms.Token // time-stamp of the signature; nil if there is none
	record     *OpenedRecord
	increments []increment
	broken     error // the reason why the content after the last increment is not an increment
	digests    digests
}

// errStopExamining stops an examination after a failure that makes further checks meaningless.
var errStopExamining = errors.New("seal: nothing more to check")

// ExamineFrom is like Examine, for a file whose beginning may already have been read and hashed.
func ExamineFrom(ctx context.Context, r io.ReaderAt, size int64, done *Prefix) (*Examination, error) {
	e := &examiner{r: r, size: size, prefix: done, examination: &Examination{}}
	for _, step := range []func(context.Context) error{
		e.findSeal, e.readSignature, e.readRecord, e.readIncrements, e.hash, e.checkMarks, e.checkSignature, e.checkIncrements,
		e.checkOriginal, e.checkAttachments, e.checkRecord, e.checkAdditions,
	} {
		err := step(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, errStopExamining) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return e.examination, nil
}

func (e *examiner) add(code Code, v values) { e.examination.report.add(code, v) }

// stop records a failed check after which no further findings are possible, and stops the examination.
func (e *examiner) stop(code Code, v values) error {
	e.add(code, v)
	e.examination.trustInput = trustInput{}
	return errStopExamining
}

// findSeal finds the sealed revision. The revision is then read separately, so that bytes after it do not affect the
// signature, the record, the original or the pages.
func (e *examiner) findSeal(ctx context.Context) error {
	var found *Found
	if e.prefix != nil {
		found = e.prefix.Found
	}
	if found == nil {
		var err error
		if found, err = Find(ctx, e.r, e.size); err != nil {
			return err
		}
	}
	if found.seal == nil {
		return e.noSeal(ctx, found)
	}
	e.seal, e.mark = found.seal, found.mark
	e.add("structure.readable", values{"bytes": e.size})
	if e.seal.end == e.size {
		e.add("byte_range.whole", nil)
	} else {
		e.add("byte_range.earlier", values{"end": e.seal.end, "bytes": e.size - e.seal.end})
	}
	return nil
}

func (e *examiner) noSeal(ctx context.Context, f *Found) error {
	var cut *cutOffError
	if f.reason == nil || errors.Is(f.reason, errDictionary) {
		e.examination.rewritten = findRewritten(ctx, e.r, e.size)
	}
	switch {
	case errors.As(f.reason, &cut):
		return e.stop("byte_range.cut_off", values{"end": cut.end, "bytes": e.size})
	case f.reason != nil:
		return e.stop("signature.does_not_fit", values{"offset": f.mark, "reason": f.reason})
	case f.remains:
		return e.stop("signature.remains", nil)
	}
	head := make([]byte, min(e.size, 1024))
	if err := ReadFull(e.r, head, 0); err != nil {
		return fmt.Errorf("seal: reading: %w", err)
	}
	if !bytes.Contains(head, []byte("%PDF-")) {
		return e.stop("structure.not_pdf", nil)
	}
	e.examination.report.Signatures = otherSignatures(ctx, e.r, e.size)
	return e.stop("signature.none", nil)
}

// readSignature reads the signature, which must be in canonical form.
func (e *examiner) readSignature(context.Context) error {
	contents, err := e.seal.readContents(e.r)
	if errors.Is(err, errDigits) {
		return e.stop("signature.malformed", values{"reason": err})
	}
	if err != nil {
		return fmt.Errorf("seal: reading: %w", err)
	}
	if e.signed, err = cms.ParseStrict(contents); err != nil {
		return e.stop("signature.malformed", values{"reason": err})
	}
	if e.signed.Hash() != crypto.SHA256 || !e.signed.IsPAdES() {
		return e.stop("signature.malformed", values{"reason": "it is not a PAdES signature with SHA-256"})
	}
	if UpperHex(ChainHash(e.signed.Certificates)) != e.seal.Chain {
		return e.stop("signature.malformed", values{"reason": "it contains certificates other than those the seal lists"})
	}
	e.examination.trustInput.Chain = e.signed.Certificates
	e.examination.report.SealedBy = trust.Name(e.signed.Certificate)
	switch token := e.signed.Token; {
	case token != nil && e.seal.Stamp == StampNone:
		return e.stop("timestamp.wrong", values{"reason": "the seal was created without one"})
	case token != nil:
		if e.token, err = cms.ParseTokenStrict(token); err != nil {
			e.add("timestamp.malformed", values{"reason": err})
		} else if UpperHex(IssuersOf(e.token)) != e.seal.Issuers {
			e.add("timestamp.malformed", values{"reason": "it contains certificates other than those the seal lists"})
			e.token = nil
		}
	case e.seal.Stamp == StampRequired:
		e.add("timestamp.missing", nil)
	}
	return nil
}

// ChainHash returns the SHA-256 hash over certificates.
func ChainHash(chain []*x509.Certificate) [sha256.Size]byte {
	h := sha256.New()
	for _, c := range chain {
		h.Write(c.Raw)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// IssuersOf returns the hash over the certificates in a time-stamp except its signer's, which the time-stamp itself
// identifies.
func IssuersOf(t *cms.Token) [sha256.Size]byte { return ChainHash(t.Certificates[1:]) }

// UpperHex returns a hash in the format used in the signature dictionary.
func UpperHex(b [sha256.Size]byte) string { return strings.ToUpper(hex.EncodeToString(b[:])) }

// readRecord reads the seal record from the sealed revision.
func (e *examiner) readRecord(context.Context) error {
	b, err := e.recordBytes()
	if err != nil {
		e.add("manifest.missing", values{"reason": err})
		return nil
	}
	if e.prefix != nil {
		e.record = e.prefix.Record
	}
	e.record = e.record.of(b)
	if e.record.err != nil {
		e.add("manifest.malformed", values{"reason": e.record.err})
		e.record = nil
		return nil
	}
	m, r, j := &e.record.manifest, &e.examination.report, &e.examination.trustInput
	r.EnvelopeID, r.DocumentID, r.Subject = m.Envelope.ID, m.Document, m.Envelope.Subject
	r.OriginalSHA256, r.ChainHead, r.Events = m.Original.SHA256, m.Audit.Head, len(m.Audit.Events)
	r.SealedAt = &m.SealedAt
	r.Record = newRecordView(m, r.SealedBy)
	j.SealedAt, j.KeyID, j.Key = m.SealedAt, e.record.kid, &publicKey{e.record.key}
	e.add("manifest.signed", values{"envelope": m.Envelope.ID, "kid": e.record.kid})
	return nil
}

func (e *examiner) recordBytes() ([]byte, error) {
	o, err := e.seal.file.Object(e.seal.Record)
	if err != nil {
		return nil, err
	}
	if !o.IsStream() {
		return nil, fmt.Errorf("%w: object %d is not a stream", pdf.ErrDamaged, o.Ref.Num)
	}
	return e.seal.file.StreamData(o)
}

// hash reads the file once and computes all digests.
func (e *examiner) hash(ctx context.Context) error {
	gaps := []byteRangeGap{{e.seal.contents, e.seal.contentsEnd, e.seal.end}}
	for _, i := range e.increments {
		gaps = append(gaps, i.byteRangeGap)
	}
	var err error
	e.digests, err = hashFile(ctx, e.r, e.size, e.seal.To, gaps, e.prefix)
	if errors.Is(err, errTooManyMarks) {
		return e.stop("signature.does_not_fit", values{"offset": e.mark, "reason": err})
	}
	if err != nil {
		return err
	}
	e.examination.Whole, e.examination.Marks, e.examination.Begun = e.digests.whole, e.digests.marks, e.digests.begun
	e.examination.report.SHA256 = hex.EncodeToString(e.digests.whole.Sum(nil))
	return nil
}

// checkMarks checks that no second signature could be the seal.
func (e *examiner) checkMarks(ctx context.Context) error {
	fitting := 0
	for _, at := range e.digests.marks.at {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if at == e.mark {
			fitting++
			continue
		}
		if _, err := openSealedRevision(e.r, e.size, at); err == nil {
			fitting++
		}
	}
	if fitting != 1 {
		return e.stop("signature.several", values{"count": fitting})
	}
	return nil
}

func (e *examiner) checkSignature(context.Context) error {
	switch err := e.signed.Verify(e.digests.covered[0]); {
	case errors.Is(err, cms.ErrDigest):
		e.add("digest.changed", nil)
	case err != nil:
		e.add("digest.unchanged", nil)
		e.add("signature.wrong", values{"reason": err})
	default:
		e.add("digest.unchanged", nil)
		e.add("signature.sound", values{"name": e.signed.Certificate.Subject, "algorithm": e.signed.Hash()})
	}
	if e.token == nil {
		return nil
	}
	digest, err := e.token.StampedDigest(e.signed.Signature)
	if err == nil {
		err = e.token.Verify(digest)
	}
	if err != nil {
		e.add("timestamp.wrong", values{"reason": err})
		return nil
	}
	e.examination.trustInput.Stamps = []stamp{{Chain: e.token.Certificates, Time: e.token.Time}}
	return nil
}

func (e *examiner) checkOriginal(ctx context.Context) error {
	if e.record == nil {
		e.add("original.missing", values{"reason": "the seal record is missing"})
		return nil
	}
	m := e.record.manifest.Original
	if m.Prepared != nil {
		return e.checkPrepared(ctx, m)
	}
	switch {
	case m.As != "prefix" || m.Size != e.seal.To:
		e.add("original.missing", values{"reason": "the seal and the record give different positions"})
	case hex.EncodeToString(e.digests.original) != m.SHA256:
		e.add("original.changed", nil)
	default:
		e.add("original.found", values{"from": int64(0), "to": e.seal.To, "sha256": m.SHA256})
	}
	return nil
}
