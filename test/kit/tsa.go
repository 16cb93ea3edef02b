package kit

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TSA is a time-stamp authority (RFC 3161) that uses openssl and the current time.
type TSA struct {
	URL  string
	Root *x509.Certificate
	// NotAfter is the expiry of the authority's certificate, in whole seconds.
	NotAfter time.Time
	// Down makes the authority respond with 503.
	Down atomic.Bool
}

const tsaConfig = `[tsa]
default_tsa = t
[t]
serial = SERIAL
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
accuracy = secs:1
ess_cert_id_chain = no
ess_cert_id_alg = sha256
`

// NewTSA starts a time-stamp authority with its own root. It is stopped when the test ends.
func NewTSA(t testing.TB) *TSA {
	t.Helper()
	start := time.Now().UTC().Truncate(time.Second).Add(-time.Hour) //nolint:forbidigo // openssl's time-stamps contain the current time
	end := start.AddDate(5, 0, 0)
	issue := func(c, by *x509.Certificate, key, with *ecdsa.PrivateKey) *x509.Certificate {
		der, err := x509.CreateCertificate(rand.Reader, c, by, key.Public(), with)
		require.NoError(t, err)
		made, err := x509.ParseCertificate(der)
		require.NoError(t, err)
		return made
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test time-stamp root"}, NotBefore: start, NotAfter: start.AddDate(20, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	root = issue(root, root, rootKey, rootKey)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	usage, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}})
	require.NoError(t, err)
	leaf := issue(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "Test time-stamp authority"}, NotBefore: start, NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: usage}},
	}, root, key, rootKey)
	return ServeTSA(t, leaf, root, key)
}

// ServeTSA starts a time-stamp authority with the given key and its certificate leaf, which was issued by root. It is
// stopped when the test ends.
func ServeTSA(t testing.TB, leaf, root *x509.Certificate, key *ecdsa.PrivateKey) *TSA {
	t.Helper()
	a := &TSA{Root: root, NotAfter: leaf.NotAfter}
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, b []byte) { require.NoError(t, os.WriteFile(file(name), b, 0o600)) }
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write("tsa.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	write("tsa.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}))
	write("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Raw}))
	write("tsa.cnf", bytes.Replace([]byte(tsaConfig), []byte("SERIAL"), []byte(file("serial")), 1))
	write("serial", []byte("01\n"))
	var asked atomic.Int64
	serial := make(chan struct{}, 1) // openssl stores its serial number in a file
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
		if a.Down.Load() || err != nil {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		n := strconv.FormatInt(asked.Add(1), 10)
		serial <- struct{}{}
		defer func() { <-serial }()
		err = os.WriteFile(file("q"+n), body, 0o600)
		if err == nil {
			err = exec.CommandContext(r.Context(), "openssl", "ts", "-reply", "-config", file("tsa.cnf"), "-queryfile", file("q"+n), //nolint:gosec // temporary files
				"-signer", file("tsa.pem"), "-inkey", file("tsa.key"), "-chain", file("ca.pem"), "-out", file("r"+n)).Run()
		}
		answer, readErr := os.ReadFile(file("r" + n))
		if err != nil || readErr != nil {
			http.Error(w, "failed", http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(answer) // the client may have disconnected
	}))
	t.Cleanup(srv.Close)
	a.URL = srv.URL
	return a
}
