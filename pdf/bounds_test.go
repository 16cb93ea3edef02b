package pdf_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
)

// opened opens a file that consists of the given objects, numbered from 1. The first object is the catalog. The
// argument lim contains the limits for reading the file.
func opened(t *testing.T, lim pdf.Limits, objects ...string) *pdf.File {
	t.Helper()
	b := []byte("%PDF-1.7\n")
	table := fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, o := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", len(b))
		b = fmt.Appendf(b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b = fmt.Appendf(b, "%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", table, len(objects)+1, len(b))
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), lim)
	require.NoError(t, err)
	return f
}

// TestObjects_TotalBytesRead_AreLimited checks that the total number of bytes read as objects is limited, and that an
// object counts each time it is read.
func TestObjects_TotalBytesRead_AreLimited(t *testing.T) {
	t.Parallel()
	const large = 100_000
	lim := pdf.DefaultLimits()
	lim.MaxParsed = 10 * large
	space := strings.Repeat(" ", large)
	for name, tt := range map[string]struct {
		object string
		times  int // number of times that the object can be read
	}{
		"a large string":    {"(" + space + ")", 9},
		"blanks before":     {space + "1", 9},
		"blanks behind":     {"1" + space, 9},
		"a large comment":   {"1%" + space + "\n", 9},
		"a small number":    {"1", 10 * large / 80},
		"a small stream":    {"<</Length 1>>\nstream\nx\nendstream", 10 * large / 100},
		"a number of a few": {"12345", 10 * large / 82},
	} {
		f := opened(t, lim, "<</Type/Catalog>>", tt.object)
		var err error
		times := 0
		for err == nil && times < 20_000 {
			_, err = f.Object(pdf.Ref{Num: 2})
			times++
		}
		require.ErrorIs(t, err, pdf.ErrLimit, name)
		require.InEpsilon(t, tt.times, times-1, 0.2, "%s", name)
		_, err = f.Object(pdf.Ref{Num: 1})
		require.ErrorIs(t, err, pdf.ErrLimit, "%s: nothing else may be read after the error", name)
	}
}

// TestCompressedObjectsReadTooOften checks that white space before an object in an object stream counts toward the
// limit.
func TestCompressedObjectsReadTooOften(t *testing.T) {
	t.Parallel()
	const large = 100_000
	lim := pdf.DefaultLimits()
	lim.MaxParsed = 10 * large
	data := "4 0 " + strings.Repeat(" ", large) + "1"
	b := []byte("%PDF-1.7\n1 0 obj\n<</Type/Catalog>>\nendobj\n")
	at := len(b)
	b = fmt.Appendf(b, "2 0 obj\n<</Type/ObjStm/N 1/First 4/Length %d>>\nstream\n%s\nendstream\nendobj\n", len(data), data)
	section := len(b)
	entries := fmt.Sprintf("0000000001%06X01%06X01%06X02000002", 9, at, section)
	b = fmt.Appendf(b, "3 0 obj\n<</Type/XRef/Size 5/W[1 3 0]/Root 1 0 R/Filter/ASCIIHexDecode/Length %d>>\nstream\n%s>\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n", len(entries)+1, entries, section)
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), lim)
	require.NoError(t, err)
	times := 0
	for err == nil && times < 1000 {
		var o pdf.Object
		if o, err = f.Object(pdf.Ref{Num: 4}); err == nil {
			require.Equal(t, "1", string(o.Value))
		}
		times++
	}
	require.ErrorIs(t, err, pdf.ErrLimit)
	require.LessOrEqual(t, times, 10)
}

// TestKeysOfNameTrees checks that keys that are indirect objects count toward the limit each time they are referenced.
func TestKeysOfNameTrees(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	f := opened(t, pdf.DefaultLimits(), "<</Type/Catalog>>", "<</Names["+strings.Repeat("3 0 R 1 0 R ", 100)+"]>>", "("+strings.Repeat("a", size)+")")
	visits := 0
	err := pdf.WalkNames(f, pdf.Ref{Num: 2}.Value(), func(_, _ pdf.Value) error {
		visits++
		return nil
	})
	require.ErrorIs(t, err, pdf.ErrLimit)
	require.Less(t, visits, 16)
}
