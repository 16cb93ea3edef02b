package picture

import (
	"image"
	"math"
	"sync"

	"countersign/seal/rejection"
)

// These limits define the minimum visibility of a picture on white paper.
const (
	minContrast = 1.5  // contrast ratio of ink against white, as defined by WCAG 2
	minInk      = 8    // longer side of the ink's bounding box, in pixels
	minInkShare = 0.04 // longer side of that box, as a fraction of the picture's longer side
	maxAspect   = 100  // maximum ratio of the picture's longer side to its shorter side
)

// checkVisible rejects a picture that would be invisible on white paper. The ink must be dark enough and extend far
// enough. It must also have at least half as many pixels as the longer side of its bounding box, like a dashed line.
func checkVisible(img *image.NRGBA) error {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	light, ink, pixels := luminances(), image.Rectangle{}, 0
	for y := range h {
		row := img.Pix[y*img.Stride : y*img.Stride+4*w]
		first, last := -1, -1
		for x := range w {
			p := row[4*x : 4*x+4 : 4*x+4]
			if p[3] == 0 || luminanceOnWhite(light, [4]byte(p)) > mostLuminance {
				continue
			}
			if first < 0 {
				first = x
			}
			last = x
			pixels++
		}
		if first >= 0 {
			ink = ink.Union(image.Rect(first, y, last+1, y+1))
		}
	}
	if pixels == 0 {
		return rejection.New(rejection.PNGInvalid, "The picture has no content that is visible on white paper. Use dark ink on a white or transparent background.")
	}
	length, side := max(ink.Dx(), ink.Dy()), max(w, h)
	if length < minInk || float64(length) < minInkShare*float64(side) || pixels < length/2 || side > maxAspect*min(w, h) {
		return rejection.New(rejection.PNGInvalid, "The content of the picture is too small to be visible. Draw it larger, or crop the picture.")
	}
	return nil
}

// mostLuminance is the maximum relative luminance of ink.
const mostLuminance = 1.05/minContrast - 0.05

// luminances returns the linear value of each sRGB component value.
var luminances = sync.OnceValue(func() *[256]float64 {
	var l [256]float64
	for i := range l {
		if v := float64(i) / 255; v <= 0.04045 {
			l[i] = v / 12.92
		} else {
			l[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return &l
})

// luminanceOnWhite returns the relative luminance of a pixel painted on white.
func luminanceOnWhite(light *[256]float64, p [4]byte) float64 {
	over := func(c byte) float64 { return light[255-(255-int(c))*int(p[3])/255] }
	return 0.2126*over(p[0]) + 0.7152*over(p[1]) + 0.0722*over(p[2])
}
