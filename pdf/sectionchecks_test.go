package pdf_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
)

// TestHiddenSection_WithAnotherPrev_IsRejected checks that a hidden section is rejected unless its Prev entry is absent
// or equals the Prev entry of its table.
func TestHiddenSection_WithAnotherPrev_IsRejected(t *testing.T) {
	t.Parallel()
	for skip, want := range map[int]string{-1: "", 1: "", 2: "refers to a different section than its table", 3: "refers to a different section than its table"} {
		b := []byte("%PDF-1.5\n1 0 obj\n<</Type/Catalog>>\nendobj\n")
		at := []int{0, 0, 0, 0}
		for i := 3; i > 0; i-- {
			at[i] = len(b)
			b = fmt.Appendf(b, "xref\n0 2\n0000000000 65535 f \n%010d 00000 n \ntrailer\n<</Size 3/Root 1 0 R", 9)
			if i < 3 {
				b = fmt.Appendf(b, "/Prev %d", at[i+1])
			}
			b = append(b, ">>\n"...)
		}
		hidden, prev := len(b), ""
		if skip > 0 {
			prev = fmt.Sprintf("/Prev %d", at[skip])
		}
		b = fmt.Appendf(b, "2 0 obj\n<</Type/XRef/Size 3/W[1 2 1]/Index[2 1]/Root 1 0 R%s/Length 4>>\nstream\n\x01%c%c\x00\nendstream\nendobj\n", prev, hidden>>8, hidden&127)
		at[0] = len(b)
		b = fmt.Appendf(b, "xref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 3/Root 1 0 R/Prev %d/XRefStm %d>>\nstartxref\n%d\n%%%%EOF\n", at[1], hidden, at[0])
		f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
		require.NoError(t, err)
		problem, err := f.SectionProblem()
		require.NoError(t, err)
		require.Equal(t, want != "", problem != "", "%d: %s", skip, problem)
		require.Contains(t, problem, want)
	}
}

// TestFirstObject checks that the first object has no effect in a file that is not linearized.
func TestFirstObject(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ object, want string }{
		"information with a key twice": {"<</Title(a)/Title(b)>>", ""},
		"linearized with a key twice":  {"<</Linearized 1/L 5/L 6>>", "cannot be parsed"},
		"linearized twice":             {"<</Linearized null/Linearized 1>>", "cannot be parsed"},
		"null at first":                {"<</Linearized null>>", ""},
	} {
		problem := firstProblem(t, tt.object)
		require.Equal(t, tt.want != "", problem != "", "%s: %s", name, problem)
		require.Contains(t, problem, tt.want, name)
	}
	// The object can end anywhere in a block.
	for _, size := range []int{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10} {
		for more := range 64 {
			require.Empty(t, firstProblem(t, "<</Title("+strings.Repeat("x", size-more)+")>>"))
		}
	}
}

func firstProblem(t *testing.T, object string) string {
	t.Helper()
	b := fmt.Appendf(nil, "%%PDF-1.5\n1 0 obj\n%s\nendobj\n", object)
	catalog := len(b)
	b = append(b, "2 0 obj\n<</Type/Catalog>>\nendobj\n"...)
	at := len(b)
	b = fmt.Appendf(b, "xref\n0 3\n0000000000 65535 f \n%010d 00000 n \n%010d 00000 n \ntrailer\n<</Size 3/Root 2 0 R/Info 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", 9, catalog, at)
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	require.NoError(t, err)
	problem, err := f.LinearizationProblem(nil)
	require.NoError(t, err)
	return problem
}

// TestEntryBeyondItsStream checks that an index beyond the end of an object stream is reported as an error in the file.
func TestEntryBeyondItsStream(t *testing.T) {
	t.Parallel()
	b := []byte("%PDF-1.5\n1 0 obj\n<</Type/Catalog>>\nendobj\n")
	objects := len(b)
	b = append(b, "2 0 obj\n<</Type/ObjStm/N 1/First 4/Length 9>>\nstream\n3 0 <<>>\nendstream\nendobj\n"...)
	at := len(b)
	data := fmt.Sprintf("0100090000000000000000 01%04X0000000000000000 0200028000000000000000 01%04X0000000000000000>", objects, at)
	b = fmt.Appendf(b, "4 0 obj\n<</Type/XRef/Size 5/W[1 2 8]/Index[1 4]/Root 1 0 R/Filter/ASCIIHexDecode/Length %d>>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n", len(data), data, at)
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	require.NoError(t, err)
	_, err = f.Object(pdf.Ref{Num: 3})
	require.ErrorIs(t, err, pdf.ErrDamaged)
}
