package seal_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/test/kit/sealkit"
)

// numbers returns the keys in a number tree (ISO 32000-2, 7.9.7).
func numbers(t *testing.T, f *pdf.File, node pdf.Value) (keys []int64) {
	t.Helper()
	if node.IsNull() {
		return nil
	}
	d, err := f.Dict(node)
	require.NoError(t, err)
	list := func(name string) []pdf.Value {
		v, err := f.Resolve(d.Get(name))
		require.NoError(t, err)
		if v.IsNull() {
			return nil
		}
		a, err := v.Array()
		require.NoError(t, err)
		return a
	}
	nums := list("Nums")
	for i := 0; i < len(nums); i += 2 {
		key, err := f.Int(nums[i])
		require.NoError(t, err)
		keys = append(keys, key)
	}
	for _, kid := range list("Kids") {
		inner := numbers(t, f, kid)
		keys = append(keys, inner...)
		k, err := f.Dict(kid)
		require.NoError(t, err)
		limits, err := f.Array(k.Get("Limits"))
		require.NoError(t, err)
		low, err := f.Int(limits[0])
		require.NoError(t, err)
		high, err := f.Int(limits[1])
		require.NoError(t, err)
		require.Equal(t, []int64{inner[0], inner[len(inner)-1]}, []int64{low, high})
	}
	return keys
}

// TestStructureTreesOfEveryShape checks that new content is added to structure trees of every shape, and that no
// existing content is lost.
func TestStructureTreesOfEveryShape(t *testing.T) {
	t.Parallel()
	const element = "<</Type/StructElem/S/Document/P 1000 0 R/K 1002 0 R>>" // object 1001, with child 1002
	for name, c := range map[string]struct {
		root   string
		tree   string // object 1003
		before []int64
		top    int // number of children of the root
	}{
		"numbers":                 {"/K 1001 0 R/ParentTree 1003 0 R/ParentTreeNextKey 8", "<</Nums[0[1002 0 R]7[1002 0 R]]>>", []int64{0, 7}, 1},
		"numbers, no next key":    {"/K[1001 0 R]/ParentTree 1003 0 R", "<</Nums[0[1002 0 R]7[1002 0 R]]>>", []int64{0, 7}, 1},
		"leaves":                  {"/K 1001 0 R/ParentTree 1003 0 R/ParentTreeNextKey 8", "<</Kids[1004 0 R]>>", []int64{3, 4}, 1},
		"leaves, no next key":     {"/K[1001 0 R 1002 0 R]/ParentTree 1003 0 R", "<</Kids[1004 0 R]>>", []int64{3, 4}, 3},
		"in place":                {"/K 1001 0 R/ParentTree<</Nums[2[1002 0 R]]>>", "null", []int64{2}, 1},
		"in place, empty":         {"/K 1001 0 R/ParentTree<</Nums[]>>", "null", nil, 1},
		"leaves, none":            {"/K 1001 0 R/ParentTree<</Kids[]>>", "null", nil, 1},
		"no parent tree":          {"/K 1001 0 R", "null", nil, 1},
		"a next key that is none": {"/K 1001 0 R/ParentTree 1003 0 R/ParentTreeNextKey -1", "<</Nums[4[1002 0 R]]>>", []int64{4}, 1},
		"nothing in the tree":     {"", "null", nil, 1},
		"an element in place":     {"/K<</Type/StructElem/S/Document/P 1000 0 R>>", "null", nil, 2},
		"two elements":            {"/K[1001 0 R 1002 0 R]", "null", nil, 3},
		"an empty list":           {"/K[]", "null", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			original := sealkit.ClassicPDF(sealkit.Layout{
				Catalog: "/MarkInfo<</Marked true>>/StructTreeRoot 1000 0 R", Pages: sealkit.LetterPage(""),
				Objects: []string{
					"<</Type/StructTreeRoot" + c.root + ">>", element, "<</Type/StructElem/S/P/P 1001 0 R>>", c.tree, "<</Limits[3 4]/Nums[3[1002 0 R]4[1002 0 R]]>>",
				},
			})
			_, b := sealkit.Sealed(t, sealkit.NewFixture(t).Sealer(t), sealkit.Job(t, original))
			f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
			require.NoError(t, err)
			catalog, err := f.Dict(f.Trailer().Get("Root"))
			require.NoError(t, err)
			root, err := f.Dict(catalog.Get("StructTreeRoot"))
			require.NoError(t, err)
			keys := numbers(t, f, root.Get("ParentTree"))
			require.Equal(t, append([]int64{}, c.before...), append([]int64{}, keys[:len(c.before)]...))
			require.Greater(t, len(keys), len(c.before))
			next, err := f.Int(root.Get("ParentTreeNextKey"))
			require.NoError(t, err)
			for i, key := range keys {
				require.Less(t, key, next)
				if i > 0 {
					require.Greater(t, key, keys[i-1])
				}
			}
			children := func(v pdf.Value) []pdf.Value {
				d, err := f.Dict(v)
				require.NoError(t, err)
				k, err := f.Resolve(d.Get("K"))
				require.NoError(t, err)
				if k.IsArray() {
					a, err := k.Array()
					require.NoError(t, err)
					return a
				}
				return []pdf.Value{d.Get("K")}
			}
			top := children(catalog.Get("StructTreeRoot"))
			require.Len(t, top, c.top)
			parent, last := catalog.Get("StructTreeRoot"), top[len(top)-1]
			if c.top == 1 && c.root != "" && c.root != "/K[]" { // child of the document element
				parent = top[0]
				kids := children(parent)
				require.Len(t, kids, 2)
				require.Equal(t, "1002 0 R", string(kids[0]))
				last = kids[1]
			}
			section, err := f.Dict(last)
			require.NoError(t, err)
			require.True(t, section.Get("S").IsName("Sect"))
			require.Equal(t, string(parent), string(section.Get("P")))
			require.NotEmpty(t, children(last))
		})
	}
}
