package revision1_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare/revision1"
)

// TestDetails: a change names what an action was for, without passwords and queries, in bounded printable text.
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
