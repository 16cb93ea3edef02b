package appearance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/appearance"
)

// taggedPage returns a page with four lines of text, and a structure tree. The argument kids contains the kids of the
// document element. The argument parents contains the elements of the four lines. Objects are numbered from 8.
func taggedPage(kids, parents string, objects ...string) []byte {
	content := `BT /F1 20 Tf 100 700 Td /H1<</MCID 0>>BDC (Lease of a house) Tj EMC 0 -30 Td /H2<</MCID 1>>BDC (The terms) Tj EMC
		0 -30 Td /H2<</MCID 2>>BDC (of the lease) Tj EMC 0 -30 Td /P<</MCID 3>>BDC (The tenant pays.) Tj EMC ET`
	all := append([]string{
		helvetica, "<</Type/StructTreeRoot/K 7 0 R/RoleMap<</Chapter/H2>>/ParentTree<</Nums[0[" + parents + "]]>>>>",
		"<</Type/StructElem/S/Document/P 6 0 R/K[" + kids + "]>>",
	}, objects...)
	return catalogPDF("/StructTreeRoot 6 0 R/MarkInfo<</Marked true>>", content, letter+fontList(1)+"/StructParents 0", all...)
}

func TestText_TaggedPage_HasHeadings(t *testing.T) {
	t.Parallel()
	element := func(kind, content string) string {
		return "<</Type/StructElem/S/" + kind + "/P 7 0 R/Pg 3 0 R/K " + content + ">>"
	}
	for name, c := range map[string]struct {
		page []byte
		want []appearance.Heading
	}{
		"levels, roles and several lines": {
			taggedPage("8 0 R 9 0 R 10 0 R", "8 0 R 9 0 R 9 0 R 10 0 R", element("H1", "0"), element("Chapter", "[1 2]"), element("P", "3")),
			[]appearance.Heading{{Level: 1, Line: 1, LastLine: 1}, {Level: 2, Line: 2, LastLine: 3}},
		},
		"content of nested elements": {
			taggedPage("8 0 R", "9 0 R null null null", element("H3", "9 0 R"), "<</Type/StructElem/S/Span/P 8 0 R/Pg 3 0 R/K[0]>>"),
			[]appearance.Heading{{Level: 3, Line: 1, LastLine: 1}},
		},
		"no headings":         {taggedPage("8 0 R", strings.Repeat("8 0 R ", 4), element("P", "[0 1 2 3]")), nil},
		"element in its kids": {taggedPage("8 0 R", "8 0 R 8 0 R null null", element("H1", "[8 0 R 7 0 R 0]")), []appearance.Heading{{Level: 1, Line: 1, LastLine: 1}}},
	} {
		text, err := open(t, c.page).Text(1)
		require.NoError(t, err, name)
		assert.Len(t, text.Words, 12, name)
		assert.Equal(t, c.want, text.Headings, name)
	}
}
