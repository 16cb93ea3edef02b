package browser_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rect is a rectangle on a page, in points from the page's upper left corner.
type rect struct{ X, Y, W, H float64 }

// TestFieldsLieWhereTheyAreSealed checks that fields are displayed where the seal draws their values. It compares
// upright, rotated and cropped pages with the sealed file as rendered by Poppler.
func TestFieldsLieWhereTheyAreSealed(t *testing.T) {
	t.Parallel()
	pages := []string{
		"",
		"/Rotate 90",
		"/Rotate 180",
		"/Rotate 270",
		"/CropBox[40 60 500 700]",
		"/MediaBox[-100 -50 500 700]/CropBox[-80 -20 420 650]/Rotate 90",
		"/UserUnit 1.5/MediaBox[0 0 400 500]",
	}
	var leaves []leaf
	var fields []object
	for i, extra := range pages {
		leaves = append(leaves, leaf{title: fmt.Sprintf("Page %d", i+1), extra: extra})
		fields = append(fields, object{"signerId": "0", "type": "checkbox", "page": i + 1, "x": 60 + 10*i, "y": 300 - 20*i, "w": 80, "h": 80})
	}
	e := svc.create(t, "Places", []object{{"name": "Ada", "email": "places@example.com", "authMethod": "none"}}, fields, pdfOf(leaves...))
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	shown := make([]rect, len(pages))
	for i := range pages {
		box := fmt.Sprintf(`document.querySelectorAll(".sheet")[%d].querySelector(".field")`, i)
		b.click(box)
		b.until(fmt.Sprintf(`document.querySelectorAll(".sheet")[%d].querySelector(".paint img") !== null`, i))
		// Measure the drawn mark rather than its box, because only the mark is visible in Poppler's rendering.
		shown[i] = eval[rect](b, fmt.Sprintf(`(() => {
			const sheet = document.querySelectorAll(".sheet")[%d], s = sheet.getBoundingClientRect(), k = Number(getComputedStyle(sheet).getPropertyValue("--k"));
			const svg = sheet.querySelector(".field svg path"), m = svg.getScreenCTM(), box = svg.getBBox(), p = new DOMPoint(box.x, box.y).matrixTransform(m), q = new DOMPoint(box.x + box.width, box.y + box.height).matrixTransform(m);
			return { X: (p.x - s.x) / k, Y: (p.y - s.y) / k, W: (q.x - p.x) / k, H: (q.y - p.y) / k };
		})()`, i))
		if i == 1 || i == 5 {
			// The page image is aligned with Poppler's rendering of the page.
			b.shot(fmt.Sprintf("place-%d", i+1))
		}
	}
	b.read()
	b.button("Review and sign")
	b.button("Sign")
	b.see("You signed")
	b.waitUntilStill()

	dir := t.TempDir()
	sealed := filepath.Join(dir, "sealed.pdf")
	require.NoError(t, os.WriteFile(sealed, svc.completed(t, e.ID), 0o600))
	out, err := exec.CommandContext(t.Context(), "pdftoppm", "-r", "144", "-cropbox", "-png", sealed, filepath.Join(dir, "p")).CombinedOutput()
	require.NoError(t, err, string(out))
	for i := range pages {
		names, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("p-*%d.png", i+1)))
		require.NoError(t, err)
		require.NotEmpty(t, names)
		raw, err := os.ReadFile(names[0])
		require.NoError(t, err)
		img, err := png.Decode(bytes.NewReader(raw))
		require.NoError(t, err)
		unit := 2.0
		if strings.Contains(pages[i], "UserUnit") {
			unit /= 1.5 // Poppler ignores this entry
		}
		found := inkOf(img, shown[i], unit)
		const near = 1.5 // in points: half the stroke width, plus rounding to pixels
		stroke := 36 * 0.8 * 0.14 / 2
		msg := fmt.Sprintf("page %d (%s): shown %+v, sealed %+v", i+1, pages[i], shown[i], found)
		require.InDelta(t, shown[i].X-stroke, found.X, near, msg)
		require.InDelta(t, shown[i].Y-stroke, found.Y, near, msg)
		require.InDelta(t, shown[i].W+2*stroke, found.W, 2*near, msg)
		require.InDelta(t, shown[i].H+2*stroke, found.H, 2*near, msg)
	}
}

// inkOf returns the bounding box of the dark pixels around a rectangle.
func inkOf(img image.Image, around rect, unit float64) rect {
	const margin = 14
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for y := int((around.Y - margin) * unit); y < int((around.Y+around.H+margin)*unit); y++ {
		for x := int((around.X - margin) * unit); x < int((around.X+around.W+margin)*unit); x++ {
			if r, g, b, _ := img.At(x, y).RGBA(); (image.Point{x, y}).In(img.Bounds()) && r+g+b < 3*0x8000 {
				left, right = math.Min(left, float64(x)), math.Max(right, float64(x+1))
				top, bottom = math.Min(top, float64(y)), math.Max(bottom, float64(y+1))
			}
		}
	}
	return rect{left / unit, top / unit, (right - left) / unit, (bottom - top) / unit}
}

// TestLongAndLarge checks that long and large documents can be read immediately, and that only a few pages are kept in
// memory.
func TestLongAndLarge(t *testing.T) {
	t.Parallel()
	var leaves []leaf
	for i := range 500 {
		leaves = append(leaves, leaf{title: fmt.Sprintf("Page %d of 500", i+1), lines: []string{"Words of this page."}})
	}
	large := pdfOf(leaf{title: "Large", lines: []string{strings.Repeat("word ", 12)}})
	// The file contains 20 MB that no page needs. A viewer that uses range requests does not load this part.
	cut := bytes.LastIndex(large, []byte("\nxref\n")) + 1
	filler := fmt.Appendf(nil, "99 0 obj\n<</Length %d>>\nstream\n%s\nendstream\nendobj", 20<<20, bytes.Repeat([]byte("filler-\n"), 20<<20/8))
	start := bytes.LastIndex(large, []byte("startxref"))
	whole := append(append(append([]byte{}, large[:cut]...), append(filler, '\n')...), large[cut:start]...)
	whole = fmt.Appendf(whole, "startxref\n%d\n%%%%EOF\n", cut+len(filler)+1)
	e := svc.create(t, "Long and large", []object{{"name": "Ada", "email": "long@example.com", "authMethod": "none"}},
		[]object{{"signerId": "0", "type": "text", "page": 500, "x": 72, "y": 500, "w": 200, "h": 20}}, pdfOf(leaves...), whole)
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.until(`document.querySelectorAll(".sheet .paint img").length > 0`)
	b.see("pages left to read")
	b.button("Start")
	b.until(`document.querySelectorAll(".sheet")[499].querySelector(".paint img") !== null`)
	b.shot("long-390")
	eval[bool](b, `(document.querySelectorAll(".sheet")[500].scrollIntoView({ behavior: "instant" }), true)`)
	b.until(`document.querySelectorAll(".sheet")[500].querySelector(".paint img") !== null`)
	for _, n := range []int{10, 100, 200, 300, 400} {
		eval[bool](b, fmt.Sprintf(`(document.querySelectorAll(".sheet")[%d].scrollIntoView({ behavior: "instant" }), true)`, n))
		b.until(fmt.Sprintf(`document.querySelectorAll(".sheet")[%d].querySelector(".paint img") !== null`, n))
	}
	require.LessOrEqual(t, eval[int](b, `document.querySelectorAll(".sheet .paint img").length`), 16)
	fetched := eval[float64](b, `performance.getEntriesByType("resource").filter((r) => r.name.includes("/documents/")).reduce((n, r) => n + r.transferSize, 0)`)
	require.Less(t, fetched, 4e6, "bytes fetched of a file of 20 MB")
	b.waitUntilStill()
}
