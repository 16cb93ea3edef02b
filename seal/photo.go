package seal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"

	xdraw "golang.org/x/image/draw"

	"countersign/seal/refusal"
)

// Bounds of a picture that is attached: a photograph, mostly.
const (
	maxPhotoSide   = 16_384
	maxPhotoPixels = 50_000_000
	keptPhoto      = 8_000_000 // pixels; larger ones are scaled down
	photoQuality   = 88
)

// Photo decodes a JPEG or PNG within bounds, turns it as its EXIF data says, and
// returns it encoded anew: nothing of the file remains but what can be seen. The error
// is a *refusal.Error.
func Photo(b []byte) ([]byte, error) {
	cfg, format, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil || format != "jpeg" && format != "png" {
		return nil, refusal.New(refusal.PictureInvalid, "The picture cannot be read: it is no whole JPEG or PNG.")
	}
	if cfg.Width > maxPhotoSide || cfg.Height > maxPhotoSide || cfg.Width*cfg.Height > maxPhotoPixels {
		return nil, refusal.New(refusal.PictureTooLarge, fmt.Sprintf("The picture has %d × %d pixels, which is too many.", cfg.Width, cfg.Height))
	}
	img, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, refusal.New(refusal.PictureInvalid, "The picture cannot be read: it is no whole JPEG or PNG.")
	}
	img = fitPhoto(img)
	var out bytes.Buffer
	if format == "jpeg" {
		err = jpeg.Encode(&out, turn(img, exifOrientation(b)), &jpeg.Options{Quality: photoQuality})
	} else {
		err = png.Encode(&out, img)
	}
	if err != nil {
		return nil, fmt.Errorf("seal: encoding a picture: %w", err)
	}
	return out.Bytes(), nil
}

// fitPhoto scales a picture down to the pixels that are kept.
func fitPhoto(img image.Image) image.Image {
	r := img.Bounds()
	w, h := r.Dx(), r.Dy()
	k := 1.0
	for float64(w)*k*float64(h)*k > keptPhoto {
		k *= 0.97
	}
	if k == 1 {
		return img
	}
	small := image.NewNRGBA(image.Rect(0, 0, max(1, int(float64(w)*k)), max(1, int(float64(h)*k))))
	xdraw.ApproxBiLinear.Scale(small, small.Bounds(), img, r, xdraw.Src, nil)
	return small
}

// turn turns and mirrors a picture so that it is upright, by its EXIF orientation.
func turn(img image.Image, orientation int) image.Image {
	if orientation < 2 || orientation > 8 {
		return img
	}
	r := img.Bounds()
	src := image.NewNRGBA(image.Rect(0, 0, r.Dx(), r.Dy()))
	draw.Draw(src, src.Bounds(), img, r.Min, draw.Src)
	w, h := r.Dx(), r.Dy()
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
			case 6: // to be turned clockwise
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8: // anticlockwise
				tx, ty = y, w-1-x
			}
			copy(dst.Pix[dst.PixOffset(tx, ty):][:4], src.Pix[src.PixOffset(x, y):][:4])
		}
	}
	return dst
}

// exifOrientation is the orientation that a JPEG's EXIF data gives, 1 where it gives none.
func exifOrientation(b []byte) int {
	for at := 2; at+4 <= len(b) && b[at] == 0xff; { // the segments before the picture (ITU T.81, B.1.1)
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

// tiffOrientation is the value of tag 274 in the first directory of a TIFF structure.
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
