package appearance_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// manyPages returns a PDF with n small pages. The argument empty is the index of a blank page.
func manyPages(n, empty int) []byte {
	var kids strings.Builder
	var objects []string
	for i := range n {
		fmt.Fprintf(&kids, " %d 0 R", 5+i)
		content := "4 0 R"
		if i+1 == empty {
			content = "[]"
		}
		objects = append(objects, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 30 30]/Contents "+content+">>")
	}
	b := pdf("0 0 9 9 re f", "/MediaBox[0 0 30 30]", objects...)
	return bytes.Replace(b, []byte("/Kids[3 0 R]/Count 1"), fmt.Appendf(nil, "/Kids[%s]/Count %d", kids.String(), n), 1)
}

// TestRenderer_SameAppearance_OfManyPages_ComparesAll checks that all pages, including the last one, are compared even
// if this requires several tasks.
func TestRenderer_SameAppearance_OfManyPages_ComparesAll(t *testing.T) {
	t.Parallel()
	r := newRenderer(t)
	const pages = 401
	file := manyPages(pages, 0)
	for name, tt := range map[string]struct {
		other []byte
		same  bool
	}{
		"equal": {manyPages(pages, 0), true}, "first page": {manyPages(pages, 1), false}, "last of a task": {manyPages(pages, 200), false},
		"first of a task": {manyPages(pages, 201), false}, "last page": {manyPages(pages, pages), false}, "fewer pages": {manyPages(400, 0), false},
	} {
		same, err := r.SameAppearance(t.Context(), bytes.NewReader(file), int64(len(file)), bytes.NewReader(tt.other), int64(len(tt.other)))
		require.NoError(t, err, name)
		require.Equal(t, tt.same, same, name)
	}
}
