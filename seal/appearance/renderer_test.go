package appearance_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/appearance"
	"countersign/seal/rejection"
)

func newRenderer(t testing.TB) *appearance.Renderer {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	r := appearance.NewRenderer(self, childArgument, cacheDir())
	t.Cleanup(r.Close)
	return r
}

func TestRenderer_Process_MatchesTheEngine(t *testing.T) {
	t.Parallel()
	r := newRenderer(t)
	file := textPage()
	for range 2 { // this time in a retained process
		p, err := r.Page(t.Context(), bytes.NewReader(file), int64(len(file)), 1, 2)
		require.NoError(t, err)
		assert.Equal(t, hash(t, file, 2), hex.EncodeToString(p.Hash))
		assert.Equal(t, [2]int{1224, 1584}, [2]int{p.PixelWidth, p.PixelHeight})
		assert.Equal(t, "image/png", p.MediaType)
	}
	text, err := r.Text(t.Context(), bytes.NewReader(file), int64(len(file)), 1)
	require.NoError(t, err)
	assert.Equal(t, "1.", text.Words[0].Text)
	_, sum, err := text.Encode()
	require.NoError(t, err)
	own, err := open(t, file).Text(1)
	require.NoError(t, err)
	b, again, err := own.Encode()
	require.NoError(t, err)
	assert.Equal(t, again, sum)
	assert.Equal(t, appearance.Hash(sha256.Sum256(b)), sum)
	_, err = r.Page(t.Context(), bytes.NewReader(file), int64(len(file)), 2, 1)
	require.ErrorIs(t, err, appearance.ErrNoPage)
	_, err = r.Text(t.Context(), bytes.NewReader(file), int64(len(file)), 2)
	require.ErrorIs(t, err, appearance.ErrNoPage)
	in, err := r.Inspect(t.Context(), bytes.NewReader(file), int64(len(file)), true)
	require.NoError(t, err)
	assert.Empty(t, in.Glyphs)
	assert.Equal(t, [][2]float64{{612, 792}}, in.Pages)
}

// TestRenderer_HostileFiles_AreRejectedAndLeaveNothing checks that malicious files are rejected, and that no file
// affects the rendering of the next one.
func TestRenderer_HostileFiles_AreRejectedAndLeaveNothing(t *testing.T) {
	t.Parallel()
	r := newRenderer(t)
	good := textPage()
	want := hash(t, good, 1)
	// One file is a form with exponentially many nested drawings, and the other contains an image that requires more
	// memory than is available.
	bomb := pdf("/A Do", letter+"/Resources<</XObject<</A 5 0 R>>>>", chain(14)...)
	huge := pdf("q 612 0 0 792 0 0 cm /I Do Q", letter+"/Resources<</XObject<</I 5 0 R>>>>",
		stream("/Type/XObject/Subtype/Image/Width 16000/Height 16000/BitsPerComponent 8/ColorSpace/DeviceRGB/Filter/RunLengthDecode", string(bytes.Repeat([]byte{129, 7}, 200_000))))
	files := [][]byte{bomb, huge, []byte("%PDF-1.7\n"), {}, bytes.Repeat([]byte("1 0 obj<<"), 100_000)}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		b := bytes.Clone(good)
		for range 1 + random.IntN(40) {
			b[random.IntN(len(b))] = byte(random.Uint32())
		}
		files = append(files, b)
	}
	rejected := 0
	for i, b := range files {
		_, err := r.Page(t.Context(), bytes.NewReader(b), int64(len(b)), 1, 1)
		if err != nil {
			_, known := errors.AsType[*rejection.Error](err)
			require.True(t, known || errors.Is(err, appearance.ErrNoPage), "file %d: %v", i, err)
			rejected++
		}
	}
	assert.GreaterOrEqual(t, rejected, 5)
	p, err := r.Page(t.Context(), bytes.NewReader(good), int64(len(good)), 1, 1)
	require.NoError(t, err)
	assert.Equal(t, want, hex.EncodeToString(p.Hash))
}

// chain returns a chain of n form XObjects, each of which draws the next one sixteen times.
func chain(n int) (out []string) {
	for i := range n {
		content, resources := "0 0 10 10 re f", ""
		if i < n-1 {
			content = string(bytes.Repeat([]byte("q 1 0 0 1 1 1 cm /A Do Q "), 16))
			resources = "/Resources<</XObject<</A " + strconv.Itoa(i+6) + " 0 R>>>>"
		}
		out = append(out, stream("/Type/XObject/Subtype/Form/BBox[0 0 612 792]"+resources, content))
	}
	return out
}
