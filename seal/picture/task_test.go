package picture_test

import (
	"bytes"
	"context"
	"image"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal/picture"
	"countersign/seal/rejection"
	"countersign/seal/sandbox"
)

// TestMain allows the test binary to run as the process that decodes pictures.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "decode" {
		os.Exit(sandbox.Serve(context.Background(), os.Stdin, os.Stdout, picture.Tasks()))
	}
	os.Exit(m.Run())
}

// TestPictureIn_AnotherProcess_DecodesAlike checks that another process returns the same results and rejections, and
// that a picture is rejected as too large if memory or time is insufficient.
func TestPictureIn_AnotherProcess_DecodesAlike(t *testing.T) {
	t.Parallel()
	pool := sandbox.New(os.Args[0], "decode")
	t.Cleanup(pool.Close)
	bounds := sandbox.Bounds{Memory: 256 << 20, CPU: 10 * time.Second}
	good := jpegOf(t, cornered(image.NewNRGBA(image.Rect(0, 0, 40, 20))))
	for name, in := range map[string]func(context.Context, *sandbox.Pool, []byte) ([]byte, error){
		"photo": func(ctx context.Context, p *sandbox.Pool, b []byte) ([]byte, error) {
			return picture.PhotoIn(ctx, p, bounds, bytes.NewReader(b), int64(len(b)))
		},
		"page": func(ctx context.Context, p *sandbox.Pool, b []byte) ([]byte, error) {
			return picture.PageIn(ctx, p, bounds, bytes.NewReader(b), int64(len(b)))
		},
		"logo": func(ctx context.Context, p *sandbox.Pool, b []byte) ([]byte, error) {
			return picture.LogoIn(ctx, p, bounds, b)
		},
	} {
		here, err := in(t.Context(), nil, good)
		require.NoError(t, err, name)
		there, err := in(t.Context(), pool, good)
		require.NoError(t, err, name)
		require.Equal(t, here, there, name)
		var rejected, also *rejection.Error
		_, err = in(t.Context(), nil, good[:len(good)/2])
		require.ErrorAs(t, err, &rejected, name)
		_, err = in(t.Context(), pool, good[:len(good)/2])
		require.ErrorAs(t, err, &also, name)
		require.Equal(t, rejected, also, name)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = in(canceled, pool, good)
		require.ErrorIs(t, err, context.Canceled, name)
	}
	var rejected *rejection.Error
	_, err := picture.PhotoIn(t.Context(), pool, sandbox.Bounds{Memory: 1, CPU: time.Second}, bytes.NewReader(good), int64(len(good)))
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.PictureTooLarge, rejected.Code)
}

// TestMemory_DependsOnDeclaredDimensions checks that the estimate depends on the declared dimensions, and that
// it covers only reading the file if the picture is rejected without decoding.
func TestMemory_DependsOnDeclaredDimensions(t *testing.T) {
	t.Parallel()
	const reading = 1 << 20
	memory := func(img image.Image) int64 { return picture.Memory(pngOf(t, img)) - reading }
	require.EqualValues(t, 100*50*(8+5), memory(image.NewNRGBA(image.Rect(0, 0, 100, 50))))
	require.EqualValues(t, 100*50*(12+5), memory(image.NewGray16(image.Rect(0, 0, 100, 50))))
	require.EqualValues(t, 100*50*(12+5), memory(image.NewNRGBA64(image.Rect(0, 0, 100, 50))))
	require.Positive(t, memory(image.NewGray(image.Rect(0, 0, picture.MaxPNGSide, 1))))
	require.Positive(t, memory(image.NewGray(image.Rect(0, 0, 1, picture.MaxPNGSide))))
	require.Zero(t, memory(image.NewGray(image.Rect(0, 0, picture.MaxPNGSide+1, 1))))
	require.Zero(t, memory(image.NewGray(image.Rect(0, 0, 1, picture.MaxPNGSide+1))))
	require.Zero(t, picture.Memory([]byte("GIF89a"))-reading)
}
