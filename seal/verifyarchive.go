package seal

import (
	"context"
	"errors"
	"time"

	"countersign/seal/cms"
	"countersign/seal/pdf"
)

// checkArchive checks the document time-stamps that were added after the seal.
// Each one covers the whole file up to its own end.
func (v *verifier) checkArchive(ctx context.Context) error {
	fields, err := signatureFields(v.file)
	if err != nil {
		v.altered(v.rng[2]+v.rng[3], err)
		return nil
	}
	covered := v.rng[2] + v.rng[3]
	for _, ref := range fields {
		field, err := v.file.Dict(ref.Value())
		if err != nil {
			return err
		}
		sigRef, _ := field.Get("V").Ref()
		o, err := v.file.Object(sigRef)
		if err != nil {
			return err
		}
		sig, err := o.Value.Dict()
		if err != nil || !sig.Get("SubFilter").IsName("ETSI.RFC3161") || o.Start < v.rng[2]+v.rng[3] {
			continue // of the seal itself or of the original
		}
		st, err := v.checkDocTimestamp(ctx, o, sig)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			v.altered(covered, err)
			return nil
		}
		covered = max(covered, st.Covers)
		v.judged.Stamps = append([]stamp{st}, v.judged.Stamps...)
	}
	if covered != v.size {
		v.altered(covered, errors.New("they follow the last document time-stamp"))
	}
	return nil
}

// checkDocTimestamp reads a document time-stamp.
func (v *verifier) checkDocTimestamp(ctx context.Context, o pdf.Object, sig pdf.Dict) (stamp, error) {
	var none stamp
	a, err := sig.Get("ByteRange").Array()
	if err != nil || len(a) != 4 {
		return none, errors.New("it does not say what it covers")
	}
	var n [4]int64
	for i := range n {
		var ok bool
		if n[i], ok = a[i].Int(); !ok || n[i] < 0 || n[i] > v.size {
			return none, errors.New("it does not say what it covers")
		}
	}
	der, ok := sig.Get("Contents").Bytes()
	end := n[2] + n[3]
	if !ok || n[0] != 0 || end > v.size || n[1] < o.Start || n[2] > o.End || n[2]-n[1] != int64(2*len(der)+2) {
		return none, errors.New("it covers ranges that make no sense")
	}
	t, err := cms.ParseToken(der)
	if err != nil {
		return none, err
	}
	h, err := t.ImprintHash()
	if err != nil {
		return none, err
	}
	digest := h.New()
	if err := hashSpans(ctx, v.r, end, []span{{0, n[1], digest}, {n[2], end, digest}}); err != nil {
		return none, err
	}
	if err := t.Verify(digest.Sum(nil)); err != nil {
		return none, err
	}
	return stamp{Chain: t.Chain(), Time: t.Time, Document: true, Covers: end}, nil
}

// checkRevocation looks for embedded statements about the sealing certificate.
func (v *verifier) checkRevocation(context.Context) error {
	cat, _, err := v.file.Catalog()
	if err != nil {
		return err
	}
	if cat.Get("DSS") == nil {
		return nil
	}
	e, err := v.embeddedEvidence(cat.Get("DSS"))
	if err != nil {
		v.altered(v.rng[2]+v.rng[3], err)
		return nil
	}
	chain := v.signed.Chain()
	var found evidence
	for i := 0; i+1 < len(chain); i++ {
		for _, b := range e.OCSPs {
			if _, err := (cms.Evidence{OCSPs: [][]byte{b}}).Check(chain[i], chain[i+1], time.Time{}); !errors.Is(err, cms.ErrNoEvidence) {
				found.Statements = append(found.Statements, statement{Certificate: chain[i], Issuer: chain[i+1], OCSP: b})
			}
		}
		for _, b := range e.CRLs {
			if _, err := (cms.Evidence{CRLs: [][]byte{b}}).Check(chain[i], chain[i+1], time.Time{}); !errors.Is(err, cms.ErrNoEvidence) {
				found.Statements = append(found.Statements, statement{Certificate: chain[i], Issuer: chain[i+1], CRL: b})
			}
		}
	}
	v.judged.Evidence = []evidence{found}
	return nil
}

// maxEvidence bounds the embedded statements that are read.
const maxEvidence = 256

func (v *verifier) embeddedEvidence(dss pdf.Value) (cms.Evidence, error) {
	var e cms.Evidence
	d, err := v.file.Dict(dss)
	if err != nil {
		return e, err
	}
	for _, part := range []struct {
		key  string
		into *[][]byte
	}{{"OCSPs", &e.OCSPs}, {"CRLs", &e.CRLs}} {
		list, err := arrayOf(v.file, d.Get(part.key))
		if err != nil {
			return e, err
		}
		if len(list) > maxEvidence {
			return e, pdf.ErrLimit
		}
		for _, r := range list {
			ref, ok := r.Ref()
			if !ok {
				return e, pdf.ErrDamaged
			}
			o, err := v.file.Object(ref)
			if err != nil {
				return e, err
			}
			if !o.IsStream() {
				return e, pdf.ErrDamaged
			}
			b, err := v.file.StreamData(o)
			if err != nil {
				return e, err
			}
			*part.into = append(*part.into, b)
		}
	}
	return e, nil
}
