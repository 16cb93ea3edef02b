package seal_test

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/picture"
	"countersign/seal/refusal"
)

// plain is a grey picture 4,000 pixels wide.
func plain(t *testing.T, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	require.NoError(t, enc.Encode(&b, image.NewGray(image.Rect(0, 0, 4000, h))))
	return b.Bytes()
}

// TestPicturesTogether: sixty pictures cost what two do.
func TestPicturesTogether(t *testing.T) {
	t.Parallel()
	var same picture.Checker
	b := plain(t, 2000)
	first, err := same.Check(b)
	require.NoError(t, err)
	for range 60 {
		again, err := same.Check(b)
		require.NoError(t, err)
		require.Same(t, &first.PNG[0], &again.PNG[0], "it is not decoded a second time")
	}

	var different picture.Checker
	accepted := 0
	for i := range 60 {
		_, err := different.Check(plain(t, 2000-i))
		var refused *refusal.Error
		if err == nil {
			accepted++
			continue
		}
		require.ErrorAs(t, err, &refused)
		require.Equal(t, refusal.PNGTooLarge, refused.Code)
		require.Contains(t, refused.Message, "altogether")
	}
	require.Equal(t, 2, accepted)

	var small picture.Checker
	for i := range 60 {
		_, err := small.Check(signaturePNG(t, 400, 150+i))
		require.NoError(t, err, "as many as people really send")
	}

	var broken picture.Checker
	cut := plain(t, 2000)
	cut = cut[:len(cut)-20]
	for i := range 8 {
		cut[len(cut)-1] = byte(i)
		_, err := broken.Check(cut)
		require.Error(t, err)
		if i >= 2 {
			require.ErrorContains(t, err, "altogether", "broken ones count, too")
		}
	}
}
