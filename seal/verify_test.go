package seal_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/trust"
)

func (k keys) trust() seal.VerifyOptions {
	sealer := trust.Pin(k.cfg.Chain[0])
	if k.ca != nil {
		sealer = trust.Under(k.ca, "")
	}
	return seal.VerifyOptions{Now: k.cfg.Now, Trust: trust.Policy{
		Sealers: []trust.Sealer{sealer}, Stampers: k.tsa,
		RecordKeys: map[string]trust.RecordKey{k.cfg.ManifestKeyID: {Key: k.cfg.ManifestSigner.Public()}},
	}}
}

func verify(t testing.TB, b []byte, opt seal.VerifyOptions) seal.Report {
	t.Helper()
	r, err := seal.Verify(context.Background(), bytes.NewReader(b), int64(len(b)), opt)
	require.NoError(t, err)
	return r
}

func textOf(t testing.TB, r seal.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.WriteText(&b))
	return b.String()
}

func TestVerifySealed(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	_, b := sealed(t, k.sealer(t), job(t, simplePDF(3)))
	r := verify(t, b, k.trust())
	require.True(t, r.OK(), textOf(t, r))
	require.Equal(t, envelopeID, r.EnvelopeID)
	require.Equal(t, "B-B", r.Level)

	pinned := k.trust()
	pinned.Trust.Sealers, pinned.Trust.RecordKeys = []trust.Sealer{trust.Pin(k.cfg.Chain[0])}, nil
	alone := verify(t, b, pinned) // without the published keys
	require.True(t, alone.OK(), textOf(t, alone))

	untrusted := verify(t, b, seal.VerifyOptions{})
	require.Equal(t, seal.VerdictUntrusted, untrusted.Verdict, textOf(t, untrusted))
	require.Equal(t, seal.Untrusted, untrusted.Status(seal.CheckCertificate))
	require.Equal(t, seal.Untrusted, untrusted.Status(seal.CheckManifestKey))
	require.Equal(t, seal.Passed, untrusted.Status(seal.CheckDigest))
}
