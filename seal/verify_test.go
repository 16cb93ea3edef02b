package seal_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/trust"
	"countersign/seal/verify"
)

func (k sealerFixture) trust() verify.Options {
	sealer := trust.PinnedCertificate(k.cfg.Chain[0])
	if k.ca != nil {
		sealer = trust.IssuedBy(k.ca, "")
	}
	return verify.Options{Now: k.cfg.Now, Trust: trust.Policy{
		Sealers: []trust.Sealer{sealer}, Stampers: k.tsa,
		RecordKeys: map[string]trust.RecordKey{k.cfg.ManifestKeyID: {Key: k.cfg.ManifestSigner.Public()}},
	}}
}

func verified(t testing.TB, b []byte, opt verify.Options) verify.Report {
	t.Helper()
	r, err := verify.File(context.Background(), bytes.NewReader(b), int64(len(b)), opt)
	require.NoError(t, err)
	return r
}

func textOf(t testing.TB, r verify.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.WriteText(&b))
	return b.String()
}

func TestVerifySealed(t *testing.T) {
	t.Parallel()
	k := newSealerFixture(t)
	_, b := sealed(t, k.sealer(t), job(t, simplePDF(3)))
	r := verified(t, b, k.trust())
	require.True(t, r.OK(), textOf(t, r))
	require.Equal(t, envelopeID, r.EnvelopeID)
	require.Equal(t, "B-B", r.Level)

	pinned := k.trust()
	pinned.Trust.Sealers, pinned.Trust.RecordKeys = []trust.Sealer{trust.PinnedCertificate(k.cfg.Chain[0])}, nil
	alone := verified(t, b, pinned) // without the published keys
	require.True(t, alone.OK(), textOf(t, alone))

	untrusted := verified(t, b, verify.Options{})
	require.Equal(t, verify.VerdictUntrusted, untrusted.Verdict, textOf(t, untrusted))
	require.Equal(t, verify.Untrusted, untrusted.Status(verify.CheckCertificate))
	require.Equal(t, verify.Untrusted, untrusted.Status(verify.CheckManifestKey))
	require.Equal(t, verify.Passed, untrusted.Status(verify.CheckDigest))
}
