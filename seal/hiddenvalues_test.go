package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"countersign/seal"
	"countersign/seal/admission"
	"countersign/seal/refusal"
)

// stampPNG is a dark picture on an opaque white ground.
func stampPNG(t testing.TB) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 60, 40))
	for y := range 40 {
		for x := range 60 {
			c := color.NRGBA{255, 255, 255, 255}
			if (x/6+y/6)%2 == 0 {
				c = color.NRGBA{20, 30, 120, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

// visibleValues are values of each kind that is drawn in its own way, on a page that is
// at least 300 points wide and 240 high.
func visibleValues(t testing.TB) []seal.Value {
	t.Helper()
	values := []seal.Value{
		{FieldID: "text", Kind: seal.Text, X: 20, Y: 20, W: 100, H: 20, Text: "MMMM Lovelace"},
		{FieldID: "signature", Kind: seal.Signature, X: 20, Y: 60, W: 60, H: 40, PNG: stampPNG(t)},
		{FieldID: "date", Kind: seal.Date, X: 140, Y: 20, W: 100, H: 20, Text: "2026-11-21"},
		{FieldID: "check", Kind: seal.Checkbox, X: 140, Y: 60, W: 24, H: 24, Checked: true},
		{FieldID: "radio", Kind: seal.Radio, X: 200, Y: 60, W: 24, H: 24, Checked: true},
		{FieldID: "comb", Kind: seal.Text, X: 140, Y: 120, W: 100, H: 20, Cells: 5, Text: "AB12W"},
	}
	for i := range values {
		values[i].SignerID, values[i].Page = adaID, 1
	}
	return values
}

// newInk counts the pixels of a field that are other than before.
func newInk(before, after image.Image, v seal.Value) int {
	n := 0
	for y := int(v.Y); y < int(v.Y+v.H); y++ {
		for x := int(v.X); x < int(v.X+v.W); x++ {
			r1, g1, b1, _ := before.At(x, y).RGBA()
			r2, g2, b2, _ := after.At(x, y).RGBA()
			const plainly = 0x3000
			if max(r1, r2)-min(r1, r2) > plainly || max(g1, g2)-min(g1, g2) > plainly || max(b1, b2)-min(b1, b2) > plainly {
				n++
			}
		}
	}
	return n
}

// hiddenValues seals an original, and says which values a reader does not show. refused
// is why it was not accepted.
func hiddenValues(t testing.TB, s *seal.Sealer, original []byte) (hidden []string, refused string) {
	t.Helper()
	_, err := admission.Admit(t.Context(), bytes.NewReader(original), int64(len(original)), admission.DefaultLimits())
	var r *refusal.Error
	if errors.As(err, &r) {
		return nil, r.Message
	}
	require.NoError(t, err)
	j := job(t, original)
	j.Values = visibleValues(t)
	file, _ := sealed(t, s, j)
	before := filepath.Join(t.TempDir(), "before.pdf")
	require.NoError(t, os.WriteFile(before, original, 0o600))
	was, is := allRenderings(t, before, 1), allRenderings(t, file, 1)
	require.NotEmpty(t, was)
	for reader := range was {
		if is[reader] == nil {
			hidden = append(hidden, reader+" shows nothing any more")
			continue
		}
		for _, v := range j.Values {
			if n := newInk(was[reader], is[reader], v); n < 25 {
				hidden = append(hidden, fmt.Sprintf("%s shows %d pixels of %s", reader, n, v.FieldID))
			}
		}
	}
	words, err := run(t, "pdftotext", "-f", "1", "-l", "1", file, "-")
	require.NoError(t, err)
	for _, want := range []string{"Lovelace", "2026-11-21"} {
		if !strings.Contains(words, want) {
			hidden = append(hidden, "pdftotext does not find "+want)
		}
	}
	return hidden, ""
}

// grammar makes page content and all that it can name.
type grammar struct {
	t    *rapid.T
	mask string // the state with a soft mask, if there is one
}

func (g grammar) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(g.t, label)
}

func (g grammar) number() string {
	return g.pick("number", "0", "1", "9", "40", "150", "-30", "0.5", "1e5", "2147483648", ".", "--3", "1BDC")
}

// operators are what content is made of, with as many operands as they should have.
var operators = []struct {
	name     string
	operands string // n: a number, s: a string, f: a font, z: its size, m: a mode, x: an XObject, g: a state, p: properties, a: an array, t: a tag, r: a pattern
}{
	{"q", ""},
	{"Q", ""},
	{"q", ""},
	{"Q", ""},
	{"cm", "nnnnnn"},
	{"w", "n"},
	{"gs", "g"},
	{"gs", "g"},
	{"m", "nn"},
	{"l", "nn"},
	{"c", "nnnnnn"},
	{"re", "nnnn"},
	{"h", ""},
	{"W", ""},
	{"W*", ""},
	{"n", ""},
	{"f", ""},
	{"S", ""},
	{"B*", ""},
	{"g", "n"},
	{"rg", "nnn"},
	{"k", "nnnn"},
	{"RG", "nnn"},
	{"cs", "r"},
	{"scn", "r"},
	{"sh", "r"},
	{"BT", ""},
	{"ET", ""},
	{"Tf", "fz"},
	{"Tr", "m"},
	{"Tz", "n"},
	{"Td", "nn"},
	{"Tm", "nnnnnn"},
	{"Tj", "s"},
	{"TJ", "a"},
	{"'", "s"},
	{"d0", "nn"},
	{"d1", "nnnnnn"},
	{"Do", "x"},
	{"Do", "x"},
	{"Do", "x"},
	{"BMC", "t"},
	{"BDC", "tp"},
	{"BDC", "tp"},
	{"BDC", "tp"},
	{"EMC", ""},
	{"MP", "t"},
	{"DP", "tp"},
	{"BX", ""},
	{"EX", ""},
	{"d", "an"},
	{"i", "n"},
	{"ri", "t"},
	{"zz", ""},
	{"BDCx", "tp"},
	{"re W n", "nnnn"},
}

func (g grammar) operand(kind rune) string {
	switch kind {
	case 'z':
		return g.pick("size", "9", "0.1", "40", "-9")
	case 'm':
		return g.pick("mode", "0", "3", "7")
	case 's':
		return g.pick("string", "(Agreement)", "<4142>", "(a(b)c)", "()")
	case 'f':
		return "/F1"
	case 'x':
		return g.pick("XObject", "/X0", "/X1", "/X2", "/None")
	case 'g':
		return g.pick("state", "/G0", "/G1", "/G2", "/G3")
	case 'p':
		return g.pick("properties", "/Off", "/Off", "/On", "/Both", "/None", "<</MCID 0>>", "null")
	case 'a':
		return g.pick("array", "[1 2]", "[]", "[(A) 3 (B)]")
	case 't':
		return g.pick("tag", "/OC", "/OC", "/O#43", "/P", "/Span")
	case 'r':
		return g.pick("pattern", "/Pattern", "/P0", "/P1", "/DeviceRGB")
	}
	return g.number()
}

func (g grammar) content(label string) string {
	var b strings.Builder
	for range rapid.IntRange(0, 14).Draw(g.t, label) {
		o := rapid.SampledFrom(operators).Draw(g.t, "operator")
		kinds := []rune(o.operands)
		if o.name != "Tf" && o.name != "Tr" { // with wrong operands, such an upload is refused
			switch rapid.IntRange(0, 12).Draw(g.t, "operands") {
			case 0:
				kinds = kinds[:len(kinds)/2]
			case 1:
				kinds = append([]rune("n"), kinds...)
			}
		}
		for _, k := range kinds {
			b.WriteString(g.operand(k) + " ")
		}
		b.WriteString(o.name + g.pick("space", " ", "\n", "\n"))
		if rapid.IntRange(0, 15).Draw(g.t, "image") == 0 {
			b.WriteString("BI /W 2 /H 2 /BPC 8 /CS /G ID " + g.pick("data", "aaaa", "a EI a", "a EI /OC /Off BDC EI", "aaaa EMC") + " EI ")
		}
	}
	return b.String() + g.pick("end", "", "", "", "", "(", "[ 1", "<< /A", "BI /W 9 ID x", "1 2", "1 1 rg", "q", "BT", "/OC /Off BDC")
}

// balanced is content that is refused if it leaves marked content open: mostly it does not.
func (g grammar) balanced(label, usual string) string {
	if rapid.IntRange(0, 9).Draw(g.t, label) > 0 {
		return usual
	}
	return g.content(label)
}

// resources are those of the page, or of what is painted by it so many levels down: nothing paints itself.
func (g grammar) resources(level int) string {
	const all = "<</Font<</F1 3 0 R%s>>/XObject<<%s>>/Properties<</Off 1000 0 R/On 1001 0 R/Both 1002 0 R>>/ExtGState<</G0<</ca 0>>/G1<</CA 0.5/ca 0.5/BM/Difference>>%s/G3<</BM/Multiply/SMask/None>>>>/Pattern<<%s/P1 1009 0 R>>>>"
	switch level {
	case 0:
		return fmt.Sprintf(all, "/T3 1004 0 R", "/X0 1005 0 R/X1 1006 0 R/X2 1007 0 R", g.mask, "/P0 1008 0 R")
	case 1:
		return fmt.Sprintf(all, "", "/X1 1006 0 R/X2 1007 0 R", g.mask, "/P0 1008 0 R")
	case 2:
		return fmt.Sprintf(all, "", "/X2 1007 0 R", "", "")
	}
	return fmt.Sprintf(all, "", "", "", "")
}

// document is a page of made content, forms, glyphs, patterns, layers and annotations.
func (g grammar) document() []byte {
	stream := func(dict, content string) string {
		return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(content), content)
	}
	form := func(label string, level int) string {
		group := g.pick("group", "", "", "/Group<</S/Transparency>>", "/Group<</S/Transparency/I true/K true>>", "/OC 1000 0 R", "/OC 1001 0 R")
		return stream("/Type/XObject/Subtype/Form/BBox[0 0 300 200]/Matrix[1 0 0 1 0 0]"+group+"/Resources"+g.resources(level), g.content(label))
	}
	annotation := func() string {
		kind := g.pick("annotation", "/Square", "/Stamp", "/Widget/FT/Tx/T(a)/V(Box)", "/Widget/FT/Btn/T(b)/AS/On", "/Link", "/FreeText/DA(/F1 9 Tf)", "/Popup", "/Widget/FT/Sig/T(c)")
		look := g.pick("look", "", "/AP<</N 1010 0 R>>", "/AP<</N 1010 0 R>>", "/AP<</N<</On 1010 0 R/Off 1011 0 R>>>>", "/MK<</BG[0.9 0.9 1]/BC[0 0 1]>>")
		return "<</Type/Annot/Subtype" + kind + look + "/F " + g.pick("flags", "4", "4", "0", "2", "32", "36", "196") + "/Rect" +
			g.pick("rectangle", "[10 10 290 230]", "[15 195 130 225]", "[130 140 190 190]", "[0 0 0 0]") + g.pick("layer", "", "", "/OC 1000 0 R") + ">>"
	}
	annots := make([]string, rapid.IntRange(0, 3).Draw(g.t, "annotations"))
	for i := range annots {
		annots[i] = annotation()
	}
	list := "[" + strings.Join(annots, " ") + "]"
	refs, objects := list, []string{"null", "null", "null"}
	if g.pick("indirect", "yes", "no") == "yes" {
		refs = "["
		for i, a := range annots {
			objects[i] = a
			refs += fmt.Sprintf("%d 0 R ", 1013+i)
		}
		refs += "]"
	}
	objects = append([]string{
		"<</Type/OCG/Name(off)>>", "<</Type/OCG/Name(on)>>", "<</Type/OCMD/OCGs[1000 0 R 1001 0 R]/P/AllOn>>", "null",
		"<</Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a 1012 0 R>>/Encoding<</Type/Encoding/Differences[65/a/a/a]>>/FirstChar 65/LastChar 67/Widths[1 1 1]/Resources" + g.resources(3) + ">>",
		form("form 0", 1), form("form 1", 2), form("form 2", 3),
		stream("/Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 20 20]/XStep 20/YStep 20/Resources"+g.resources(3), g.balanced("tile", "1 0 0 rg 0 0 9 9 re f")),
		"<</Type/Pattern/PatternType 2/Shading<</ShadingType 2/ColorSpace/DeviceRGB/Coords[0 0 300 0]/Extend[true true]/Function<</FunctionType 2/Domain[0 1]/C0[1 1 1]/C1[0 0 1]/N 1>>>>>>",
		form("appearance", 1), form("other appearance", 1),
		stream("", "1 0 0 0 1 1 d1 "+g.balanced("glyph", "0 0 1 1 re f")),
	}, append(objects, stream("/Type/XObject/Subtype/Form/BBox[0 0 300 240]/Group<</S/Transparency/CS/DeviceGray>>/Resources"+g.resources(3), g.balanced("mask", "0.5 g 0 0 300 240 re f")))...)
	layers := g.pick("layers", "", "/OCProperties<</OCGs[1000 0 R 1001 0 R]/D<</OFF[1000 0 R]>>>>", "/OCProperties<</OCGs[1000 0 R 1001 0 R]/D<</OFF[1000 0 R]>>>>",
		"/OCProperties<</OCGs[1000 0 R 1001 0 R]/D<</BaseState/OFF/ON[1001 0 R]>>>>")
	fields := g.pick("fields", "", "/AcroForm<</Fields[]>>", "/AcroForm<</Fields[]/NeedAppearances true/DA(/F1 0 Tf 0 g)/DR<</Font<</F1 3 0 R>>>>>>")
	boxes := g.pick("boxes", "/MediaBox[0 0 300 240]", "/MediaBox[0 0 300 240]", "/MediaBox[-20 -10 400 300]/CropBox[10 20 310 260]", "/MediaBox[0 0 300 300]/Rotate 90", "/MediaBox[0 0 300 300]/Rotate 180", "/MediaBox[0 0 300 300]/Rotate 270") +
		g.pick("page group", "", "", "/Group<</S/Transparency/CS/DeviceRGB>>", "/Group<</S/Transparency/I true/K true>>")
	content := g.content("content")
	if g.pick("parts", "one", "two") == "two" {
		return classicPDF(layout{
			catalog: layers + fields, pages: []page{{extra: boxes + "/Resources" + g.resources(0) + "/Annots" + refs + "/Contents[1017 0 R 1018 0 R]"}},
			objects: append(objects, stream("", content), stream("", g.content("more content"))),
		})
	}
	return classicPDF(layout{catalog: layers + fields, pages: []page{{extra: boxes + "/Resources" + g.resources(0) + "/Annots" + refs, content: content}}, objects: objects})
}

// TestValuesAreVisible: whatever the content and the annotations of an original do, each value
// is seen at its place in four readers, and found as text, or the upload was refused.
func TestValuesAreVisible(t *testing.T) {
	t.Parallel()
	s := newSealerFixture(t).sealer(t)
	sealedFiles, refusedFiles := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		original := grammar{r, rapid.SampledFrom([]string{"", "", "", "/G2<</SMask<</S/Luminosity/G 1016 0 R>>>>"}).Draw(r, "mask")}.document()
		hidden, refused := hiddenValues(t, s, original)
		if refused != "" {
			refusedFiles++
			return
		}
		sealedFiles++
		if len(hidden) > 0 {
			file := filepath.Join(t.ArtifactDir(), "hidden.pdf") // the smallest one is written last
			require.NoError(t, os.WriteFile(file, original, 0o600))
			r.Fatalf("%s: %s", file, strings.Join(hidden, "\n"))
		}
	})
	t.Logf("%d sealed, %d refused", sealedFiles, refusedFiles)
	require.Positive(t, sealedFiles)
}

// TestWhatHidesValues: each way in which content was seen to hide what is drawn behind it.
func TestWhatHidesValues(t *testing.T) {
	t.Parallel()
	s := newSealerFixture(t).sealer(t)
	const mask = "/G2<</SMask<</S/Luminosity/G 1016 0 R>>>>"
	for name, tt := range map[string]struct {
		content, form, appearance, mask, refused string
	}{
		"a layer":                       {content: "/OC /Off BDC"},
		"a layer, and a string":         {content: "/OC /Off BDC ("},
		"a layer in a form":             {content: "/X0 Do", form: "/OC /Off BDC"},
		"the same, too few operands":    {content: "/X0 Do 1 1 rg", form: "/OC /Off BDC"},
		"a form painted often":          {content: strings.Repeat("/X0 Do ", 30), form: "/OC /Off BDC /OC /Off BDC"},
		"a form with Q and cm":          {content: "/X0 Do", form: "Q Q Q 1 0 0 1 5000 0 cm 0 0 1 1 re W n"},
		"both":                          {content: "q /X0 Do 1 0 0 1", form: "Q Q /OC /Off BDC 1 0 0 1 5000 0 cm"},
		"an annotation's appearance":    {appearance: "/OC /Off BDC"},
		"a layer behind an image":       {content: "BI /W 2 /H 2 /BPC 8 /CS /G ID aaaa EI /OC /Off BDC"},
		"an operator within a word":     {content: "1BDC /OC /Off BDCx"},
		"a mask, and a Q too many":      {content: "/G2 gs Q 0 0 m 9 9 l n", mask: mask, refused: "soft mask"},
		"a mask, and a Q in a form":     {content: "/G2 gs /X0 Do 0 0 m n", form: "Q Q Q Q", mask: mask, refused: "soft mask"},
		"a mask in an appearance":       {appearance: "/G2 gs Q Q Q 0 0 m n", mask: mask, refused: "soft mask"},
		"a mask that is left":           {content: "/G2 gs", mask: mask},
		"text in a form behind Q":       {content: "/X0 Do", form: "/F1 9 Tf Q Q (x) Tj", refused: "without a font"},
		"text behind a form with Q":     {content: "q /F1 9 Tf /X0 Do (x) Tj", form: "Q Q", refused: "without a font"},
		"text in another font":          {content: "q /F1 9 Tf /X0 Do /F1 9 Tf (x) Tj", form: "Q Q"},
		"text in an appearance":         {appearance: "/F1 9 Tf Q Q Q (x) Tj", refused: "without a font"},
		"a clip to nothing":             {content: "q 0 0 1 1 re W n 3 Tr 0 Tz /G0 gs"},
		"paths that are broken":         {content: "/OC /Off BDC " + strings.Repeat("1 l ", 30)},
		"content that cannot be opened": {content: "/OC /Off BDC /None Do /F9 gs /P9 sh zz"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := grammar{mask: tt.mask}
			stream := func(dict, content string) string {
				return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(content)+1, content+" ")
			}
			form := "/Type/XObject/Subtype/Form/BBox[0 0 300 240]/Resources" + g.resources(1)
			objects := make([]string, 17)
			for i := range objects {
				objects[i] = "null"
			}
			objects[0], objects[1], objects[2] = "<</Type/OCG/Name(off)>>", "<</Type/OCG/Name(on)>>", "<</Type/OCMD/OCGs[1000 0 R 1001 0 R]/P/AllOn>>"
			objects[5], objects[10] = stream(form, tt.form), stream(form, tt.appearance)
			objects[16] = stream("/Type/XObject/Subtype/Form/BBox[0 0 300 240]/Group<</S/Transparency/CS/DeviceGray>>", "0.5 g 0 0 300 240 re f")
			original := classicPDF(layout{
				catalog: "/OCProperties<</OCGs[1000 0 R 1001 0 R]/D<</OFF[1000 0 R]>>>>",
				pages: []page{{
					extra:   "/MediaBox[0 0 300 240]/Resources" + g.resources(0) + "/Annots[<</Type/Annot/Subtype/Square/F 4/Rect[200 10 290 60]/AP<</N 1010 0 R>>>>]",
					content: "BT /F1 18 Tf 10 20 Td (Ada pays 100 euros) Tj ET " + tt.content + " ",
				}},
				objects: objects,
			})
			hidden, refused := hiddenValues(t, s, original)
			require.Empty(t, hidden)
			if tt.refused != "" {
				require.Contains(t, refused, tt.refused)
			} else {
				require.Empty(t, refused)
			}
		})
	}
}

// TestPicturesLeaveTextReadable: an opaque picture over a clause changes the page in no reader where the
// picture is white, and the clause is seen through it where it is not.
func TestPicturesLeaveTextReadable(t *testing.T) {
	t.Parallel()
	s := newSealerFixture(t).sealer(t)
	original := classicPDF(layout{pages: []page{{extra: "/MediaBox[0 0 300 240]" + ownResources, content: "BT /F1 18 Tf 20 160 Td (MMMMM MMMMM) Tj ET"}}})
	before := filepath.Join(t.TempDir(), "before.pdf")
	require.NoError(t, os.WriteFile(before, original, 0o600))
	was := allRenderings(t, before, 1)
	filled := func(c color.NRGBA) []byte {
		img := image.NewNRGBA(image.Rect(0, 0, 280, 200))
		for i := range 280 * 200 {
			img.SetNRGBA(i%280, i/280, c)
		}
		img.SetNRGBA(0, 0, color.NRGBA{0, 0, 0, 255}) // more than one colour
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		return b.Bytes()
	}
	for name, ground := range map[string]color.NRGBA{"white": {255, 255, 255, 255}, "grey": {128, 128, 128, 255}, "black": {0, 0, 0, 255}, "half": {0, 0, 0, 200}} {
		for _, kind := range []seal.Kind{seal.Signature, seal.Initial, seal.Stamp} {
			j := job(t, original)
			j.Values = []seal.Value{{FieldID: "f", SignerID: adaID, Kind: kind, Page: 1, X: 10, Y: 20, W: 280, H: 200, PNG: filled(ground)}}
			file, _ := sealed(t, s, j)
			is := allRenderings(t, file, 1)
			require.Len(t, is, len(readers))
			for reader, img := range is {
				letters, plainly := 0, 0
				for y := 64; y < 80; y++ {
					for x := 24; x < 150; x++ {
						if was[reader].RGBAAt(x, y).R > 40 {
							continue
						}
						// Beside a letter's stem is what the picture makes of paper.
						letters++
						if paper := img.RGBAAt(x, 50).R; paper > img.RGBAAt(x, y).R+80 {
							plainly++
						}
					}
				}
				require.Greater(t, letters, 100, reader)
				require.Equal(t, letters, plainly, "%s: %s on %s", reader, kind, name)
			}
		}
	}
}
