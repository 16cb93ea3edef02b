package prepare_test

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/pdf/pagetext"
	"countersign/prepare"
)

// inHTML lists the names of the tags in sources/tags.html.
var inHTML = []string{
	"hebrew", "heading", "signature", "officer", "Wrapped", "InCell", "OtherCell", "inBrackets", "bold", "slanted", "spaced", "cjk", "last",
}

// corpus contains files with tags that were created by other programs, with the names of their tags.
var corpus = map[string][]string{
	"libreoffice-tags":          inHTML,
	"libreoffice-tags-pdfa":     inHTML,
	"chromium-tags":             append(slices.Clone(inHTML), "turned", "tate"),
	"ghostscript-chromium-tags": append(slices.Clone(inHTML), "turned", "tate"),
	"pdftex-tags":               {"heading", "signature", "officer", "Wrapped", "InCell", "inBrackets", "bold", "slanted", "small", "last"},
	"ghostscript-tags":          {"heading", "signature", "officer", "Wrapped", "InCell", "inBrackets", "bold", "slanted", "small", "last"},
	"cairo-tags":                {"officer", "signature", "Wrapped", "turned", "stretched", "cjk"},
}

func corpusFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "corpus", name+".pdf"))
	require.NoError(t, err)
	return b
}

// rewritings contains the same document as written by different programs.
var rewritings = map[string]func(*testing.T, []byte) []byte{
	"as it is":       func(_ *testing.T, b []byte) []byte { return b },
	"object streams": func(t *testing.T, b []byte) []byte { return qpdf(t, b, "--object-streams=generate") },
	"linearized":     func(t *testing.T, b []byte) []byte { return qpdf(t, b, "--linearize", "--object-streams=disable") },
	"uncompressed":   func(t *testing.T, b []byte) []byte { return qpdf(t, b, "--qdf", "--object-streams=disable") },
	"offset 0 in use": func(t *testing.T, b []byte) []byte {
		return inUseAtZero(t, qpdf(t, b, "--object-streams=disable"))
	},
	"rotated": func(t *testing.T, b []byte) []byte { return qpdf(t, b, "--rotate=+90", "--object-streams=disable") },
	"without ToUnicode": func(t *testing.T, b []byte) []byte {
		return toUnicode.ReplaceAllFunc(qpdf(t, b, "--qdf", "--object-streams=disable"), func(entry []byte) []byte { return bytes.Repeat([]byte(" "), len(entry)) })
	},
	"by mutool": func(t *testing.T, b []byte) []byte {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "out.pdf")
		require.NoError(t, os.WriteFile(in, b, 0o600))
		said, err := exec.CommandContext(t.Context(), "mutool", "clean", "-gggg", "-s", in, out).CombinedOutput()
		require.NoError(t, err, string(said))
		b, err = os.ReadFile(out)
		require.NoError(t, err)
		return b
	},
}

var toUnicode = regexp.MustCompile(`/ToUnicode \d+ 0 R`)

func qpdf(t *testing.T, b []byte, options ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "out.pdf")
	require.NoError(t, os.WriteFile(in, b, 0o600))
	said, err := exec.CommandContext(t.Context(), "qpdf", append(options, in, out)...).CombinedOutput()
	require.NoError(t, err, string(said))
	b, err = os.ReadFile(out)
	require.NoError(t, err)
	return b
}

// inUseAtZero appends a cross-reference entry at offset 0 that is marked as in use. Quartz writes such an entry for a
// free object number.
func inUseAtZero(t *testing.T, b []byte) []byte {
	t.Helper()
	trailer := bytes.LastIndex(b, []byte("trailer"))
	table := bytes.LastIndex(b[:trailer], []byte("xref\n"))
	require.Positive(t, table)
	size := regexp.MustCompile(`/Size (\d+)`).FindSubmatch(b[trailer:])
	head := regexp.MustCompile(`^xref\n0 (\d+)\n`).FindSubmatch(b[table:])
	require.NotNil(t, head)
	require.Equal(t, string(size[1]), string(head[1]))
	n, err := strconv.Atoi(string(size[1]))
	require.NoError(t, err)
	var out bytes.Buffer
	out.Write(b[:table])
	fmt.Fprintf(&out, "xref\n0 %d\n", n+1)
	out.Write(b[table+len(head[0]) : trailer])
	out.WriteString("0000000000 00000 n \n")
	out.Write(bytes.Replace(b[trailer:], size[0], []byte(fmt.Sprintf("/Size %d", n+1)), 1))
	return out.Bytes()
}

// TestCorpusTags checks that every tag in files created by other programs is found where pdftotext finds it. After
// removal of the tags, two renderers must show the same pages, and pdftotext must find no tag.
func TestCorpusTags(t *testing.T) {
	t.Parallel()
	for name, want := range corpus {
		for way, rewrite := range rewritings {
			if way == "without ToUnicode" && !strings.HasSuffix(name, "x-tags") && name != "ghostscript-tags" {
				continue // the codes in the fonts of the other files are glyph numbers, which are unreadable without ToUnicode
			}
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				b := rewrite(t, corpusFile(t, name))
				r := revision(t, b, prepare.Options{Tags: prepare.TagsDetect})
				var got []string
				for _, tag := range r.Tags {
					got = append(got, tagName(tag))
				}
				require.ElementsMatch(t, want, got)
				after := append(bytes.Clone(b), r.Appended...)
				if way == "as it is" || way == "rotated" {
					beginWherePopplerHasThem(t, b, r.Tags)
					sameExceptTags(t, b, after, r.Tags)
				}
				for _, text := range textOf(t, after) {
					require.NotContains(t, text, "{{")
					require.NotContains(t, text, "role")
					require.NotContains(t, text, "signer1")
					require.NotContains(t, text, "[initials")
				}
				require.Empty(t, revision(t, after, prepare.Options{Tags: prepare.TagsDetect}).Tags)
			})
		}
	}
}

func tagName(tag prepare.FoundTag) string {
	if tag.Name == "" {
		return tag.Type
	}
	return tag.Name
}

var popplerWord = regexp.MustCompile(`<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)">(.*?)</word>`)

// beginWherePopplerHasThem checks that pdftotext finds a word at the start or end of the first line of each tag.
func beginWherePopplerHasThem(t *testing.T, b []byte, tags []prepare.FoundTag) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.pdf")
	require.NoError(t, os.WriteFile(name, b, 0o600))
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-bbox", "-cropbox", name, "-").Output()
	require.NoError(t, err)
	pages := strings.Split(string(out), "<page ")[1:]
	for _, tag := range tags {
		l := tag.Lines[0]
		found := false
		for _, m := range popplerWord.FindAllStringSubmatch(pages[tag.Place.Page-1], -1) {
			var n [4]float64
			for i := range n {
				n[i], err = strconv.ParseFloat(m[i+1], 64)
				require.NoError(t, err)
			}
			if !strings.ContainsAny(html.UnescapeString(m[5]), "{}[]") {
				continue
			}
			const near = 1.5
			cx, cy := (n[0]+n[2])/2, (n[1]+n[3])/2
			across := cy >= l.Y && cy <= l.Y+l.H && (math.Abs(n[0]-l.X) < near || math.Abs(n[2]-l.X-l.W) < near)
			along := cx >= l.X && cx <= l.X+l.W && (math.Abs(n[1]-l.Y) < near || math.Abs(n[3]-l.Y-l.H) < near)
			found = found || across || along
		}
		require.True(t, found, "%s: %+v", tag.Text, l)
	}
}

// TestCorpusForms checks that forms created by other programs yield the fields that other parsers find (see
// TestReadForm_MatchesQPDF, TestReadForm_MatchesMuPDF and TestReadForm_MatchesPDFJS). Importing the forms must leave
// the pages unchanged except for the widgets.
func TestCorpusForms(t *testing.T) {
	t.Parallel()
	const red = `\376\377\000r\000e\000d` // hyperref escapes the string twice, and every program unescapes it once
	for name, want := range map[string][]string{
		"libreoffice-form": {
			"1 text name 30 Ada", "1 text notes 0 Two lines", "1 checkbox agree 0 Yes", "1 checkbox news 0 ", "1 radio colour 0 red", "1 radio colour 0 red",
			"1 select pet 0 Dog", "2 radio colour 0 red", "2 text town 0 ",
		},
		"pdftex-form": {
			"1 text name 30 ", "1 text notes 0 Some", "1 checkbox agree 0 Yes", "1 select pet 0 \ufeff\x00䐀o\x00", "1 radio colour 0 " + red,
			"1 radio colour 0 " + red, "1 text total 0 ", "2 text town 0 ",
		},
		"pdftex-fields": {
			"1 text number 8 AB12", "1 text notes 0 One Two", "1 text address.street 0 ", "1 text address.town 0 Rome", "1 select pet 0 ", "1 checkbox agree 0 ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := corpusFile(t, name)
			r := revision(t, b, prepare.Options{Form: prepare.FormImport})
			var got []string
			places := make(map[int][]image.Rectangle)
			for _, f := range r.Fields {
				got = append(got, fmt.Sprintf("%d %s %s %d %s", f.Place.Page, f.Type, f.Name, f.MaxLength, strings.Join(strings.Fields(f.Value), " ")))
			}
			require.ElementsMatch(t, want, got)
			f := open(t, b)
			_, err := f.Walk(func(p *pdf.Page) error {
				g, err := f.Geometry(p)
				require.NoError(t, err)
				annots, err := f.Array(p.Dict.Get("Annots"))
				require.NoError(t, err)
				for _, v := range annots { // push buttons are not fields, but are removed as well
					v, err := f.Resolve(v)
					require.NoError(t, err)
					d, err := v.Dict()
					require.NoError(t, err)
					box, err := f.Array(d.Get("Rect"))
					require.NoError(t, err)
					var n [4]float64
					for i := range n {
						n[i], _ = box[i].Float()
					}
					w := pagetext.DisplayBox(g, pdf.Box{X0: n[0], Y0: n[1], X1: n[2], Y1: n[3]})
					places[p.Index+1] = append(places[p.Index+1], pixels(w.X, w.Y, w.W, w.H))
				}
				return nil
			})
			require.NoError(t, err)
			after := append(bytes.Clone(b), r.Appended...)
			sameOutside(t, b, after, places)
			require.NotContains(t, strings.Join(textOf(t, after), ""), "Dog")
		})
	}
}
