package trust_test

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/trust"
)

const opensslConfig = `
[ca]
default_ca = c
[c]
database = DIR/index
serial = DIR/serial
crlnumber = DIR/crlnumber
new_certs_dir = DIR
default_md = sha256
default_days = 30
default_crl_days = 7
policy = p
[p]
commonName = supplied
organizationName = optional
[root]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
[seal]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature, nonRepudiation
extendedKeyUsage = 1.3.6.1.5.5.7.3.36
[ocsp]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = OCSPSigning
[tls]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
`

// opensslCA is a certificate authority operated with OpenSSL.
type opensslCA struct {
	t   *testing.T
	dir string
}

func newOpensslCA(t *testing.T) *opensslCA {
	t.Helper()
	o := &opensslCA{t, t.TempDir()}
	for name, content := range map[string]string{
		"cnf": strings.ReplaceAll(opensslConfig, "DIR", o.dir), "index": "", "index.attr": "unique_subject = no\n", "serial": "1000\n", "crlnumber": "1000\n",
	} {
		require.NoError(t, os.WriteFile(o.file(name), []byte(content), 0o600))
	}
	o.run("req", "-x509", "-config", o.file("cnf"), "-extensions", "root", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
		"-subj", "/CN=OpenSSL root", "-days", "90", "-keyout", o.file("root.key"), "-out", o.file("root.pem"))
	return o
}

func (o *opensslCA) file(name string) string { return filepath.Join(o.dir, name) }

func (o *opensslCA) run(args ...string) {
	o.t.Helper()
	out, err := exec.CommandContext(o.t.Context(), "openssl", args...).CombinedOutput()
	require.NoError(o.t, err, "openssl %v: %s", args, out)
}

func (o *opensslCA) ca(args ...string) {
	o.t.Helper()
	o.run(append([]string{"ca", "-config", o.file("cnf"), "-cert", o.file("root.pem"), "-keyfile", o.file("root.key"), "-batch"}, args...)...)
}

func (o *opensslCA) issue(name, subject, extensions string) *x509.Certificate {
	o.t.Helper()
	o.run("req", "-new", "-config", o.file("cnf"), "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject,
		"-keyout", o.file(name+".key"), "-out", o.file(name+".csr"))
	o.ca("-extensions", extensions, "-in", o.file(name+".csr"), "-out", o.file(name+".pem"), "-notext")
	return o.certificate(name)
}

func (o *opensslCA) certificate(name string) *x509.Certificate {
	o.t.Helper()
	b, err := os.ReadFile(o.file(name + ".pem"))
	require.NoError(o.t, err)
	block, _ := pem.Decode(b)
	c, err := x509.ParseCertificate(block.Bytes)
	require.NoError(o.t, err)
	return c
}

func (o *opensslCA) crl() []byte {
	o.t.Helper()
	o.ca("-gencrl", "-out", o.file("crl.pem"))
	b, err := os.ReadFile(o.file("crl.pem"))
	require.NoError(o.t, err)
	block, _ := pem.Decode(b)
	return block.Bytes
}

// ocsp returns a responder's OCSP response about the certificate with the given name.
func (o *opensslCA) ocsp(name, responder string) []byte {
	o.t.Helper()
	o.run("ocsp", "-issuer", o.file("root.pem"), "-cert", o.file(name+".pem"), "-reqout", o.file("request"), "-no_nonce")
	o.run("ocsp", "-index", o.file("index"), "-CA", o.file("root.pem"), "-rsigner", o.file(responder+".pem"), "-rkey", o.file(responder+".key"),
		"-reqin", o.file("request"), "-respout", o.file("answer"), "-ndays", "7")
	b, err := os.ReadFile(o.file("answer"))
	require.NoError(o.t, err)
	return b
}

// TestOpenSSL checks that certificates, revocation lists and OCSP responses created by OpenSSL are interpreted as
// intended.
func TestOpenSSL(t *testing.T) {
	t.Parallel()
	o := newOpensslCA(t)
	root := o.certificate("root")
	leaf := o.issue("seal", "/O=Acme Ltd/CN=Document seal", "seal")
	o.issue("ocsp", "/CN=OCSP", "ocsp")
	tls := o.issue("tls", "/O=Acme Ltd/CN=www.example.com", "tls")
	present := time.Now()
	p := trust.Policy{Sealers: []trust.Sealer{trust.IssuedBy(root, "Acme Ltd")}}

	in := trust.Seal{Certificates: []*x509.Certificate{leaf, root}}
	assert.Equal(t, trust.Trusted, evaluate(t, p, in, present).Sealer.Status)
	assert.Equal(t, trust.Untrusted, evaluate(t, p, trust.Seal{Certificates: []*x509.Certificate{tls, root}}, present).Sealer.Status)

	know := func(e trust.Evidence) trust.RevocationStatus { return trust.CombineStatements(e, leaf, root) }
	crl := trust.Evidence{CRLs: [][]byte{o.crl()}}
	assert.False(t, know(crl).Good.IsZero())
	for responder, counts := range map[string]bool{"root": true, "ocsp": true, "tls": false} {
		k := know(trust.Evidence{OCSPs: [][]byte{o.ocsp("seal", responder)}})
		assert.Equal(t, counts, !k.Good.IsZero(), responder)
	}

	o.ca("-revoke", o.file("seal.pem"), "-crl_reason", "keyCompromise")
	for name, e := range map[string]trust.Evidence{
		"CRL": {CRLs: [][]byte{o.crl()}}, "OCSP": {OCSPs: [][]byte{o.ocsp("seal", "root")}}, "delegate": {OCSPs: [][]byte{o.ocsp("seal", "ocsp")}},
	} {
		k := know(e)
		if assert.NotNil(t, k.Revoked, name) {
			assert.Equal(t, 1, k.Revoked.Reason, name)
			assert.WithinDuration(t, present, k.Revoked.At, time.Minute, name)
		}
		in.Evidence = e
		j := evaluate(t, p, in, time.Now().Add(time.Second))
		assert.Equal(t, trust.Untrusted, j.Revocation.Status, name)
	}
	assert.Nil(t, know(trust.Evidence{OCSPs: [][]byte{o.ocsp("seal", "tls")}}).Revoked, "a response signed with a TLS server certificate must not count")
}
