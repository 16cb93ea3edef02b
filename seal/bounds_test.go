package seal_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
	"countersign/seal"
	"countersign/seal/manifest"
	"countersign/seal/picture"
	"countersign/seal/refusal"
)

// greyPNG returns a picture of one color with w × h pixels.
func greyPNG(t *testing.T, w, h int, grey uint8) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, w, h))
	img.Pix[0] = grey
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	require.NoError(t, enc.Encode(&b, img))
	return b.Bytes()
}

// padded makes a picture n bytes long with a chunk that nothing reads.
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

// TestBoundsOfPictures: the maximum is accepted, and one more is rejected.
func TestBoundsOfPictures(t *testing.T) {
	t.Parallel()
	small := greyPNG(t, 16, 16, 1)
	for name, tt := range map[string]struct {
		b  []byte
		ok bool
	}{
		"8192 wide":         {greyPNG(t, 8192, 90, 1), true},
		"8193 wide":         {greyPNG(t, 8193, 1, 1), false},
		"8192 high":         {greyPNG(t, 90, 8192, 1), true},
		"8193 high":         {greyPNG(t, 1, 8193, 1), false},
		"8 million pixels":  {greyPNG(t, 4096, 2048, 1), true},
		"a line more":       {greyPNG(t, 4096, 2049, 1), false},
		"2 MiB":             {padded(t, small, 2<<20), true},
		"a byte more":       {padded(t, small, 2<<20+1), false},
		"a million pixels":  {greyPNG(t, 1024, 1024, 1), true},
		"wide and very low": {greyPNG(t, 8192, 200, 1), true},
	} {
		out, err := picture.Check(tt.b)
		if !tt.ok {
			var refused *refusal.Error
			require.ErrorAs(t, err, &refused, name)
			require.Equal(t, refusal.PNGTooLarge, refused.Code, name)
			continue
		}
		require.NoError(t, err, name)
		was, err := png.DecodeConfig(bytes.NewReader(tt.b))
		require.NoError(t, err)
		is, err := png.DecodeConfig(bytes.NewReader(out.PNG))
		require.NoError(t, err)
		require.LessOrEqual(t, is.Width*is.Height, 1<<20, name)
		if was.Width*was.Height <= 1<<20 {
			require.Equal(t, []int{was.Width, was.Height}, []int{is.Width, is.Height}, "%s: it stays as it is", name)
		} else {
			require.Greater(t, is.Width*is.Height, 1<<20*8/10, "%s: no smaller than it must be", name)
			require.InEpsilon(t, float64(was.Width)/float64(was.Height), float64(is.Width)/float64(is.Height), 0.02, name)
		}
	}
}

// TestPicturesKeepTheirPixels: in whatever form they come, and with as many colours as they have.
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
		require.Equal(t, name != "257 colours", isPalette, "%s: a palette makes it small", name)
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

// TestPixelsOfASubmission: two of the largest pictures are accepted together, and no third. A picture rejected for its
// size is not decoded, and costs nothing.
func TestPixelsOfASubmission(t *testing.T) {
	t.Parallel()
	first, second, more := greyPNG(t, 4096, 2048, 1), greyPNG(t, 4096, 2048, 2), greyPNG(t, 1, 1, 3)
	var p picture.Checker
	for _, huge := range [][]byte{greyPNG(t, 8193, 100, 1), greyPNG(t, 100, 8193, 1), padded(t, more, 2<<20+1)} {
		_, err := p.Check(huge)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "altogether")
	}
	_, err := p.Check(first)
	require.NoError(t, err)
	_, err = p.Check(second)
	require.NoError(t, err)
	_, err = p.Check(more)
	require.ErrorContains(t, err, "altogether")
	_, err = p.Check(second)
	require.NoError(t, err, "it was checked before")

	for _, side := range [][2]int{{8192, 1000}, {1000, 8192}} {
		var q picture.Checker
		for i := range 2 {
			_, err := q.Check(greyPNG(t, side[0], side[1], uint8(i)))
			require.NoError(t, err)
		}
		_, err = q.Check(greyPNG(t, side[0], side[1], 9))
		require.ErrorContains(t, err, "altogether")
	}
}

// TestLongestText: as many characters as fields hold.
func TestLongestText(t *testing.T) {
	t.Parallel()
	require.NoError(t, seal.CheckText(strings.Repeat("ä", 4000)))
	var refused *refusal.Error
	require.ErrorAs(t, seal.CheckText(strings.Repeat("ä", 4001)), &refused)
	require.Equal(t, refusal.TextTooLong, refused.Code)
}

// prepared describes the original as one that was prepared, but for one thing.
func prepared(j *seal.Job, change func(p *seal.Prepared)) *seal.Prepared {
	p := &seal.Prepared{UploadSize: j.Size}
	p.SHA256, p.Size = j.OriginalSHA256, j.Size
	change(p)
	return p
}

// TestOriginalsThatAreAttached: one of a rewritten file may be as large as an upload.
func TestOriginalsThatAreAttached(t *testing.T) {
	t.Parallel()
	original := openEndedContents()
	s := newSealerFixture(t).sealer(t)
	for size, want := range map[int64]string{
		100 << 20:     "the sealed file does not verify", // it was read
		100<<20 + 1:   "original of 104857601 bytes",
		math.MaxInt64: "original of 9223372036854775807 bytes",
	} {
		p := manifest.Prepared{As: manifest.Rewritten, Changes: []prepare.Change{{Kind: "password_removed", Count: 1}}}
		j := preparedJob(t, original, original, p)
		j.Prepared.Upload, j.Prepared.UploadSize = zeros{}, size
		out, err := os.Create(filepath.Join(t.TempDir(), "sealed.pdf"))
		require.NoError(t, err)
		_, err = s.Seal(t.Context(), out, j)
		require.ErrorContains(t, err, want)
		require.NoError(t, out.Close())
	}
}

// TestJobsThatCannotBeSealed are refused before anything is written.
func TestJobsThatCannotBeSealed(t *testing.T) {
	t.Parallel()
	s := newSealerFixture(t).sealer(t)
	for name, tt := range map[string]struct {
		change func(j *seal.Job)
		says   string
	}{
		"no original":                            {func(j *seal.Job) { j.Original = nil }, "no original"},
		"an empty original":                      {func(j *seal.Job) { j.Size = 0 }, "no original"},
		"no hash":                                {func(j *seal.Job) { j.OriginalSHA256 = "" }, "not lower-case hex"},
		"a hash too short":                       {func(j *seal.Job) { j.OriginalSHA256 = j.OriginalSHA256[1:] }, "not lower-case hex"},
		"a hash too long":                        {func(j *seal.Job) { j.OriginalSHA256 += "0" }, "not lower-case hex"},
		"a hash in capitals":                     {func(j *seal.Job) { j.OriginalSHA256 = strings.Repeat("A", 64) }, "not lower-case hex"},
		"a prepared file without a hash":         {func(j *seal.Job) { j.Prepared = prepared(j, func(p *seal.Prepared) { p.SHA256 = "" }) }, "prepared file is not described"},
		"a prepared file of another size":        {func(j *seal.Job) { j.Prepared = prepared(j, func(p *seal.Prepared) { p.Size++ }) }, "prepared file is not described"},
		"a prepared file of nothing":             {func(j *seal.Job) { j.Prepared = prepared(j, func(p *seal.Prepared) { p.UploadSize = 0 }) }, "prepared file is not described"},
		"a rewritten file without what was sent": {func(j *seal.Job) { j.Prepared = prepared(j, func(p *seal.Prepared) { p.As = manifest.Rewritten }) }, "no original beside"},
		"no envelope":                            {func(j *seal.Job) { j.Envelope.ID = "" }, "envelope and time"},
		"no time":                                {func(j *seal.Job) { j.SealedAt = time.Time{} }, "envelope and time"},
		"a field before the pages": {func(j *seal.Job) {
			j.Values[0].Page = 0
		}, "Field f1 is on page 0, but the document has 2 pages"},
		"a field behind the pages": {func(j *seal.Job) { j.Values[0].Page = 3 }, "Field f1 is on page 3, but the document has 2 pages"},
		"an unknown kind":          {func(j *seal.Job) { j.Values[0].Kind = "nonsense" }, `unknown kind of field "nonsense"`},
		"what no font can draw":    {func(j *seal.Job) { j.Values[1].Text = "a \U00030000" }, "Field f2: The character"},
		"no picture":               {func(j *seal.Job) { j.Values[0].PNG = []byte("GIF") }, "not a valid PNG"},
		"an event that is none":    {func(j *seal.Job) { j.Events[3] = []byte("[]") }, "event 4 of the audit chain"},
		"an encrypted original": {func(j *seal.Job) {
			b := bytes.Replace(simplePDF(2), []byte("/Root 1 0 R"), []byte("/Root 1 0 R/Encrypt<<>>"), 1)
			*j = job(t, b)
		}, "encrypted"},
		"a page tree that is none": {func(j *seal.Job) {
			*j = job(t, bytes.Replace(simplePDF(2), []byte("/Kids[10 0 R 12 0 R]"), []byte("/Kids(10 0 R 12 0 R)"), 1))
		}, "expected an array"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job(t, simplePDF(2))
			tt.change(&j)
			out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
			require.NoError(t, err)
			defer func() { require.NoError(t, out.Close()) }()
			_, err = s.Seal(t.Context(), out, j)
			require.ErrorContains(t, err, tt.says)
		})
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	_, err = out.WriteString("x")
	require.NoError(t, err)
	_, err = s.Seal(t.Context(), out, job(t, simplePDF(1)))
	require.ErrorContains(t, err, "not empty")
}
