package appearance

import (
	"cmp"
	"encoding/binary"
	"math"

	"countersign/seal/rejection"
)

// Inspection describes a document as interpreted by PDFium.
type Inspection struct {
	// Pages contains the sizes of the displayed pages, in user space units.
	Pages [][2]float64 `json:"pages"`
	// Glyphs lists the first characters whose font is not embedded and for which no bundled font contains a glyph.
	// Signers would not see these characters.
	Glyphs []MissingGlyph `json:"glyphs,omitempty"`
}

const (
	// maxMissingGlyphs is the maximum number of glyphs in an Inspection.
	maxMissingGlyphs = 20
	// inspectedPages is the maximum number of pages whose text one task reads.
	inspectedPages = 250
)

// Inspect inspects a document. If text is true, it reads the text of up to inspectedPages pages, starting with the
// given page. If this is the first page, it also returns the sizes of all pages.
func (d *Document) Inspect(from int, text bool) (Inspection, error) {
	var in Inspection
	if from == 1 {
		size := d.call("malloc", 8)
		for page := range d.pages {
			if d.call("FPDF_GetPageSizeByIndexF", d.handle, uint64(page), size) == 0 {
				return in, d.fault(rejection.New(rejection.PageNotRendered, "A page cannot be displayed: the PDF is damaged."))
			}
			b, ok := d.module.Memory().Read(uint32(size), 8) //nolint:gosec // a 32-bit address
			if !ok {
				return in, cmp.Or(d.fault(nil), ErrMemory)
			}
			in.Pages = append(in.Pages, [2]float64{
				float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))),
			})
		}
	}
	if !text {
		return in, d.fault(nil)
	}
	for page := from; page < min(from+inspectedPages, d.pages+1) && len(in.Glyphs) < maxMissingGlyphs; page++ {
		found, err := d.MissingGlyphs(page)
		if err != nil {
			return in, err
		}
		in.Glyphs = append(in.Glyphs, found...)
	}
	in.Glyphs = in.Glyphs[:min(len(in.Glyphs), maxMissingGlyphs)]
	return in, d.fault(nil)
}
