package sealkit

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Marker returns a cyan rectangle whose upper left quarter is green.
func Marker(t *testing.T) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 80, 40))
	for y := range 40 {
		for x := range 80 {
			c := color.NRGBA{0, 255, 255, 255}
			if x < 40 && y < 20 {
				c = color.NRGBA{0, 255, 0, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

// InkBounds returns the bounding box of the pixels for which match returns true.
func InkBounds(img image.Image, match func(r, g, b uint32) bool) image.Rectangle {
	var box image.Rectangle
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			if match(r>>8, g>>8, b>>8) {
				box = box.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return box
}

// Near checks that two rectangles are equal, with a tolerance of one pixel for antialiasing.
func Near(t *testing.T, want, got image.Rectangle) {
	t.Helper()
	for _, d := range []int{want.Min.X - got.Min.X, want.Min.Y - got.Min.Y, want.Max.X - got.Max.X, want.Max.Y - got.Max.Y} {
		require.LessOrEqual(t, max(d, -d), 1, "want %v, got %v", want, got)
	}
}

// Renderings renders a page with Poppler and MuPDF at one pixel per point.
func Renderings(t testing.TB, file string, page int) map[string]image.Image {
	t.Helper()
	dir := t.TempDir()
	out := map[string]image.Image{}
	n := fmt.Sprint(page)
	for name, args := range map[string][]string{
		"poppler": {"pdftoppm", "-r", "72", "-cropbox", "-f", n, "-l", n, "-png", "-singlefile", file, filepath.Join(dir, "poppler")},
		"mupdf":   {"mutool", "draw", "-q", "-r", "72", "-o", filepath.Join(dir, "mupdf.png"), file, n},
	} {
		msg, _ := Run(t, args[0], args[1:]...) // MuPDF reports errors about broken content and renders the rest
		f, err := os.Open(filepath.Join(dir, name+".png"))
		require.NoError(t, err, msg)
		out[name], err = png.Decode(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	return out
}

// Different returns the bounding box of the pixels that clearly differ. It ignores the differences in antialiased
// edges of letters between renderings with and without transparency.
func Different(a, b image.Image) image.Rectangle {
	var out image.Rectangle
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			r1, g1, b1, _ := a.At(x, y).RGBA()
			r2, g2, b2, _ := b.At(x, y).RGBA()
			const edge = 0x1800
			if max(r1, r2)-min(r1, r2) > edge || max(g1, g2)-min(g1, g2) > edge || max(b1, b2)-min(b1, b2) > edge {
				out = out.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return out
}
