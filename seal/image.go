package seal

import (
	"crypto/sha256"
	"strconv"

	"countersign/pdf"
	"countersign/seal/picture"
)

type placedImage struct {
	ref  pdf.Ref
	w, h int
	dark picture.Darkness
}

// image embeds a PNG, with colors and transparency in separate streams (8.9.5, 11.6.5.2). Identical images are embedded
// only once.
func (t *typesetter) image(b []byte) (placedImage, error) {
	key := string(sha256Of(b))
	if p, ok := t.inks[key]; ok {
		return p, nil
	}
	r, err := t.ahead.raster(key, b)
	if err != nil {
		return placedImage{}, err
	}
	d := pdf.Dict{
		{Key: "Type", Value: pdf.Value("/XObject")},
		{Key: "Subtype", Value: pdf.Value("/Image")},
		{Key: "Width", Value: pdf.Value(strconv.Itoa(r.W))},
		{Key: "Height", Value: pdf.Value(strconv.Itoa(r.H))},
		{Key: "ColorSpace", Value: pdf.Value(r.Space)},
		{Key: "BitsPerComponent", Value: pdf.Value(strconv.Itoa(r.Bits))},
		{Key: "Filter", Value: pdf.Value("/FlateDecode")},
	}
	if r.Alpha != nil {
		mask := d.Clone()
		mask.Set("ColorSpace", pdf.Value("/DeviceGray"))
		mask.Set("BitsPerComponent", pdf.Value("8"))
		d.Set("SMask", t.w.AddStream(mask, r.Alpha).Value())
	}
	p := placedImage{t.w.AddStream(d, r.Pixels), r.W, r.H, r.Dark}
	t.inks[key] = p
	return p, nil
}

func sha256Of(b []byte) []byte {
	s := sha256.Sum256(b)
	return s[:]
}
