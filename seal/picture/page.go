package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"

	"countersign/seal/rejection"
)

// The range of usable resolutions, in dots per inch. Programs write lower values if they do not know the actual size.
const (
	minResolution = 100
	maxResolution = 1200
)

// Page sizes in points. If a picture has no usable resolution, its page is the largest one that fits on portrait or
// landscape A4.
const (
	maxStoredPage   = 12_000_000 // maximum number of pixels; larger pictures are scaled down
	a4Short, a4Long = 595.0, 842.0
	maxPage         = 1300.0 // maximum length of a side, slightly more than the longer side of A3
	minPage         = 72.0
)

// IsPicture reports whether a file begins like a PNG or JPEG.
func IsPicture(head []byte) bool {
	return bytes.HasPrefix(head, pngSignature) || bytes.HasPrefix(head, []byte("\xff\xd8\xff"))
}

var pngSignature = []byte("\x89PNG\r\n\x1a\n")

// Page returns a PDF with one page that shows a JPEG or PNG on a white background. The picture is upright according to
// its EXIF data, and its resolution determines its size. The same picture always results in the same bytes, and no
// other part of the file is preserved. The error is a *rejection.Error.
func Page(b []byte) ([]byte, error) {
	if isAnimated(b) {
		return nil, rejection.New(rejection.PictureInvalid, "The picture is animated. Upload a PNG or JPEG with a single image.")
	}
	img, format, err := decodePicture(b, "picture", "JPEG or PNG", maxPhotoSide, maxPhotoPixels)
	if err != nil {
		return nil, err
	}
	full := img.Bounds().Size()
	img = fitPhoto(img, maxStoredPage)
	orientation, dpi := 1, pngResolution(b)
	if format == "jpeg" {
		orientation, dpi = exifOrientation(b), jpegResolution(b)
	}
	img = orient(img, orientation)
	if orientation >= 5 && orientation <= 8 {
		full.X, full.Y = full.Y, full.X
	}
	width, height := pageSize(full, dpi)
	encoded, err := encodeSamples(img, format)
	if err != nil {
		return nil, err
	}
	return picturePDF(img.Bounds().Size(), encoded, width, height), nil
}

// pageSize returns the size of the page for a picture, in points.
func pageSize(pixels image.Point, dpi float64) (width, height float64) {
	w, h := float64(pixels.X), float64(pixels.Y)
	if dpi >= minResolution && dpi <= maxResolution {
		width, height = w/dpi*72, h/dpi*72
		if min(width, height) >= minPage && max(width, height) <= maxPage {
			return width, height
		}
	}
	short, long := a4Short, a4Long
	k := min(short/w, long/h)
	if w > h {
		k = min(long/w, short/h)
	}
	return max(w*k, 1), max(h*k, 1)
}

// encodedImage is the content of a PDF image XObject and the dictionary entries for its encoding.
type encodedImage struct {
	data    []byte
	entries string
}

// maxLosslessPage is the maximum size of a lossless picture, in bytes. A larger picture is encoded as JPEG.
const maxLosslessPage = 8 << 20

// encodeSamples encodes pixels on a white background. It encodes photographs as JPEG, and other pictures losslessly.
func encodeSamples(img image.Image, format string) (encodedImage, error) {
	if format == "jpeg" {
		return jpegSamples(img)
	}
	size := img.Bounds().Size()
	flat := image.NewNRGBA(image.Rectangle{Max: size})
	draw.Draw(flat, flat.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(flat, flat.Rect, img, img.Bounds().Min, draw.Over)
	var lossless image.Image = flat
	space, components := "/DeviceRGB", 3
	if gray := grayOf(flat); gray != nil {
		lossless, space, components = gray, "/DeviceGray", 1
	}
	var out bytes.Buffer
	if err := png.Encode(&out, lossless); err != nil {
		return encodedImage{}, fmt.Errorf("seal: encoding a picture: %w", err)
	}
	if out.Len() > maxLosslessPage {
		return jpegSamples(lossless)
	}
	// PNG samples can be copied unchanged, because PDF supports PNG predictors (ISO 32000-2, 7.4.4.4).
	entries := fmt.Sprintf("/ColorSpace%s/Filter/FlateDecode/DecodeParms<</Predictor 15/Colors %d/BitsPerComponent 8/Columns %d>>", space, components, size.X)
	return encodedImage{pngSamples(out.Bytes()), entries}, nil
}

func jpegSamples(img image.Image) (encodedImage, error) {
	space := "/DeviceRGB"
	if _, gray := img.(*image.Gray); gray {
		space = "/DeviceGray"
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, &jpeg.Options{Quality: photoQuality}); err != nil {
		return encodedImage{}, fmt.Errorf("seal: encoding a picture: %w", err)
	}
	return encodedImage{out.Bytes(), "/ColorSpace" + space + "/Filter/DCTDecode"}, nil
}

// grayOf returns the picture in grayscale, or nil if it contains colors.
func grayOf(img *image.NRGBA) *image.Gray {
	out := image.NewGray(img.Rect)
	for i := range out.Pix {
		p := img.Pix[4*i:]
		if p[0] != p[1] || p[0] != p[2] {
			return nil
		}
		out.Pix[i] = p[0]
	}
	return out
}

// picturePDF returns a PDF with one page that is filled by an image.
func picturePDF(pixels image.Point, s encodedImage, width, height float64) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&b, format, args...)
		b.WriteString("\nendobj\n")
	}
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	object("<</Type/Catalog/Pages 2 0 R>>")
	object("<</Type/Pages/Kids[3 0 R]/Count 1>>")
	object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 %.2f %.2f]/Resources<</XObject<</Im 5 0 R>>>>/Contents 4 0 R>>", width, height)
	content := fmt.Sprintf("q %.2f 0 0 %.2f 0 0 cm /Im Do Q", width, height)
	object("<</Length %d>>\nstream\n%s\nendstream", len(content), content)
	object("<</Type/XObject/Subtype/Image/Width %d/Height %d/BitsPerComponent 8%s/Length %d>>\nstream\n%s\nendstream",
		pixels.X, pixels.Y, s.entries, len(s.data), s.data)
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes()
}

// pngSamples returns the compressed samples of a PNG.
func pngSamples(b []byte) (out []byte) {
	for b = b[len(pngSignature):]; len(b) >= 12; {
		size := int(binary.BigEndian.Uint32(b))
		if string(b[4:8]) == "IDAT" {
			out = append(out, b[8:8+size]...)
		}
		b = b[12+size:]
	}
	return out
}

// pngChunk returns the data of a chunk that precedes the samples of a PNG, or nil if it is absent.
func pngChunk(b []byte, name string) []byte {
	if !bytes.HasPrefix(b, pngSignature) {
		return nil
	}
	for b = b[len(pngSignature):]; len(b) >= 12; {
		size := int64(binary.BigEndian.Uint32(b))
		if kind := string(b[4:8]); kind == "IDAT" || size+12 > int64(len(b)) {
			return nil
		} else if kind == name {
			return b[8 : 8+size]
		}
		b = b[12+size:]
	}
	return nil
}

// isAnimated reports whether a PNG is animated (PNG, third edition, 11.3.6.1).
func isAnimated(b []byte) bool { return pngChunk(b, "acTL") != nil }

// pngResolution returns the resolution of a PNG in dots per inch. It returns 0 if there is none, or if the pixels are
// not square.
func pngResolution(b []byte) float64 {
	const perMeter = 1
	d := pngChunk(b, "pHYs")
	if len(d) != 9 || d[8] != perMeter {
		return 0
	}
	x, y := binary.BigEndian.Uint32(d), binary.BigEndian.Uint32(d[4:])
	if x != y {
		return 0
	}
	return math.Round(float64(x) * 0.0254)
}

// jpegResolution returns the resolution in the JFIF header of a JPEG, in dots per inch. It returns 0 if there is none,
// or if the pixels are not square.
func jpegResolution(b []byte) float64 {
	if len(b) < 18 || !bytes.HasPrefix(b[2:], []byte{0xff, 0xe0}) || string(b[6:11]) != "JFIF\x00" {
		return 0
	}
	x, y := binary.BigEndian.Uint16(b[14:]), binary.BigEndian.Uint16(b[16:])
	switch {
	case x != y:
		return 0
	case b[13] == 1: // per inch
		return float64(x)
	case b[13] == 2: // per centimeter
		return math.Round(float64(x) * 2.54)
	}
	return 0
}
