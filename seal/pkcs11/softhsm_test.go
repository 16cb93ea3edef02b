//go:build pkcs11 && cgo

package pkcs11_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ThalesGroup/crypto11"
	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/pkcs11"
)

// module returns the path of SoftHSM's library, which must be installed.
func module(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{"/usr/lib/softhsm", "/usr/lib64/softhsm", "/usr/local/lib/softhsm", "/opt/homebrew/lib/softhsm"} {
		if p := filepath.Join(dir, "libsofthsm2.so"); fileExists(p) {
			return p
		}
	}
	t.Fatal("SoftHSM must be installed")
	return ""
}

func fileExists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}

// TestSeal_WithKeysOnAToken checks that documents can be sealed with keys that never leave SoftHSM. It is not parallel,
// because SoftHSM reads its configuration from the environment.
func TestSeal_WithKeysOnAToken(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "softhsm2.conf")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tokens"), 0o700))
	require.NoError(t, os.WriteFile(conf, []byte("directories.tokendir = "+filepath.Join(dir, "tokens")+"\n"), 0o600))
	t.Setenv("SOFTHSM2_CONF", conf)
	out, err := exec.CommandContext(t.Context(), "softhsm2-util", "--init-token", "--free", "--label", "seal", "--pin", "1234", "--so-pin", "5678").CombinedOutput()
	require.NoError(t, err, string(out))
	lib := module(t)

	setup, err := crypto11.Configure(&crypto11.Config{Path: lib, TokenLabel: "seal", Pin: "1234"})
	require.NoError(t, err)
	_, err = setup.GenerateECDSAKeyPairWithLabel([]byte{1}, []byte("p256"), elliptic.P256())
	require.NoError(t, err)
	_, err = setup.GenerateRSAKeyPairWithLabel([]byte{2}, []byte("rsa"), 3072)
	require.NoError(t, err)
	for id := range byte(2) {
		_, err = setup.GenerateECDSAKeyPairWithLabel([]byte{3 + id}, []byte("twice"), elliptic.P256())
		require.NoError(t, err)
	}
	require.NoError(t, setup.Close())

	for _, label := range []string{"p256", "rsa"} {
		key, err := pkcs11.Open(pkcs11.Config{Module: lib, Token: "seal", PIN: "1234", Key: label})
		require.NoError(t, err)
		sealWith(t, key)
		require.NoError(t, key.Close())
	}
	pin := filepath.Join(dir, "pin")
	require.NoError(t, os.WriteFile(pin, []byte("1234\n"), 0o600))
	key, err := pkcs11.Open(pkcs11.Config{Module: lib, Token: "seal", PINSource: pin, ID: []byte{2}})
	require.NoError(t, err)
	require.IsType(t, &rsa.PublicKey{}, key.Public())
	require.NoError(t, key.Close())
	_, err = pkcs11.Open(pkcs11.Config{Module: lib, Token: "seal", PIN: "1234", Key: "twice"})
	require.ErrorContains(t, err, "multiple keys match")
	_, err = pkcs11.Open(pkcs11.Config{Module: lib, Token: "seal", PIN: "4321", Key: "rsa"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "4321")
	_, err = pkcs11.Open(pkcs11.Config{Module: lib, Token: "seal", PIN: "1234", Key: "other"})
	require.ErrorContains(t, err, `key "other"`)
	_, err = pkcs11.Open(pkcs11.Config{Module: lib, Token: "none", PIN: "1234", Key: "rsa"})
	require.Error(t, err)
}

func sealWith(t *testing.T, key crypto.Signer) {
	t.Helper()
	now := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "On a token"}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	manifest, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	s, err := seal.New(seal.Config{
		Signer: key, Chain: []*x509.Certificate{cert}, ManifestSigner: manifest, ManifestKeyID: "k",
		Now: func() time.Time { return now }, Rand: rand.Reader,
	})
	require.NoError(t, err)
	original, err := os.ReadFile("../testdata/classic.pdf")
	require.NoError(t, err)
	sum := sha256.Sum256(original)
	file, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
	require.NoError(t, err)
	hash := hex.EncodeToString(sum[:])
	events, head := signedByOne(t, hash, now)
	document := seal.Document{ID: "d", Name: "classic.pdf", SHA256: hash, Order: 1, PageCount: 3}
	_, err = s.Seal(context.Background(), file, seal.Job{
		Original: bytes.NewReader(original), Size: int64(len(original)), OriginalSHA256: hash, Envelope: seal.Envelope{ID: "e", OriginalHash: hash},
		Document: document, Documents: []seal.Document{document}, Signers: []seal.Signer{{ID: "s", Name: "Ada", AuthMethod: "none", SignedAt: now, Order: 1}},
		SealedAt: now, Events: events, ChainHead: head,
	})
	require.NoError(t, err)
	require.NoError(t, file.Close())
	out, err := exec.CommandContext(t.Context(), "pdfsig", file.Name()).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "Signature is Valid")
}

// signedByOne returns the audit chain of an envelope with one document and one signer.
func signedByOne(t *testing.T, hash string, at time.Time) (events []json.RawMessage, head string) {
	t.Helper()
	head = strings.Repeat("0", 64)
	for i, e := range []map[string]any{
		{"event": "envelope.created", "actor": "system"},
		{"event": "document.added", "actor": "system", "detail": map[string]any{"documentId": "d", "sha256": hash, "order": 1, "pageCount": 3}},
		{"event": "signer.signed", "actor": "signer:s"},
	} {
		e["id"], e["envelopeId"], e["seq"], e["prevHash"], e["timestamp"] = strconv.Itoa(i), "e", i+1, head, at.Format("2006-01-02T15:04:05.000000Z")
		sum := sha256.Sum256(canonical(t, e))
		head = hex.EncodeToString(sum[:])
		e["hash"] = head
		events = append(events, canonical(t, e))
	}
	return events, head
}

func canonical(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	b, err = jcs.Transform(b)
	require.NoError(t, err)
	return b
}
