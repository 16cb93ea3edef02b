package sealing_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/test/kit/sealkit"
)

// TestPlacement renders the sealed file and checks the position of the ink. The ink must be upright and at the given
// position, in points from the top left corner of the displayed page.
func TestPlacement(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	s := k.Sealer(t)
	type geometry struct {
		name, boxes string
		w, h        float64 // displayed size before rotation
		unit        float64
	}
	geometries := []geometry{
		{"plain", "/MediaBox[0 0 400 300]", 400, 300, 1},
		{"offset media box", "/MediaBox[-50 30 350 330]", 400, 300, 1},
		{"reversed media box", "/MediaBox[400 300 0 0]", 400, 300, 1},
		{"crop box", "/MediaBox[0 0 600 500]/CropBox[70 90 470 390]", 400, 300, 1},
		{"crop box larger than media box", "/MediaBox[10 20 410 320]/CropBox[-100 -100 900 900]", 400, 300, 1},
		{"user unit", "/MediaBox[0 0 200 150]/UserUnit 2", 400, 300, 2},
		{"user unit and crop box", "/MediaBox[0 0 400 300]/CropBox[50 60 250 210]/UserUnit 2", 400, 300, 2},
	}
	const x, y, w, h = 120, 60, 80, 40
	for _, g := range geometries {
		for _, rotate := range []int{0, 90, 180, 270, -90, 450} {
			for _, inherited := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/inherited=%t", g.name, rotate, inherited), func(t *testing.T) {
					t.Parallel()
					boxes := fmt.Sprintf("%s/Rotate %d", g.boxes, rotate)
					l := sealkit.Layout{Pages: []sealkit.Page{{Extra: boxes + sealkit.OwnResources, Content: "% unbalanced on purpose\nq 0.5 0 0 0.5 7 9 cm"}}}
					if inherited && g.unit == 1 { // UserUnit cannot be inherited
						l = sealkit.Layout{Pages: []sealkit.Page{{Content: "q"}}, Tree: boxes + sealkit.OwnResources}
					}
					j := sealkit.Job(t, sealkit.ClassicPDF(l))
					j.Values = []seal.Value{{FieldID: "f", SignerID: sealkit.AdaID, Kind: seal.Signature, Page: 1, X: x, Y: y, W: w, H: h, PNG: sealkit.Marker(t)}}
					file, _ := sealkit.Sealed(t, s, j)
					width, height := g.w, g.h
					if rotate%180 != 0 {
						width, height = height, width
					}
					out := filepath.Join(t.TempDir(), "p")
					msg, err := sealkit.Run(t, "mutool", "draw", "-q", "-r", "72", "-o", out+"-1.png", file, "1")
					require.NoError(t, err, msg)
					checkMarker(t, out+"-1.png", int(width), int(height), image.Rect(x, y, x+w, y+h))
					if g.unit != 1 {
						return // Poppler does not support UserUnit
					}
					msg, err = sealkit.Run(t, "pdftoppm", "-r", "72", "-cropbox", "-f", "1", "-l", "1", "-png", "-singlefile", file, out)
					require.NoError(t, err, msg)
					checkMarker(t, out+".png", int(width), int(height), image.Rect(x, y, x+w, y+h))
				})
			}
		}
	}
}

func checkMarker(t *testing.T, file string, width, height int, want image.Rectangle) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	img, err := png.Decode(f)
	require.NoError(t, err)
	require.Equal(t, image.Rect(0, 0, width, height), img.Bounds())
	whole := sealkit.InkBounds(img, func(r, g, b uint32) bool { return r < 60 && (g > 200 || b > 200) })
	sealkit.Near(t, want, whole)
	green := sealkit.InkBounds(img, func(r, g, b uint32) bool { return r < 60 && g > 200 && b < 60 })
	half := want
	half.Max = want.Min.Add(want.Size().Div(2))
	sealkit.Near(t, half, green)
}

// TestTransparency checks that content under the transparent parts of a signature remains visible.
func TestTransparency(t *testing.T) {
	t.Parallel()
	j := sealkit.Job(t, sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]", Content: "0 0 0 rg 100 100 40 40 re f"}}}))
	j.Values = []seal.Value{{FieldID: "f", SignerID: sealkit.AdaID, Kind: seal.Signature, Page: 1, X: 60, Y: 100, W: 200, H: 120, PNG: sealkit.SignaturePNG(t, 400, 240)}}
	file, _ := sealkit.Sealed(t, sealkit.NewFixture(t).Sealer(t), j)
	out := filepath.Join(t.TempDir(), "p")
	for _, draw := range [][]string{
		{"pdftoppm", "-r", "72", "-f", "1", "-l", "1", "-png", "-singlefile", file, out},
		{"mutool", "draw", "-q", "-r", "72", "-o", out + ".png", file, "1"},
	} {
		msg, err := sealkit.Run(t, draw[0], draw[1:]...)
		require.NoError(t, err, msg)
		b, err := os.ReadFile(out + ".png")
		require.NoError(t, err)
		img, err := png.Decode(bytes.NewReader(b))
		require.NoError(t, err)
		sealkit.Near(t, image.Rect(100, 160, 140, 200), sealkit.InkBounds(img, func(r, g, b uint32) bool { return r < 10 && g < 10 && b < 10 }))
		ink := sealkit.InkBounds(img, func(r, g, b uint32) bool { return b > r+30 && b > g+30 })
		require.False(t, ink.Empty(), "the signature as drawn by %s", draw[0])
	}
}
