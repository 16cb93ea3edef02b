package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// document is one type of file to seal.
type document struct {
	name  string
	pages int
	bytes int // approximate size of the page content
	image bool
}

func documents() []document {
	return []document{
		{"1 page, 20 KB", 1, 20 << 10, false},
		{"50 pages, 1 MB", 50, 1 << 20, false},
		{"images, 24 MB", 12, 24 << 20, true},
		{"4,000 pages, 22 MB", 4000, 22 << 20, false},
	}
}

// build returns a file with a cross-reference table and one content stream per page. The data is incompressible, like
// content that is already compressed.
func (d document) build() []byte {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // test data
	var b bytes.Buffer
	var offsets []int
	obj := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&b, format, args...)
		b.WriteString("\nendobj\n")
	}
	random := func(n int) []byte {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(rng.Uint32()) //nolint:gosec // only the lowest eight bits are used
		}
		return p
	}
	b.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	kids := make([]string, d.pages)
	for i := range kids {
		kids[i] = fmt.Sprintf("%d 0 R", 4+3*i)
	}
	// mutool requires an empty signature field for signing.
	field := 4 + 3*d.pages
	obj("<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[%d 0 R]>>>>", field)
	obj("<</Type/Pages/Kids[%s]/Count %d>>", strings.Join(kids, " "), d.pages)
	obj("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	per := d.bytes / d.pages
	for i := range d.pages {
		obj("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %d 0 R%s/Resources<</Font<</F1 3 0 R>>/XObject<</Im %d 0 R>>>>>>",
			5+3*i, map[bool]string{true: fmt.Sprintf("/Annots[%d 0 R]", field)}[i == 0], 6+3*i)
		content := fmt.Sprintf("BT /F1 12 Tf 72 720 Td (Page %d of the agreement) Tj ET\n", i+1)
		side := 8
		if d.image {
			content += "q 400 0 0 400 72 200 cm /Im Do Q\n"
			for side*side*3 < per {
				side += 8
			}
		} else if n := per - 500; n > 0 { // a comment instead of drawing operators
			content += "%" + strings.Map(func(r rune) rune {
				if r < ' ' || r > '~' {
					return 'x'
				}
				return r
			}, string(random(n))) + "\n"
		}
		obj("<</Length %d>>\nstream\n%s\nendstream", len(content), content)
		px := random(side * side * 3)
		obj("<</Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceRGB/BitsPerComponent 8/Length %d>>\nstream\n%s\nendstream", side, side, len(px), px)
	}
	obj("<</Type/Annot/Subtype/Widget/FT/Sig/T(peer)/Rect[10 10 60 30]/F 4/P 4 0 R>>")
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return b.Bytes()
}
