package verify

import (
	"context"
	"io"

	"countersign/seal/pdf"
)

// What additions look like. The verdict does not depend on it: it is a hint for people.
const (
	additionAnnotations = "annotations"
	additionForm        = "form"
	additionSignature   = "signature"
	additionPages       = "pages"
	additionSaved       = "saved"
	additionUnknown     = "unknown"
)

// maxObjectsExamined bounds how many objects are looked at.
const maxObjectsExamined = 2000

// classifyAdditions says what bytes from a position on look like, and names an object
// that shows it. Other programs that add to a PDF write increments, too.
func classifyAdditions(ctx context.Context, r io.ReaderAt, size, from int64) (kind string, object int) {
	lim := pdf.DefaultLimits()
	lim.MaxStream = 1 << 20
	f, err := pdf.Open(r, size, lim)
	if err != nil || f.StartXRef() < from {
		return additionUnknown, 0
	}
	weight := map[string]int{"": 0, additionSaved: 1, additionAnnotations: 2, additionForm: 3, additionPages: 4, additionSignature: 5}
	looked := 0
	err = f.Changed(from, func(num int) error {
		if num == 0 { // the list of free objects
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

// kindOfObject says what an object of an increment looks like.
func kindOfObject(f *pdf.File, num int) string {
	o, err := f.Newer(num)
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
