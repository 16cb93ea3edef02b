package sealkit

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
)

// Page is a page of a test PDF. Extra is added to its dictionary.
type Page struct {
	Extra   string
	Content string
}

// Layout describes a file that ClassicPDF writes.
type Layout struct {
	Pages     []Page
	Catalog   string   // additional entries
	Tree      string   // additional entries of the root of the page tree, which pages inherit
	Objects   []string // additional objects, numbered from 1000
	NoFinalNL bool
}

// ClassicPDF returns a PDF with a cross-reference table.
func ClassicPDF(l Layout) []byte {
	var b bytes.Buffer
	offsets := map[int]int{}
	obj := func(n int, body string) {
		offsets[n] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n, body)
	}
	b.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	kids := make([]string, len(l.Pages))
	for i := range l.Pages {
		kids[i] = fmt.Sprintf("%d 0 R", 10+2*i)
	}
	obj(1, "<</Type/Catalog/Pages 2 0 R "+l.Catalog+">>")
	obj(2, fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d %s>>", strings.Join(kids, " "), len(kids), l.Tree))
	obj(3, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	for i, p := range l.Pages {
		content := p.Content
		if content == "" {
			content = "BT /F1 24 Tf 72 700 Td (Page) Tj ET"
		}
		if !strings.Contains(p.Extra, "/Contents") {
			p.Extra = fmt.Sprintf("/Contents %d 0 R ", 11+2*i) + p.Extra
		}
		obj(10+2*i, fmt.Sprintf("<</Type/Page/Parent 2 0 R %s>>", p.Extra))
		obj(11+2*i, fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content))
	}
	for i, o := range l.Objects {
		obj(1000+i, o)
	}
	at := b.Len()
	b.WriteString("xref\n0 1\n0000000000 65535 f \n")
	highest := 0
	for n := 1; n < 1000+len(l.Objects)+2*len(l.Pages)+10; n++ {
		if off, ok := offsets[n]; ok {
			fmt.Fprintf(&b, "%d 1\n%010d 00000 n \n", n, off)
			highest = n
		}
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF", highest+1, at)
	if !l.NoFinalNL {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// OwnResources is the resource dictionary of a page with text in F1.
const OwnResources = "/Resources<</Font<</F1 3 0 R>>>>"

// SimplePDF returns a PDF with n US Letter pages.
func SimplePDF(n int) []byte {
	l := Layout{}
	for range n {
		l.Pages = append(l.Pages, Page{Extra: "/MediaBox[0 0 612 792]" + OwnResources})
	}
	return ClassicPDF(l)
}

// HybridPDF returns a file with a cross-reference table for older programs, and a stream with the objects that those
// programs ignore (ISO 32000-2, 7.5.8.4). The font is in an object stream.
func HybridPDF() []byte {
	var b bytes.Buffer
	off := map[int]int{}
	obj := func(n int, body string) {
		off[n] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n, body)
	}
	b.WriteString("%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")
	obj(1, "<</Type/Catalog/Pages 2 0 R>>")
	obj(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	obj(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 6 0 R>>>>>>")
	content := "BT /F1 24 Tf 72 700 Td (Hybrid) Tj ET"
	obj(4, fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content))
	hidden := "6 0 <</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
	obj(5, fmt.Sprintf("<</Type/ObjStm/N 1/First 4/Length %d>>\nstream\n%s\nendstream", len(hidden), hidden))
	off[7] = b.Len()
	entry := []byte{2, 0, 5, 0} // object 6 is in stream 5 at index 0
	self := []byte{1, byte(off[7] >> 8), byte(off[7]), 0}
	fmt.Fprintf(&b, "7 0 obj\n<</Type/XRef/Size 8/W[1 2 1]/Index[6 2]/Root 1 0 R/Length %d>>\nstream\n", len(entry)+len(self))
	b.Write(entry)
	b.Write(self)
	b.WriteString("\nendstream\nendobj\n")
	at := b.Len()
	b.WriteString("xref\n0 8\n0000000000 65535 f \n")
	for n := 1; n <= 7; n++ {
		if n == 6 {
			b.WriteString("0000000000 00000 f \n")
			continue
		}
		fmt.Fprintf(&b, "%010d 00000 n \n", off[n])
	}
	fmt.Fprintf(&b, "trailer\n<</Size 8/Root 1 0 R/XRefStm %d>>\nstartxref\n%d\n%%%%EOF\n", off[7], at)
	return b.Bytes()
}

// OpenEndedContents returns a PDF in which a page, an annotation, an unreferenced object and the trailer refer to
// missing objects.
func OpenEndedContents() []byte {
	b := ClassicPDF(Layout{
		Pages:   LetterPage("/Annots[1000 0 R 5000 0 R]/PieceInfo 70 2 R"),
		Objects: []string{"<</Type/Annot/Subtype/Text/Rect[10 10 30 30]/Popup 5001 0 R/Contents(5002 0 R)>>", "[<</Unreachable 5003 7 R>>]"},
	})
	return bytes.Replace(b, []byte("/Root 1 0 R"), []byte("/Root 1 0 R/Info 5004 0 R"), 1)
}

// Deflated returns b compressed as the content of a stream.
func Deflated(b []byte) []byte {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write(b)
	_ = w.Close()
	return z.Bytes()
}

// Undefined returns the references to objects that a file does not contain.
func Undefined(t *testing.T, f *pdf.File) []pdf.Ref {
	t.Helper()
	scan, err := f.ReferenceScan()
	require.NoError(t, err)
	refs, _, err := scan.Undefined(t.Context())
	require.NoError(t, err)
	return refs
}

// LetterPage returns one US Letter page.
func LetterPage(extra string) []Page {
	return []Page{{Extra: "/MediaBox[0 0 612 792]" + OwnResources + extra}}
}

// Open opens a PDF with the default limits.
func Open(t testing.TB, b []byte) *pdf.File {
	t.Helper()
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	require.NoError(t, err)
	return f
}
