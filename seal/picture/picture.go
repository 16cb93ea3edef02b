// Package picture decodes uploaded pictures, such as signatures, photographs and logos, within limits.
package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"sync"

	xdraw "golang.org/x/image/draw"

	"countersign/seal/rejection"
)

// Limits for a signature picture.
const (
	maxPNGBytes     = 2 << 20
	maxPNGSide      = 8192
	maxPNGPixels    = 8 << 20 // maximum before scaling down
	maxStoredPixels = 1 << 20 // maximum after Check, 300 dpi at 11 by 1 inches
)

// Check decodes a picture within limits and returns it re-encoded with its transparency. It scales the picture down if
// it has more than a million pixels. The error is a *rejection.Error that describes the problem.
func Check(b []byte) (Picture, error) {
	img, err := decodePNG(b, maxPNGPixels)
	if err != nil {
		return Picture{}, err
	}
	r := img.Bounds()
	if n := r.Dx() * r.Dy(); n > maxStoredPixels {
		k := 1.0
		for float64(n)*k*k > maxStoredPixels {
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
	return Picture{PNG: out.Bytes(), Size: len(placed.Pixels) + len(placed.Alpha) + placedSize}, nil
}

// placedSize is an upper bound, in bytes, on the size of a picture in a file, excluding its samples.
const placedSize = 2 << 10

// toPalette converts a picture with at most 256 colors, such as most signatures, to a palette image, which can be
// encoded in a fifth of the time. It pads the palette so that the encoder does not pack several pixels into a byte.
// Packing requires a function call per pixel, and takes longer than compressing whole bytes.
func toPalette(img *image.NRGBA) image.Image {
	p := image.NewPaletted(img.Rect, make(color.Palette, 0, 256))
	index := make(map[uint32]uint8)
	var last uint32
	var at uint8
	for i := range p.Pix {
		c := binary.LittleEndian.Uint32(img.Pix[4*i:])
		if i == 0 || c != last {
			known, ok := index[c]
			if !ok {
				if len(index) == 256 {
					return img
				}
				known = uint8(len(index)) //nolint:gosec // below 256
				index[c] = known
				pixel := img.Pix[4*i : 4*i+4]
				p.Palette = append(p.Palette, color.NRGBA{R: pixel[0], G: pixel[1], B: pixel[2], A: pixel[3]})
			}
			last, at = c, known
		}
		p.Pix[i] = at
	}
	for len(p.Palette) <= 16 {
		p.Palette = append(p.Palette, color.NRGBA{})
	}
	return p
}

// fromPalette reverses toPalette.
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

// pngEncoders is a pool of encoder buffers. Allocating a buffer accounts for most of the time for encoding a small
// picture.
var pngEncoders = &encoderPool{}

type encoderPool struct{ sync.Pool }

func (p *encoderPool) Get() *png.EncoderBuffer {
	b, _ := p.Pool.Get().(*png.EncoderBuffer)
	return b // if nil, the encoder allocates one
}

func (p *encoderPool) Put(b *png.EncoderBuffer) { p.Pool.Put(b) }

func decodePNG(b []byte, maxPixels int) (*image.NRGBA, error) {
	if len(b) > maxPNGBytes {
		return nil, rejection.New(rejection.PNGTooLarge, "The picture is larger than 2 MiB.")
	}
	// Check the dimensions before decoding, because a small file can declare billions of pixels.
	cfg, err := png.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, rejection.New(rejection.PNGInvalid, "The picture is not a valid PNG.")
	}
	if cfg.Width > maxPNGSide || cfg.Height > maxPNGSide || pixelWeight(cfg.ColorModel)*cfg.Width*cfg.Height > maxPixels {
		return nil, rejection.New(rejection.PNGTooLarge, fmt.Sprintf("The picture is too large: %d × %d pixels.", cfg.Width, cfg.Height))
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, rejection.New(rejection.PNGInvalid, "The picture is not a valid PNG.")
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

func scaled(img image.Image, k float64, by xdraw.Scaler) *image.NRGBA {
	r := img.Bounds()
	out := image.NewNRGBA(image.Rect(0, 0, max(1, int(float64(r.Dx())*k)), max(1, int(float64(r.Dy())*k))))
	by.Scale(out, out.Bounds(), img, r, xdraw.Src, nil)
	return out
}

// hasVisiblePixel reports whether the picture has any pixel that is not fully transparent.
func hasVisiblePixel(img *image.NRGBA) bool {
	for i := 3; i < len(img.Pix); i += 4 {
		if img.Pix[i] != 0 {
			return true
		}
	}
	return false
}

// maxAllPixels limits the total size of the pictures in one submission. It allows two pictures of maximum size, a
// signature and initials.
const maxAllPixels = 2 * maxPNGPixels

// Checker checks the pictures of one submission, like Check. It decodes identical pictures only once and limits the
// total cost.
type Checker struct {
	checked map[[sha256.Size]byte]checkedPicture
	pixels  int
}

type checkedPicture struct {
	Picture

	err error
}

// Picture is a checked picture.
type Picture struct {
	PNG  []byte
	Size int // size in a sealed document, in bytes
}

// Check returns a re-encoded picture. The error is a *rejection.Error.
func (p *Checker) Check(b []byte) (Picture, error) {
	if len(b) > maxPNGBytes { // too large; rejected without hashing
		return Check(b)
	}
	key := sha256.Sum256(b)
	if c, ok := p.checked[key]; ok {
		return c.Picture, c.err
	}
	// The declared size counts even if the picture is rejected.
	if cfg, err := png.DecodeConfig(bytes.NewReader(b)); err == nil && cfg.Width <= maxPNGSide && cfg.Height <= maxPNGSide {
		if p.pixels += cfg.Width * cfg.Height; p.pixels > maxAllPixels {
			return Picture{}, rejection.New(rejection.PNGTooLarge, "The pictures have too many pixels in total. Use smaller pictures, or the same picture in several fields.")
		}
	}
	var c checkedPicture
	c.Picture, c.err = Check(b)
	if p.checked == nil {
		p.checked = map[[sha256.Size]byte]checkedPicture{}
	}
	p.checked[key] = c
	return c.Picture, c.err
}
