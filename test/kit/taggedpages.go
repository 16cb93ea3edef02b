package kit

import (
	"bytes"
	"fmt"
	"strings"
)

// TaggedPages returns a document with a script and the given number of pages of text. The first page in each group of n
// pages, where n is the argument every, has a text tag and a form field.
func TaggedPages(pages, every int) []byte {
	var kids, fields strings.Builder
	objects := []string{"", "", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"}
	for i := range pages {
		var content strings.Builder
		content.WriteString("BT /F1 9 Tf 50 760 Td 12 TL ")
		for line := range 50 {
			fmt.Fprintf(&content, "(Line %d of page %d: the parties agree that this sentence is as long as one of a lease.) Tj T* ", line, i)
		}
		page := len(objects) + 1
		if i%every > 0 {
			fmt.Fprintf(&content, "(initials ............) Tj ET")
			fmt.Fprintf(&kids, "%d 0 R ", page)
			objects = append(objects, fmt.Sprintf("<</Type/Page/Parent 2 0 R/Contents %d 0 R>>", page+1),
				fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", content.Len(), content.String()))
			continue
		}
		fmt.Fprintf(&content, "({{Field%d;type=text;role=signer1}}) Tj ET", i)
		fmt.Fprintf(&kids, "%d 0 R ", page)
		fmt.Fprintf(&fields, "%d 0 R ", page+2)
		objects = append(objects, fmt.Sprintf("<</Type/Page/Parent 2 0 R/Contents %d 0 R/Annots[%d 0 R]>>", page+1, page+2),
			fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", content.Len(), content.String()),
			fmt.Sprintf("<</Type/Annot/Subtype/Widget/FT/Tx/T(field %d)/Rect[100 20 300 40]>>", i))
	}
	objects[0] = "<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[" + fields.String() + "]>>/OpenAction<</S/JavaScript/JS(a)>>>>"
	objects[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>>>", kids.String(), pages)
	var b, table bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table.String(), len(objects)+1, start)
	return b.Bytes()
}

// WithoutScript returns a document from TaggedPages in which spaces replace the script.
func WithoutScript(b []byte) []byte {
	const script = "/OpenAction<</S/JavaScript/JS(a)>>"
	return bytes.Replace(b, []byte(script), []byte(strings.Repeat(" ", len(script))), 1)
}
