package pdf_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
)

// TestIncrement_ReusesMemory checks that content left in a reused buffer does not affect an increment, whether the
// previous increment was larger or smaller.
func TestIncrement_ReusesMemory(t *testing.T) {
	t.Parallel()
	write := func(objects, room int) (*pdf.Increment, string) {
		w := pdf.NewDocument()
		w.Grow(objects, room)
		for range objects {
			w.Add(pdf.Value("(some text)"))
		}
		require.NoError(t, w.Finish(w.Add(pdf.Value("<<>>")), nil, []byte("id")))
		return w, string(w.Bytes())
	}
	for _, size := range []struct{ objects, room int }{{10, 100}, {1000, 100_000}, {10, 100}, {10, 1_000_000}, {3000, 10}, {1, 0}} {
		plain, want := write(size.objects, 0)
		plain.Free()
		again, got := write(size.objects, size.room)
		require.Equal(t, want, got)
		other, _ := write(size.objects, size.room) // while the buffer of the first increment is in use
		require.Equal(t, want, string(again.Bytes()))
		other.Free()
		again.Free()
		require.Empty(t, again.Bytes())
	}
}
