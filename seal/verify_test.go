package seal_test

import (
	"bytes"
	"context"
	"crypto"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
)

func (k keys) trust() seal.VerifyOptions {
	return seal.VerifyOptions{
		Roots: k.roots, Now: k.cfg.Now,
		ManifestKeys: map[string]crypto.PublicKey{k.cfg.ManifestKeyID: k.cfg.ManifestSigner.Public()},
	}
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

	alone := verify(t, b, seal.VerifyOptions{Roots: k.roots, Now: clock}) // without the published keys
	require.True(t, alone.OK(), textOf(t, alone))

	untrusted := verify(t, b, seal.VerifyOptions{})
	require.Equal(t, seal.VerdictUntrusted, untrusted.Verdict, textOf(t, untrusted))
	require.Equal(t, seal.Untrusted, untrusted.Status(seal.CheckCertificate))
	require.Equal(t, seal.Untrusted, untrusted.Status(seal.CheckManifestKey))
	require.Equal(t, seal.Passed, untrusted.Status(seal.CheckDigest))
}
