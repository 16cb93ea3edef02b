package picture

import (
	"fmt"
	"image"

	"countersign/pdf"
)

// Raster is a picture in the form used in a PDF, with compressed samples and transparency.
type Raster struct {
	W, H          int
	Space         string
	Bits          int    // bits per component
	Pixels, Alpha []byte // Alpha is nil if the picture is opaque
	Dark          Darkness
}

// RasterOf decodes a PNG within limits and returns its raster.
func RasterOf(b []byte) (Raster, error) {
	img, err := decodePNG(b, maxPNGPixels)
	if err != nil {
		return Raster{}, err
	}
	r := rasterOfImage(img)
	r.Dark = darknessOf(img)
	return r, nil
}

// rasterOfImage returns a Raster without the darkness, which is needed only for drawing.
func rasterOfImage(img *image.NRGBA) Raster {
	r := Raster{W: img.Rect.Dx(), H: img.Rect.Dy(), Bits: 8}
	alpha, all := make([]byte, r.W*r.H), byte(255)
	for i := range alpha {
		alpha[i] = img.Pix[4*i+3]
		all &= alpha[i]
	}
	if all != 255 {
		r.Alpha = pdf.Deflate(alpha)
	}
	first, one, gray := scanColors(img)
	var pixels []byte
	switch {
	case one: // pen strokes, which vary only in transparency
		r.Space, r.Bits = fmt.Sprintf("[/Indexed/DeviceRGB 0<%02X%02X%02X>]", first[0], first[1], first[2]), 1
		pixels = make([]byte, (r.W+7)/8*r.H)
	case gray:
		r.Space, pixels = "/DeviceGray", samples(img, 1)
	default:
		r.Space, pixels = "/DeviceRGB", samples(img, 3)
	}
	r.Pixels = pdf.Deflate(pixels)
	return r
}

// samples returns the first n components of each pixel. The samples of invisible pixels are set to 0, which saves
// space.
func samples(img *image.NRGBA, n int) []byte {
	out := make([]byte, 0, img.Rect.Dx()*img.Rect.Dy()*n)
	for i := 0; i+3 < len(img.Pix); i += 4 {
		p := img.Pix[i : i+4 : i+4]
		if p[3] == 0 {
			p[0], p[1], p[2] = 0, 0, 0
		}
		out = append(out, p[:n]...)
	}
	return out
}

// scanColors returns the color of the first visible pixel, and reports whether all visible pixels have that color and
// whether all are gray.
func scanColors(img *image.NRGBA) (first [3]byte, one, gray bool) {
	seen := false
	one, gray = true, true
	for i := 0; i+3 < len(img.Pix) && (one || gray); i += 4 {
		p := img.Pix[i : i+4 : i+4]
		if p[3] == 0 {
			continue
		}
		if !seen {
			first, seen = [3]byte(p[:3]), true
		}
		one = one && first == [3]byte(p[:3])
		gray = gray && p[0] == p[1] && p[1] == p[2]
	}
	return first, one, gray
}
