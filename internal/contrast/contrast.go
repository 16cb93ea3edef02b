// Package contrast parses colors and computes the contrast ratio of text and background colors (WCAG 2.2, 1.4.3).
package contrast

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Minimum is the minimum contrast for text.
const Minimum = 4.5

// Color is an sRGB color whose components range from 0 to 1.
type Color [3]float64

// Backgrounds of text on pages and in emails, in light and dark mode.
//
//nolint:gochecknoglobals // constants
var (
	White      = Color{1, 1, 1}
	Black      = Color{0, 0, 0}
	LightPanel = Color{0xe6 / 255.0, 0xf0 / 255.0, 0xf4 / 255.0} // the darkest of the light backgrounds
	DarkPanel  = Color{0x1d / 255.0, 0x2a / 255.0, 0x33 / 255.0} // the lightest of the dark backgrounds
)

// Parse parses a color such as "#0f5570".
func Parse(s string) (Color, error) {
	digits, ok := strings.CutPrefix(s, "#")
	b, err := hex.DecodeString(digits)
	if !ok || err != nil || len(b) != 3 {
		return Color{}, errors.New("not a color of the form #rrggbb")
	}
	return Color{float64(b[0]) / 255, float64(b[1]) / 255, float64(b[2]) / 255}, nil
}

// String formats the color as "#rrggbb".
func (c Color) String() string {
	out := "#"
	for _, v := range c {
		out += fmt.Sprintf("%02x", int(math.Round(255*v)))
	}
	return out
}

// Luminance returns the relative luminance, from 0 to 1.
func (c Color) Luminance() float64 {
	var l [3]float64
	for i, v := range c {
		if v <= 0.04045 {
			l[i] = v / 12.92
		} else {
			l[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
}

// Ratio returns the contrast ratio of two colors, from 1 to 21.
func Ratio(a, b Color) float64 {
	x, y := a.Luminance(), b.Luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// On returns the color, mixed with just enough black or white to be legible as text on the given background.
func (c Color) On(ground Color) Color {
	with := Black
	if ground.Luminance() < 0.18 {
		with = White
	}
	mixed := c
	for part := 0.05; Ratio(mixed.rounded(), ground) < Minimum && part < 1; part += 0.05 {
		for i := range mixed {
			mixed[i] = c[i]*(1-part) + with[i]*part
		}
	}
	return mixed.rounded()
}

// rounded returns the color rounded to 8 bits per channel, as String formats it.
func (c Color) rounded() Color {
	for i, v := range c {
		c[i] = math.Round(255*v) / 255
	}
	return c
}
