package seal_test

import (
	"bytes"
	"fmt"
	"strings"
)

// page is one page of a test PDF; extra goes into its dictionary.
type page struct {
	extra   string
	content string
}

// layout says how classicPDF writes its file.
type layout struct {
	pages     []page
	catalog   string   // further entries
	tree      string   // further entries of the page tree's root: what pages inherit
	objects   []string // further objects, numbered from 100
	noFinalNL bool
}

// classicPDF writes a PDF with a cross-reference table.
func classicPDF(l layout) []byte {
	var b bytes.Buffer
	offsets := map[int]int{}
	obj := func(n int, body string) {
		offsets[n] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n, body)
	}
	b.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	kids := make([]string, len(l.pages))
	for i := range l.pages {
		kids[i] = fmt.Sprintf("%d 0 R", 10+2*i)
	}
	obj(1, "<</Type/Catalog/Pages 2 0 R "+l.catalog+">>")
	obj(2, fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d %s>>", strings.Join(kids, " "), len(kids), l.tree))
	obj(3, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	for i, p := range l.pages {
		content := p.content
		if content == "" {
			content = "BT /F1 24 Tf 72 700 Td (Page) Tj ET"
		}
		if !strings.Contains(p.extra, "/Contents") {
			p.extra = fmt.Sprintf("/Contents %d 0 R ", 11+2*i) + p.extra
		}
		obj(10+2*i, fmt.Sprintf("<</Type/Page/Parent 2 0 R %s>>", p.extra))
		obj(11+2*i, fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content))
	}
	for i, o := range l.objects {
		obj(1000+i, o)
	}
	at := b.Len()
	b.WriteString("xref\n0 1\n0000000000 65535 f \n")
	highest := 0
	for n := 1; n < 1000+len(l.objects)+2*len(l.pages)+10; n++ {
		if off, ok := offsets[n]; ok {
			fmt.Fprintf(&b, "%d 1\n%010d 00000 n \n", n, off)
			highest = n
		}
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF", highest+1, at)
	if !l.noFinalNL {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

const ownResources = "/Resources<</Font<</F1 3 0 R>>>>"

// simplePDF has n US Letter pages.
func simplePDF(n int) []byte {
	l := layout{}
	for range n {
		l.pages = append(l.pages, page{extra: "/MediaBox[0 0 612 792]" + ownResources})
	}
	return classicPDF(l)
}
