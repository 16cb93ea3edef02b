package appearance_test

import (
	"bytes"
	"encoding/hex"
	"image/color"
	"image/png"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/appearance"
	"countersign/seal/fonts"
)

func render(t testing.TB, b []byte, level appearance.Level) *appearance.Picture {
	t.Helper()
	p, err := open(t, b).Render(1, level)
	require.NoError(t, err)
	return p
}

func hash(t testing.TB, b []byte, level appearance.Level) string {
	t.Helper()
	sum := render(t, b, level).Hash()
	return hex.EncodeToString(sum[:])
}

// pixel returns a pixel's red, green, blue and alpha.
func pixel(p *appearance.Picture, x, y int) [4]byte {
	return [4]byte(p.Image.Pix[y*p.Image.Stride+4*x:])
}

// pinned returns test files with the expected hashes for profile 1. The hashes are the same on every machine, and any
// change to them requires a new profile.
func pinned(t testing.TB) map[string]struct {
	file   []byte
	levels [3]string
} {
	t.Helper()
	return map[string]struct {
		file   []byte
		levels [3]string
	}{
		"text": {textPage(), [3]string{
			"a5a9693d1bb4f2d674ca5b53959bf360fe2a9a30040616212c8832a3077acbfc",
			"3999b8a6f7baf00ced77b24d92a85ca2ad72ee7a8b080cbde7025a508263ae9a",
			"f1183ce9daa2a7a3eb238a56a5aaaeb9c73ddba7dcdd9e271960741a99bc13c6",
		}},
		"scan": {scanPage(300), [3]string{
			"21399271adf39bb328f25dbc91610c79668a16b7503080807af0aa00ce063b43",
			"6d1c51ea8a02b98067e4eb24bf3bc294c2815b41d64603dfe272f9bd760f670a",
			"c2f3613e9c2792a08b6a199389236be61a9ccc57b502030af03041fbb7fa5095",
		}},
		"form": {read(t, filepath.Join("..", "testdata", "form.pdf")), [3]string{
			"ba0beaf78abd2361750c34c4508de6745238ef41e361b9af78bc72b64e2c43c8",
			"c31177dcb47b8b1a7b21ec60ac0088972868f3edd3af896ccb4eed3cfb386b88",
			"bfa2d85b55389772802389810ca9fc1cc4cad6669585e5b50b1dda447013d500",
		}},
	}
}

func TestRender_PinnedPages_KeepTheirHashes(t *testing.T) {
	t.Parallel()
	for name, want := range pinned(t) {
		for i, level := range appearance.Levels {
			assert.Equal(t, want.levels[i], hash(t, want.file, level), "%s, level %d", name, level)
		}
	}
}

func TestRender_Ground_IsOpaqueWhite(t *testing.T) {
	t.Parallel()
	// The page contains only semitransparent red.
	p := render(t, pdf("/G gs 1 0 0 rg 0 0 100 100 re f", "/MediaBox[0 0 200 100]/Resources<</ExtGState<</G<</ca .5>>>>>>/Group<</S/Transparency/CS/DeviceRGB>>"), 1)
	assert.Equal(t, [4]byte{255, 255, 255, 255}, pixel(p, 150, 50))
	assert.Equal(t, [4]byte{255, 128, 128, 255}, pixel(p, 50, 50))
}

func TestRender_AnnotationsAndFields_AreShown(t *testing.T) {
	t.Parallel()
	black := stream("/Type/XObject/Subtype/Form/BBox[0 0 50 50]", "0 g 0 0 50 50 re f")
	stamp := pdf("", "/MediaBox[0 0 200 100]/Annots[<</Type/Annot/Subtype/Stamp/F 4/Rect[0 0 50 50]/AP<</N 5 0 R>>>>]", black)
	assert.Equal(t, [4]byte{0, 0, 0, 255}, pixel(render(t, stamp, 1), 25, 75))
	hidden := bytes.Replace(stamp, []byte("/F 4"), []byte("/F 2"), 1)
	assert.Equal(t, [4]byte{255, 255, 255, 255}, pixel(render(t, hidden, 1), 25, 75))
	form := bytes.Replace(pdf("", "/MediaBox[0 0 200 100]/Annots[6 0 R]", black,
		"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/F 4/Rect[0 0 50 50]/AP<</N 5 0 R>>>>"), []byte("/Fields[]"), []byte("/Fields[6 0 R]"), 1)
	assert.Equal(t, [4]byte{0, 0, 0, 255}, pixel(render(t, form, 1), 25, 75))
}

func TestRender_RotationCropAndUserUnit_DecideTheSize(t *testing.T) {
	t.Parallel()
	p := render(t, pdf("1 0 0 rg 100 100 50 50 re f", "/MediaBox[0 0 500 500]/CropBox[100 100 300 200]/Rotate 90/UserUnit 2"), 2)
	assert.Equal(t, [2]float64{200, 400}, [2]float64{p.Width, p.Height})
	assert.Equal(t, [2]int{400, 800}, [2]int{p.Image.Rect.Dx(), p.Image.Rect.Dy()})
	assert.Equal(t, [4]byte{255, 0, 0, 255}, pixel(p, 1, 1), "the rotation moves the lower left corner to the top left")
}

// TestRender_LowMemory_IsCorrectOrAnError checks that, regardless of the amount of memory, rendering returns
// either the correct picture or an error.
func TestRender_LowMemory_IsCorrectOrAnError(t *testing.T) {
	t.Parallel()
	file := scanPage(1500)
	want := hash(t, file, 2)
	failed := 0
	for _, megabytes := range []uint64{20, 24, 28, 32, 40, 48, 64, 96} {
		e, err := appearance.NewEngine(t.Context(), appearance.EngineOptions{CacheDir: cacheDir(), Memory: megabytes << 20})
		require.NoError(t, err)
		d, err := e.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
		if err == nil {
			var p *appearance.Picture
			if p, err = d.Render(1, 2); err == nil {
				sum := p.Hash()
				assert.Equal(t, want, hex.EncodeToString(sum[:]), "%d MB", megabytes)
			}
			require.NoError(t, d.Close())
		}
		if err != nil {
			failed++
			require.ErrorIs(t, err, appearance.ErrMemory, "%d MB", megabytes)
		}
		require.NoError(t, e.Close(t.Context()))
	}
	assert.Positive(t, failed)
	assert.Less(t, failed, 8)
}

func TestRender_MissingPage_IsAnError(t *testing.T) {
	t.Parallel()
	d := open(t, textPage())
	for _, page := range []int{0, -1, 2, 1 << 31} {
		_, err := d.Render(page, 1)
		require.ErrorIs(t, err, appearance.ErrNoPage)
		_, err = d.Text(page)
		require.ErrorIs(t, err, appearance.ErrNoPage)
	}
	p, err := d.Render(1, 1)
	require.NoError(t, err)
	assert.Equal(t, 612, p.Image.Rect.Dx())
}

func TestPixels_Levels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		level         appearance.Level
		width, height float64
		w, h          int
		refused       bool
	}{
		{1, 612, 792, 612, 792, false},
		{2, 595.276, 841.89, 1191, 1684, false},
		{4, 612, 792, 2448, 3168, false},
		{1, 612.00001, 792, 612, 792, false},
		{1, 0.3, 0.3, 1, 1, false},
		{4, 2384, 3370, 2913, 4118, false}, // A0: 12 megapixels
		{1, 6900, 6900, 3464, 3464, false},
		{1, 7000, 7000, 0, 0, true}, // less than 36 dpi
		{4, 14400, 14400, 0, 0, true},
		{1, 0, 100, 0, 0, true},
		{1, 1e7, 1, 0, 0, true},
	} {
		w, h, err := c.level.Pixels(c.width, c.height)
		assert.Equal(t, c.refused, err != nil, "%v", c)
		assert.Equal(t, [2]int{c.w, c.h}, [2]int{w, h}, "%v", c)
		assert.LessOrEqual(t, w*h, appearance.MaxPixels)
	}
}

func TestEncode_LosslessPicture_HasTheSamePixels(t *testing.T) {
	t.Parallel()
	for name, file := range map[string][]byte{
		"gray": textPage(), "palette": pdf("1 0 0 rg 10 10 50 50 re f", letter), "blank": pdf("", letter),
		"gray shades":                 pdf("/S sh", letter+"/Resources<</Shading<</S<</ShadingType 2/ColorSpace/DeviceGray/Coords[0 0 612 792]/Function<</FunctionType 2/Domain[0 1]/C0[0]/C1[1]/N 1>>>>>>>>"),
		"colors":                      pdf("/S sh", letter+"/Resources<</Shading<</S<</ShadingType 2/ColorSpace/DeviceRGB/Coords[0 0 612 792]/Function<</FunctionType 2/Domain[0 1]/C0[1 0 0]/C1[0 0 1]/N 1>>>>>>>>"),
		"plain, more than 256 colors": pdf("q 1 0 0 1 100 700 cm 60 0 0 60 0 0 cm /S sh Q", letter+"/Resources<</Shading<</S<</ShadingType 2/ColorSpace/DeviceRGB/BBox[0 0 1 1]/Coords[0 0 1 1]/Function<</FunctionType 2/Domain[0 1]/C0[1 .2 0]/C1[0 0 1]/N 1>>>>>>>>"),
	} {
		p := render(t, file, 1)
		b, mediaType, err := p.Encode()
		require.NoError(t, err)
		require.Equal(t, "image/png", mediaType, name)
		got, err := png.Decode(bytes.NewReader(b))
		require.NoError(t, err)
		require.Equal(t, p.Image.Rect, got.Bounds())
		for y := range p.Image.Rect.Dy() {
			for x := range p.Image.Rect.Dx() {
				r, g, b, a := got.At(x, y).RGBA()
				if want := pixel(p, x, y); want != [4]byte{byte(r >> 8), byte(g >> 8), byte(b >> 8), byte(a >> 8)} {
					require.Failf(t, "another pixel", "%s at %d, %d", name, x, y)
				}
			}
		}
	}
}

func TestTree_OfTheFonts_IsAFileSystem(t *testing.T) {
	t.Parallel()
	names, err := fonts.Hashes()
	require.NoError(t, err)
	expected := make([]string, 0, len(names))
	for name := range names {
		expected = append(expected, "usr/share/fonts/"+name)
	}
	require.NoError(t, fstest.TestFS(fonts.Tree("usr/share/fonts"), expected...))
}

// TestEncode_TextPage_HasAPalette checks that a page of gray text is encoded with a palette, without filters, which
// makes it a fifth smaller.
func TestEncode_TextPage_HasAPalette(t *testing.T) {
	t.Parallel()
	b, _, err := render(t, textPage(), 2).Encode()
	require.NoError(t, err)
	config, err := png.DecodeConfig(bytes.NewReader(b))
	require.NoError(t, err)
	require.IsType(t, color.Palette{}, config.ColorModel)
	require.Less(t, len(b), 39_000)
}
