package picture_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/picture"
	"countersign/seal/rejection"
	"countersign/test/kit/sealkit"
)

// TestLogo checks that the result is a PNG of the stored size that retains no other content of the file.
func TestLogo(t *testing.T) {
	t.Parallel()
	var asPNG, asJPEG bytes.Buffer
	require.NoError(t, png.Encode(&asPNG, sealkit.LogoPicture(1440, 200)))
	require.NoError(t, jpeg.Encode(&asJPEG, sealkit.LogoPicture(90, 360), nil))
	for _, tt := range []struct {
		file []byte
		w, h int
	}{{asPNG.Bytes(), 720, 100}, {append(asPNG.Bytes(), "<script>"...), 720, 100}, {asJPEG.Bytes(), 45, 180}} {
		got, err := picture.Logo(tt.file)
		require.NoError(t, err)
		size, err := png.DecodeConfig(bytes.NewReader(got))
		require.NoError(t, err)
		require.Equal(t, []int{tt.w, tt.h}, []int{size.Width, size.Height})
		require.NotContains(t, string(got), "<script>")
	}
	for _, bad := range [][]byte{nil, []byte("GIF89a"), asPNG.Bytes()[:asPNG.Len()/2], asJPEG.Bytes()[:100]} {
		_, err := picture.Logo(bad)
		var rejected *rejection.Error
		require.ErrorAs(t, err, &rejected)
	}
}

// TestPhotos checks that photos of each orientation become upright, that large photos are scaled down, and that
// incomplete pictures are rejected.
func TestPhotos(t *testing.T) {
	t.Parallel()
	img := image.NewNRGBA(image.Rect(0, 0, 32, 16)) // the left half is red with a green top, and the right half is blue
	for y := range 16 {
		for x := range 32 {
			c := color.NRGBA{0, 0, 255, 255}
			switch {
			case x < 16 && y < 8:
				c = color.NRGBA{0, 255, 0, 255}
			case x < 16:
				c = color.NRGBA{255, 0, 0, 255}
			}
			img.Set(x, y, c)
		}
	}
	var plain bytes.Buffer
	require.NoError(t, jpeg.Encode(&plain, img, &jpeg.Options{Quality: 100}))
	oriented := func(orientation byte) []byte {
		exif := "\xff\xe1\x00\x22Exif\x00\x00II\x2a\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00" + string(rune(orientation)) + "\x00\x00\x00\x00\x00\x00\x00"
		return append([]byte("\xff\xd8"+exif), plain.Bytes()[2:]...)
	}
	// Expected position of the green corner, in eighths of width and height.
	for orientation, green := range map[byte][2]int{1: {1, 1}, 2: {7, 1}, 3: {7, 7}, 4: {1, 7}, 5: {1, 1}, 6: {7, 1}, 7: {7, 7}, 8: {1, 7}} {
		b, err := picture.Photo(oriented(orientation))
		require.NoError(t, err)
		require.NotContains(t, string(b), "Exif")
		got, err := jpeg.Decode(bytes.NewReader(b))
		require.NoError(t, err)
		size := image.Pt(32, 16)
		if orientation >= 5 {
			size = image.Pt(16, 32)
		}
		require.Equal(t, size, got.Bounds().Size(), orientation)
		r, g, bl, _ := got.At(green[0]*size.X/8, green[1]*size.Y/8).RGBA()
		require.Greater(t, g, max(r, bl), "orientation %d", orientation)
	}
	entry := func(tag, kind byte) string {
		return string([]byte{1, tag, 0, kind, 0, 0, 0, 1, 0, 6, 0, 0})
	}
	for name, tiff := range map[string]string{
		"no header":           "MM\x00*\x00\x00\x00",
		"no directory":        "MM\x00*\x00\x00\x00\x08\x00",
		"directory elsewhere": "MM\x00*\xff\xff\xff\xff\x00\x01",
		"no entry":            "MM\x00*\x00\x00\x00\x08\x00\x01",
		"part of an entry":    "MM\x00*\x00\x00\x00\x08\x00\x01" + entry(0x12, 3)[:11],
		"another tag":         "MM\x00*\x00\x00\x00\x08\x00\x01" + entry(0x13, 3),
		"another type":        "MM\x00*\x00\x00\x00\x08\x00\x01" + entry(0x12, 4),
		"behind the entries":  "MM\x00*\x00\x00\x00\x08\x00\x01" + entry(0x13, 3) + entry(0x12, 3),
		"turned":              "MM\x00*\x00\x00\x00\x08\x00\x02" + entry(0x13, 3) + entry(0x12, 3),
	} {
		b, err := picture.Photo(withSegment(plain.Bytes(), 0xE1, "Exif\x00\x00"+tiff))
		require.NoError(t, err, name)
		cfg, err := jpeg.DecodeConfig(bytes.NewReader(b))
		require.NoError(t, err)
		require.Equal(t, name == "turned", cfg.Width == 16, name)
	}
	for _, cut := range []int{0, 3, 20, 40, 60, plain.Len() / 2} {
		_, err := picture.Photo(oriented(6)[:cut])
		var r *rejection.Error
		require.ErrorAs(t, err, &r, cut)
	}
	var large bytes.Buffer
	require.NoError(t, png.Encode(&large, image.NewGray(image.Rect(0, 0, 6000, 4000))))
	b, err := picture.Photo(large.Bytes())
	require.NoError(t, err)
	cfg, err := png.DecodeConfig(bytes.NewReader(b))
	require.NoError(t, err)
	require.LessOrEqual(t, cfg.Width*cfg.Height, 8_000_000)
	require.InDelta(t, 1.5, float64(cfg.Width)/float64(cfg.Height), 0.01)
	var r *rejection.Error
	_, err = picture.Photo([]byte("GIF89a"))
	require.ErrorAs(t, err, &r)
	require.Equal(t, rejection.PictureInvalid, r.Code)
	for _, size := range [][2]uint32{{16_385, 1}, {1, 16_385}, {16_000, 16_000}} { // width, height, and total pixels
		claims := bytes.Clone(large.Bytes())
		header := claims[12:29] // type and data of IHDR, before its CRC (PNG, 11.2.2)
		binary.BigEndian.PutUint32(header[4:], size[0])
		binary.BigEndian.PutUint32(header[8:], size[1])
		binary.BigEndian.PutUint32(claims[29:], crc32.ChecksumIEEE(header))
		_, err = picture.Photo(claims)
		require.ErrorAs(t, err, &r)
		require.Equal(t, rejection.PictureTooLarge, r.Code, "%v", size)
	}
}
