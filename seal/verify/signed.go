package verify

import (
	"fmt"

	"countersign/seal/pdf"
)

const maxFields = 100_000 // form fields looked at

// signatureFields returns the form's signature fields that hold a signature,
// in the order of the form.
func signatureFields(f *pdf.File) ([]pdf.Ref, error) {
	cat, _, err := f.Catalog()
	if err != nil {
		return nil, err
	}
	form, err := f.Resolve(cat.Get("AcroForm"))
	if err != nil || form.IsNull() {
		return nil, err
	}
	d, err := form.Dict()
	if err != nil || d.Get("Fields") == nil {
		return nil, nil //nolint:nilerr // a form that is no dictionary holds no signature
	}
	w := fieldWalker{f: f, seen: map[pdf.Ref]bool{}}
	err = w.walk(d.Get("Fields"), nil, 0)
	return w.found, err
}

type fieldWalker struct {
	f     *pdf.File
	seen  map[pdf.Ref]bool
	found []pdf.Ref
}

func (w *fieldWalker) walk(list, inherited pdf.Value, depth int) error {
	kids, err := w.f.Array(list)
	if err != nil {
		return nil //nolint:nilerr // readers ignore what is not a list
	}
	for _, k := range kids {
		ref, ok := k.Ref()
		if !ok || w.seen[ref] {
			continue
		}
		w.seen[ref] = true
		if depth > 32 || len(w.seen) > maxFields {
			return fmt.Errorf("%w: form fields", pdf.ErrLimit)
		}
		d, err := w.f.Dict(k)
		if err != nil {
			continue
		}
		kind := inherited
		if v := d.Get("FT"); v != nil {
			kind = v
		}
		if d.Get("V") != nil && kind.IsName("Sig") {
			if v, err := w.f.Dict(d.Get("V")); err == nil && v.Get("ByteRange") != nil {
				w.found = append(w.found, ref)
			}
		}
		if d.Get("Kids") != nil {
			if err := w.walk(d.Get("Kids"), kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// IsSigned reports whether a PDF carries a signature or usage rights, which
// drawing on it would disturb.
func IsSigned(f *pdf.File) (bool, error) {
	cat, _, err := f.Catalog()
	if err != nil {
		return false, err
	}
	if perms, err := f.Resolve(cat.Get("Perms")); err == nil {
		d, err := perms.Dict()
		if err == nil && (d.Get("DocMDP") != nil || d.Get("UR") != nil || d.Get("UR3") != nil) {
			return true, nil
		}
	}
	fields, err := signatureFields(f)
	return len(fields) > 0, err
}
