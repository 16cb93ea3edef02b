package revision1_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/prepare/revision1"
)

// TestDetails checks that a change contains the target of an action as a printable string of limited length, without
// passwords or queries.
func TestDetails(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]string{
		"/S/SubmitForm/F(https://ada:secret@a.example/in?token=1#x)":                        "https://a.example/in",
		"/S/SubmitForm/F<</FS/URL/F(https://a.example)>>":                                   "https://a.example",
		"/S/SubmitForm/F 9 0 R":                                                             "",
		"/S/Launch/F<</UF<FEFF00E4002E006500780065>>>":                                      "?.exe",
		"/S/Launch/Win<</F(C:\\\\a, b.exe)>>":                                               "C:\\a? b.exe",
		"/S/Launch/F(" + strings.Repeat("x", 500) + ")":                                     strings.Repeat("x", 80),
		"/S/ImportData/F(a\\nb.fdf)":                                                        "a?b.fdf",
		"/S/JavaScript/JS(secret)":                                                          "",
		"/S/Launch/F<</F<</F<</F<</F(deep)>>>>>>>>":                                         "",
		"/S/GoTo/D[3 0 R/Fit]/Next[<</S/Launch/F(b)>><</S/Launch/F(a)>><</S/Launch/F(b)>>]": "a, b",
	} {
		b := file(false, "<</Type/Catalog/Pages 2 0 R/OpenAction<<"+action+">>>>", "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 9 9]>>", "<</Type/Page/Parent 2 0 R>>")
		_, changes, err := write(t, b, revision1.Plan{Active: true})
		require.NoError(t, err, action)
		require.Len(t, changes, 1, action)
		require.Equal(t, want, changes[0].Detail, action)
	}
	b := file(false, "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 9 9]>>",
		"<</Type/Page/Parent 2 0 R/AA<</O<</S/Named>>/C<</S/Named>>/Odd<</S/Named>>>>/Annots[<</Subtype/Widget/AA<</C<</S/Named>>/Fo<</S/Named>>>>>>]>>")
	_, changes, err := write(t, b, revision1.Plan{Active: true})
	require.NoError(t, err)
	require.Equal(t, []revision1.Change{{Kind: revision1.ActionsRemoved, Page: 1, Count: 2, Detail: "focus, page closed, page opened, value computed"}}, changes)
}

// TestNamesLikeActions checks that resources, glyphs and destinations named AA are kept. Programs that generate the
// names A to Z, AA, AB use this name for resources. Additional actions, whose key is also AA, are removed.
func TestNamesLikeActions(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]string{
		"image": "/XObject<</AA 4 0 R>>", "font": "/Font<</AA 5 0 R/AB 5 0 R>>", "graphics state": "/ExtGState<</AA<</D[[3]0]>>>>",
		"glyph": "/CharProcs<</AA 4 0 R>>", "destination": "/Dests<</AA[3 0 R/Fit]>>", "destination with more": "/Dests<</AA<</D[3 0 R/Fit]>>>>",
		"class": "/ClassMap<</AA<</O/Table>>>>", "role": "/RoleMap<</AA/P>>", "nothing": "/X<</AA null/AB<<>>>>", "no actions": "/AA<<>>",
	} {
		b := file(false, "<</Type/Catalog/Pages 2 0 R"+kept+"/AA<</WC<</S/Named>>>>>>", "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 9 9]>>",
			"<</Type/Page/Parent 2 0 R/Resources<<"+kept+">>>>", "<</Subtype/Image/Length 0>>\nstream\n\nendstream", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
		if name == "no actions" { // the catalog has an AA entry
			b = file(false, "<</Type/Catalog/Pages 2 0 R/A<<"+kept+">>/AA 5 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 9 9]>>",
				"<</Type/Page/Parent 2 0 R/Resources<<"+kept+">>>>", "null", "<</WC 6 0 R>>", "<</S/Named>>")
		}
		out, changes, err := write(t, b, revision1.Plan{Active: true})
		require.NoError(t, err, name)
		require.Equal(t, []revision1.Change{{Kind: revision1.ActionsRemoved, Count: 1, Detail: "document closed"}}, changes, name)
		out = append(bytes.Clone(b), out...)
		f, err := pdf.Open(bytes.NewReader(out), int64(len(out)), pdf.DefaultLimits())
		require.NoError(t, err)
		page, err := f.Object(pdf.Ref{Num: 3})
		require.NoError(t, err)
		require.Contains(t, string(page.Value), kept, name)
		catalog, _, err := f.Catalog()
		require.NoError(t, err)
		require.Nil(t, catalog.Get("AA"), name)
		for _, o := range []pdf.Ref{{Num: 1}, {Num: 3}} {
			o, err := f.Object(o)
			require.NoError(t, err)
			active, err := revision1.NewFinder(f).Active(t.Context(), o.Value)
			require.NoError(t, err)
			require.Empty(t, active, name)
		}
	}
}

type counted struct {
	*bytes.Reader
	n int
}

func (c *counted) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(b, at)
	c.n += n
	return n, err
}

// TestActionsThatTakeLong checks that an object is read only once, even if many dictionaries refer to it.
func TestActionsThatTakeLong(t *testing.T) {
	t.Parallel()
	const times = 300
	large := strings.Repeat("/a 0", 250_000)
	for name, tt := range map[string]struct {
		list, object, other string
		removed             int
	}{
		"no actions":      {"<</AA 5 0 R>>", "<<" + large + ">>", "null", 0},
		"actions":         {"<</AA 5 0 R>>", "<</E<</S/Named>>" + large + ">>", "null", times},
		"something else":  {"<</AA 5 0 R>>", "(" + large + ")", "null", 0},
		"an event":        {"<</AA 6 0 R>>", "(" + large + ")", "<<" + strings.Repeat("/E 5 0 R", times) + ">>", 0},
		"the same events": {"<</AA<</E 5 0 R>>>>", "(" + large + ")", "null", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := file(false, "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 9 9]>>", "<</Type/Page/Parent 2 0 R>>",
				"["+strings.Repeat(tt.list, times)+"]", tt.object, tt.other)
			r := &counted{Reader: bytes.NewReader(b)}
			f, err := pdf.Open(r, int64(len(b)), pdf.DefaultLimits())
			require.NoError(t, err)
			o, err := f.Object(pdf.Ref{Num: 4})
			require.NoError(t, err)
			active, err := revision1.NewFinder(f).Active(t.Context(), o.Value)
			require.NoError(t, err)
			require.Equal(t, tt.removed > 0, active == revision1.ActionsRemoved)
			_, changes, err := revision1.Write(t.Context(), f, sha256.Sum256(b), revision1.Plan{Active: true})
			require.NoError(t, err)
			if tt.removed > 0 {
				require.Equal(t, []revision1.Change{{Kind: revision1.ActionsRemoved, Count: times, Detail: "pointer enters"}}, changes)
			}
			require.Less(t, r.n, 20*len(b))
		})
	}
}

// TestAnnotations_CheckTheContext checks that processing a page's annotations stops when the context is canceled. Every
// annotation can be the same large object.
func TestAnnotations_CheckTheContext(t *testing.T) {
	t.Parallel()
	b := file(false, "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 9 9]>>",
		"<</Type/Page/Parent 2 0 R/Annots["+strings.Repeat("4 0 R ", 1000)+"]>>", "<</Type/Annot/Subtype/Square>>")
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	require.NoError(t, err)
	_, _, err = revision1.Write(&endsAfter{t.Context(), 500}, f, sha256.Sum256(b), revision1.Plan{Active: true})
	require.ErrorIs(t, err, context.Canceled)
}

// endsAfter is a context that is canceled after a number of calls to Err.
type endsAfter struct {
	context.Context

	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}
