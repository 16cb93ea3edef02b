// Package sealkey loads and creates sealing keys and certificates.
package sealkey

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"time"

	pkcs12 "software.sslmate.com/src/go-pkcs12"
)

// Validity periods of the certificates created by SelfSigned.
const (
	caYears   = 20
	leafYears = 5
)

// SelfSigned creates a development certificate authority and a P-256 sealing certificate issued by it, as PEM blocks.
// The result keyPEM contains the sealing key (PKCS #8). The authority's key is discarded, so that it can never issue
// another certificate.
func SelfSigned(name string, now time.Time, rand io.Reader) (caPEM, certPEM, keyPEM []byte, err error) {
	caKey, err1 := ecdsa.GenerateKey(elliptic.P256(), rand)
	key, err2 := ecdsa.GenerateKey(elliptic.P256(), rand)
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, nil, fmt.Errorf("seal: %w", err)
	}
	ca := template(name+" development authority", now, caYears)
	ca.IsCA, ca.BasicConstraintsValid, ca.MaxPathLenZero = true, true, true
	ca.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	caDER, err := x509.CreateCertificate(rand, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("seal: %w", err)
	}
	if ca, err = x509.ParseCertificate(caDER); err != nil {
		return nil, nil, nil, fmt.Errorf("seal: %w", err)
	}
	leaf := template(name, now, leafYears)
	leaf.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection}
	leaf.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 36}} // document signing, RFC 9336
	leafDER, err := x509.CreateCertificate(rand, leaf, ca, key.Public(), caKey)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("seal: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("seal: %w", err)
	}
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return block("CERTIFICATE", caDER), block("CERTIFICATE", leafDER), block("PRIVATE KEY", keyDER), nil
}

// template returns a certificate template without a serial number. A random serial number is assigned when the
// certificate is created.
func template(name string, now time.Time, years int) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name, Organization: []string{"Countersign"}},
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.AddDate(years, 0, 0),
	}
}

// LoadChain reads a certificate chain, leaf first, from PEM.
func LoadChain(certPEM []byte) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	for rest := certPEM; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if b.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("seal: certificate: %w", err)
		}
		chain = append(chain, c)
	}
	if len(chain) == 0 {
		return nil, errors.New("seal: no certificate in the PEM file")
	}
	return chain, nil
}

// LoadPEM reads a private key (PKCS #8, SEC 1 or PKCS #1, unencrypted) and a certificate chain, leaf first, from PEM.
func LoadPEM(certPEM, keyPEM []byte) (crypto.Signer, []*x509.Certificate, error) {
	chain, err := LoadChain(certPEM)
	if err != nil {
		return nil, nil, err
	}
	for rest := keyPEM; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			return nil, nil, errors.New("seal: no private key in the PEM file")
		}
		switch b.Type {
		case "PRIVATE KEY":
			key, err := x509.ParsePKCS8PrivateKey(b.Bytes)
			return asSigner(key, chain, err)
		case "EC PRIVATE KEY":
			key, err := x509.ParseECPrivateKey(b.Bytes)
			return asSigner(key, chain, err)
		case "RSA PRIVATE KEY":
			key, err := x509.ParsePKCS1PrivateKey(b.Bytes)
			return asSigner(key, chain, err)
		case "ENCRYPTED PRIVATE KEY":
			return nil, nil, errors.New("seal: the private key is encrypted; use PKCS #12 for keys with a password")
		}
	}
}

func asSigner(key any, chain []*x509.Certificate, err error) (crypto.Signer, []*x509.Certificate, error) {
	if err != nil {
		return nil, nil, errors.New("seal: the private key cannot be read")
	}
	s, ok := key.(crypto.Signer)
	if !ok {
		return nil, nil, fmt.Errorf("seal: keys of type %T cannot sign", key)
	}
	return s, chain, nil
}

// LoadPKCS12 reads a key and its certificate chain from a PKCS #12 file.
func LoadPKCS12(data []byte, password string) (crypto.Signer, []*x509.Certificate, error) {
	key, leaf, rest, err := pkcs12.DecodeChain(data, password)
	if err != nil {
		return nil, nil, fmt.Errorf("seal: PKCS #12: %w", err)
	}
	return asSigner(key, append([]*x509.Certificate{leaf}, rest...), nil)
}
