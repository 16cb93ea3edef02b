package pagetext_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// large is a document of so many pages of 50 lines.
func large(pages int) []byte {
	objects := map[int]string{5: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"}
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 30+2*i)
		objects[30+2*i] = fmt.Sprintf("<</Type/Page/Parent 2 0 R/Contents %d 0 R>>", 31+2*i)
		var b strings.Builder
		b.WriteString("BT /F1 11 Tf 13 TL 60 740 Td\n")
		for k := range 50 {
			fmt.Fprintf(&b, "[(Page %d, line %d: the ) 20 (tenant shall return the ) -15 (premises in good ) 30 (order and sign here)] TJ T*\n", i+1, k)
		}
		b.WriteString("ET")
		objects[31+2*i] = flow("", b.String())
	}
	objects[2] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d/MediaBox[0 0 600 800]/Resources<</Font<</F1 5 0 R>>>>>>", kids.String(), pages)
	return build("", "", objects)
}

// BenchmarkRead reads 4,000 pages and looks for a text on each.
func BenchmarkRead(b *testing.B) {
	file := large(4000)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		pages := read(b, file)
		require.Len(b, pages, 4000)
	}
}

// BenchmarkPoppler is pdftotext on the same file.
func BenchmarkPoppler(b *testing.B) {
	name := save(b, large(4000))
	for b.Loop() {
		require.NoError(b, exec.CommandContext(b.Context(), "pdftotext", name, "/dev/null").Run())
	}
}
