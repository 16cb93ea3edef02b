package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"countersign/config"
	"countersign/models"
	"countersign/seal"
	"countersign/seal/pkcs11"
	"countersign/seal/sealkey"
	"countersign/store"
)

// reloadingSealer seals documents, and signs their records with the current manifest key. After a key rotation, it
// creates a new sealer.
type reloadingSealer struct {
	cfg   seal.Config
	leaf  *x509.Certificate // the sealing certificate
	store *store.Store

	mu   sync.Mutex
	made *seal.Sealer
}

// newReloadingSealer loads the sealing key and creates a test signature with it.
func newReloadingSealer(ctx context.Context, cfg config.Config, s *store.Store) (*reloadingSealer, error) {
	signer, chain, err := sealKey(cfg)
	if err != nil {
		return nil, err
	}
	out := &reloadingSealer{
		leaf: chain[0], store: s,
		cfg: seal.Config{
			Signer: signer, Chain: chain, TSAURL: cfg.TSAURL, TSAOptional: cfg.TSAOptional, LongTerm: cfg.SealLongTerm, HTTPClient: &http.Client{Timeout: tsaLimit},
			ServiceName: seal.ServiceName, Now: now, Rand: rand.Reader,
		},
	}
	if _, err := out.current(ctx); err != nil {
		return nil, err
	}
	return out, nil
}

// errSealRevoked is returned if the sealing key was revoked. Sealing then waits until an operator installs another key.
var errSealRevoked = errors.New("the sealing key was revoked by `countersign key revoke`: install another one and restart the workers")

// current returns a sealer that uses the current manifest key.
func (s *reloadingSealer) current(ctx context.Context) (*seal.Sealer, error) {
	revoked, err := s.store.SealKeyRevoked(ctx, s.leaf)
	if err != nil {
		return nil, err
	}
	if revoked {
		return nil, errSealRevoked
	}
	keys, err := s.store.Keys(ctx, models.KeyManifests)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made != nil && s.cfg.ManifestKeyID == keys[0].ID {
		return s.made, nil
	}
	cfg := s.cfg
	cfg.ManifestSigner, cfg.ManifestKeyID = keys[0].Private, keys[0].ID
	made, err := seal.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("seal key: %w", err)
	}
	s.made, s.cfg = made, cfg
	return made, nil
}

// Seal seals a document.
func (s *reloadingSealer) Seal(ctx context.Context, out *os.File, job seal.Job) (seal.Result, error) {
	now, err := s.current(ctx)
	if err != nil {
		return seal.Result{}, err
	}
	return now.Seal(ctx, out, job)
}

// Renew adds a document time-stamp to a sealed file.
func (s *reloadingSealer) Renew(ctx context.Context, in io.ReaderAt, size int64, out *os.File) (seal.Result, error) {
	now, err := s.current(ctx)
	if err != nil {
		return seal.Result{}, err
	}
	return now.Renew(ctx, in, size, out)
}

// Trial creates a test signature.
func (s *reloadingSealer) Trial() error { return s.last().Trial() }

// NotAfter returns the expiry time of the sealing certificate.
func (s *reloadingSealer) NotAfter() time.Time { return s.last().NotAfter() }

func (s *reloadingSealer) last() *seal.Sealer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

// sealKey loads the sealing key from two PEM files, a PKCS#12 file, or a PKCS#11 token.
func sealKey(cfg config.Config) (crypto.Signer, []*x509.Certificate, error) {
	if strings.HasPrefix(cfg.SealKey, pkcs11.Scheme) {
		return hardwareKey(cfg)
	}
	key, err := os.ReadFile(cfg.SealKey)
	if err != nil {
		return nil, nil, fmt.Errorf("COUNTERSIGN_SEAL_KEY: %w", err)
	}
	if cfg.SealCert == "" && !bytes.Contains(key, []byte("-----BEGIN")) {
		return sealkey.LoadPKCS12(key, string(cfg.SealPassword))
	}
	cert := key
	if cfg.SealCert != "" {
		if cert, err = os.ReadFile(cfg.SealCert); err != nil {
			return nil, nil, fmt.Errorf("COUNTERSIGN_SEAL_CERT: %w", err)
		}
	}
	return sealkey.LoadPEM(cert, key)
}

// hardwareKey opens the key specified by a PKCS#11 URI. The session with the module lasts until the process exits.
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
	chain, err := sealkey.LoadChain(cert)
	if err != nil {
		return nil, nil, fmt.Errorf("COUNTERSIGN_SEAL_CERT: %w", err)
	}
	key, err := pkcs11.Open(uri)
	if err != nil {
		return nil, nil, fmt.Errorf("COUNTERSIGN_SEAL_KEY: %w", err)
	}
	return key, chain, nil
}
