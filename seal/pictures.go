package seal

import (
	"bytes"
	"crypto/sha256"
	"image/png"

	"countersign/seal/refusal"
)

// maxAllPixels bounds the pictures of one submission together: two of the
// largest that are accepted alone, as a signature and initials.
const maxAllPixels = 2 * maxPNGPixels

// Pictures checks the pictures of one submission, as CheckPNG does. Equal ones
// are decoded once, and what all others may cost is bounded.
type Pictures struct {
	checked map[[sha256.Size]byte]checkedPicture
	pixels  int
}

type checkedPicture struct {
	png []byte
	err error
}

// Check returns a picture encoded anew. The error is a *refusal.Error.
func (p *Pictures) Check(b []byte) ([]byte, error) {
	if len(b) > maxPNGBytes { // not worth a hash
		return CheckPNG(b)
	}
	key := sha256.Sum256(b)
	if c, ok := p.checked[key]; ok {
		return c.png, c.err
	}
	// Whatever it claims counts, also if it is refused in the end.
	if cfg, err := png.DecodeConfig(bytes.NewReader(b)); err == nil && cfg.Width <= maxPNGSide && cfg.Height <= maxPNGSide {
		if p.pixels += cfg.Width * cfg.Height; p.pixels > maxAllPixels {
			return nil, refusal.New(refusal.PNGTooLarge, "The pictures have too many pixels altogether. Use smaller ones, or the same one in several fields.")
		}
	}
	var c checkedPicture
	c.png, c.err = CheckPNG(b)
	if p.checked == nil {
		p.checked = map[[sha256.Size]byte]checkedPicture{}
	}
	p.checked[key] = c
	return c.png, c.err
}
