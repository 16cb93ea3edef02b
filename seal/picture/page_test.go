package picture_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/picture"
	"countersign/seal/rejection"
	"countersign/test/kit"
	"countersign/test/kit/sealkit"
)

// cornered returns a white picture with a red upper left corner.
func cornered(img draw.Image) image.Image {
	r := img.Bounds()
	for y := range r.Dy() {
		for x := range r.Dx() {
			c := color.Color(color.White)
			if x < r.Dx()/2 && y < r.Dy()/2 {
				c = color.NRGBA{R: 0xFF, A: 0xFF}
			}
			img.Set(x, y, c)
		}
	}
	return img
}

func pngOf(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

func jpegOf(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, img, nil))
	return b.Bytes()
}

// withChunk returns a PNG with an additional chunk after its header.
func withChunk(b []byte, name string, data ...byte) []byte {
	const header = 8 + 25
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	chunk = append(append(chunk, name...), data...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return bytes.Join([][]byte{b[:header], chunk, b[header:]}, nil)
}

// withLateChunk returns a PNG with an additional chunk after its samples.
func withLateChunk(b []byte, name string, data ...byte) []byte {
	const end = 12
	late := withChunk(b, name, data...)[8+25:][:len(data)+12]
	return bytes.Join([][]byte{b[:len(b)-end], late, b[len(b)-end:]}, nil)
}

// withSegment returns a JPEG with an additional segment at its beginning.
func withSegment(b []byte, marker byte, data string) []byte {
	segment := binary.BigEndian.AppendUint16([]byte{0xFF, marker}, uint16(len(data)+2))
	return bytes.Join([][]byte{b[:2], append(segment, data...), b[2:]}, nil)
}

const exifTurned = "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00" // rotated clockwise

// TestPage_OfEachKindOfPicture_ShowsIt checks that the PDF has one page of the correct size. When rendered by Poppler
// and by the service's own renderer, the page must show the picture upright on a white background.
func TestPage_OfEachKindOfPicture_ShowsIt(t *testing.T) {
	t.Parallel()
	size := image.Rect(0, 0, 300, 150)
	partly := cornered(image.NewNRGBA(size)).(*image.NRGBA)
	for y := range 75 {
		for x := 150; x < 300; x++ {
			partly.Set(x, y, color.NRGBA{})
		}
	}
	plain := pngOf(t, cornered(image.NewNRGBA(size)))
	perMeter := func(n uint32) []byte {
		return append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, n), n), 1)
	}
	for name, tt := range map[string]struct {
		file          []byte
		width, height float64
		red           image.Point // position in hundredths of the page size
	}{
		"PNG":                      {plain, 842, 421, image.Pt(25, 25)},
		"PNG, transparent":         {pngOf(t, partly), 842, 421, image.Pt(25, 25)},
		"PNG, 16 bits":             {pngOf(t, cornered(image.NewNRGBA64(size))), 842, 421, image.Pt(25, 25)},
		"PNG of 150 dpi":           {withChunk(plain, "pHYs", perMeter(5906)...), 144, 72, image.Pt(25, 25)},
		"PNG of a screen's 72 dpi": {withChunk(plain, "pHYs", perMeter(2835)...), 842, 421, image.Pt(25, 25)},
		"PNG of 150 dpi, too late": {withLateChunk(plain, "pHYs", perMeter(5906)...), 842, 421, image.Pt(25, 25)},
		"JPEG":                     {jpegOf(t, cornered(image.NewNRGBA(size))), 842, 421, image.Pt(25, 25)},
		"JPEG, turned":             {withSegment(jpegOf(t, cornered(image.NewNRGBA(size))), 0xE1, exifTurned), 421, 842, image.Pt(75, 25)},
		"JPEG of 120 dpi":          {withSegment(jpegOf(t, cornered(image.NewNRGBA(size))), 0xE0, "JFIF\x00\x01\x01\x01\x00\x78\x00\x78\x00\x00"), 180, 90, image.Pt(25, 25)},
		"JPEG of 59 dots per cm":   {withSegment(jpegOf(t, cornered(image.NewNRGBA(size))), 0xE0, "JFIF\x00\x01\x01\x02\x00\x3b\x00\x3b\x00\x00"), 144, 72, image.Pt(25, 25)},
		"JPEG with oblong pixels":  {withSegment(jpegOf(t, cornered(image.NewNRGBA(size))), 0xE0, "JFIF\x00\x01\x01\x01\x00\x78\x00\xf0\x00\x00"), 842, 421, image.Pt(25, 25)},
		"PNG with oblong pixels":   {withChunk(plain, "pHYs", append(binary.BigEndian.AppendUint32(perMeter(5906)[:4], 2953), 1)...), 842, 421, image.Pt(25, 25)},
		"PNG of no unit":           {withChunk(plain, "pHYs", append(perMeter(5906)[:8], 0)...), 842, 421, image.Pt(25, 25)},
		"JPEG of no unit":          {withSegment(jpegOf(t, cornered(image.NewNRGBA(size))), 0xE0, "JFIF\x00\x01\x01\x00\x00\x78\x00\x78\x00\x00"), 842, 421, image.Pt(25, 25)},
		"PNG, narrow":              {pngOf(t, cornered(image.NewNRGBA(image.Rect(0, 0, 300, 20)))), 842, 56.1, image.Pt(25, 25)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.True(t, picture.IsPicture(tt.file))
			b, err := picture.Page(tt.file)
			require.NoError(t, err)
			again, err := picture.Page(tt.file)
			require.NoError(t, err)
			require.Equal(t, b, again)
			p, err := kit.Renderer{}.Page(t.Context(), bytes.NewReader(b), int64(len(b)), 1, 2)
			require.NoError(t, err)
			require.InDelta(t, tt.width, p.Width, 0.6)
			require.InDelta(t, tt.height, p.Height, 0.6)
			img, _, err := image.Decode(bytes.NewReader(p.Content))
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "page.pdf")
			require.NoError(t, os.WriteFile(path, b, 0o600))
			pictures := sealkit.Renderings(t, path, 1)
			pictures["renderer"] = img
			for reader, img := range pictures {
				at := func(x, y int) color.NRGBA {
					r := img.Bounds()
					c, _ := color.NRGBAModel.Convert(img.At(r.Dx()*x/100, r.Dy()*y/100)).(color.NRGBA)
					return c
				}
				c := at(tt.red.X, tt.red.Y)
				require.True(t, c.R > 200 && c.G < 60 && c.B < 60, "%s: %v", reader, c)
				c = at(100-tt.red.X, tt.red.Y)
				require.True(t, c.R > 220 && c.G > 220 && c.B > 220, "%s: %v", reader, c)
			}
		})
	}
}

// TestPage_Pixels_AreEncodedByTheirKind checks that pictures without colors are stored in grayscale, and that very
// large ones are stored with lossy compression.
func TestPage_Pixels_AreEncodedByTheirKind(t *testing.T) {
	t.Parallel()
	gray, noise := image.NewGray(image.Rect(0, 0, 60, 40)), image.NewGray(image.Rect(0, 0, 3000, 3000))
	for i := range gray.Pix {
		gray.Pix[i] = byte(i % 251)
	}
	_, err := rand.NewChaCha8([32]byte{}).Read(noise.Pix)
	require.NoError(t, err)
	colored := image.NewNRGBA(gray.Rect)
	draw.Draw(colored, gray.Rect, gray, image.Point{}, draw.Src)
	for i, name := range []string{"red", "green", "blue"} {
		pixel := [4]byte{100, 100, 100, 255}
		pixel[i]++
		tinted := image.NewNRGBA(gray.Rect)
		copy(tinted.Pix, colored.Pix)
		copy(tinted.Pix[len(tinted.Pix)-4:], pixel[:])
		b, err := picture.Page(pngOf(t, tinted))
		require.NoError(t, err)
		require.Contains(t, string(b), "/ColorSpace/DeviceRGB/Filter/FlateDecode", name)
	}
	b, err := picture.Page(pngOf(t, gray))
	require.NoError(t, err)
	require.Contains(t, string(b), "/ColorSpace/DeviceGray/Filter/FlateDecode/DecodeParms<</Predictor 15/Colors 1/")
	b, err = picture.Page(pngOf(t, noise))
	require.NoError(t, err)
	require.Contains(t, string(b), "/ColorSpace/DeviceGray/Filter/DCTDecode")
	require.Less(t, len(b), 8<<20)
}

// TestPage_OfOtherFiles_IsRejected checks that other files are rejected, and that the message contains the reason.
func TestPage_OfOtherFiles_IsRejected(t *testing.T) {
	t.Parallel()
	plain := pngOf(t, cornered(image.NewNRGBA(image.Rect(0, 0, 30, 30))))
	large := bytes.Clone(plain)
	binary.BigEndian.PutUint32(large[16:], 20_000)
	binary.BigEndian.PutUint32(large[29:], crc32.ChecksumIEEE(large[12:29]))
	for name, tt := range map[string]struct {
		file []byte
		code string
		says string
	}{
		"animated":  {withChunk(plain, "acTL", 0, 0, 0, 2, 0, 0, 0, 0), rejection.PictureInvalid, "The picture is animated."},
		"cut off":   {plain[:len(plain)-20], rejection.PictureInvalid, "not a complete JPEG or PNG"},
		"no pixels": {plain[:20], rejection.PictureInvalid, "not a complete JPEG or PNG"},
		"too large": {large, rejection.PictureTooLarge, "20000 × 30 pixels."},
	} {
		_, err := picture.Page(tt.file)
		var r *rejection.Error
		require.ErrorAs(t, err, &r, name)
		require.Equal(t, tt.code, r.Code, name)
		require.Contains(t, r.Message, tt.says, name)
	}
}
