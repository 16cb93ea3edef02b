package seal_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/seal"
	"countersign/test/kit/sealkit"
)

// storedFacts returns the stored form of an upload's facts.
func storedFacts(t testing.TB, b []byte) string {
	t.Helper()
	return sealkit.Admitted(t, b).Facts.Encode()
}

// added returns the objects added by the seal, as text, without the parts that differ between seals: the signature, the
// record, random names, and lengths.
func added(t testing.TB, b []byte) map[pdf.Ref]string {
	t.Helper()
	f := sealkit.Open(t, b)
	nonce := regexp.MustCompile(`/T \(Seal ([0-9a-f]{16})\)`).FindSubmatch(b)
	require.NotNil(t, nonce)
	length := regexp.MustCompile(`/(Length|Size) \d+`)
	out := map[pdf.Ref]string{}
	require.NoError(t, f.VisitNewestSection(func(ref pdf.Ref, _ int64) error {
		o, err := f.Object(ref)
		require.NoError(t, err)
		text := string(o.Value)
		switch {
		case strings.Contains(text, "/Type/Sig"), strings.Contains(text, "/Type /XRef"), strings.Contains(text, "/EmbeddedFile"):
			text = "differs"
		case o.IsStream():
			data, err := f.StreamData(o)
			require.NoError(t, err)
			text += string(data)
		}
		out[ref] = length.ReplaceAllString(strings.ReplaceAll(text, string(nonce[1]), "nonce"), "$1")
		return nil
	}))
	return out
}

// manyPages returns a file with one page for each of the given contents.
func manyPages(contents ...string) []byte {
	l := sealkit.Layout{}
	for i := range 40 {
		l.Pages = append(l.Pages, sealkit.Page{Extra: "/MediaBox[0 0 612 792]" + sealkit.OwnResources, Content: contents[i%len(contents)]})
	}
	return sealkit.ClassicPDF(l)
}

// TestSeal_WithFacts_IsIdentical checks that a seal with facts determined at upload is identical to a seal with facts
// determined during sealing.
func TestSeal_WithFacts_IsIdentical(t *testing.T) {
	t.Parallel()
	long := "q " + strings.Repeat("0 0 m 9 9 l S\n", 20_000) + "Q"
	for name, tt := range map[string]struct {
		original []byte
		lineless string
	}{
		"usual":                    {sealkit.SimplePDF(3), ""},
		"open references":          {sealkit.OpenEndedContents(), `"lineless":[[0,0]]`},
		"object streams":           {sealkit.HybridPDF(), ""},
		"much content":             {manyPages(long), ""},
		"a state is left open":     {manyPages("q 1 0 0 1 9 9 cm", "0 0 m"), ""},
		"marked content left open": {manyPages("/Span BMC"), ""},
		"dark at the foot":         {manyPages("0 g 0 0 612 100 re f", "", ""), `"lineless":[[0,0],[3,3],[6,6],[9,9],[12,12],[15,15],[18,18],[21,21],[24,24],[27,27],[30,30],[33,33],[36,36],[39,39]]`},
		"a Q too many":             {manyPages("0 0 m Q"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := storedFacts(t, tt.original)
			require.NotEmpty(t, kept)
			require.Equal(t, tt.lineless != "", strings.Contains(kept, "lineless"), kept)
			require.Contains(t, kept, tt.lineless)
			k := sealkit.NewFixture(t)
			plain := sealkit.Job(t, tt.original)
			with := plain
			with.Facts = seal.DecodeFacts(kept)
			require.NotNil(t, with.Facts)
			require.Equal(t, kept, with.Facts.Encode())
			_, without := sealkit.Sealed(t, k.Sealer(t), plain)
			file, b := sealkit.Sealed(t, k.Sealer(t), with)
			require.Equal(t, added(t, without), added(t, b))
			require.Empty(t, sealkit.Undefined(t, sealkit.Open(t, b)))
			sealkit.CheckIndependently(t, k, file, b)
		})
	}
}

// TestFacts_Impossible_AreRejected checks that impossible facts are ignored and determined again, so that the seal
// still defines all undefined objects.
func TestFacts_Impossible_AreRejected(t *testing.T) {
	t.Parallel()
	original := sealkit.OpenEndedContents()
	k := sealkit.NewFixture(t)
	_, b := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, original))
	want := added(t, b)
	for _, kept := range []string{
		`{"v":2,"highest":-1}`, `{"v":2,"highest":8388608}`,
		`{"v":2,"undefined":[[5000,0],[70,2]],"highest":5004}`, // not in order
		`{"v":2,"undefined":[[70,2],[70,2]],"highest":5004}`,   // twice
		`{"v":2,"undefined":[[10,0]],"highest":5004}`,          // exists
		`{"v":2,"undefined":[[0,0]],"highest":5004}`, `{"v":2,"undefined":[[6000,0]],"highest":5004}`,
		`{"v":2,"undefined":[[-3,0]],"highest":5004}`, `{"v":2,"undefined":[[70,-2]],"highest":5004}`, `{"v":2,"undefined":[[70,65535]],"highest":5004}`,
	} {
		j := sealkit.Job(t, original)
		j.Facts = seal.DecodeFacts(kept)
		require.NotNil(t, j.Facts, kept)
		_, b := sealkit.Sealed(t, k.Sealer(t), j)
		require.Equal(t, want, added(t, b), kept)
	}
	for _, kept := range []string{"", "null", "{}", "[]", `{"v":1,"highest":5004}`, `{"v":2,"highest":"x"}`, `{"v":2,"undefined":[[1,2,`, strings.Repeat(" ", 5000) + `{"v":2}`} {
		require.Nil(t, seal.DecodeFacts(kept), kept)
	}
}

// TestFactsAreSmall checks that facts above the maximum size are not stored.
func TestFactsAreSmall(t *testing.T) {
	t.Parallel()
	refs := &strings.Builder{}
	for i := range 1000 {
		fmt.Fprintf(refs, "%d 0 R ", 100_000+i)
	}
	require.Empty(t, storedFacts(t, sealkit.ClassicPDF(sealkit.Layout{Pages: sealkit.LetterPage("/PieceInfo[" + refs.String() + "]")})))
	require.Less(t, len(storedFacts(t, sealkit.OpenEndedContents())), 200)
	var none *seal.Facts
	require.Empty(t, none.Encode())

	const most = 4096 // bytes
	for size, kept := range map[int]bool{most: true, most + 1: false} {
		text := `{"v":2,"highest":5004}`
		require.Equal(t, kept, seal.DecodeFacts(text+strings.Repeat(" ", size-len(text))) != nil)
		// [7] is stored as [7,0], which is longer.
		text = `{"v":2,"undefined":[],"highest":1,"lineless":[[0,0]]}`
		n := (size - len(text)) / len("[7,0],")
		list := strings.Repeat("[7],", n-1) + "[" + strings.Repeat("7", size-len(text)-n*len("[7,0],")+2) + "]"
		f := seal.DecodeFacts(strings.Replace(text, "[]", "["+list+"]", 1))
		require.NotNil(t, f)
		require.Len(t, f.Encode(), map[bool]int{true: size, false: 0}[kept])
	}
}
