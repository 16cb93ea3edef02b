package sealing_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"countersign/test/kit/sealkit"
)

// grammar generates page content, and all resources to which it can refer.
type grammar struct {
	t    *rapid.T
	mask string // name of the state with a soft mask, or empty
}

func (g grammar) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(g.t, label)
}

func (g grammar) number() string {
	return g.pick("number", "0", "1", "9", "40", "150", "-30", "0.5", "1e5", "2147483648", ".", "--3", "1BDC")
}

// operators lists the content stream operators and their expected operands.
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
		if o.name != "Tf" && o.name != "Tr" { // an upload in which Tf or Tr has wrong operands is rejected
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

// balanced usually returns the content in usual, and rarely generated content. Generated content can have unbalanced
// marked content, which is rejected.
func (g grammar) balanced(label, usual string) string {
	if rapid.IntRange(0, 9).Draw(g.t, label) > 0 {
		return usual
	}
	return g.content(label)
}

// resources returns the resources of the page, or of content at the given nesting level below the page. No content
// paints itself.
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

// document returns a page with generated content, forms, glyphs, patterns, layers and annotations.
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
		return sealkit.ClassicPDF(sealkit.Layout{
			Catalog: layers + fields, Pages: []sealkit.Page{{Extra: boxes + "/Resources" + g.resources(0) + "/Annots" + refs + "/Contents[1017 0 R 1018 0 R]"}},
			Objects: append(objects, stream("", content), stream("", g.content("more content"))),
		})
	}
	return sealkit.ClassicPDF(sealkit.Layout{Catalog: layers + fields, Pages: []sealkit.Page{{Extra: boxes + "/Resources" + g.resources(0) + "/Annots" + refs, Content: content}}, Objects: objects})
}
