package seal_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/picture"
	"countersign/seal/refusal"
)

// logoPicture is a red mark on a transparent ground.
func logoPicture(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.Draw(img, image.Rect(w/8, h/4, 7*w/8, 3*h/4), image.NewUniform(color.NRGBA{R: 0x7a, G: 0x1f, B: 0x3d, A: 255}), image.Point{}, draw.Src)
	return img
}

// brandedJob is of a sender with a colour and a logo.
func brandedJob(t *testing.T, language string) seal.Job {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, logoPicture(400, 80)))
	logo, err := picture.Logo(b.Bytes())
	require.NoError(t, err)
	j := job(t, simplePDF(1))
	j.Logo, j.Color, j.Language = logo, "#7a1f3d", language
	return j
}

// TestLogo: the result is a PNG of the displayed size without any other content of the file.
func TestLogo(t *testing.T) {
	t.Parallel()
	var asPNG, asJPEG bytes.Buffer
	require.NoError(t, png.Encode(&asPNG, logoPicture(1440, 200)))
	require.NoError(t, jpeg.Encode(&asJPEG, logoPicture(90, 360), nil))
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
		var refused *refusal.Error
		require.ErrorAs(t, err, &refused)
	}
}

// TestBrandedCertificate: it verifies as any other, in both directions of writing.
func TestBrandedCertificate(t *testing.T) {
	t.Parallel()
	k := newSealerFixture(t)
	for _, language := range []string{"en", "ar"} {
		_, b := sealed(t, k.sealer(t), brandedJob(t, language))
		r := verified(t, b, k.trust())
		require.True(t, r.OK(), textOf(t, r))
	}
}
