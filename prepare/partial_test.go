package prepare

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/pdf/pagetext"
)

// onePage returns a PDF with one page of content in Helvetica.
func onePage(content string) []byte {
	var b, table bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]/Resources<</Font<</F1 4 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 5 0 R>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content),
	}
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 6\n0000000000 65535 f \n%strailer\n<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", table.String(), start)
	return b.Bytes()
}

// outcome returns a string with the tags found in a document, or with the reason for the document's rejection.
func outcome(tags []FoundTag, err error) string {
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, t := range tags {
		fmt.Fprintf(&out, "%s %+v %.3f %.3f %.3f %.3f %d %d\n", t.Text, t.Tag, t.Place.X, t.Place.Y, t.Place.W, t.Place.H, len(t.Glyphs), len(t.Lines))
	}
	return out.String()
}

// findBothWays finds the tags in a one-page file twice: with FindTags, and by searching the complete text of the page.
func findBothWays(ctx context.Context, b []byte) (quick, whole string) {
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	if err != nil {
		return "", ""
	}
	quick = outcome(FindTags(ctx, f))
	var tags []FoundTag
	_, err = f.Walk(func(p *pdf.Page) error {
		page, err := pagetext.NewReader(f).Page(ctx, p)
		if err == nil {
			tags, _, err = pageTags(page)
		}
		return err
	})
	return quick, outcome(tags, err)
}

// TestTagsNearBraces checks that searching only the text near braces finds the same tags as searching the complete
// text, for many layouts of lines.
func TestTagsNearBraces(t *testing.T) {
	t.Parallel()
	words := []string{
		"the", "parties", "agree", "{{signature}}", "{{Name;role=signer1;", "type=text}}", "[sig|req|", "signer1]", "[1]", "}}", "{{a", "b}}", "lease", "of", "x",
		"{{Long;role=signer1;type=select;options=One,Two,Three,Four,Five;label=A", "label that is long", "and longer;", "placeholder=p}}",
	}
	calm := []string{
		"the", "parties", "agree that", "{{signature}}", "{{Name;role=signer1;type=text}}", "[sig|req|signer1]", "[1]", "(see", "lease", "of", "x", "and so on",
	}
	long := []string{"{{Long;role=signer1;type=select;options=One,", "Two,Three,Four;label=A label that is", "long;placeholder=and longer than the line", "is wide, by far}} and then"}
	found, rejected := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 60))
		var content strings.Builder
		y := 770.0
		for y > 40 && content.Len() < 6000 {
			size := []float64{8, 9, 10, 10, 10, 14, 30}[r.IntN(7)]
			leading := size * []float64{0.9, 1.0, 1.2, 1.2, 1.5, 2.1, 2.3, 3, 6}[r.IntN(9)]
			words := words
			if seed%2 == 0 {
				words = calm
			}
			if seed%2 == 0 && r.IntN(4) == 0 {
				for _, line := range long {
					fmt.Fprintf(&content, "BT /F1 %.1f Tf 40 %.1f Td (%s) Tj ET\n", size/2, y, line)
					y -= leading / 2
				}
			}
			for range 1 + r.IntN(8) {
				for column := range 1 + r.IntN(2) {
					text := ""
					for range 1 + r.IntN(4) {
						text += words[r.IntN(len(words)*(1+r.IntN(4)))%len(words)] + " "
					}
					turn := "1 0 0 1"
					if r.IntN(12) == 0 {
						turn = "0 1 -1 0"
					}
					fmt.Fprintf(&content, "BT /F1 %.1f Tf %s %.1f %.1f Tm (%s) Tj ET\n", size, turn, 40+250*float64(column), y+r.Float64()/10, text)
				}
				y -= leading
			}
		}
		quick, whole := findBothWays(t.Context(), onePage(content.String()))
		require.Equal(t, whole, quick, "seed %d\n%s", seed, content.String())
		if strings.Contains(whole, "cannot be read") {
			rejected++
		} else if whole != "" {
			found++
		}
	}
	require.Greater(t, found, 50)
	require.Greater(t, rejected, 50)
}

// FuzzTagsNearBraces checks that searching only the text near braces finds the same tags as searching the complete
// text.
func FuzzTagsNearBraces(f *testing.F) {
	f.Add("BT /F1 12 Tf 14 TL 72 700 Td (one {{a;role=r1;) Tj T* (type=date}} two) Tj T* (three) ' ET")
	f.Add("BT /F1 12 Tf 72 700 Td /Span<</ActualText({{a}})>>BDC (xx) Tj (yy) Tj EMC 0 -100 Td (z) Tj ET")
	f.Add("BT /F1 1 Tf 9 0 0 9 72 700 Tm [({) -20 ({a}) 600 (}) ] TJ 0 30 -30 0 200 200 Tm (]) Tj ET")
	f.Fuzz(func(t *testing.T, content string) {
		quick, whole := findBothWays(t.Context(), onePage(content))
		if quick != whole {
			t.Fatalf("%q\n%q", quick, whole)
		}
	})
}
