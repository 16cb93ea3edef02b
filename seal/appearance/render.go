package appearance

import (
	"crypto/sha256"
	"encoding/binary"
	"image"

	"countersign/seal/rejection"
)

// Picture is a page rendered at a level.
type Picture struct {
	Page  int
	Level Level
	// Image contains opaque pixels. It is valid until its document is closed or renders another page.
	Image *image.NRGBA
	// Width and Height are the size of the displayed page, in points.
	Width, Height float64
}

// Hash is the SHA-256 hash of a picture. It covers the width and height in pixels, each as four big-endian bytes, and
// the pixels row by row, each as red, green, blue and alpha.
type Hash [sha256.Size]byte

// Hash returns the hash of the picture.
func (p *Picture) Hash() Hash {
	h := sha256.New()
	var head [8]byte
	binary.BigEndian.PutUint32(head[:4], uint32(p.Image.Rect.Dx())) //nolint:gosec // at most MaxPixels
	binary.BigEndian.PutUint32(head[4:], uint32(p.Image.Rect.Dy())) //nolint:gosec // at most MaxPixels
	h.Write(head[:])
	h.Write(p.Image.Pix)
	return Hash(h.Sum(nil))
}

// PDFium constants (fpdfview.h).
const (
	bitmapBGRx        = 3
	renderAnnotations = 0x01
	renderRGB         = 0x10 // sample order, red first
	renderFlags       = renderAnnotations | renderRGB
	opaqueWhite       = 0xFFFFFFFF
)

// Render renders a page by its number, starting at 1. It draws the page with its annotations, and then its form fields,
// on an opaque white background.
func (d *Document) Render(number int, level Level) (*Picture, error) {
	handle, closePage, err := d.page(number)
	if err != nil {
		return nil, err
	}
	defer closePage()
	width, height := d.size(handle, number)
	if err := d.fault(nil); err != nil {
		return nil, err
	}
	w, h, err := level.Pixels(width, height)
	if err != nil {
		return nil, err
	}
	img, err := d.bitmap(handle, uint64(w), uint64(h)) //nolint:gosec // positive
	if err != nil {
		return nil, err
	}
	return &Picture{Page: number, Level: level, Image: img, Width: width, Height: height}, nil
}

// bitmap renders a page into the instance's memory.
func (d *Document) bitmap(page, w, h uint64) (*image.NRGBA, error) {
	buffer := d.call("malloc", w*h*4)
	if buffer == 0 {
		return nil, d.fault(ErrMemory)
	}
	bitmap := d.call("FPDFBitmap_CreateEx", w, h, bitmapBGRx, buffer, w*4)
	if bitmap == 0 {
		return nil, d.fault(ErrMemory)
	}
	d.call("FPDFBitmap_FillRect", bitmap, 0, 0, w, h, opaqueWhite)
	d.call("FPDF_RenderPageBitmap", bitmap, page, 0, 0, w, h, 0, renderFlags)
	d.call("FPDF_FFLDraw", d.form, bitmap, page, 0, 0, w, h, 0, renderFlags)
	d.call("FPDFBitmap_Destroy", bitmap)
	if err := d.fault(nil); err != nil {
		return nil, err
	}
	pix, ok := d.module.Memory().Read(uint32(buffer), uint32(w*h*4)) //nolint:gosec // a 32-bit address
	if !ok {
		return nil, rejection.New(rejection.PageNotRendered, "The page cannot be displayed.")
	}
	for i := 3; i < len(pix); i += 4 { // unused samples
		pix[i] = 0xFF
	}
	return &image.NRGBA{Pix: pix, Stride: int(w) * 4, Rect: image.Rect(0, 0, int(w), int(h))}, nil //nolint:gosec // at most MaxPixels
}
