package sealing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/trust"
	"countersign/seal/verify"
	"countersign/test/kit/sealkit"
)

func TestVerifySealed(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	_, b := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, sealkit.SimplePDF(3)))
	r := sealkit.Verified(t, b, k.Trust())
	require.True(t, r.OK(), sealkit.TextOf(t, r))
	require.Equal(t, sealkit.EnvelopeID, r.EnvelopeID)
	require.Equal(t, "B-B", r.Level)

	pinned := k.Trust()
	pinned.Trust.Sealers, pinned.Trust.RecordKeys = []trust.Sealer{trust.PinnedCertificate(k.Config.Chain[0])}, nil
	alone := sealkit.Verified(t, b, pinned) // without the published keys
	require.True(t, alone.OK(), sealkit.TextOf(t, alone))

	untrusted := sealkit.Verified(t, b, verify.Options{})
	require.Equal(t, verify.VerdictUntrusted, untrusted.Verdict, sealkit.TextOf(t, untrusted))
	require.Equal(t, verify.Untrusted, untrusted.Status(verify.CheckCertificate))
	require.Equal(t, verify.Untrusted, untrusted.Status(verify.CheckManifestKey))
	require.Equal(t, verify.Passed, untrusted.Status(verify.CheckDigest))
}
