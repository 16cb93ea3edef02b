package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"countersign/pdf"
	"countersign/seal/cms"
	"countersign/seal/manifest"
	"countersign/seal/trust"
)

// maxOthers is the maximum number of other signatures that are reported.
const maxOthers = 32

// Signatures returns the digital signatures of a PDF with their claims. It does not verify them.
func Signatures(ctx context.Context, r io.ReaderAt, size int64) []manifest.Signature {
	var out []manifest.Signature
	for _, s := range otherSignatures(ctx, r, size) {
		out = append(out, manifest.Signature{By: s.By, Issuer: s.Issuer, At: s.At})
	}
	return out
}

// otherSignatures returns the signatures in a file without a seal. It does not verify them. For an unreadable file it
// returns none.
func otherSignatures(ctx context.Context, r io.ReaderAt, size int64) []OtherSignature {
	lim := pdf.DefaultLimits()
	lim.MaxStream = 4 << 20
	f, err := pdf.Open(r, size, lim)
	if err != nil {
		return nil
	}
	fields, err := signatureFields(f)
	if err != nil {
		return nil
	}
	var out []OtherSignature
	for _, field := range fields[:min(len(fields), maxOthers)] {
		if ctx.Err() != nil {
			return out
		}
		if s, ok := otherSignature(f, field, size); ok {
			out = append(out, s)
		}
	}
	return out
}

func otherSignature(f *pdf.File, field pdf.Value, size int64) (OtherSignature, bool) {
	var s OtherSignature
	d, err1 := f.Dict(field)
	sig, err2 := f.Dict(d.Get("V"))
	if err1 != nil || err2 != nil {
		return s, false
	}
	if name, ok := d.Get("T").Bytes(); ok {
		s.Field = trust.Printable(pdf.DecodeText(name))
	}
	format, _ := sig.Get("SubFilter").Name()
	s.Format = trust.Printable(cmp.Or(format, "unknown format"))
	if a, err := f.Array(sig.Get("ByteRange")); err == nil && len(a) == 4 {
		from, ok1 := a[2].Int()
		n, ok2 := a[3].Int()
		if ok1 && ok2 && from >= 0 && n >= 0 && from <= size && n <= size-from {
			s.Covers = from + n
		}
		s.WholeFile = s.Covers == size
	}
	if at, ok := sig.Get("M").Bytes(); ok {
		s.At = pdfTime(string(at))
	}
	contents, _ := sig.Get("Contents").Bytes()
	if signed, err := cms.Parse(contents); err == nil {
		s.By, s.Issuer = trust.Printable(trust.Name(signed.Certificate)), trust.Printable(signed.Certificate.Issuer.String())
		if t, err := cms.ParseToken(contents); err == nil {
			s.At = &t.Time
		}
	}
	return s, true
}

// pdfTime parses a date (ISO 32000-2, 7.9.4) with a precision of seconds. It returns nil if the date is invalid.
func pdfTime(s string) *time.Time {
	s = strings.ReplaceAll(strings.TrimPrefix(s, "D:"), "'", "")
	for _, form := range []string{"20060102150405Z0700", "20060102150405Z", "20060102150405"} {
		if t, err := time.Parse(form, s); err == nil {
			t = t.UTC()
			return &t
		}
	}
	return nil
}

const (
	maxFields     = 100_000 // maximum number of form fields examined
	maxFieldDepth = 32
)

// signatureFields returns the form's signature fields that contain a signature, in the order of the form. Each is a
// dictionary or a reference.
func signatureFields(f *pdf.File) ([]pdf.Value, error) {
	cat, _, err := f.Catalog()
	if err != nil {
		return nil, err
	}
	form, err := pdf.OptionalDict(f, cat.Get("AcroForm"))
	if err != nil || form.Get("Fields") == nil {
		return nil, err
	}
	w := fieldWalker{f: f, seen: map[pdf.Ref]bool{}}
	err = w.walk(form.Get("Fields"), nil, 0)
	return w.found, err
}

type fieldWalker struct {
	f     *pdf.File
	seen  map[pdf.Ref]bool
	count int // number of fields visited
	found []pdf.Value
}

func (w *fieldWalker) walk(list, inherited pdf.Value, depth int) error {
	kids, err := w.f.Array(list)
	if err != nil {
		return nil //nolint:nilerr // PDF readers ignore a value that is not an array
	}
	for _, k := range kids {
		ref, isRef := k.Ref()
		if isRef && w.seen[ref] {
			continue
		}
		if isRef {
			w.seen[ref] = true
		}
		if w.count++; depth > maxFieldDepth || w.count > maxFields {
			return fmt.Errorf("%w: form fields", pdf.ErrLimit)
		}
		d, err := w.f.Dict(k)
		if err != nil {
			continue
		}
		kind := inherited
		if v := d.Get("FT"); v != nil {
			if kind, err = w.f.Resolve(v); err != nil {
				kind = nil
			}
		}
		if kind.IsName("Sig") && containsSignature(w.f, d) {
			w.found = append(w.found, k)
		}
		if d.Get("Kids") != nil {
			if err := w.walk(d.Get("Kids"), kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// containsSignature reports whether a signature field contains a signature.
func containsSignature(f *pdf.File, field pdf.Dict) bool {
	v, err := f.Dict(field.Get("V"))
	return err == nil && v.Get("ByteRange") != nil
}

// HasSignedWidget reports whether an annotation on a page is a signature field with a signature, even if the form does
// not list it. It ignores an unreadable page tree or annotation, because other checks reject these.
func HasSignedWidget(ctx context.Context, f *pdf.File) (bool, error) {
	signed := false
	_, err := f.Walk(func(p *pdf.Page) error {
		list, err := pdf.ArrayIn(f, p.Dict.Get("Annots"))
		if err != nil {
			return err
		}
		for _, a := range list {
			if err := ctx.Err(); err != nil { // all entries may refer to the same large object
				return err
			}
			if d, err := f.Dict(a); err == nil && isSignedField(f, d) {
				signed = true
				return errSigned
			}
		}
		return nil
	})
	if errors.Is(err, errSigned) || errors.Is(err, pdf.ErrDamaged) {
		err = nil
	}
	return signed, err
}

// errSigned stops the iteration over the pages.
var errSigned = errors.New("verify: signed")

// isSignedField reports whether a widget is a signature field that contains a signature. The field's type and value can
// be inherited from a parent field (12.7.4.1).
func isSignedField(f *pdf.File, d pdf.Dict) bool {
	isSignature, hasSignature := false, false
	for range maxFieldDepth {
		if kind, err := f.Resolve(d.Get("FT")); err == nil && kind.IsName("Sig") {
			isSignature = true
		}
		hasSignature = hasSignature || containsSignature(f, d)
		parent, err := f.Dict(d.Get("Parent"))
		if err != nil || isSignature && hasSignature {
			break
		}
		d = parent
	}
	return isSignature && hasSignature
}

// IsSigned reports whether a PDF contains a signature, according to its catalog and form. Drawing on the PDF would
// invalidate that signature. Usage rights (12.8.2.3) do not count, because they do not express a person's consent. See
// also HasSignedWidget.
func IsSigned(f *pdf.File) (bool, error) {
	cat, _, err := f.Catalog()
	if err != nil {
		return false, err
	}
	d, err := pdf.OptionalDict(f, cat.Get("Perms"))
	if err == nil && d.Get("DocMDP") != nil {
		return true, nil
	}
	fields, err := signatureFields(f)
	return len(fields) > 0, err
}
