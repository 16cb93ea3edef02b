package sealing_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/test/kit/sealkit"
)

// TestReferenceScanInPieces checks that scanning a file in pieces of any size finds the same references as a scan that
// reads the file itself, and returns the same error for a damaged file.
func TestReferenceScanInPieces(t *testing.T) {
	t.Parallel()
	mentions := func(b []byte, piece int) string {
		f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
		if err != nil {
			return ""
		}
		m, err := f.ReferenceScan()
		if err != nil {
			return err.Error()
		}
		for at := 0; piece > 0 && at < len(b); at += piece {
			m.Scan(bytes.Clone(b[at:min(at+piece, len(b))]))
		}
		refs, highest, err := m.Undefined(t.Context())
		if err != nil {
			return err.Error()
		}
		header, err := m.HighestHeader(t.Context())
		require.NoError(t, err)
		return fmt.Sprint(refs, highest, header)
	}
	unlisted := append(sealkit.SimplePDF(3), "% 777777 \t 0 \r\n obj\n"...)
	require.Contains(t, mentions(sealkit.OpenEndedContents(), 0), "5004")
	require.Contains(t, mentions(unlisted, 0), "777777")
	rng := rand.New(rand.NewPCG(1, 2))
	opened, rejected := 0, 0
	for _, original := range [][]byte{sealkit.OpenEndedContents(), sealkit.HybridPDF(), sealkit.SimplePDF(3), unlisted} {
		for round := range 300 {
			b := bytes.Clone(original)
			for range round % 4 { // every fourth file remains unchanged
				b[rng.IntN(len(b))] = "0123456789 R()<>[]/obj\n"[rng.IntN(23)]
			}
			want := mentions(b, 0)
			if want != "" {
				opened++
			}
			if len(want) > 0 && want[0] != '[' {
				rejected++
			}
			for _, piece := range []int{1, 7, 31, 32, 33, 100, 1 + rng.IntN(len(b)), len(b)} {
				require.Equal(t, want, mentions(b, piece), "pieces of %d bytes of %q", piece, b)
			}
		}
	}
	require.Greater(t, opened, 300)
	require.Greater(t, rejected, 10)
}
