package pagetext_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/pdf/pagetext"
)

// build returns a PDF. Unless objects overrides them, object 1 is the catalog, 2 the page tree, 3 the page, 4 its
// content and 5 Helvetica. The argument page contains further entries of the page's dictionary.
func build(page, content string, objects map[int]string) []byte {
	all := map[int]string{
		1: "<</Type/Catalog/Pages 2 0 R>>",
		2: "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]/Resources<</Font<</F1 5 0 R/F2 6 0 R>>/XObject<</X1 10 0 R/X2 11 0 R>>/Properties<</P1 20 0 R>>>>>>",
		3: "<</Type/Page/Parent 2 0 R/Contents 4 0 R" + page + ">>",
		4: flow("", content),
		5: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
	}
	for n, o := range objects {
		all[n] = o
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	last := 0
	for n := range all {
		last = max(last, n)
	}
	offsets := make([]int, last+1)
	for n := 1; n <= last; n++ {
		if o, ok := all[n]; ok {
			offsets[n] = b.Len()
			fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n, o)
		}
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", last+1)
	for n := 1; n <= last; n++ {
		if offsets[n] == 0 {
			b.WriteString("0000000000 00000 f \n")
			continue
		}
		fmt.Fprintf(&b, "%010d 00000 n \n", offsets[n])
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", last+1, start)
	return b.Bytes()
}

// flow returns a stream with the given dictionary entries and data.
func flow(entries, data string) string {
	return fmt.Sprintf("<</Length %d%s>>\nstream\n%s\nendstream", len(data), entries, data)
}

func read(t testing.TB, b []byte) []*pagetext.Page {
	t.Helper()
	pages, err := readAll(t.Context(), b)
	require.NoError(t, err)
	return pages
}

func readAll(ctx context.Context, b []byte) ([]*pagetext.Page, error) {
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	if err != nil {
		return nil, err
	}
	r := pagetext.NewReader(f)
	var pages []*pagetext.Page
	_, err = f.Walk(func(p *pdf.Page) error {
		page, err := r.Page(ctx, p)
		pages = append(pages, page)
		return err
	})
	return pages, err
}

// passages returns the text of each passage on a page.
func passages(p *pagetext.Page) []string {
	var all []string
	for _, q := range p.Passages() {
		all = append(all, q.Text)
	}
	return all
}

func save(t testing.TB, b []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.pdf")
	require.NoError(t, os.WriteFile(name, b, 0o600))
	return name
}
