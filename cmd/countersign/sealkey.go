package main

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"countersign/config"
	"countersign/seal"
	"countersign/seal/pkcs11"
)

// sealKey reads the sealing key: two PEM files, or one PKCS#12 file.
func sealKey(cfg config.Config) (crypto.Signer, []*x509.Certificate, error) {
	if strings.HasPrefix(cfg.SealKey, pkcs11.Scheme) {
		return hardwareKey(cfg)
	}
	key, err := os.ReadFile(cfg.SealKey)
	if err != nil {
		return nil, nil, fmt.Errorf("COUNTERSIGN_SEAL_KEY: %w", err)
	}
	if cfg.SealCert == "" && !bytes.Contains(key, []byte("-----BEGIN")) {
		return seal.LoadPKCS12(key, string(cfg.SealPassword))
	}
	cert := key
	if cfg.SealCert != "" {
		if cert, err = os.ReadFile(cfg.SealCert); err != nil {
			return nil, nil, fmt.Errorf("COUNTERSIGN_SEAL_CERT: %w", err)
		}
	}
	return seal.LoadPEM(cert, key)
}

// hardwareKey opens the key that a PKCS#11 URI names. The session with the
// module lasts as long as the process.
func hardwareKey(cfg config.Config) (crypto.Signer, []*x509.Certificate, error) {
	uri, err := pkcs11.ParseURI(cfg.SealKey)
	if err != nil {
		return nil, nil, fmt.Errorf("COUNTERSIGN_SEAL_KEY: %w", err)
	}
	if uri.PINSource == "" {
		uri.PIN = string(cfg.SealPassword)
	}
	cert, err := os.ReadFile(cfg.SealCert)
	if err != nil {
		return nil, nil, fmt.Errorf("COUNTERSIGN_SEAL_CERT: %w", err)
	}
	chain, err := seal.LoadChain(cert)
	if err != nil {
		return nil, nil, fmt.Errorf("COUNTERSIGN_SEAL_CERT: %w", err)
	}
	key, err := pkcs11.Open(uri)
	if err != nil {
		return nil, nil, fmt.Errorf("COUNTERSIGN_SEAL_KEY: %w", err)
	}
	return key, chain, nil
}
