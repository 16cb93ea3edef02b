package pagetext_test

import (
	"fmt"
	"html"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"countersign/pdf/pagetext"
)

var popplerWord = regexp.MustCompile(`<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)">(.*?)</word>`)

// word is text between spaces, with its position.
type word struct {
	Text  string
	Box   pagetext.Box
	Angle int
}

// wordsOf returns the words of a page, by passage.
func wordsOf(p *pagetext.Page) (words []word) {
	for _, q := range p.Passages() {
		for at := 0; at < len(q.Text); {
			end := at + strings.IndexByte(q.Text[at:]+" ", ' ')
			m := q.Match(at, end)
			words = append(words, word{q.Text[at:end], m.Box, p.Glyphs[m.Glyphs[0]].Angle})
			at = end + 1
		}
	}
	return words
}

// poppler returns the words found by pdftotext, by page.
func poppler(t *testing.T, name string) [][]word {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-bbox", "-cropbox", name, "-").Output()
	require.NoError(t, err)
	var pages [][]word
	for part := range strings.SplitSeq(string(out), "<page ") {
		var words []word
		for _, m := range popplerWord.FindAllStringSubmatch(part, -1) {
			var n [4]float64
			for i := range n {
				n[i], err = strconv.ParseFloat(m[i+1], 64)
				require.NoError(t, err)
			}
			words = append(words, word{
				Text: norm.NFKD.String(html.UnescapeString(m[5])), Box: pagetext.Box{X: n[0], Y: n[1], W: n[2] - n[0], H: n[3] - n[1]},
			})
		}
		pages = append(pages, words)
	}
	return pages[1:]
}

// near reports whether two boxes start and end at the same positions along a line, and are on the same line. Programs
// differ in the height that they assume for a font.
func near(a, b pagetext.Box, vertical bool) bool {
	if vertical {
		a, b = pagetext.Box{X: a.Y, Y: a.X, W: a.H, H: a.W}, pagetext.Box{X: b.Y, Y: b.X, W: b.H, H: b.W}
	}
	return math.Abs(a.X-b.X) < 1 && math.Abs(a.X+a.W-b.X-b.W) < 1 && math.Abs(a.Y+a.H/2-b.Y-b.H/2) < 0.35*b.H
}

// TestBoxes checks that words have the positions that pdftotext reports, on rotated, cropped and scaled pages and for
// rotated text.
func TestBoxes(t *testing.T) {
	t.Parallel()
	content := "BT /F1 12 Tf 120 300 Td (Sign here) Tj 1.2 0 0 1.2 200 400 Tm 80 Tz 1 Tc (spaced) Tj 100 Tz 0 Tc 0 1 -1 0 250 200 Tm (upwards) Tj ET " +
		"q 1.5 0 0 1.5 20 30 cm /X1 Do Q"
	form := map[int]string{10: flow("/Type/XObject/Subtype/Form/BBox[0 0 400 400]/Matrix[1 0 0 1 60 60]", "BT /F1 10 Tf 40 200 Td (inform) Tj ET")}
	for _, rotate := range []int{0, 90, 180, 270, -90} {
		for _, box := range []string{"", "/CropBox[50 100 450 700]", "/MediaBox[-50 -20 450 700]/CropBox[-10 10 440 690]"} {
			page := fmt.Sprintf("/Rotate %d%s", rotate, box)
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				b := build(page, content, form)
				words := wordsOf(read(t, b)[0])
				want := poppler(t, save(t, b))[0]
				require.Len(t, want, 5)
				require.Len(t, words, 5)
				for _, w := range want {
					found := false
					for _, m := range words {
						turned := (m.Angle+360)%180 == 90
						found = found || m.Text == w.Text && near(m.Box, w.Box, turned)
					}
					require.True(t, found, "%+v is missing from %+v", w, words)
				}
			})
		}
	}
}

// TestUserUnit checks that boxes are in points regardless of the page's UserUnit.
func TestUserUnit(t *testing.T) {
	t.Parallel()
	content := "BT /F1 12 Tf 100 700 Td (a) Tj ET"
	one, two := read(t, build("", content, nil))[0], read(t, build("/UserUnit 2", content, nil))[0]
	a, b := one.Glyphs[0].Box, two.Glyphs[0].Box
	require.InDelta(t, 2*a.X, b.X, 1e-9)
	require.InDelta(t, 2*a.Y, b.Y, 1e-9)
	require.InDelta(t, 2*a.W, b.W, 1e-9)
	require.InDelta(t, 2*one.Width, two.Width, 1e-9)
}

// TestOtherPrograms checks that, in files created by other programs, all but a few words match the text and position
// that pdftotext reports. COUNTERSIGN_TEST_TEXT can specify more files, as a glob pattern.
func TestOtherPrograms(t *testing.T) {
	t.Parallel()
	var files []string
	for _, name := range []string{"classic", "hybrid", "linearized", "xref-stream"} {
		files = append(files, "../../seal/testdata/"+name+".pdf")
	}
	more, err := filepath.Glob(os.Getenv("COUNTERSIGN_TEST_TEXT"))
	require.NoError(t, err)
	all, missing := 0, 0
	for _, name := range append(files, more...) {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		pages, err := readAll(t.Context(), b)
		require.NoError(t, err, name)
		want := poppler(t, name)
		require.Len(t, pages, len(want), name)
		n, lost := 0, 0
		for i, p := range pages {
			words := wordsOf(p)
			for _, w := range want[i] {
				n++
				if !takeWord(words, w) {
					lost++
				}
			}
		}
		if lost > 0 {
			t.Logf("%s: %d of %d words differ", name, lost, n)
		}
		all, missing = all+n, missing+lost
	}
	require.Positive(t, all)
	require.LessOrEqual(t, missing*20, all, "%d of %d words", missing, all)
}

// takeWord searches for a word, and marks it as used by emptying it.
func takeWord(words []word, w word) bool {
	for i, m := range words {
		if m.Text == strings.ReplaceAll(w.Text, "\u00ad", "-") && (near(m.Box, w.Box, false) || near(m.Box, w.Box, true)) {
			words[i].Text = ""
			return true
		}
	}
	return false
}
