package admission_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
	"countersign/seal/admission"
)

// fiftyPages is a document with text, a tag and a widget on each page, and a script.
func fiftyPages() []byte {
	const pages = 50
	var kids, fields strings.Builder
	objects := []string{"", "", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"}
	for i := range pages {
		var content strings.Builder
		content.WriteString("BT /F1 9 Tf 50 760 Td 12 TL ")
		for line := range 50 {
			fmt.Fprintf(&content, "(Line %d of page %d: the parties agree that this sentence is as long as one of a lease.) Tj T* ", line, i)
		}
		fmt.Fprintf(&content, "({{Field%d;type=text;role=signer1}}) Tj ET", i)
		page := len(objects) + 1
		fmt.Fprintf(&kids, "%d 0 R ", page)
		fmt.Fprintf(&fields, "%d 0 R ", page+2)
		objects = append(objects, fmt.Sprintf("<</Type/Page/Parent 2 0 R/Contents %d 0 R/Annots[%d 0 R]>>", page+1, page+2),
			fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", content.Len(), content.String()),
			fmt.Sprintf("<</Type/Annot/Subtype/Widget/FT/Tx/T(field %d)/Rect[100 20 300 40]>>", i))
	}
	objects[0] = "<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[" + fields.String() + "]>>/OpenAction<</S/JavaScript/JS(a)>>>>"
	objects[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>>>", kids.String(), pages)
	return assembled(objects)
}

// BenchmarkUpload: what an upload with all options takes, and a plain one of the same document.
func BenchmarkUpload(b *testing.B) {
	tagged := fiftyPages()
	plain := bytes.Replace(tagged, []byte("/OpenAction<</S/JavaScript/JS(a)>>"), []byte(strings.Repeat(" ", len("/OpenAction<</S/JavaScript/JS(a)>>"))), 1)
	for _, c := range []struct {
		name string
		file []byte
		opt  prepare.Options
		want bool
	}{
		{"plain", plain, prepare.Options{}, false},
		{"all", tagged, prepare.Options{Tags: prepare.TagsDetect, Form: prepare.FormImport}, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				_, rev, err := admission.AdmitPrepared(b.Context(), bytes.NewReader(c.file), int64(len(c.file)), sha256.Sum256(c.file), admission.DefaultLimits(), c.opt)
				require.NoError(b, err)
				require.Equal(b, c.want, rev != nil)
			}
		})
	}
}
