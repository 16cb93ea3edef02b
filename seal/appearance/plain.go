package appearance

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"io"

	"github.com/klauspost/compress/zlib"
)

// Compression levels for plain pictures. For a page in RGB at 144 dpi, level 5 takes 8 ms longer than level 1, and the
// picture is only 4 % smaller.
const (
	paletteLevel = 5
	rgbLevel     = 1
)

// encodePlain writes a plain picture as a PNG (ISO/IEC 15948) without filters, with a palette, or in RGB if there are
// more than 256 colors. It takes a third of the CPU time of the standard library, whose filters would make a plain RGB
// picture larger.
func encodePlain(w *limitedBuffer, img *image.NRGBA) error {
	const bits, palette, rgb = 8, 3, 2 // bits per sample, and color types (11.2.2)
	width, height := img.Rect.Dx(), img.Rect.Dy()
	head := binary.BigEndian.AppendUint32(nil, uint32(width))  //nolint:gosec // at most MaxPixels
	head = binary.BigEndian.AppendUint32(head, uint32(height)) //nolint:gosec // at most MaxPixels
	var colors []byte
	level, row := rgbLevel, rgbRow(img)
	indexed := paletted(img)
	if indexed == nil {
		head = append(head, bits, rgb, 0, 0, 0)
	} else {
		head = append(head, bits, palette, 0, 0, 0)
		for _, c := range indexed.Palette {
			c := color.NRGBAModel.Convert(c).(color.NRGBA) //nolint:forcetypeassert // the type of the model
			colors = append(colors, c.R, c.G, c.B)
		}
		level, row = paletteLevel, func(y int) []byte { return indexed.Pix[y*width:][:width] }
	}
	_, _ = w.WriteString("\x89PNG\r\n\x1a\n") // never fails
	err := w.chunk("IHDR", func(w io.Writer) error { _, err := w.Write(head); return err })
	if indexed != nil {
		err = errors.Join(err, w.chunk("PLTE", func(w io.Writer) error { _, err := w.Write(colors); return err }))
	}
	return errors.Join(err, w.chunk("IDAT", func(w io.Writer) error {
		z, err := zlib.NewWriterLevel(w, level)
		for y := 0; y < height && err == nil; y++ {
			if _, err = z.Write([]byte{0}); err == nil { // the row's filter type: none
				_, err = z.Write(row(y))
			}
		}
		if err != nil {
			return err
		}
		return z.Close()
	}), w.chunk("IEND", func(io.Writer) error { return nil }))
}

// rgbRow returns a function that returns the samples of a row as RGB. The result is valid until the next call.
func rgbRow(img *image.NRGBA) func(y int) []byte {
	width := img.Rect.Dx()
	row := make([]byte, 3*width+1) // the last byte receives the alpha of the last pixel
	return func(y int) []byte {
		pixels := img.Pix[y*img.Stride:][:4*width]
		for x := range width {
			binary.NativeEndian.PutUint32(row[3*x:], binary.NativeEndian.Uint32(pixels[4*x:]))
		}
		return row[:3*width]
	}
}

// chunk writes a chunk of a PNG: the length of its data, its type, the data, and the checksum of type and data.
func (b *limitedBuffer) chunk(name string, data func(io.Writer) error) error {
	start := b.Len()
	_, _ = b.WriteString("\x00\x00\x00\x00" + name) // never fails
	if err := data(b); err != nil {
		return err
	}
	chunk := b.Bytes()[start:]
	binary.BigEndian.PutUint32(chunk, uint32(len(chunk)-8)) //nolint:gosec // limited
	_, _ = b.Buffer.Write(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(chunk[4:])))
	return nil
}
