package verify

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"slices"

	"countersign/pdf"
	"countersign/seal/archive1"
	"countersign/seal/cms"
)

// MaxArchiveStamps is the maximum number of document time-stamps in a file.
const MaxArchiveStamps = 64

// maxEvidence is the maximum size of the validation data in one file, in bytes.
const maxEvidence = 16 << 20

// Archive describes how a sealed file can be extended. It contains the state required for the next increment, and the
// signatures whose validation data that increment adds.
type Archive struct {
	Revision archive1.Revision
	pending  []*cms.Signed   // signatures whose validation data is not in the file yet
	listed   map[string]bool // certificates in the file, by their DER encoding
	Budget   int             // remaining bytes of validation data that may be added
	Stamps   int
}

// archiveOf returns the Archive for a sealed revision.
func archiveOf(s *sealedRevision, signatures ...*cms.Signed) (Archive, error) {
	f := s.file
	trailer := f.Trailer()
	r := archive1.Revision{Size: s.end, Start: f.StartXRef(), Stream: f.UsesXRefStream()}
	size, ok := trailer.Get("Size").Int()
	if !ok {
		return Archive{}, fmt.Errorf("%w: unexpected Size in the trailer", pdf.ErrDamaged)
	}
	r.Next = int(size)
	catalog, root, err := f.Catalog()
	if err != nil {
		return Archive{}, err
	}
	r.Root = archive1.Object{Num: root.Num, Gen: root.Gen}
	o, err := f.Object(root)
	if err != nil {
		return Archive{}, err
	}
	r.Catalog = string(o.Value)
	if catalog.Get("DSS") != nil {
		return Archive{}, fmt.Errorf("%w: the sealed catalog has validation data", pdf.ErrDamaged)
	}
	if info := trailer.Get("Info"); info != nil {
		r.Info = string(info)
	}
	id, err := trailer.Get("ID").Array()
	if err != nil || len(id) != 2 {
		return Archive{}, fmt.Errorf("%w: unexpected ID in the trailer", pdf.ErrDamaged)
	}
	r.ID = string(id[0])
	form, err := f.Dict(catalog.Get("AcroForm"))
	if err != nil {
		return Archive{}, err
	}
	fields, ok := form.Get("Fields").Ref()
	if !ok {
		return Archive{}, fmt.Errorf("%w: unexpected Fields in the form", pdf.ErrDamaged)
	}
	r.Fields = archive1.Object{Num: fields.Num, Gen: fields.Gen}
	list, err := f.Resolve(fields.Value())
	if err != nil {
		return Archive{}, err
	}
	if !list.IsArray() {
		return Archive{}, fmt.Errorf("%w: unexpected Fields in the form", pdf.ErrDamaged)
	}
	r.Listed = string(list[1 : len(list)-1])
	return Archive{Revision: r, pending: signatures, listed: map[string]bool{}, Budget: maxEvidence}, nil
}

// StatementRequest is a request for the revocation status of a certificate.
type StatementRequest struct{ Certificate, Issuer *x509.Certificate }

// Plan returns the required content of the next increment. It consists of the certificates that are missing from the
// chains of the pending signatures, and a request about each certificate in these chains whose authority publishes
// statements.
func (a *Archive) Plan() (certs [][]byte, questions []StatementRequest) {
	added, asked := map[string]bool{}, map[string]bool{}
	for _, s := range a.pending {
		chain := s.Certificates
		for i, c := range chain {
			der := string(c.Raw)
			if !a.listed[der] && !added[der] {
				added[der] = true
				certs = append(certs, c.Raw)
			}
			if i+1 == len(chain) || asked[der] {
				continue
			}
			if byOCSP, byCRL := cms.RevocationSources(c); byOCSP || byCRL {
				asked[der] = true
				questions = append(questions, StatementRequest{c, chain[i+1]})
			}
		}
	}
	return certs, questions
}

// next updates the archive after an increment with a time-stamp.
func (a *Archive) next(r archive1.Revision, e archive1.Evidence, token *cms.Token) {
	for _, c := range e.Certs {
		a.listed[string(c)] = true
		a.Budget -= len(c)
	}
	for _, s := range e.Statements {
		a.Budget -= len(s.DER)
	}
	a.Revision, a.pending = r, []*cms.Signed{token.Signed}
	a.Stamps++
}

// increment is an increment that this service wrote after the seal.
type increment struct {
	byteRangeGap // gap for the time-stamp, and the end of the increment

	token    *cms.Token
	evidence archive1.Evidence
}

// readIncrements reads the content after the seal in order, without relying on its cross-reference sections, and
// compares it with the output of this service.
func (e *examiner) readIncrements(ctx context.Context) error {
	signatures := []*cms.Signed{e.signed}
	if e.token != nil {
		signatures = append(signatures, e.token.Signed)
	}
	a, err := archiveOf(e.seal, signatures...)
	if err != nil {
		return e.stop("signature.does_not_fit", values{"offset": e.mark, "reason": err})
	}
	for a.Revision.Size < e.size {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if a.Stamps == MaxArchiveStamps {
			e.broken = fmt.Errorf("more than %d time-stamps", MaxArchiveStamps)
			break
		}
		var i increment
		if i, err = a.read(e.r, e.size); err != nil {
			e.broken = err
			break
		}
		e.increments = append(e.increments, i)
	}
	e.examination.Archive = a
	return nil
}

// read reads one increment and advances to the content after it.
func (a *Archive) read(r io.ReaderAt, size int64) (increment, error) {
	from := a.Revision.Size
	none := increment{}
	streams, err := archive1.Scan(r, size, a.Revision, a.Budget)
	if err != nil {
		return none, err
	}
	certs, questions := a.Plan()
	if len(streams) == 0 && len(certs)+len(questions) > 0 {
		return none, fmt.Errorf("the addition at byte %d does not have the format of an update by this service", from)
	}
	if len(streams) != len(certs)+len(questions) {
		return none, fmt.Errorf("the update at byte %d contains %d items of validation data instead of %d", from, len(streams), len(certs)+len(questions))
	}
	i := increment{evidence: archive1.Evidence{Certs: certs}} // Match compares the certificates with the streams
	for n, q := range questions {
		der := streams[len(certs)+n]
		byOCSP, _ := cms.RevocationSources(q.Certificate)
		s := cms.Statement{OCSP: der}
		if !byOCSP {
			s = cms.Statement{CRL: der}
		}
		if err := s.CheckValid(q.Certificate, q.Issuer); err != nil {
			return none, fmt.Errorf("at byte %d: %w", from, err)
		}
		i.evidence.Statements = append(i.evidence.Statements, archive1.Statement{CRL: !byOCSP, DER: der})
	}
	inc, found, err := archive1.Match(r, size, a.Revision, i.evidence)
	if err != nil {
		return none, err
	}
	if i.token, err = cms.ParseTokenStrict(found.Contents); err != nil {
		return none, fmt.Errorf("the time-stamp at byte %d: %w", from+int64(inc.Contents), err)
	}
	if IssuersOf(i.token) != found.Issuers {
		return none, fmt.Errorf("the time-stamp at byte %d contains certificates other than those it covers", from+int64(inc.Contents))
	}
	i.byteRangeGap = byteRangeGap{from + int64(inc.Contents), from + int64(inc.End), inc.Revision.Size}
	a.next(inc.Revision, i.evidence, i.token)
	return i, nil
}

// checkIncrements verifies the document time-stamps. If a time-stamp does not cover the file that precedes it, this
// service wrote neither the time-stamp nor anything after it.
func (e *examiner) checkIncrements(context.Context) error {
	j := &e.examination.trustInput
	for n, i := range e.increments {
		if err := i.token.Verify(e.digests.covered[n+1]); err != nil {
			e.broken = fmt.Errorf("the time-stamp at byte %d: %w", i.from, err)
			e.increments = e.increments[:n]
			break
		}
		j.Stamps = slices.Insert(j.Stamps, 0, stamp{Chain: i.token.Certificates, Time: i.token.Time, Document: true})
		for _, s := range i.evidence.Statements {
			if s.CRL {
				j.Evidence.CRLs = append(j.Evidence.CRLs, s.DER)
			} else {
				j.Evidence.OCSPs = append(j.Evidence.OCSPs, s.DER)
			}
		}
		j.Extended = true
	}
	return nil
}

// checkAdditions reports any content after the last increment written by this service.
func (e *examiner) checkAdditions(ctx context.Context) error {
	end := e.seal.end
	if n := len(e.increments); n > 0 {
		end = e.increments[n-1].end
	}
	switch {
	case e.broken == nil && len(e.increments) == 0:
		e.add("later_changes.none", nil)
		return nil
	case e.broken == nil:
		e.add("later_changes.archive", nil)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	kind, object := classifyAdditions(ctx, e.r, e.size, end)
	v := values{"offset": end, "bytes": e.size - end}
	if kind == additionUnknown {
		v["reason"] = e.broken
	} else {
		v["object"] = object
	}
	e.add(Code("later_changes."+kind), v)
	e.examination.report.Additions = &Additions{From: end, Bytes: e.size - end, Kind: kind}
	return nil
}

// Kinds of additions. They do not affect the verdict and are only informative.
const (
	additionAnnotations = "annotations"
	additionForm        = "form"
	additionSignature   = "signature"
	additionPages       = "pages"
	additionSaved       = "saved"
	additionUnknown     = "unknown"
)

const maxObjectsExamined = 2000

// classifyAdditions returns the kind of the bytes after the given offset, and the object that determines it. Other
// programs that add content to a PDF also write increments.
func classifyAdditions(ctx context.Context, r io.ReaderAt, size, from int64) (kind string, object int) {
	lim := pdf.DefaultLimits()
	lim.MaxStream = 1 << 20
	f, err := pdf.Open(r, size, lim)
	if err != nil || f.StartXRef() < from {
		return additionUnknown, 0
	}
	weight := map[string]int{"": 0, additionSaved: 1, additionAnnotations: 2, additionForm: 3, additionPages: 4, additionSignature: 5}
	looked := 0
	err = f.VisitChanged(from, func(num int) error {
		if num == 0 { // head of the list of free objects
			return nil
		}
		if looked++; looked > maxObjectsExamined || ctx.Err() != nil {
			return pdf.ErrLimit
		}
		if k := kindOfObject(f, num); weight[k] > weight[kind] {
			kind, object = k, num
		}
		return nil
	})
	if kind == "" || err != nil && kind == additionSaved {
		return additionUnknown, 0
	}
	return kind, object
}

// kindOfObject returns the apparent kind of an object in an increment.
func kindOfObject(f *pdf.File, num int) string {
	o, err := f.NewestVersion(num)
	if err != nil {
		return ""
	}
	d, err := o.Value.Dict()
	if err != nil {
		return additionSaved
	}
	kind, subtype := d.Get("Type"), d.Get("Subtype")
	switch {
	case d.Get("ByteRange") != nil || kind.IsName("Sig") || kind.IsName("DocTimeStamp"):
		return additionSignature
	case kind.IsName("Page") || kind.IsName("Pages"):
		return additionPages
	case subtype.IsName("Widget") || d.Get("FT") != nil:
		return additionForm
	case kind.IsName("Annot") || subtype != nil && d.Get("Rect") != nil:
		return additionAnnotations
	}
	return additionSaved
}
