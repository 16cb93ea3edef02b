package main

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/config"
	"countersign/seal/sealkey"
	"countersign/seal/trust"
)

// TestTrustOptions checks that command line options and settings are converted to a policy, and that errors identify
// the option and the file.
func TestTrustOptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, b, 0o600))
		return file
	}
	present := time.Now()
	caPEM, certPEM, keyPEM, err := sealkey.SelfSigned("Acme", present, rand.Reader)
	require.NoError(t, err)
	chain, err := sealkey.LoadChain(append(certPEM, caPEM...))
	require.NoError(t, err)
	spki, err := x509.MarshalPKIXPublicKey(chain[0].PublicKey)
	require.NoError(t, err)
	ca, cert, private := write("ca.pem", caPEM), write("cert.pem", certPEM), write("key.pem", keyPEM)
	both := write("chain, with a comma.pem", append(certPEM, caPEM...))
	public := write("public.pem", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki}))
	text, empty := write("text", []byte("no PEM")), write("empty", nil)
	jwks := write("jwks.json", []byte(`{"keys":[{"kty":"RSA","kid":"r"},{"kty":"EC","crv":"P-256","kid":"k1",
		"x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU","revoked":{"revoked_at":1700000000,"reason":"lost"}}]}`))
	noPoint := write("no-point.json", []byte(`{"keys":[{"kty":"EC","crv":"P-256","kid":"k1","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY"}]}`))

	for name, c := range map[string]struct {
		options trustOptions
		trusted bool
	}{
		"nobody":                      {trustOptions{}, false},
		"an authority":                {trustOptions{Trust: []string{ca}}, true},
		"a certificate":               {trustOptions{Sealer: []string{cert}}, true},
		"a chain":                     {trustOptions{Sealer: []string{both}}, true},
		"a key":                       {trustOptions{Sealer: []string{public}}, true},
		"the organisation":            {trustOptions{Trust: []string{ca}, Sealer: []string{"O=Countersign"}}, true},
		"another organisation":        {trustOptions{Trust: []string{ca}, Sealer: []string{"O=Acme, Inc."}}, false},
		"another, and a certificate ": {trustOptions{Trust: []string{ca}, Sealer: []string{"O=Other", cert}}, true},
	} {
		p, err := c.options.policy()
		require.NoError(t, err, name)
		j := p.Evaluate(trust.Seal{Certificates: chain}, present)
		assert.Equal(t, c.trusted, j.Sealer.Status == trust.Trusted, name)
		assert.Nil(t, p.Stampers, name)
		assert.Nil(t, p.RecordKeys, name)
	}
	p, err := trustOptions{TSATrust: []string{ca}, Keys: []string{jwks}}.policy()
	require.NoError(t, err)
	assert.NotNil(t, p.Stampers)
	assert.Empty(t, p.Sealers, "a time-stamp authority's root must not make a seal trusted")
	require.Len(t, p.RecordKeys, 1)
	assert.Equal(t, time.Unix(1_700_000_000, 0).UTC(), p.RecordKeys["k1"].Revoked.At)

	for want, o := range map[string]trustOptions{
		"--trust: " + cert + ": the certificate of Countersign (Acme) does not belong to an authority": {Trust: []string{cert}},
		"--trust: " + text + ": the file contains no PEM block":                                        {Trust: []string{text}},
		"--trust: " + filepath.Join(dir, "gone") + ": no such file":                                    {Trust: []string{filepath.Join(dir, "gone")}},
		"--sealer: " + ca + ": the file contains only CA certificates":                                 {Sealer: []string{ca}},
		"--sealer: " + private + ": the file contains a private key; only certificates":                {Sealer: []string{private}},
		"--sealer: " + empty + ": the file contains no PEM block":                                      {Sealer: []string{empty}},
		`--sealer: "O=" must contain an organization`:                                                  {Trust: []string{ca}, Sealer: []string{"O="}},
		`--sealer: "O=Acme" requires --trust`:                                                          {Sealer: []string{"O=Acme"}},
		"--tsa-trust: " + cert + ": ":                                                                  {TSATrust: []string{cert}},
		"--keys: " + text + ": the file must contain a JWK set":                                        {Keys: []string{text}},
		"--keys: " + noPoint + `: the key "k1" is not a point on the curve`:                            {Keys: []string{noPoint}},
	} {
		_, err := o.policy()
		require.ErrorContains(t, err, want)
	}
	_, err = settingsTrust(config.Config{TrustSealers: []string{"O=Acme"}})
	require.ErrorContains(t, err, "COUNTERSIGN_TRUST_SEALERS")
	require.ErrorContains(t, err, "COUNTERSIGN_TRUST_CA")
	assert.NotContains(t, strings.ToLower(err.Error()), "--")
}

// TestTrust_AuthoritiesWithoutSealers_AreRejected checks that settings with authorities but without sealers are
// rejected for the service's own verdicts.
func TestTrust_AuthoritiesWithoutSealers_AreRejected(t *testing.T) {
	t.Parallel()
	_, err := config.Load([]string{"COUNTERSIGN_TRUST_CA=ca.pem"}, config.Default())
	require.ErrorContains(t, err, "COUNTERSIGN_TRUST_CA: requires COUNTERSIGN_TRUST_SEALERS")
	cfg, err := config.Load([]string{"COUNTERSIGN_TRUST_CA=ca.pem", "COUNTERSIGN_TRUST_SEALERS=O=Acme, Inc.;b.pem"}, config.Default())
	require.NoError(t, err)
	require.Equal(t, []string{"O=Acme, Inc.", "b.pem"}, cfg.TrustSealers)
}
