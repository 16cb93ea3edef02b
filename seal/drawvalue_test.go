package seal_test

import (
	"image"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/test/kit/sealkit"
)

// TestEveryKindIsDrawn checks that the values of every field type appear in their fields, as rendered by two programs,
// and in the record.
func TestEveryKindIsDrawn(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	s := k.Sealer(t)
	original := sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources}}})
	j := sealkit.Job(t, original)
	value := func(kind seal.Kind, y float64, text string) seal.Value {
		return seal.Value{FieldID: string(kind), SignerID: sealkit.AdaID, Kind: kind, Page: 1, X: 40, Y: y, W: 160, H: 16, Text: text, Name: "n-" + string(kind)}
	}
	right, centred, comb, chosen, other, stamp := value(seal.Number, 100, "950.50"), value(seal.Select, 120, "oil"), value(seal.Text, 140, "AB12"), value(seal.Radio, 160, "true"),
		value(seal.Radio, 160, ""), value(seal.Stamp, 180, "")
	right.Align, right.FontSize, centred.Align, comb.Cells, comb.W = "right", 9, "center", 8, 160
	chosen.Checked, chosen.Group, chosen.Option, chosen.W = true, "pets", "cat", 16
	other.X, other.W = 80, 16
	stamp.PNG, stamp.H = sealkit.Marker(t), 60
	j.Values = []seal.Value{
		value(seal.Name, 20, "Ada \U0001F9FF Byron"), value(seal.Email, 40, "ada@example.com"), value(seal.Company, 60, "Analytical Engines"),
		value(seal.SignedDate, 80, "22.11.2026 (UTC+01:00)"), right, centred, comb, chosen, other, stamp,
	}
	file, b := sealkit.Sealed(t, s, j)
	words, err := sealkit.Run(t, "pdftotext", "-f", "1", "-l", "1", "-layout", file, "-")
	require.NoError(t, err)
	for _, want := range []string{"Byron", "ada@example.com", "Analytical Engines", "22.11.2026 (UTC+01:00)", "950.50", "oil", "●"} {
		require.Contains(t, words, want)
	}
	require.Equal(t, 1, strings.Count(words, "●"), "only the selected option has a mark")
	dark := func(r, g, b uint32) bool { return r < 120 && g < 120 && b < 120 }
	within := func(img image.Image, x0, y0, x1, y1 int) image.Rectangle {
		sub, ok := img.(interface {
			SubImage(image.Rectangle) image.Image
		})
		require.True(t, ok)
		return sealkit.InkBounds(sub.SubImage(image.Rect(x0, y0, x1, y1)), dark)
	}
	for reader, img := range sealkit.Renderings(t, file, 1) {
		number := within(img, 40, 100, 202, 117)
		require.InDelta(t, 199, number.Max.X, 3, "%s: right-aligned: %v", reader, number)
		middle := within(img, 40, 120, 202, 137)
		require.InDelta(t, 120, (middle.Min.X+middle.Max.X)/2, 4, "%s: centered: %v", reader, middle)
		cells := within(img, 40, 140, 202, 157)
		require.InDelta(t, 46, cells.Min.X, 5, "%s: start of the first cell: %v", reader, cells)
		require.InDelta(t, 113, cells.Max.X, 6, "%s: end of the fourth cell: %v", reader, cells)
		disc := within(img, 40, 160, 58, 177)
		require.InDelta(t, disc.Dx(), disc.Dy(), 2, "%s: %v", reader, disc)
		require.InDelta(t, 9, disc.Dx(), 3, "%s: %v", reader, disc)
		require.True(t, within(img, 80, 160, 98, 177).Empty(), "%s: an option that is not selected has no mark", reader)
	}
	r := sealkit.Verified(t, b, k.Trust())
	require.True(t, r.OK(), sealkit.TextOf(t, r))
	require.Equal(t, "n-radio", r.Record.Values[7].Name)
	require.Equal(t, "pets", r.Record.Values[7].Group)
	require.Equal(t, "cat", r.Record.Values[7].Option)
}
