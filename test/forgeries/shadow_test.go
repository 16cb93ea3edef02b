package forgeries_test

import (
	"fmt"
	"strings"
)

// shadowForgeries returns shadow attacks. The forger prepares the original, others sign the displayed text, and a small
// update then reveals another text.
func shadowForgeries() []forgery {
	const class = "shadow"
	return []forgery{
		{
			name: "shadow-hide-replaced-cover", class: class, want: altered, original: covered, shows: picture(1),
			make: func(g *genuine) []byte {
				return update(g.bytes, map[int]string{10: streamOf("/Type/XObject/Subtype/Form/BBox[0 0 1 1]", "")})
			},
		},
		{
			name: "shadow-hide-freed-cover", class: class, want: altered, original: covered, shows: picture(1),
			make: func(g *genuine) []byte {
				w := after(g.bytes)
				at := len(w.b)
				return w.text(fmt.Sprintf("xref\n10 1\n0000000000 00001 f \ntrailer\n<</Size 6000/Prev %d%s>>\nstartxref\n%d\n%%%%EOF\n",
					lastXRef(g.bytes), newestTrailer(g.bytes), at)).b
			},
		},
		{
			name: "shadow-hide-cover-of-another-type", class: class, want: altered, original: covered, shows: picture(1),
			make: func(g *genuine) []byte { return update(g.bytes, map[int]string{10: "<</Type/Nothing>>"}) },
		},
		{
			name: "shadow-replace-font-encoding", class: class, want: altered, original: agreement, shows: poppler("Ada pays 900 euros to Jomo"),
			make: func(g *genuine) []byte {
				return update(g.bytes, map[int]string{
					objFont: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</Type/Encoding/BaseEncoding/WinAnsiEncoding/Differences[49/nine]>>>>",
				})
			},
		},
		{
			name: "shadow-replace-font-to-unicode", class: class, want: altered, original: agreement, shows: poppler("Ada pays 900 euros"),
			make: func(g *genuine) []byte {
				cmap := "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def 1 begincodespacerange <00> <FF> endcodespacerange " +
					"1 beginbfrange <20> <7E> <0020> endbfrange 1 beginbfchar <31> <0039> endbfchar endcmap end end"
				return update(g.bytes, map[int]string{
					objFont: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/ToUnicode 5000 0 R>>", 5000: streamOf("", cmap),
				})
			},
		},
		{
			name: "shadow-replace-field-appearance", class: class, want: altered, original: filledForm, shows: picture(1),
			make: func(g *genuine) []byte {
				return update(g.bytes, map[int]string{11: appearance(forgedText)})
			},
		},
		{
			name: "shadow-replace-field-value", class: class, want: altered, original: filledForm, shows: object("10", forgedText),
			make: func(g *genuine) []byte {
				return update(g.bytes, map[int]string{10: with(objectOf(g.bytes, 10), "V", "("+forgedText+")")})
			},
		},
		{
			name: "shadow-hide-and-replace-content", class: class, want: altered, original: hiddenContent, shows: poppler(forgedText),
			make: func(g *genuine) []byte {
				w := after(g.bytes)
				w.entries = []place{{objContent, 0, strings.Index(string(g.original), "5 0 obj\n"+textStream(forgedText))}}
				return w.finish(g.bytes)
			},
		},
		{
			name: "shadow-hide-and-replace-catalog", class: class, want: altered, original: hiddenCatalog, shows: poppler(forgedText),
			make: func(g *genuine) []byte {
				return after(g.bytes).table(lastXRef(g.bytes), "/Root 20 0 R")
			},
		},
		{
			name: "shadow-hide-and-replace-section", class: class, want: altered, original: hiddenSection, shows: poppler(forgedText),
			make: func(g *genuine) []byte {
				at := strings.Index(string(g.original), "xref\n5 1\n")
				return fmt.Appendf(append([]byte{}, g.bytes...), "startxref\n%d\n%%%%EOF\n", at)
			},
		},
	}
}

// covered returns a file in which a cover with the honest text hides the forged text.
func covered() []byte {
	d := newDraft()
	d.objects[objPage] = strings.Replace(pageOf(objContent, ""), "/Resources<<", "/Resources<</XObject<</Cover 10 0 R>>", 1)
	d.objects[objContent] = streamOf("", "BT /F1 18 Tf 72 700 Td ("+forgedText+") Tj ET /Cover Do")
	d.objects[10] = streamOf("/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>",
		"1 g 60 680 500 40 re f 0 g BT /F1 18 Tf 72 700 Td ("+honestText+") Tj ET")
	return d.bytes()
}

func appearance(text string) string {
	return streamOf("/Type/XObject/Subtype/Form/BBox[0 0 400 30]/Resources<</Font<</F1 3 0 R>>>>", "BT /F1 18 Tf 2 8 Td ("+text+") Tj ET")
}

// filledForm returns a file with a form field that contains the honest text.
func filledForm() []byte {
	d := newDraft()
	d.catalog = "/AcroForm<</Fields[10 0 R]/DA(/F1 12 Tf)/DR<</Font<</F1 3 0 R>>>>>>"
	d.objects[objPage] = pageOf(objContent, "/Annots[10 0 R]")
	d.objects[10] = "<</Type/Annot/Subtype/Widget/FT/Tx/T(amount)/V(" + honestText + ")/F 4/Rect[72 600 472 630]/P 4 0 R/AP<</N 11 0 R>>>>"
	d.objects[11] = appearance(honestText)
	return d.bytes()
}

// hiddenContent returns a file with a second content stream that no table lists.
func hiddenContent() []byte {
	d := newDraft()
	d.last = "5 0 obj\n" + textStream(forgedText) + "\nendobj\n"
	return d.bytes()
}

// hiddenCatalog returns a file with a second document, which is listed but not used.
func hiddenCatalog() []byte {
	d := newDraft()
	d.objects[20] = "<</Type/Catalog/Pages 21 0 R>>"
	d.objects[21] = "<</Type/Pages/Kids[22 0 R]/Count 1>>"
	d.objects[22] = strings.Replace(pageOf(23, ""), "/Parent 2", "/Parent 21", 1)
	d.objects[23] = textStream(forgedText)
	return d.bytes()
}

// hiddenSection returns a file with a complete cross-reference section inside a stream. The section lists a hidden
// content stream.
func hiddenSection() []byte { return withDormantSection(func(int) string { return "" }) }

// withDormantSection returns a file with a stream that contains an object and a section that lists it. The hidden
// section refers to the original's own section, so it must contain that section's position.
func withDormantSection(more func(own int) string) []byte {
	own := 0
	for {
		d := newDraft()
		inner := func(at int) string {
			section := fmt.Sprintf("xref\n5 1\n%010d 00000 n \ntrailer\n<</Size 6000/Root 1 0 R/Prev %010d%s>>\n", at, own, more(own))
			return "5 0 obj\n" + textStream(forgedText) + "\nendobj\n" + section
		}
		d.objects[30] = streamOf("", inner(0))
		at := strings.Index(string(d.bytes()), "5 0 obj\n"+textStream(forgedText))
		d.objects[30] = streamOf("", inner(at))
		b := d.bytes()
		if lastXRef(b) == own {
			return b
		}
		own = lastXRef(b)
	}
}
