package seal

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"countersign/seal/cms"
	"countersign/seal/pdf"
)

// VerifyOptions say whom to trust. The zero value trusts nobody: a sound
// document is then reported as "untrusted", not as broken.
type VerifyOptions struct {
	Roots    *x509.CertPool
	TSARoots *x509.CertPool // for time-stamps; nil: Roots
	// ManifestKeys are the published ones (jwks.json), by kid. Nil: the key that
	// the record carries is believed if the seal's certificate is trusted,
	// because the seal covers the record.
	ManifestKeys map[string]crypto.PublicKey
	Now          func() time.Time // needed to judge certificates without a time-stamp; nil: the time of sealing
}

// verifier collects findings about one file.
type verifier struct {
	r      io.ReaderAt
	size   int64
	opt    VerifyOptions
	report Report
	file   *pdf.File // as it is now
	sealed *pdf.File // as it was when it was sealed

	sig      pdf.Dict
	rng      [4]int64
	signed   *cms.Signed
	manifest *Manifest // of record; nil if that cannot be read
	record   *record
	judged   judgement
	done     *prefix // what need not be hashed again
}

// Verify examines a sealed PDF, offline and from its bytes alone. The error is
// about reading it; what is wrong with it is in the report.
func Verify(ctx context.Context, r io.ReaderAt, size int64, opt VerifyOptions) (Report, error) {
	return verify(ctx, r, size, opt, nil)
}

// verify is Verify of a file whose beginning may have been read and hashed.
func verify(ctx context.Context, r io.ReaderAt, size int64, opt VerifyOptions, done *prefix) (Report, error) {
	if opt.Roots == nil {
		opt.Roots = x509.NewCertPool()
	}
	if opt.TSARoots == nil {
		opt.TSARoots = opt.Roots
	}
	v := &verifier{r: r, size: size, opt: opt, done: done}
	err := v.run(ctx)
	v.report.conclude()
	return v.report, err
}

// errStop ends a verification whose next checks would mean nothing.
var errStop = errors.New("seal: nothing more to check")

func (v *verifier) run(ctx context.Context) error {
	steps := []func(context.Context) error{
		v.checkStructure, v.findSignature, v.checkByteRange, v.readManifest, v.checkDigest, v.checkTimestamp, v.checkRevocation,
		v.checkLater, v.checkTrust, v.checkManifest, v.checkChain,
	}
	for _, step := range steps {
		err := step(ctx)
		if errors.Is(err, errStop) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stop reports a failed check after which nothing more can be said.
func (v *verifier) stop(code Code, x values) error {
	v.report.add(code, x)
	return errStop
}

func (v *verifier) checkStructure(ctx context.Context) error {
	if err := checkEnds(v.r, v.size); err != nil {
		var refusal *Refusal
		if errors.As(err, &refusal) {
			if refusal.Code == NotAPDF {
				return v.stop("structure.not_pdf", nil)
			}
			return v.stop("structure.damaged", values{"reason": strings.TrimSuffix(refusal.Message, ".")})
		}
		return err
	}
	var err error
	v.file, err = openPages(ctx, v.r, v.size, v.done == nil || !v.done.walked)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return v.stop("structure.damaged", values{"reason": err})
	}
	v.report.add("structure.readable", values{"bytes": v.size})
	return nil
}

// openPages opens a file and reads every page of it.
func openPages(ctx context.Context, r io.ReaderAt, size int64, walk bool) (*pdf.File, error) {
	f, err := pdf.Open(r, size, pdf.DefaultLimits())
	if err == nil && walk {
		_, err = f.Walk(func(*pdf.Page) error { return ctx.Err() })
	}
	return f, err
}

// findSignature looks for the certification signature that the catalog's
// permissions name (ISO 32000-2, 12.8.6).
func (v *verifier) findSignature(context.Context) error {
	cat, _, err := v.file.Catalog()
	if err != nil {
		return v.stop("structure.damaged", values{"reason": err})
	}
	perms, err := v.file.Dict(cat.Get("Perms"))
	if err != nil {
		return v.stop("signature.none", nil)
	}
	ref, ok := perms.Get("DocMDP").Ref()
	if !ok {
		return v.stop("signature.none", nil)
	}
	o, err := v.file.Object(ref)
	if err != nil {
		return v.stop("signature.malformed", values{"reason": err})
	}
	if v.sig, err = o.Value.Dict(); err != nil || !v.sig.Get("SubFilter").IsName("ETSI.CAdES.detached") {
		return v.stop("signature.malformed", values{"reason": "it is no PAdES signature"})
	}
	a, err := v.sig.Get("ByteRange").Array()
	if err != nil || len(a) != 4 {
		return v.stop("byte_range.malformed", values{"reason": "there are no four numbers within the file"})
	}
	for i := range a {
		if v.rng[i], ok = a[i].Int(); !ok || v.rng[i] < 0 || v.rng[i] > v.size {
			return v.stop("byte_range.malformed", values{"reason": "there are no four numbers within the file"})
		}
	}
	contents, ok := v.sig.Get("Contents").Bytes()
	if !ok {
		return v.stop("signature.malformed", values{"reason": "it is empty"})
	}
	// Hexadecimal can be written in several ways. Nothing covers these bytes, so
	// only the one in which the seal writes them is accepted.
	if string(v.sig.Get("Contents")) != "<"+hex.EncodeToString(contents)+">" {
		return v.stop("signature.malformed", values{"reason": "its digits"})
	}
	gap, end := v.rng[1], v.rng[2]+v.rng[3]
	switch {
	case v.rng[0] != 0 || v.rng[2] <= gap || end > v.size:
		return v.stop("byte_range.malformed", values{"reason": "the ranges make no sense"})
	case o.Start == 0 || gap < o.Start || v.rng[2] > o.End || v.rng[2]-gap != int64(2*len(contents)+2):
		return v.stop("byte_range.malformed", values{"reason": "it leaves out more than itself"})
	}
	if v.signed, err = cms.Parse(contents); err != nil {
		return v.stop("signature.malformed", values{"reason": err})
	}
	v.report.SealedBy = v.signed.Certificate.Subject.CommonName
	return nil
}

func (v *verifier) checkByteRange(context.Context) error {
	end := v.rng[2] + v.rng[3]
	edge := make([]byte, 1)
	for _, e := range []struct {
		at   int64
		want byte
	}{{v.rng[1], '<'}, {v.rng[2] - 1, '>'}} {
		if _, err := v.r.ReadAt(edge, e.at); err != nil || edge[0] != e.want {
			return v.stop("byte_range.malformed", values{"reason": "it leaves out more than itself"})
		}
	}
	var err error
	if v.sealed, err = v.file.Revision(end); err != nil {
		return v.stop("byte_range.malformed", values{"reason": "what it covers is not a PDF"})
	}
	if end == v.size {
		v.report.add("byte_range.whole", nil)
	} else {
		v.report.add("byte_range.earlier", values{"end": end, "bytes": v.size - end})
	}
	return nil
}

// readManifest reads the manifest before the bytes are hashed: it says how
// long the original is, so that one pass is enough.
func (v *verifier) readManifest(context.Context) error {
	b, err := v.attachment(attachmentKey)
	if err != nil {
		v.report.add("manifest.missing", values{"reason": err})
		return nil
	}
	if v.done != nil {
		v.record = v.done.record
	}
	v.record = v.record.of(b)
	if v.record.err != nil {
		v.report.add("manifest.malformed", values{"reason": v.record.err})
		return nil
	}
	m, kid := &v.record.manifest, v.record.kid
	v.manifest = m
	v.report.EnvelopeID, v.report.DocumentID, v.report.Subject = m.Envelope.ID, m.Document, m.Envelope.Subject
	v.report.OriginalSHA256, v.report.ChainHead, v.report.Events = m.Original.SHA256, m.Audit.Head, len(m.Audit.Events)
	v.report.SealedAt = &m.SealedAt
	v.report.add("manifest.signed", values{"envelope": m.Envelope.ID, "kid": kid})
	return nil
}

// checkTrust judges what was found.
func (v *verifier) checkTrust(context.Context) error {
	j := &v.judged
	j.Chain = v.signed.Chain()
	if v.manifest != nil {
		j.SealedAt, j.KeyID, j.Key = v.manifest.SealedAt, v.record.kid, v.record.key
	}
	v.report.judge(*j, v.opt)
	if v.manifest != nil {
		v.report.Record = recordOf(v.manifest, v.report.SealedBy, v.manifest.Pages)
	}
	return nil
}

// attachment returns an embedded file of the sealed revision.
func (v *verifier) attachment(key string) ([]byte, error) {
	o, err := v.attachmentObject(key)
	if err != nil {
		return nil, err
	}
	return v.sealed.StreamData(o)
}

func (v *verifier) attachmentObject(key string) (pdf.Object, error) {
	var none pdf.Object
	cat, _, err := v.sealed.Catalog()
	if err != nil {
		return none, err
	}
	names, err := v.sealed.Dict(cat.Get("Names"))
	if err != nil {
		return none, err
	}
	spec, err := findName(v.sealed, names.Get("EmbeddedFiles"), key)
	if err != nil {
		return none, err
	}
	if spec == nil {
		return none, fmt.Errorf("no attachment %s", key)
	}
	d, err := v.sealed.Dict(spec)
	if err != nil {
		return none, err
	}
	ef, err := v.sealed.Dict(d.Get("EF"))
	if err != nil {
		return none, err
	}
	ref, ok := ef.Get("F").Ref()
	if !ok {
		return none, fmt.Errorf("no attachment %s", key)
	}
	o, err := v.sealed.Object(ref)
	if err == nil && !o.IsStream() {
		err = fmt.Errorf("no attachment %s", key)
	}
	return o, err
}

// checkDigest hashes the file: what the signature covers, the original, and
// the whole file.
func (v *verifier) checkDigest(ctx context.Context) error {
	from, to, want := v.originalPlace()
	sums, err := v.hashAll(ctx, from, to)
	if err != nil {
		return err
	}
	v.report.SHA256 = hex.EncodeToString(sums.whole)
	switch err := v.signed.Verify(sums.covered); {
	case errors.Is(err, cms.ErrDigest):
		v.report.add("digest.changed", nil)
	case err != nil:
		v.report.add("digest.unchanged", nil)
		v.report.add("signature.wrong", values{"reason": err})
	default:
		v.report.add("digest.unchanged", nil)
		v.report.add("signature.sound", values{"name": v.signed.Certificate.Subject, "algorithm": v.signed.Hash()})
	}
	switch {
	case want == "":
		v.report.add("original.missing", values{"reason": "the seal record does not say where it is"})
	case hex.EncodeToString(sums.original) != want:
		v.report.add("original.changed", nil)
	default:
		v.report.add("original.found", values{"from": from, "to": to, "sha256": want})
	}
	return nil
}

// originalPlace says where the original is and what its hash must be.
func (v *verifier) originalPlace() (from, to int64, want string) {
	if v.manifest == nil {
		return 0, 0, ""
	}
	m := v.manifest.Original
	if m.As == "prefix" && m.Size > 0 && m.Size <= v.rng[1] {
		return 0, m.Size, m.SHA256
	}
	if m.As == "embedded" {
		o, err := v.attachmentObject("original.pdf")
		if err == nil {
			if n, err := v.sealed.StreamLength(o); err == nil && n == m.Size && o.Data+n <= v.rng[1] {
				return o.Data, o.Data + n, m.SHA256
			}
		}
	}
	return 0, 0, ""
}
