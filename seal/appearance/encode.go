package appearance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"

	"countersign/seal/rejection"
)

const (
	// losslessBytes is the maximum size of a photograph that is always encoded losslessly. A larger one is encoded as
	// JPEG if that is smaller. For a page of text, JPEG is not smaller.
	losslessBytes = 300_000
	// maxLossless is the maximum size of any lossless picture.
	maxLossless = 2 * losslessBytes
	jpegQuality = 90
)

// Encode returns the picture in a format that browsers support, and its media type. The format is lossless PNG, or JPEG
// if the PNG would be too large. The encoded bytes are not evidence, because the hash covers only the pixels.
func (p *Picture) Encode() (b []byte, mediaType string, err error) {
	lossless, plain := &limitedBuffer{left: maxLossless}, isPlain(p.Image)
	if plain {
		err = encodePlain(lossless, p.Image)
	} else {
		err = png.Encode(lossless, reduced(p.Image))
	}
	if err != nil && !errors.Is(err, errFull) {
		return nil, "", fmt.Errorf("appearance: encode PNG: %w", err)
	}
	if err == nil && (plain || lossless.Len() <= losslessBytes) {
		return lossless.Bytes(), mediaPNG, nil
	}
	var lossy bytes.Buffer
	if err := jpeg.Encode(&lossy, opaque(p.Image), &jpeg.Options{Quality: jpegQuality}); err != nil {
		return nil, "", fmt.Errorf("appearance: encode JPEG: %w", err)
	}
	if err == nil && lossless.Len() <= lossy.Len() {
		return lossless.Bytes(), mediaPNG, nil
	}
	if int64(lossy.Len()) > maxContent(len(p.Image.Pix)/4) {
		return nil, "", rejection.New(rejection.PDFTooComplex, "The page cannot be displayed: its image would be too large.")
	}
	return lossy.Bytes(), mediaJPEG, nil
}

// maxContent returns an upper bound on the size of an encoded picture, in bytes. Even noise stays below this bound.
func maxContent(pixels int) int64 { return maxLossless + int64(pixels)*3/2 }

// Memory returns the memory required to receive a picture, in bytes. It includes the process's response in base64 and
// the decoded content.
func Memory(pixels int) int64 { return maxContent(pixels) * 5 / 2 }

// Media types of pictures.
const (
	mediaPNG  = "image/png"
	mediaJPEG = "image/jpeg"
)

// errFull stops the encoding of a picture that is too large.
var errFull = errors.New("appearance: the image is too large")

type limitedBuffer struct {
	bytes.Buffer

	left int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errFull
	}
	b.left -= len(p)
	return b.Buffer.Write(p)
}

// isPlain reports whether most pixels equal the previous pixel, as on a page of text, but not in a photograph.
func isPlain(img *image.NRGBA) bool {
	same, last := 0, uint32(0)
	for i := 0; i < len(img.Pix); i += 4 {
		c := binary.NativeEndian.Uint32(img.Pix[i:])
		if c == last {
			same++
		}
		last = c
	}
	return same >= len(img.Pix)/4*3/4
}

// reduced returns the same pixels in the smallest sufficient color model: gray, palette or RGB.
func reduced(img *image.NRGBA) image.Image {
	pix := img.Pix
	gray := true
	for i := 0; i < len(pix) && gray; i += 4 {
		gray = pix[i] == pix[i+1] && pix[i] == pix[i+2]
	}
	if gray {
		out := image.NewGray(img.Rect)
		for i := range out.Pix {
			out.Pix[i] = pix[4*i]
		}
		return out
	}
	if out := paletted(img); out != nil {
		return out
	}
	return opaque(img)
}

// paletted returns the picture with a palette, or nil if it has more than 256 colors.
func paletted(img *image.NRGBA) *image.Paletted {
	out := &image.Paletted{Pix: make([]byte, len(img.Pix)/4), Stride: img.Rect.Dx(), Rect: img.Rect}
	index := make(map[uint32]byte, 256)
	// Recent contains the last color for each hash with its index, so that the map is rarely needed.
	var recent [1 << 12]struct {
		color uint32
		index byte
	}
	for i := range out.Pix {
		c := binary.LittleEndian.Uint32(img.Pix[4*i:])
		r := &recent[c*0x9E3779B1>>20]
		if r.color != c { // a color is never zero, because the pixels are opaque
			at, ok := index[c]
			if !ok {
				if len(index) == 256 {
					return nil
				}
				at = byte(len(index)) //nolint:gosec // below 256
				index[c] = at
				out.Palette = append(out.Palette, color.NRGBA{img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], 0xFF})
			}
			r.color, r.index = c, at
		}
		out.Pix[i] = r.index
	}
	return out
}

// opaque returns the same opaque pixels as an image.RGBA. The encoders of the standard library read the pixels of this
// type directly. For other types, they call At for each pixel, which takes several times as long.
func opaque(img *image.NRGBA) *image.RGBA {
	return &image.RGBA{Pix: img.Pix, Stride: img.Stride, Rect: img.Rect}
}
