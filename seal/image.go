package seal

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strconv"
	"sync"

	xdraw "golang.org/x/image/draw"

	"countersign/pdf"
	"countersign/seal/refusal"
)

// Bounds of a picture.
const (
	maxPNGBytes  = 2 << 20
	maxPNGSide   = 8192
	maxPNGPixels = 8 << 20 // before scaling down
	keptPixels   = 1 << 20 // what checkPNG scales down to: 300 dpi over 11 inches by 1
)

// checkPNG decodes a picture within limits and returns it re-encoded, with its transparency, scaled down if it has
// more than a million pixels. The error is a *refusal.Error that describes the problem.
func checkPNG(b []byte) (Picture, error) {
	img, err := decodePNG(b, maxPNGPixels)
	if err != nil {
		return Picture{}, err
	}
	r := img.Bounds()
	if n := r.Dx() * r.Dy(); n > keptPixels {
		k := 1.0
		for float64(n)*k*k > keptPixels {
			k *= 0.95
		}
		img = scaled(img, k, xdraw.ApproxBiLinear)
	}
	if err := checkVisible(img); err != nil {
		return Picture{}, err
	}
	var out bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed, BufferPool: pngEncoders}
	if err := enc.Encode(&out, toPalette(img)); err != nil {
		return Picture{}, fmt.Errorf("seal: encoding a picture: %w", err)
	}
	placed := rasterOfImage(img)
	return Picture{PNG: out.Bytes(), Size: len(placed.pixels) + len(placed.alpha) + placedSize}, nil
}

// placedSize is more than a picture takes in a file beside its samples, in bytes.
const placedSize = 2 << 10

// toPalette gives a picture of at most 256 colours, as most signatures are, a
// palette: it is encoded in a fifth of the time.
func toPalette(img *image.NRGBA) image.Image {
	p := image.NewPaletted(img.Rect, nil)
	index := make(map[[4]byte]uint8)
	var last [4]byte
	var at uint8
	for i := range p.Pix {
		c := [4]byte(img.Pix[4*i:])
		if i == 0 || c != last {
			known, ok := index[c]
			if !ok {
				if len(index) == 256 {
					return img
				}
				known = uint8(len(index)) //nolint:gosec // below 256
				index[c] = known
				p.Palette = append(p.Palette, color.NRGBA{R: c[0], G: c[1], B: c[2], A: c[3]})
			}
			last, at = c, known
		}
		p.Pix[i] = at
	}
	return p
}

// fromPalette undoes toPalette.
func fromPalette(p *image.Paletted) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, p.Rect.Dx(), p.Rect.Dy()))
	var colours [256][4]byte
	for i, c := range p.Palette {
		n, _ := color.NRGBAModel.Convert(c).(color.NRGBA)
		colours[i] = [4]byte{n.R, n.G, n.B, n.A}
	}
	for y := range p.Rect.Dy() {
		row := p.Pix[y*p.Stride : y*p.Stride+p.Rect.Dx()]
		out := img.Pix[y*img.Stride:]
		for x, i := range row {
			copy(out[4*x:4*x+4], colours[i][:])
		}
	}
	return img
}

// pngEncoders are the encoder's buffers, most of what encoding a small picture costs.
var pngEncoders = &encoderPool{}

type encoderPool struct{ sync.Pool }

func (p *encoderPool) Get() *png.EncoderBuffer {
	b, _ := p.Pool.Get().(*png.EncoderBuffer)
	return b // nil: the encoder makes one
}

func (p *encoderPool) Put(b *png.EncoderBuffer) { p.Pool.Put(b) }

func decodePNG(b []byte, maxPixels int) (*image.NRGBA, error) {
	if len(b) > maxPNGBytes {
		return nil, refusal.New(refusal.PNGTooLarge, "The picture is larger than 2 MiB.")
	}
	// The size is read before anything is decoded: a small file can claim
	// billions of pixels.
	cfg, err := png.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, refusal.New(refusal.PNGInvalid, "The picture is not a valid PNG.")
	}
	if cfg.Width > maxPNGSide || cfg.Height > maxPNGSide || pixelWeight(cfg.ColorModel)*cfg.Width*cfg.Height > maxPixels {
		return nil, refusal.New(refusal.PNGTooLarge, fmt.Sprintf("The picture has %d × %d pixels, which is too many.", cfg.Width, cfg.Height))
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, refusal.New(refusal.PNGInvalid, "The picture is not a valid PNG.")
	}
	switch img := img.(type) {
	case *image.NRGBA:
		return img, nil
	case *image.Paletted:
		return fromPalette(img), nil
	}
	return toNRGBA(img), nil
}

func toNRGBA(img image.Image) *image.NRGBA {
	r := img.Bounds()
	n := image.NewNRGBA(image.Rect(0, 0, r.Dx(), r.Dy()))
	draw.Draw(n, n.Bounds(), img, r.Min, draw.Src)
	return n
}

// scaled is a picture made larger or smaller by a factor.
func scaled(img image.Image, k float64, by xdraw.Scaler) *image.NRGBA {
	r := img.Bounds()
	out := image.NewNRGBA(image.Rect(0, 0, max(1, int(float64(r.Dx())*k)), max(1, int(float64(r.Dy())*k))))
	by.Scale(out, out.Bounds(), img, r, xdraw.Src, nil)
	return out
}

// isOpaque reports whether a pixel of the picture is not wholly transparent.
func isOpaque(img *image.NRGBA) bool {
	for i := 3; i < len(img.Pix); i += 4 {
		if img.Pix[i] != 0 {
			return true
		}
	}
	return false
}

type placedImage struct {
	ref  pdf.Ref
	w, h int
	dark darkness
}

// image embeds a PNG: colours and transparency apart (8.9.5, 11.6.5.2). Equal
// pictures are embedded once.
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
		{Key: "Width", Value: pdf.Value(strconv.Itoa(r.w))},
		{Key: "Height", Value: pdf.Value(strconv.Itoa(r.h))},
		{Key: "ColorSpace", Value: pdf.Value(r.space)},
		{Key: "BitsPerComponent", Value: pdf.Value(strconv.Itoa(r.bits))},
		{Key: "Filter", Value: pdf.Value("/FlateDecode")},
	}
	if r.alpha != nil {
		mask := d.Clone()
		mask.Set("ColorSpace", pdf.Value("/DeviceGray"))
		mask.Set("BitsPerComponent", pdf.Value("8"))
		d.Set("SMask", t.w.AddStream(mask, r.alpha).Value())
	}
	p := placedImage{t.w.AddStream(d, r.pixels), r.w, r.h, r.dark}
	t.inks[key] = p
	return p, nil
}

// raster is a picture as PDF wants it: samples and transparency, compressed.
type raster struct {
	w, h          int
	space         string
	bits          int    // per component
	pixels, alpha []byte // alpha is nil if all is opaque
	dark          darkness
}

func rasterOf(b []byte) (raster, error) {
	img, err := decodePNG(b, maxPNGPixels)
	if err != nil {
		return raster{}, err
	}
	return rasterOfImage(img), nil
}

func rasterOfImage(img *image.NRGBA) raster {
	r := raster{w: img.Rect.Dx(), h: img.Rect.Dy(), bits: 8, dark: darknessOf(img)}
	alpha, opaque := make([]byte, 0, r.w*r.h), true
	for i := 3; i < len(img.Pix); i += 4 {
		alpha = append(alpha, img.Pix[i])
		opaque = opaque && img.Pix[i] == 255
	}
	if !opaque {
		r.alpha = pdf.Deflate(alpha)
	}
	colour, one, grey := colours(img)
	var pixels []byte
	switch {
	case one: // a pen's: nothing but its transparency varies
		r.space, r.bits = fmt.Sprintf("[/Indexed/DeviceRGB 0<%02X%02X%02X>]", colour[0], colour[1], colour[2]), 1
		pixels = make([]byte, (r.w+7)/8*r.h)
	case grey:
		r.space, pixels = "/DeviceGray", samples(img, 1)
	default:
		r.space, pixels = "/DeviceRGB", samples(img, 3)
	}
	r.pixels = pdf.Deflate(pixels)
	return r
}

// samples returns the first n of each pixel's components. Those of invisible
// pixels are 0: they cannot be seen but cost space.
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

// colours says whether the visible pixels have one colour, and which, and
// whether all are grey.
func colours(img *image.NRGBA) (first [3]byte, one, grey bool) {
	seen := false
	one, grey = true, true
	for i := 0; i+3 < len(img.Pix) && (one || grey); i += 4 {
		p := img.Pix[i : i+4 : i+4]
		if p[3] == 0 {
			continue
		}
		if !seen {
			first, seen = [3]byte(p[:3]), true
		}
		one = one && first == [3]byte(p[:3])
		grey = grey && p[0] == p[1] && p[1] == p[2]
	}
	return first, one, grey
}

func sha256Of(b []byte) []byte {
	s := sha256.Sum256(b)
	return s[:]
}

// maxAllPixels limits the pictures of one submission together: two of the largest accepted ones, as a signature and
// initials.
const maxAllPixels = 2 * maxPNGPixels

// Pictures checks the pictures of one submission, as checkPNG does. Equal ones
// are decoded once, and what all others may cost is bounded.
type Pictures struct {
	checked map[[sha256.Size]byte]checkedPicture
	pixels  int
}

type checkedPicture struct {
	Picture

	err error
}

// Picture is a picture that was checked.
type Picture struct {
	PNG  []byte
	Size int // bytes that it takes in a sealed document
}

// Check returns a picture encoded again. The error is a *refusal.Error.
func (p *Pictures) Check(b []byte) (Picture, error) {
	if len(b) > maxPNGBytes { // not worth a hash
		return checkPNG(b)
	}
	key := sha256.Sum256(b)
	if c, ok := p.checked[key]; ok {
		return c.Picture, c.err
	}
	// Whatever it claims counts, also if it is refused in the end.
	if cfg, err := png.DecodeConfig(bytes.NewReader(b)); err == nil && cfg.Width <= maxPNGSide && cfg.Height <= maxPNGSide {
		if p.pixels += cfg.Width * cfg.Height; p.pixels > maxAllPixels {
			return Picture{}, refusal.New(refusal.PNGTooLarge, "The pictures have too many pixels altogether. Use smaller ones, or the same one in several fields.")
		}
	}
	var c checkedPicture
	c.Picture, c.err = checkPNG(b)
	if p.checked == nil {
		p.checked = map[[sha256.Size]byte]checkedPicture{}
	}
	p.checked[key] = c
	return c.Picture, c.err
}
