package picture_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/picture"
	"countersign/seal/rejection"
	"countersign/test/kit/sealkit"
)

// plain returns a gray picture that is 4,000 pixels wide.
func plain(t *testing.T, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	require.NoError(t, enc.Encode(&b, image.NewGray(image.Rect(0, 0, 4000, h))))
	return b.Bytes()
}

// TestChecker_LimitsDistinctPictures checks that sixty identical pictures count only once, and that a limit applies to
// the total of different pictures.
func TestChecker_LimitsDistinctPictures(t *testing.T) {
	t.Parallel()
	var same picture.Checker
	b := plain(t, 2000)
	first, err := same.Check(b)
	require.NoError(t, err)
	for range 60 {
		again, err := same.Check(b)
		require.NoError(t, err)
		require.Same(t, &first.PNG[0], &again.PNG[0], "the image must be decoded only once")
	}

	var different picture.Checker
	accepted := 0
	for i := range 60 {
		_, err := different.Check(plain(t, 2000-i))
		var rejected *rejection.Error
		if err == nil {
			accepted++
			continue
		}
		require.ErrorAs(t, err, &rejected)
		require.Equal(t, rejection.PNGTooLarge, rejected.Code)
		require.Contains(t, rejected.Message, "in total")
	}
	require.Equal(t, 2, accepted)

	var small picture.Checker
	for i := range 60 {
		_, err := small.Check(sealkit.SignaturePNG(t, 400, 150+i))
		require.NoError(t, err, "a realistic number of images must be accepted")
	}

	var broken picture.Checker
	cut := plain(t, 2000)
	cut = cut[:len(cut)-20]
	for i := range 8 {
		cut[len(cut)-1] = byte(i)
		_, err := broken.Check(cut)
		require.Error(t, err)
		if i >= 2 {
			require.ErrorContains(t, err, "in total", "invalid images must also count toward the limit")
		}
	}
}

// grayPNG returns a picture of w × h pixels.
func grayPNG(t *testing.T, w, h int, gray uint8) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, w, h))
	img.Pix[0] = gray
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	require.NoError(t, enc.Encode(&b, img))
	return b.Bytes()
}

// padded extends a picture to n bytes with a chunk that programs ignore.
func padded(t *testing.T, b []byte, n int) []byte {
	t.Helper()
	data := make([]byte, n-len(b)-12)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	body := append([]byte("teSt"), data...)
	chunk = append(chunk, body...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(body))
	const header = 8 + 25 // signature, IHDR
	out := append(append(bytes.Clone(b[:header]), chunk...), b[header:]...)
	require.Len(t, string(out), n)
	return out
}

// TestBoundsOfPictures checks that each maximum is accepted, and that a value one larger is rejected.
func TestBoundsOfPictures(t *testing.T) {
	t.Parallel()
	small := grayPNG(t, 16, 16, 1)
	for name, tt := range map[string]struct {
		b  []byte
		ok bool
	}{
		"8192 wide":         {grayPNG(t, 8192, 90, 1), true},
		"8193 wide":         {grayPNG(t, 8193, 1, 1), false},
		"8192 high":         {grayPNG(t, 90, 8192, 1), true},
		"8193 high":         {grayPNG(t, 1, 8193, 1), false},
		"8 million pixels":  {grayPNG(t, 4096, 2048, 1), true},
		"a line more":       {grayPNG(t, 4096, 2049, 1), false},
		"2 MiB":             {padded(t, small, 2<<20), true},
		"a byte more":       {padded(t, small, 2<<20+1), false},
		"a million pixels":  {grayPNG(t, 1024, 1024, 1), true},
		"wide and very low": {grayPNG(t, 8192, 200, 1), true},
	} {
		out, err := picture.Check(tt.b)
		if !tt.ok {
			var rejected *rejection.Error
			require.ErrorAs(t, err, &rejected, name)
			require.Equal(t, rejection.PNGTooLarge, rejected.Code, name)
			continue
		}
		require.NoError(t, err, name)
		was, err := png.DecodeConfig(bytes.NewReader(tt.b))
		require.NoError(t, err)
		is, err := png.DecodeConfig(bytes.NewReader(out.PNG))
		require.NoError(t, err)
		require.LessOrEqual(t, is.Width*is.Height, 1<<20, name)
		if was.Width*was.Height <= 1<<20 {
			require.Equal(t, []int{was.Width, was.Height}, []int{is.Width, is.Height}, "%s: the size must not change", name)
		} else {
			require.Greater(t, is.Width*is.Height, 1<<20*8/10, "%s: the image must not be smaller than necessary", name)
			require.InEpsilon(t, float64(was.Width)/float64(was.Height), float64(is.Width)/float64(is.Height), 0.02, name)
		}
	}
}

// TestPicturesKeepTheirPixels checks that pictures in every format, and with any number of colors, keep their pixels.
func TestPicturesKeepTheirPixels(t *testing.T) {
	t.Parallel()
	many := func(n int) image.Image {
		img := image.NewNRGBA(image.Rect(0, 0, 20, 20))
		for i := range 400 {
			c := i % n
			img.SetNRGBA(i%20, i/20, color.NRGBA{uint8(c), uint8(c >> 8), 7, 255})
		}
		return img
	}
	column := image.NewNRGBA(image.Rect(0, 0, 13, 13))
	offset := image.NewRGBA(image.Rect(5, 6, 19, 19))
	for y := range 20 {
		column.SetNRGBA(2, y, color.NRGBA{A: 250})
		offset.SetRGBA(6, y, color.RGBA{200, 100, 50, 255})
	}
	column.SetNRGBA(5, 5, color.NRGBA{R: 7, A: 1})
	wide := image.NewGray16(image.Rect(0, 0, 13, 2))
	wide.SetGray16(1, 1, color.Gray16{Y: 0xabcd})
	palette := image.NewPaletted(image.Rect(0, 0, 9, 3), color.Palette{color.NRGBA{1, 2, 3, 255}, color.NRGBA{200, 100, 50, 128}, color.NRGBA{}})
	palette.Pix[4], palette.Pix[13], palette.Pix[26] = 1, 2, 1
	for name, img := range map[string]image.Image{
		"256 colours": many(256), "257 colours": many(257), "a faint pixel": column, "not at the origin": offset, "16 bits": wide, "a palette": palette,
	} {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		out, err := picture.Check(b.Bytes())
		require.NoError(t, err, name)
		got, err := png.Decode(bytes.NewReader(out.PNG))
		require.NoError(t, err)
		_, isPalette := got.(*image.Paletted)
		require.Equal(t, name != "257 colours", isPalette, "%s: a palette must reduce the size", name)
		at := img.Bounds()
		for y := range at.Dy() {
			for x := range at.Dx() {
				want, _ := color.NRGBAModel.Convert(img.At(at.Min.X+x, at.Min.Y+y)).(color.NRGBA)
				is, _ := color.NRGBAModel.Convert(got.At(x, y)).(color.NRGBA)
				require.Equal(t, want, is, "%s at %d, %d", name, x, y)
			}
		}
	}
}

// TestPixelsOfASubmission checks that two pictures of maximum size are accepted together, and that a third is rejected.
// A picture that is rejected because of its size is not decoded and does not count toward the limit.
func TestPixelsOfASubmission(t *testing.T) {
	t.Parallel()
	first, second, more := grayPNG(t, 4096, 2048, 1), grayPNG(t, 4096, 2048, 2), grayPNG(t, 1, 1, 3)
	var p picture.Checker
	for _, huge := range [][]byte{grayPNG(t, 8193, 100, 1), grayPNG(t, 100, 8193, 1), padded(t, more, 2<<20+1)} {
		_, err := p.Check(huge)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "in total")
	}
	_, err := p.Check(first)
	require.NoError(t, err)
	_, err = p.Check(second)
	require.NoError(t, err)
	_, err = p.Check(more)
	require.ErrorContains(t, err, "in total")
	_, err = p.Check(second)
	require.NoError(t, err, "the image was already checked")

	for _, side := range [][2]int{{8192, 1000}, {1000, 8192}} {
		var q picture.Checker
		for i := range 2 {
			_, err := q.Check(grayPNG(t, side[0], side[1], uint8(i)))
			require.NoError(t, err)
		}
		_, err = q.Check(grayPNG(t, side[0], side[1], 9))
		require.ErrorContains(t, err, "in total")
	}
}

func TestCheckPNG(t *testing.T) {
	t.Parallel()
	var huge bytes.Buffer
	require.NoError(t, png.Encode(&huge, image.NewGray(image.Rect(0, 0, 8000, 8000))))
	claims := bytes.Clone(sealkit.SignaturePNG(t, 10, 10))
	copy(claims[16:24], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // 65536 × 65536
	var blank bytes.Buffer
	require.NoError(t, png.Encode(&blank, image.NewNRGBA(image.Rect(0, 0, 10, 10))))
	for name, tt := range map[string]struct {
		b    []byte
		code string
	}{
		"no picture":     {[]byte("GIF89a"), rejection.PNGInvalid},
		"empty":          {nil, rejection.PNGInvalid},
		"cut off":        {sealkit.SignaturePNG(t, 100, 50)[:200], rejection.PNGInvalid},
		"too many":       {huge.Bytes(), rejection.PNGTooLarge},
		"wrong claim":    {claims, rejection.PNGInvalid},
		"too many bytes": {make([]byte, 3<<20), rejection.PNGTooLarge},
		"nothing on it":  {blank.Bytes(), rejection.PNGInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := picture.Check(tt.b)
			var rejected *rejection.Error
			require.ErrorAs(t, err, &rejected)
			require.Equal(t, tt.code, rejected.Code)
		})
	}
	out, err := picture.Check(sealkit.SignaturePNG(t, 600, 160))
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(out.PNG))
	require.NoError(t, err)
	_, _, _, a := img.At(0, 0).RGBA()
	require.Zero(t, a, "transparency is preserved")
	out, err = picture.Check(sealkit.SignaturePNG(t, 3000, 1500))
	require.NoError(t, err)
	cfg, err := png.DecodeConfig(bytes.NewReader(out.PNG))
	require.NoError(t, err)
	require.LessOrEqual(t, cfg.Width*cfg.Height, 1<<20)
}
