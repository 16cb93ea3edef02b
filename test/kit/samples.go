package kit

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
)

// OnePage returns a small valid PDF with one A4 page (595 × 842 points) that contains the word Contract.
func OnePage() []byte { return OnePageWith("Contract") }

// OnePageWith returns a page with the given text, which must not contain parentheses.
func OnePageWith(content string) []byte { return onePage(content, "") }

// OnePageHolding is like OnePage, but the catalog refers to an additional object under the given key, such as
// "Metadata".
func OnePageHolding(key, object string) []byte { return onePage("Contract", "/"+key+" 6 0 R", object) }

func onePage(content, catalog string, more ...string) []byte {
	text := "BT /F1 24 Tf 72 760 Td (" + content + ") Tj ET"
	var b bytes.Buffer
	var at []int
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	for i, o := range append([]string{
		"<</Type/Catalog/Pages 2 0 R" + catalog + ">>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(text), text),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	}, more...) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, o := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return b.Bytes()
}

// Signature returns a drawn signature in the form in which the signing page sends it: a PNG of 300 × 100 pixels with
// a blue stroke on a transparent background.
func Signature() []byte {
	img := image.NewNRGBA(image.Rect(0, 0, 300, 100))
	for x := 10; x < 290; x++ {
		for y := range 4 {
			img.Set(x, 20+(x*x/600)%60+y, color.NRGBA{R: 20, G: 40, B: 120, A: 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // writing to memory cannot fail
	return b.Bytes()
}
