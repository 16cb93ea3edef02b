package seal

import (
	"crypto"
	"crypto/x509"
	"io"
	"time"
)

// SelfSigned makes a development authority and a P-256 sealing certificate
// under it, as PEM blocks. keyPEM is the sealing key (PKCS #8).
func SelfSigned(name string, now time.Time, rand io.Reader) (caPEM, certPEM, keyPEM []byte, err error) {
	return nil, nil, nil, errNotBuilt
}

// LoadPEM reads a private key (PKCS #8, SEC 1 or PKCS #1) and a certificate
// chain, leaf first, from PEM.
func LoadPEM(certPEM, keyPEM []byte) (crypto.Signer, []*x509.Certificate, error) {
	return nil, nil, errNotBuilt
}

// LoadPKCS12 reads a key and its chain from a PKCS #12 file.
func LoadPKCS12(data []byte, password string) (crypto.Signer, []*x509.Certificate, error) {
	return nil, nil, errNotBuilt
}
