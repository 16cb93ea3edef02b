package sealing_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal/trust"
	"countersign/seal/verify"
	"countersign/test/kit/sealkit"
)

// TestRewrittenFiles checks that a sealed file that another program has rewritten is recognized and never valid. If
// its sealer is not trusted, the report does not mention this service.
func TestRewrittenFiles(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	dir := t.TempDir()
	in, _ := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, sealkit.SimplePDF(2)))
	for name, command := range map[string][]string{
		"qpdf": {"qpdf", in, "OUT"}, "qpdf, object streams": {"qpdf", "--object-streams=generate", in, "OUT"}, "qpdf, linearized": {"qpdf", "--linearize", in, "OUT"},
		"mutool": {"mutool", "clean", in, "OUT"}, "mutool, garbage collected": {"mutool", "clean", "-gg", in, "OUT"},
	} {
		out := filepath.Join(dir, "out.pdf")
		command[len(command)-1] = out
		said, err := sealkit.Run(t, command[0], command[1:]...)
		require.NoError(t, err, said)
		b, err := os.ReadFile(out)
		require.NoError(t, err)
		r := sealkit.Verified(t, b, k.Trust())
		require.Equal(t, verify.VerdictBroken, r.Verdict, "%s: %s", name, sealkit.TextOf(t, r))
		require.True(t, r.Has("signature.rewritten"), "%s: %s", name, sealkit.TextOf(t, r))
		require.Contains(t, r.Summary, "was sealed by this service, but another program has rewritten it")
		require.Equal(t, sealkit.EnvelopeID, r.Findings[0].Values["envelope"])
		require.Empty(t, r.Signatures, "the seal's signature must not be listed as another party's")
		require.Nil(t, r.Record)

		r, err = verify.File(t.Context(), bytes.NewReader(b), int64(len(b)), verify.Options{Trust: trust.Policy{}, Now: time.Now})
		require.NoError(t, err)
		require.Equal(t, verify.VerdictBroken, r.Verdict, name)
		require.True(t, r.Has("signature.rewritten_unknown"), name)
		require.NotContains(t, r.Summary, "this service")
		require.Empty(t, r.Signatures)
	}
}
