package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"

	xdraw "golang.org/x/image/draw"

	"countersign/seal/rejection"
)

// Limits for an attached picture, usually a photograph.
const (
	maxPhotoSide   = 16_384
	maxPhotoPixels = 50_000_000
	maxStoredPhoto = 8_000_000 // maximum number of pixels; larger photos are scaled down
	photoQuality   = 88
)

// Photo decodes a JPEG or PNG within limits, rotates it according to its EXIF data, and returns it re-encoded, so that
// only the visible picture is preserved. The error is a *rejection.Error.
func Photo(b []byte) ([]byte, error) {
	img, format, err := decodePicture(b, "picture", "JPEG or PNG", maxPhotoSide, maxPhotoPixels)
	if err != nil {
		return nil, err
	}
	img = fitPhoto(img, maxStoredPhoto)
	var out bytes.Buffer
	if format == "jpeg" {
		err = jpeg.Encode(&out, orient(img, exifOrientation(b)), &jpeg.Options{Quality: photoQuality})
	} else {
		err = png.Encode(&out, img)
	}
	if err != nil {
		return nil, fmt.Errorf("seal: encoding a picture: %w", err)
	}
	return out.Bytes(), nil
}

// decodePicture decodes a JPEG or PNG within limits. The error is a *rejection.Error, which refers to the picture by the
// given name.
func decodePicture(b []byte, what, formats string, maxSide, maxPixels int) (img image.Image, format string, err error) {
	invalid := rejection.New(rejection.PictureInvalid, fmt.Sprintf("The %s cannot be read: it is not a complete %s.", what, formats))
	cfg, format, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil || format != "jpeg" && format != "png" {
		return nil, "", invalid
	}
	if cfg.Width > maxSide || cfg.Height > maxSide || cfg.Width*cfg.Height > maxPixels {
		return nil, "", rejection.New(rejection.PictureTooLarge, fmt.Sprintf("The %s is too large: %d × %d pixels.", what, cfg.Width, cfg.Height))
	}
	if img, _, err = image.Decode(bytes.NewReader(b)); err != nil {
		return nil, "", invalid
	}
	return img, format, nil
}

// fitPhoto scales a picture down to at most the given number of pixels.
func fitPhoto(img image.Image, keep float64) image.Image {
	r := img.Bounds()
	w, h := r.Dx(), r.Dy()
	k := 1.0
	for float64(w)*k*float64(h)*k > keep {
		k *= 0.97
	}
	if k == 1 {
		return img
	}
	return scaled(img, k, xdraw.ApproxBiLinear)
}

// orient rotates and mirrors a picture so that it is upright, according to its EXIF orientation.
func orient(img image.Image, orientation int) image.Image {
	if orientation < 2 || orientation > 8 {
		return img
	}
	src := toNRGBA(img)
	w, h := src.Rect.Dx(), src.Rect.Dy()
	size := image.Rect(0, 0, w, h)
	if orientation >= 5 {
		size = image.Rect(0, 0, h, w)
	}
	dst := image.NewNRGBA(size)
	for y := range h {
		for x := range w {
			var tx, ty int
			switch orientation {
			case 2: // mirrored
				tx, ty = w-1-x, y
			case 3: // upside down
				tx, ty = w-1-x, h-1-y
			case 4:
				tx, ty = x, h-1-y
			case 5:
				tx, ty = y, x
			case 6: // rotate clockwise
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8: // rotate counterclockwise
				tx, ty = y, w-1-x
			}
			copy(dst.Pix[dst.PixOffset(tx, ty):][:4], src.Pix[src.PixOffset(x, y):][:4])
		}
	}
	return dst
}

// exifOrientation returns the orientation in a JPEG's EXIF data, or 1 if absent.
func exifOrientation(b []byte) int {
	for at := 2; at+4 <= len(b) && b[at] == 0xff; { // segments before the image data (ITU T.81, B.1.1)
		marker, size := b[at+1], int(binary.BigEndian.Uint16(b[at+2:]))
		if marker == 0xda || size < 2 || at+2+size > len(b) {
			break
		}
		body := b[at+4 : at+2+size]
		if marker == 0xe1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")) {
			return tiffOrientation(body[6:])
		}
		at += 2 + size
	}
	return 1
}

// tiffOrientation returns the value of tag 274 in the first directory of a TIFF structure.
func tiffOrientation(b []byte) int {
	const tagOrientation, typeShort, entrySize = 0x112, 3, 12
	if len(b) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if b[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return 1
	}
	entries := b[at+2:]
	for range order.Uint16(b[at:]) {
		if len(entries) < entrySize {
			break
		}
		if order.Uint16(entries) == tagOrientation && order.Uint16(entries[2:]) == typeShort {
			return int(order.Uint16(entries[8:]))
		}
		entries = entries[entrySize:]
	}
	return 1
}

// Limits for a logo.
const (
	maxLogoPixels = 8 << 20 // maximum size of the uploaded picture
	logoWidth     = 720     // stored width, twice the displayed width for high-resolution screens
	logoHeight    = 180
)

// Logo decodes a PNG or JPEG within limits and returns it as PNG, scaled down to at most logoWidth by logoHeight, so
// that only the visible picture is preserved. The error is a *rejection.Error.
func Logo(b []byte) ([]byte, error) {
	img, format, err := decodePicture(b, "logo", "PNG or JPEG", maxPNGSide, maxLogoPixels)
	if err != nil {
		return nil, err
	}
	if format == "jpeg" {
		img = orient(img, exifOrientation(b))
	}
	r := img.Bounds()
	k := min(1, float64(logoWidth)/float64(r.Dx()), float64(logoHeight)/float64(r.Dy()))
	kept := scaled(img, k, xdraw.CatmullRom)
	if !hasVisiblePixel(kept) {
		return nil, rejection.New(rejection.PictureInvalid, "The logo is empty: every pixel is transparent.")
	}
	var out bytes.Buffer
	if err := png.Encode(&out, toPalette(kept)); err != nil {
		return nil, fmt.Errorf("seal: encoding a logo: %w", err)
	}
	return out.Bytes(), nil
}
