package seal

import (
	"bytes"
	"fmt"
	"image"
	"image/png"

	xdraw "golang.org/x/image/draw"

	"countersign/seal/refusal"
)

// Bounds of a logo.
const (
	maxLogoPixels = 8 << 20 // of the picture that is uploaded
	logoWidth     = 720     // that is kept: twice what is shown, for fine screens
	logoHeight    = 180
)

// Logo decodes a PNG or JPEG within bounds and returns it as PNG, scaled down to what is
// shown: nothing of the file remains but what can be seen. The error is a *refusal.Error.
func Logo(b []byte) ([]byte, error) {
	cfg, format, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil || format != "png" && format != "jpeg" {
		return nil, refusal.New(refusal.PictureInvalid, "The logo cannot be read: it is no whole PNG or JPEG.")
	}
	if cfg.Width > maxPNGSide || cfg.Height > maxPNGSide || cfg.Width*cfg.Height > maxLogoPixels {
		return nil, refusal.New(refusal.PictureTooLarge, fmt.Sprintf("The logo has %d × %d pixels, which is too many.", cfg.Width, cfg.Height))
	}
	img, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, refusal.New(refusal.PictureInvalid, "The logo cannot be read: it is no whole PNG or JPEG.")
	}
	if format == "jpeg" {
		img = turn(img, exifOrientation(b))
	}
	r := img.Bounds()
	k := min(1, float64(logoWidth)/float64(r.Dx()), float64(logoHeight)/float64(r.Dy()))
	kept := image.NewNRGBA(image.Rect(0, 0, max(1, int(float64(r.Dx())*k)), max(1, int(float64(r.Dy())*k))))
	xdraw.CatmullRom.Scale(kept, kept.Bounds(), img, r, xdraw.Src, nil)
	if !visible(kept) {
		return nil, refusal.New(refusal.PictureInvalid, "The logo is empty: every pixel is transparent.")
	}
	var out bytes.Buffer
	if err := png.Encode(&out, toPalette(kept)); err != nil {
		return nil, fmt.Errorf("seal: encoding a logo: %w", err)
	}
	return out.Bytes(), nil
}
