package sealing_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/seal/admission"
	"countersign/seal/rejection"
	"countersign/seal/sandbox"
	"countersign/test/kit/sealkit"
)

func TestUndefinedReferencesAreDefined(t *testing.T) {
	t.Parallel()
	hybrid := bytes.Replace(sealkit.HybridPDF(), []byte("/BaseFont/Helvetica>>"), []byte("/ToUnicode  9 0 R  >>"), 1)
	for name, tt := range map[string]struct {
		original []byte
		want     []pdf.Ref
	}{
		"table":  {sealkit.OpenEndedContents(), []pdf.Ref{{Num: 70, Gen: 2}, {Num: 5000}, {Num: 5001}, {Num: 5003, Gen: 7}, {Num: 5004}}},
		"stream": {hybrid, []pdf.Ref{{Num: 9}}},
		"none":   {sealkit.SimplePDF(2), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ElementsMatch(t, tt.want, sealkit.Undefined(t, sealkit.Open(t, tt.original)))
			_, err := admission.Admit(t.Context(), bytes.NewReader(tt.original), int64(len(tt.original)), admission.DefaultLimits())
			require.NoError(t, err)
			k := sealkit.NewFixture(t)
			file, b := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, tt.original))
			after := sealkit.Open(t, b)
			require.Empty(t, sealkit.Undefined(t, after))
			for _, ref := range tt.want {
				has, err := after.Has(ref.Num)
				require.NoError(t, err)
				require.True(t, has)
				o, err := after.Object(ref)
				require.NoError(t, err)
				require.True(t, o.Value.IsNull())
				require.Contains(t, string(b[len(tt.original):]), fmt.Sprintf("%d %d obj\nnull\nendobj", ref.Num, ref.Gen))
			}
			sealkit.CheckIndependently(t, k, file, b)
		})
	}
}

// TestNewNumbersAreHigher checks that the objects of the seal do not use any number that occurs anywhere in the file,
// not even in bytes that no cross-reference section lists.
func TestNewNumbersAreHigher(t *testing.T) {
	t.Parallel()
	original := bytes.Replace(sealkit.OpenEndedContents(), []byte("\nxref\n"), []byte("\n7000 3 obj\n<<>>\nendobj\nxref\n"), 1)
	at := bytes.Index(original, []byte("\nxref\n")) + 1
	i := bytes.LastIndex(original, []byte("startxref"))
	original = fmt.Appendf(original[:i:i], "startxref\n%d\n%%%%EOF\n", at)
	_, b := sealkit.Sealed(t, sealkit.NewFixture(t).Sealer(t), sealkit.Job(t, original))
	f := sealkit.Open(t, b)
	seen := 0
	require.NoError(t, f.VisitChanged(int64(len(original)), func(num int) error {
		if num > 5004 {
			require.Greater(t, num, 7000)
			seen++
		}
		return nil
	}))
	require.Greater(t, seen, 10)
}

// TestPage_ParentMustBeTheListingNode checks that a page is rejected if its Parent is not the node that lists it.
func TestPage_ParentMustBeTheListingNode(t *testing.T) {
	t.Parallel()
	admit := func(b []byte) error {
		_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
		return err
	}
	good := sealkit.SimplePDF(2)
	require.NoError(t, admit(good))
	i := bytes.LastIndex(good, []byte("/Parent 2 0 R"))
	require.Positive(t, i)
	for _, other := range []string{"1", "9"} {
		bad := bytes.Clone(good)
		copy(bad[i:], "/Parent "+other+" 0 R")
		var rejected *rejection.Error
		require.ErrorAs(t, admit(bad), &rejected)
		require.Equal(t, rejection.PDFAmbiguous, rejected.Code)
		require.Contains(t, rejected.Message, "specifies another parent")
	}
}

func TestAdmit_AmbiguousStructure_IsRejected(t *testing.T) {
	t.Parallel()
	withPage := func(extra string, objects ...string) []byte {
		return sealkit.ClassicPDF(sealkit.Layout{Pages: sealkit.LetterPage(extra), Objects: objects})
	}
	many := &strings.Builder{}
	for i := range 5000 {
		fmt.Fprintf(many, "%d 0 R ", 10_000+i)
	}
	attached := func(key, f string) []byte {
		return sealkit.ClassicPDF(sealkit.Layout{
			Catalog: "/Names<</EmbeddedFiles<</Kids[1002 0 R]>>>>", Pages: sealkit.LetterPage(""),
			Objects: []string{
				"<</Type/EmbeddedFile/Length 2>>\nstream\n{}\nendstream", "<</Type/Filespec/F " + f + "/EF<</F 1000 0 R>>>>",
				"<</Names[" + key + " 1001 0 R]>>",
			},
		})
	}
	utf := func(s string, big bool) string {
		out := []byte{0xFF, 0xFE}
		if big {
			out = []byte{0xFE, 0xFF}
		}
		for _, u := range utf16.Encode([]rune(s)) {
			if big {
				out = append(out, byte(u>>8), byte(u))
			} else {
				out = append(out, byte(u), byte(u>>8))
			}
		}
		return "<" + hex.EncodeToString(out) + ">"
	}
	simple := sealkit.SimplePDF(1)
	tests := []struct {
		name, code, says string
		pdf              []byte
	}{
		{"a number with two generations", rejection.PDFNeedsRepair, "object 70 is used with two generations", withPage("/A[70 2 R 70 3 R]")},
		{"another generation than the object has", rejection.PDFNeedsRepair, "object 1000 is used with two generations", withPage("/A 1000 1 R", "<<>>")},
		{"thousands of references to missing objects", rejection.PDFTooComplex, "references to missing objects", withPage("/A[" + many.String() + "]")},
		{"no object number", rejection.PDFNeedsRepair, "99999999 is not an object number", withPage("/A 99999999 0 R")},
		{"no generation", rejection.PDFNeedsRepair, "65535 is not a generation number", withPage("/A 80 65535 R")},
		{"a sign before a reference", rejection.PDFNeedsRepair, "R without two numbers", withPage("/A[+5000 0 R]")},
		{"a reference without a blank", rejection.PDFNeedsRepair, "R without two numbers", withPage("/A[5000 0R]")},
		{"trailer: key twice", rejection.PDFAmbiguous, "Root twice", bytes.Replace(simple, []byte("/Root 1 0 R"), []byte("/Root 1 0 R/R#6fot 2 0 R"), 1)},
		{"catalog: key twice", rejection.PDFAmbiguous, "Pages twice", sealkit.ClassicPDF(sealkit.Layout{Catalog: "/P#61ges 3 0 R", Pages: sealkit.LetterPage("")})},
		{"page tree: key twice", rejection.PDFAmbiguous, "Kids twice", sealkit.ClassicPDF(sealkit.Layout{Tree: "/Kids[]", Pages: sealkit.LetterPage("")})},
		{"page: key twice", rejection.PDFAmbiguous, "Contents twice", withPage("/Contents 11 0 R/Cont#65nts 1000 0 R", "<</Length 0>>\nstream\n\nendstream")},
		{"resources: key twice", rejection.PDFAmbiguous, "Font twice", sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 9 9]/Resources<</Font 1 0 R/Font 2 0 R>>"}}})},
		{"fonts: name twice", rejection.PDFAmbiguous, "F1 twice", sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 9 9]/Resources<</Font<</F1 3 0 R/F#31 1 0 R>>>>"}}})},
		{"stream: key twice", rejection.PDFAmbiguous, "object 1000 has the key Filter twice", withPage("", "<</Length 0/Filter/ASCIIHexDecode/F#69lter[]>>\nstream\n\nendstream")},
		{"font: key twice", rejection.PDFAmbiguous, "object 1000 has the key BaseFont twice", withPage("", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/BaseFont/Symbol>>")},
		{"annotation: key twice", rejection.PDFAmbiguous, "object 10 has the key AP twice", withPage("/Annots[<</Subtype/Stamp/Rect[0 0 9 9]/AP<</N 11 0 R>>/AP<</N null>>>>]")},
		{"appearances: key twice", rejection.PDFAmbiguous, "object 1000 has the key N twice", withPage("", "<</Subtype/Stamp/Rect[0 0 9 9]/AP<</N 11 0 R/N null>>>>")},
		{"dictionary of many keys: one twice", rejection.PDFAmbiguous, "object 1000 has the key K70 twice", withPage("", manyKeys(100)+"/K70 null>>")},
		{"Length too small", rejection.PDFAmbiguous, "Length", withPage("", "<</Length 3>>\nstream\n12345\nendstream")},
		{"Length beyond the end", rejection.PDFAmbiguous, "Length", withPage("", "<</Length 99999>>\nstream\n12345\nendstream")},
		{"object stream with one object twice", rejection.PDFAmbiguous, "twice", twiceInStream()},
		{"data in another file", rejection.PDFActiveContent, "another file", withPage("", "<</Length 0/F(a.bin)>>\nstream\n\nendstream")},
		{"our key", rejection.PDFAttachment, "countersign-seal.json", attached("(countersign-seal.json)", "(a)")},
		{"our key in UTF-16", rejection.PDFAttachment, "countersign-seal.json", attached(utf("countersign-seal.json", true), "(a)")},
		{"our file name", rejection.PDFAttachment, "seal.json", attached("(a)", "(seal.json)")},
		{"our file name in escapes", rejection.PDFAttachment, "seal.json", attached("(a)", `(s\145al.json)`)},
		{"our file name in another case", rejection.PDFAttachment, "seal.json", attached("(a)", "(Seal.JSON)")},
		{"our file name in a folder", rejection.PDFAttachment, "seal.json", attached("(a)", "(./x/seal.json)")},
		{"our file name, little endian", rejection.PDFAttachment, "seal.json", attached("(a)", utf("seal.json", false))},
		{"our file name with an invisible character", rejection.PDFAttachment, "seal.json", attached("(a)", utf("seal\u200b.json", true))},
		{"our file name, full width", rejection.PDFAttachment, "seal.json", attached("(a)", utf("ｓｅａｌ.json", true))},
		{"our file name as UF, by reference", rejection.PDFAttachment, "seal.json", sealkit.ClassicPDF(sealkit.Layout{
			Catalog: "/AF[1001 0 R]", Pages: sealkit.LetterPage(""),
			Objects: []string{"(seal.json)", "<</F(x)/UF 1000 0 R/EF<</F 1002 0 R>>>>", "<</Length 0>>\nstream\n\nendstream"},
		})},
		{"our file name on a page", rejection.PDFAttachment, "seal.json", withPage("/Annots[<</Subtype/FileAttachment/Rect[0 0 9 9]/FS<</F(seal.json)/EF<<>>>>>>]")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := admission.Admit(t.Context(), bytes.NewReader(tt.pdf), int64(len(tt.pdf)), admission.DefaultLimits())
			var rejected *rejection.Error
			require.ErrorAs(t, err, &rejected)
			require.Equal(t, tt.code, rejected.Code, rejected.Message)
			require.Contains(t, rejected.Message, tt.says)
		})
	}
	for name, b := range map[string][]byte{
		"the document's title twice":         bytes.Replace(withPage("", "<</Title(a)/Title(b)>>"), []byte("/Root 1 0 R"), []byte("/Root 1 0 R/Info 1000 0 R"), 1),
		"content: array in an array":         withPage("/Contents[11 0 R 1000 0 R]", "[11 0 R]"),
		"content: dictionary":                withPage("/Contents[11 0 R 1000 0 R]", "<<>>"),
		"content: what does not exist":       withPage("/Contents[11 0 R 4000 0 R]"),
		"content: null":                      withPage("/Contents[null 11 0 R]"),
		"text: no such font":                 withContent("BT /FX 18 Tf (a) Tj ET"),
		"text: no size":                      withContent("BT /F1 Tf (a) Tj ET"),
		"text: mode 9":                       withContent("BT /F1 9 Tf 9 Tr (a) Tj ET"),
		"text: no mode":                      withContent("BT /F1 9 Tf Tr (a) Tj ET"),
		"text: in a form":                    withPage("", formOf("/Resources<<>>", "BT /FX 18 Tf (a) Tj ET")),
		"text: in a form in a form":          withForms(formOf("", "/X1 Do"), formOf("", "BT /FX 18 Tf (a) Tj ET")),
		"forms that paint each other":        withForms(formOf("", "/X1 Do"), formOf("", "/X0 Do /X1 Do")),
		"the same key with the same value":   sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 9 9]/Resources<</Font<</F1 3 0 R/F1 3 0 R>>>>"}}}),
		"an attachment with another name":    attached("(a)", "(seals.json)"),
		"a string that is not a file's name": withPage("/Annots[<</Subtype/Text/Rect[0 0 9 9]/Contents(seal.json)>>]"),
	} {
		_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
		require.NoError(t, err, name)
	}
}

// withContent returns a file whose page has the given content and the font F1.
func withContent(content string) []byte {
	return sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]" + sealkit.OwnResources, Content: content}}})
}

// withForms returns a file whose page paints the first of the given forms, X0.
func withForms(forms ...string) []byte {
	names := ""
	for i := range forms {
		names += fmt.Sprintf("/X%d %d 0 R", i, 1000+i)
	}
	return sealkit.ClassicPDF(sealkit.Layout{
		Pages:   []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>/XObject<<" + names + ">>>>", Content: "q /X0 Do Q"}},
		Objects: forms,
	})
}

func formOf(entries, content string) string {
	return fmt.Sprintf("<</Type/XObject/Subtype/Form/BBox[0 0 99 99]%s/Length %d>>\nstream\n%s\nendstream", entries, len(content), content)
}

// manyKeys returns the beginning of a dictionary with n keys.
func manyKeys(n int) string {
	out := "<<"
	for i := range n {
		out += fmt.Sprintf("/K%d %d", i, i)
	}
	return out
}

// twiceInStream returns a file with an object stream that lists an object twice.
func twiceInStream() []byte {
	b := sealkit.HybridPDF()
	b = bytes.Replace(b, []byte("/N 1/First 4"), []byte("/N 2/First 9"), 1)
	return bytes.Replace(b, []byte("6 0 <</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"), []byte("6 0 6 21 <</Type/Font/A 1>>  <</Type/Font/A 2>>    "), 1)
}

// TestAdmit_FaultsThatAllReadersIgnore checks that files with faults that all PDF programs ignore are admitted and
// sealed.
func TestAdmit_FaultsThatAllReadersIgnore(t *testing.T) {
	t.Parallel()
	simple := sealkit.SimplePDF(2)
	table := func(b []byte) int { return bytes.LastIndex(b, []byte("xref\n0 1")) }
	for name, b := range map[string][]byte{
		"an object in use at 0":       bytes.Replace(simple, []byte("trailer"), []byte("900 1\n0000000000 00000 n \ntrailer"), 1),
		"entries of 19 bytes":         append(bytes.Clone(simple[:table(simple)]), bytes.ReplaceAll(simple[table(simple):], []byte(" n \n"), []byte(" n\n"))...),
		"a table that begins with 1":  oneByteReader(simple),
		"what pdfcpu cannot validate": sealkit.ClassicPDF(sealkit.Layout{Catalog: "/ViewerPreferences 5", Pages: sealkit.LetterPage("")}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
			require.NoError(t, err)
			k := sealkit.NewFixture(t)
			file, out := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, b))
			words, err := sealkit.Run(t, "pdftotext", file, "-")
			require.NoError(t, err)
			require.Contains(t, words, "Ada Lovelace")
			r := sealkit.Verified(t, out, k.Trust())
			require.True(t, r.OK(), sealkit.TextOf(t, r))
		})
	}
}

// oneByteReader rewrites the table of a file as a single section "1 n", whose first entry is the head of the free
// list.
func oneByteReader(b []byte) []byte {
	numbers := map[int]int{}
	highest := 0
	for i := 0; i < len(b); {
		k := bytes.Index(b[i:], []byte(" 0 obj\n"))
		if k < 0 {
			break
		}
		at := bytes.LastIndexByte(b[:i+k], '\n') + 1
		var num int
		_, _ = fmt.Sscan(string(b[at:i+k]), &num)
		numbers[num], highest = at, max(highest, num)
		i += k + 1
	}
	start := bytes.LastIndex(b, []byte("xref\n0 1"))
	out := fmt.Appendf(bytes.Clone(b[:start]), "xref\n1 %d\n0000000000 65535 f \n", highest+1)
	for num := 1; num <= highest; num++ {
		if at, ok := numbers[num]; ok {
			out = fmt.Appendf(out, "%010d 00000 n \n", at)
		} else {
			out = append(out, "0000000000 65535 f \n"...)
		}
	}
	return fmt.Appendf(out, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", highest+1, start)
}

// counted counts the bytes that are read.
type counted struct {
	r io.ReaderAt
	n int64
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.r.ReadAt(p, at)
	c.n += int64(n)
	return n, err
}

// work returns the number of bytes that the service's parser reads to examine a file.
func work(t *testing.T, b []byte) (int64, error) {
	t.Helper()
	c := &counted{r: bytes.NewReader(b)}
	lim := admission.DefaultLimits()
	lim.Validators = sandbox.New("/bin/true") // reads by that process are not counted
	t.Cleanup(lim.Validators.Close)
	_, err := admission.Admit(t.Context(), c, int64(len(b)), lim)
	return c.n, err
}

// TestRepeatedPartsCostOnce checks that a part of a file that is referenced many times is read only once.
func TestRepeatedPartsCostOnce(t *testing.T) {
	t.Parallel()
	leaf := &strings.Builder{}
	for i := range 50_000 {
		fmt.Fprintf(leaf, "(%06d)null ", i)
	}
	tree := func(times int) []byte {
		return sealkit.ClassicPDF(sealkit.Layout{
			Catalog: "/Names<</EmbeddedFiles<</Kids[" + strings.Repeat("1000 0 R ", times) + "]>>>>", Pages: sealkit.LetterPage(""),
			Objects: []string{"<</Limits[(000000)(049999)]/Names[" + leaf.String() + "]>>"},
		})
	}
	once, err := work(t, tree(1))
	require.NoError(t, err)
	sixty, err := work(t, tree(60))
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Contains(t, rejected.Message, "object 1000 occurs twice")
	require.Less(t, sixty, once*3/2)

	// Forty trailers refer to one hidden section of 100,000 entries. Their offsets differ, because they point into the
	// white space before the section. In the other file, each trailer also refers to its own table, through the white
	// space before the table.
	once, err = work(t, repeatedSections(1, false))
	require.NoError(t, err)
	forty, err := work(t, repeatedSections(40, false))
	require.NoError(t, err)
	require.Less(t, forty, 2*once)
	_, err = work(t, repeatedSections(12, true))
	require.ErrorAs(t, err, &rejected)
	require.Contains(t, rejected.Message, "cycle")
}

// repeatedSections returns a file with n tables. All of them refer to one stream of 100,000 entries. If blanks is set,
// each table also refers to itself.
func repeatedSections(n int, blanks bool) []byte {
	b := sealkit.SimplePDF(1)
	data := make([]byte, 3*100_000)
	hidden := len(b)
	b = fmt.Appendf(b, "%s\n200000 0 obj\n<</Type/XRef/Size 110000/W[1 1 1]/Index[10000 100000]/Root 1 0 R/Length %d>>\nstream\n", strings.Repeat(" ", 31), len(data))
	b = append(append(b, data...), "\nendstream\nendobj\n"...)
	prev := bytes.LastIndex(b[:hidden], []byte("xref\n0 1"))
	for i := range n {
		at := len(b)
		if blanks {
			b = append(b, strings.Repeat("\n", 20)...)
			prev = at + i
		}
		b = fmt.Appendf(b, "xref\n0 0\ntrailer\n<</Size 110000/Root 1 0 R/Prev %d/XRefStm %d>>\nstartxref\n%d\n%%%%EOF\n", prev, hidden+i%30, at)
		prev = at
	}
	return b
}

// TestContentBombs checks that content that no program can display is rejected wherever it occurs.
func TestContentBombs(t *testing.T) {
	t.Parallel()
	inner := sealkit.Deflated(make([]byte, 100<<20))
	outer := sealkit.Deflated(inner)
	require.Less(t, len(outer), 123<<10)
	bombs := map[string]string{
		"page": "<</Filter[/FlateDecode/FlateDecode]/Length %d>>\nstream\n%s\nendstream",
		"form": "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Filter[/FlateDecode/FlateDecode]/Length %d>>\nstream\n%s\nendstream",
	}
	for name, format := range bombs {
		l := sealkit.Layout{Pages: sealkit.LetterPage(""), Objects: []string{fmt.Sprintf(format, len(outer), outer)}}
		if name == "page" {
			l.Pages[0].Extra += "/Contents 1000 0 R"
		}
		b := sealkit.ClassicPDF(l)
		_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
		var rejected *rejection.Error
		require.ErrorAs(t, err, &rejected, name)
		require.Equal(t, rejection.PDFTooComplex, rejected.Code, rejected.Message)
		require.Contains(t, rejected.Message, "64 MiB")
	}
}

// TestContentThatTakesLong checks that small files with content that is expensive to process are admitted within the
// time limit.
func TestContentThatTakesLong(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	names := func(kind, value string) string { // a dictionary of one megabyte
		b := &strings.Builder{}
		for b.Len() < size {
			fmt.Fprintf(b, "/%s%d %s", kind, b.Len(), value)
		}
		return "<<" + b.String() + "/" + kind + " " + value + ">>"
	}
	for name, tt := range map[string]struct{ content, resources, object string }{
		"strings that do not end":      {content: strings.Repeat("(", size)},
		"numbers that do not end":      {content: strings.Repeat("<a", size/2)},
		"arrays that do not end":       {content: strings.Repeat("[(", size/2)},
		"arrays that cannot be read":   {content: strings.Repeat("["+strings.Repeat("0 ", 4096), 256) + "}"},
		"arrays in arrays":             {content: strings.Repeat("[", size)},
		"dictionaries without a key":   {content: strings.Repeat("<<", size/2) + ">"},
		"images that do not end":       {content: strings.Repeat("ID ", size/3)},
		"many pictures of many":        {content: strings.Repeat("/X Do ", 170_000), resources: "/XObject" + names("X", "1000 0 R"), object: formOf("", "")},
		"many pictures with much data": {content: strings.Repeat("/X Do ", 170_000), resources: "/XObject<</X 1000 0 R>>", object: "<</Subtype/Image/Length 0/Data" + names("D", "0") + ">>\nstream\n\nendstream"},
		"many forms":                   {content: strings.Repeat("/X Do ", 170_000), resources: "/XObject<</X 1000 0 R>>", object: formOf("/Resources"+names("X", "0"), "/A gs")},
		"many graphics states":         {content: strings.Repeat("/G gs ", 170_000), resources: "/ExtGState" + names("G", "1000 0 R"), object: names("D", "0")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.object == "" {
				tt.object = "null"
			}
			content := sealkit.Deflated([]byte(tt.content))
			b := sealkit.ClassicPDF(sealkit.Layout{
				Pages:   []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]/Contents 1001 0 R/Resources<<" + tt.resources + ">>"}},
				Objects: []string{tt.object, fmt.Sprintf("<</Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream", len(content), content)},
			})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			lim := admission.DefaultLimits()
			lim.Timeout = 3 * time.Minute
			_, err := admission.Admit(ctx, bytes.NewReader(b), int64(len(b)), lim)
			require.NoError(t, err)
			f := sealkit.Open(t, b)
			p, err := f.Walk(func(p *pdf.Page) error {
				contents, err := f.Contents(p.Dict)
				require.NoError(t, err)
				_, err = f.ReadContent(contents, p.Resources, []pdf.Box{{X1: 612, Y1: 792}})
				return err
			})
			require.NoError(t, err)
			require.Equal(t, 1, p)
			require.NoError(t, ctx.Err())
		})
	}
}

// TestLayersThatTakeLong checks that an optional content group is read only once, however many usage entries refer to
// it, and that the number of groups is limited.
func TestLayersThatTakeLong(t *testing.T) {
	t.Parallel()
	b := sealkit.ClassicPDF(sealkit.Layout{
		Catalog: "/OCProperties<</OCGs[1002 0 R]/D<</AS[" + strings.Repeat("1000 0 R ", 400) + "]>>>>", Pages: sealkit.LetterPage(""),
		Objects: []string{"<</Event/View/Category[/Zoom]/OCGs 1001 0 R>>", "[" + strings.Repeat("1002 0 R ", 20_000) + "]", "<</Type/OCG/Name(a)>>"},
	})
	n, err := work(t, b)
	require.NoError(t, err)
	require.Less(t, n, int64(20*len(b)))
	many := &strings.Builder{}
	for i := range 100_001 {
		fmt.Fprintf(many, "%d 0 R ", 2000+i)
	}
	for _, entry := range []string{"/OCGs[%s]", "/D<</AS[<</OCGs[%s]>>]>>", "/D<</OFF[%s]>>"} {
		_, err = work(t, sealkit.ClassicPDF(sealkit.Layout{Catalog: "/OCProperties<<" + fmt.Sprintf(entry, many) + ">>", Pages: sealkit.LetterPage("")}))
		var rejected *rejection.Error
		require.ErrorAs(t, err, &rejected)
		require.Equal(t, rejection.PDFTooComplex, rejected.Code)
		require.Contains(t, rejected.Message, "more than 100000 layers")
	}
}
