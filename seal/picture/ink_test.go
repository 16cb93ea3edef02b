package picture_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/picture"
	"countersign/seal/rejection"
)

func rectanglePicture(t *testing.T, w, h int, ground color.NRGBA, ink image.Rectangle, c color.NRGBA) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			if (image.Point{X: x, Y: y}).In(ink) {
				img.SetNRGBA(x, y, c)
			} else {
				img.SetNRGBA(x, y, ground)
			}
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

// contrastOnWhite returns the WCAG 2 contrast ratio of a color painted on white.
func contrastOnWhite(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		s := 1 - (1-float64(v)/255)*float64(c.A)/255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 1.05 / (0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B) + 0.05)
}

// TestPictures_ShowSomethingOnWhite checks ink of any color, opacity and extent on a white or transparent background. A
// picture must be accepted if and only if the ink has a contrast of at least 1.5 and a sufficient extent.
func TestPictures_ShowSomethingOnWhite(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 300 {
		w, h := 20+r.IntN(300), 20+r.IntN(100)
		iw, ih := 1+r.IntN(w), 1+r.IntN(h)
		if r.IntN(2) == 0 { // a dot
			iw, ih = 1+r.IntN(9), 1+r.IntN(9)
		}
		x, y := r.IntN(w-min(iw, w)+1), r.IntN(h-min(ih, h)+1)
		tone := func() uint8 { return uint8(r.IntN(256)) }
		c := color.NRGBA{tone(), tone(), tone(), uint8(r.IntN(256))}
		if r.IntN(2) == 0 {
			c = color.NRGBA{c.R / 4, c.G / 4, c.B / 4, 255}
		}
		ground := color.NRGBA{}
		if r.IntN(2) == 0 {
			ground = color.NRGBA{255, 255, 255, 255}
		}
		contrast, length := contrastOnWhite(c), max(iw, ih)
		if math.Abs(contrast-1.5) < 0.02 { // skip values affected by rounding
			continue
		}
		want := contrast >= 1.5 && length >= 8 && float64(length) >= 0.04*float64(max(w, h))
		_, err := picture.Check(rectanglePicture(t, w, h, ground, image.Rect(x, y, x+iw, y+ih), c))
		if want {
			require.NoError(t, err, "%d × %d in %d × %d of %v", iw, ih, w, h, c)
			accepted++
			continue
		}
		var rejected *rejection.Error
		require.ErrorAs(t, err, &rejected, "%d × %d in %d × %d of %v", iw, ih, w, h, c)
		require.Equal(t, rejection.PNGInvalid, rejected.Code)
	}
	require.Greater(t, accepted, 30)
}

// TestPictures_Blank_AreRejected checks that pictures without visible content, which were formerly accepted as
// signatures, are rejected.
func TestPictures_Blank_AreRejected(t *testing.T) {
	t.Parallel()
	white, dark := color.NRGBA{255, 255, 255, 255}, color.NRGBA{0, 0, 60, 255}
	for name, tt := range map[string]struct {
		b    []byte
		says string
	}{
		"white":              {rectanglePicture(t, 300, 100, white, image.Rectangle{}, dark), "no content that is visible"},
		"near-white":         {rectanglePicture(t, 300, 100, white, image.Rect(10, 10, 200, 60), color.NRGBA{240, 240, 240, 255}), "no content that is visible"},
		"nearly transparent": {rectanglePicture(t, 300, 100, color.NRGBA{}, image.Rect(10, 10, 200, 60), color.NRGBA{A: 20}), "no content that is visible"},
		"one pixel":          {rectanglePicture(t, 1, 1, dark, image.Rectangle{}, dark), "too small"},
		"one dot":            {rectanglePicture(t, 300, 100, color.NRGBA{}, image.Rect(10, 10, 13, 13), dark), "too small"},
		"a hairline":         {rectanglePicture(t, 2000, 1, dark, image.Rectangle{}, dark), "too small"},
	} {
		_, err := picture.Check(tt.b)
		require.ErrorContains(t, err, tt.says, name)
	}
	far := image.NewNRGBA(image.Rect(0, 0, 300, 100))
	far.SetNRGBA(0, 0, dark)
	far.SetNRGBA(299, 99, dark)
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, far))
	_, err := picture.Check(b.Bytes())
	require.ErrorContains(t, err, "too small", "two dots that are far apart")
}
