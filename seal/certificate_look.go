package seal

import (
	"strconv"

	"countersign/seal/text"
)

// accentOf is the colour of the certificate's marks: the sender's, written as #rrggbb, or
// the service's.
func accentOf(s string) colour {
	if len(s) != len("#rrggbb") || s[0] != '#' {
		return accent
	}
	n, err := strconv.ParseUint(s[1:], 16, 24)
	if err != nil {
		return accent
	}
	return colour{float64(n>>16) / 255, float64(n>>8&255) / 255, float64(n&255) / 255}
}

// bold is a face in the certificate's colour.
func (c *certificate) bold(size float64) face { return face{text.Bold, size, c.accent} }

// drawLogo draws the sender's logo above the title, and leaves the room that it takes.
func (c *certificate) drawLogo() {
	const w, h = 180.0, 36.0
	p := c.page()
	p.image(certMargin, 52, w, h, c.job.Logo)
	c.y += h + 8
}
