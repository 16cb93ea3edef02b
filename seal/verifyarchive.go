package seal

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"countersign/seal/cms"
	"countersign/seal/pdf"
)

// checkArchive checks the document time-stamps that were added after the seal.
// Each one covers the whole file up to its own end.
func (v *verifier) checkArchive(ctx context.Context) error {
	fields, err := signatureFields(v.file)
	if err != nil {
		v.report.add(CheckArchive, Failed, "The time-stamps cannot be read: %v.", err)
		return nil
	}
	covered := v.rng[2] + v.rng[3]
	var last time.Time
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
		end, at, err := v.checkDocTimestamp(ctx, o, sig)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var untrusted *untrustedError
		if err == nil && v.proven.IsZero() {
			v.proven = at
		}
		switch {
		case errors.As(err, &untrusted):
			v.report.add(CheckArchive, Untrusted, "%v.", err)
		case err != nil:
			v.report.add(CheckArchive, Failed, "A document time-stamp is not sound: %v.", err)
			return nil
		}
		covered, last = max(covered, end), at
	}
	switch {
	case last.IsZero():
		v.report.add(CheckArchive, Absent, "No document time-stamp was added.")
	case covered != v.size:
		v.report.add(CheckArchive, Failed, "%d bytes were added after the last document time-stamp.", v.size-covered)
	case v.report.Status(CheckArchive) == Absent:
		v.report.add(CheckArchive, Passed, "A document time-stamp confirms everything at %s.", utc(last))
	}
	if !last.IsZero() && v.report.Level == "B-LT" {
		v.report.Level = "B-LTA"
	}
	return nil
}

type untrustedError struct{ msg string }

func (e *untrustedError) Error() string { return e.msg }

// checkDocTimestamp returns where what a document time-stamp covers ends, and
// its time.
func (v *verifier) checkDocTimestamp(ctx context.Context, o pdf.Object, sig pdf.Dict) (int64, time.Time, error) {
	var none time.Time
	a, err := sig.Get("ByteRange").Array()
	if err != nil || len(a) != 4 {
		return 0, none, errors.New("it does not say what it covers")
	}
	var n [4]int64
	for i := range n {
		var ok bool
		if n[i], ok = a[i].Int(); !ok || n[i] < 0 || n[i] > v.size {
			return 0, none, errors.New("it does not say what it covers")
		}
	}
	der, ok := sig.Get("Contents").Bytes()
	end := n[2] + n[3]
	if !ok || n[0] != 0 || end > v.size || n[1] < o.Start || n[2] > o.End || n[2]-n[1] != int64(2*len(der)+2) {
		return 0, none, errors.New("it covers ranges that make no sense")
	}
	t, err := cms.ParseToken(der)
	if err != nil {
		return 0, none, err
	}
	h, err := t.ImprintHash()
	if err != nil {
		return 0, none, err
	}
	digest := h.New()
	if err := hashSpans(ctx, v.r, end, []span{{0, n[1], digest}, {n[2], end, digest}}); err != nil {
		return 0, none, err
	}
	if err := t.Verify(digest.Sum(nil)); err != nil {
		return 0, none, err
	}
	if _, err := t.VerifyChain(v.opt.TSARoots, t.Time, x509.ExtKeyUsageTimeStamping); err != nil {
		return end, t.Time, &untrustedError{fmt.Sprintf("A document time-stamp of %s says %s, but it is not trusted here", t.Certificate.Subject, utc(t.Time))}
	}
	return end, t.Time, nil
}

// checkRevocation looks for embedded statements about the sealing certificate.
func (v *verifier) checkRevocation(context.Context) error {
	cat, _, err := v.file.Catalog()
	if err != nil {
		return err
	}
	if cat.Get("DSS") == nil {
		v.report.add(CheckRevocation, Absent, "No revocation data is embedded.")
		return nil
	}
	e, err := v.embeddedEvidence(cat.Get("DSS"))
	if err != nil {
		v.report.add(CheckRevocation, Failed, "The embedded revocation data cannot be read: %v.", err)
		return nil
	}
	at := v.sealTime()
	chain := v.signed.Chain()
	good := 0
	for i := 0; i+1 < len(chain); i++ {
		_, err := e.Check(chain[i], chain[i+1], at)
		switch {
		case err == nil:
			good++
		case errors.Is(err, cms.ErrRevoked):
			v.report.add(CheckRevocation, Failed, "The certificate of %s was revoked when the document was sealed.", chain[i].Subject)
			return nil
		}
	}
	if good == 0 {
		v.report.add(CheckRevocation, Absent, "Certificates are embedded, but no statement about their revocation: their authority offers none.")
		return nil
	}
	if v.report.Level == "B-T" {
		v.report.Level = "B-LT"
	}
	v.report.add(CheckRevocation, Passed, "The authority's embedded statement says that the certificate was not revoked.")
	return nil
}

func (v *verifier) sealTime() time.Time {
	switch {
	case v.report.StampedAt != nil:
		return *v.report.StampedAt
	case v.report.SealedAt != nil:
		return *v.report.SealedAt
	}
	return time.Time{}
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
