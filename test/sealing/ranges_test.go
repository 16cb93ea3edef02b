package sealing_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/rejection"
	"countersign/seal/sandbox"
	"countersign/seal/verify"
	"countersign/test/kit/sealkit"
)

// largePDF returns a file with one page and more than n bytes of data that the page does not use.
func largePDF(n int) []byte {
	data := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)
	return sealkit.ClassicPDF(sealkit.Layout{Pages: sealkit.LetterPage(""), Objects: []string{
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(data), data),
	}})
}

// TestLargeFiles checks that a file of more than 100 MB is verified like any other, and with less memory than its
// size.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	const memory = 64 << 20
	k := sealkit.NewFixture(t)
	_, b := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, largePDF(101<<20)))
	require.Greater(t, len(b), 100<<20)
	validators := sandbox.New("/bin/sh", "-c", fmt.Sprintf(`COUNTERSIGN_ADMIT_MEMORY=%d exec "$0" validate-pdf`, memory), os.Args[0])
	t.Cleanup(validators.Close)
	examined := func(b []byte) verify.Report {
		t.Helper()
		x, err := verify.ExamineIn(t.Context(), validators, bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		return x.Report(k.Trust())
	}
	r := examined(b)
	require.Equal(t, verify.VerdictValid, r.Verdict, sealkit.TextOf(t, r))
	require.Equal(t, sealkit.TextOf(t, sealkit.Verified(t, b, k.Trust())), sealkit.TextOf(t, r), "as in this process")
	b[80<<20] ^= 1
	require.Equal(t, verify.VerdictBroken, examined(b).Verdict, "a byte in the middle")
	b[80<<20] ^= 1
	require.Equal(t, verify.VerdictAltered, examined(append(b, "more"...)).Verdict)
}

// TestRangeRequests_OutsideTheFile_ReturnNoData checks that a compromised process receives no data if it requests
// parts outside the file, and that this error differs from the error for an unreadable file.
func TestRangeRequests_OutsideTheFile_ReturnNoData(t *testing.T) {
	t.Parallel()
	const size = 65 << 20
	for name, ask := range map[string]string{
		"behind the end":  `r\000\000\000\000\177\000\000\000\000\000\000\001`,
		"across the end":  `r\000\000\000\000\004\017\377\377\000\000\000\002`,
		"negative":        `r\377\377\377\377\377\377\377\377\000\000\000\001`,
		"too much":        `r\000\000\000\000\000\000\000\000\377\377\377\377`,
		"half a question": `r\000\000'; exit; '`,
	} {
		validators := sandbox.New("/bin/sh", "-c", `head -c 9 >/dev/null; printf '`+ask+`'; [ "$(head -c 1 | wc -c)" = 0 ] || echo '{"report":{}}'`)
		t.Cleanup(validators.Close)
		_, err := verify.ExamineIn(t.Context(), validators, zeros{}, size)
		var rejected *rejection.Error
		require.ErrorAs(t, err, &rejected, name)
		require.Equal(t, rejection.PDFTooComplex, rejected.Code, name)
	}
	validators := sandbox.New(os.Args[0], "validate-pdf")
	t.Cleanup(validators.Close)
	_, err := verify.ExamineIn(t.Context(), validators, strings.NewReader("%PDF-1.7\n"), size)
	require.NoError(t, err, "the file was truncated in the meantime, which is not a read error")
	_, err = verify.ExamineIn(t.Context(), validators, unreadable{}, size)
	require.ErrorIs(t, err, errDisk)
}

// zeros is a file that contains only zeros.
type zeros struct{}

func (zeros) ReadAt(b []byte, _ int64) (int, error) {
	clear(b)
	return len(b), nil
}

var errDisk = fmt.Errorf("the disk does not respond")

type unreadable struct{}

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errDisk }
