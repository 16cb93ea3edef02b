package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"

	"countersign/activities"
	"countersign/api"
	"countersign/config"
	"countersign/internal/clamd"
	"countersign/internal/credential"
	"countersign/internal/failpoint"
	"countersign/internal/metrics"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/notify"
	"countersign/seal"
	"countersign/seal/pkcs11"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
	"countersign/web"
	"countersign/worker"
)

// parts is the service, put together from its settings.
type parts struct {
	cfg    config.Config
	log    *slog.Logger
	vault  *vault.Vault
	store  *store.Store
	blobs  blob.Store
	tokens *credential.Tokens
	mail   metrics.Mailer
	sms    notify.SMS
	client client.Client
	tracer trace.Tracer // nil unless the environment asks for traces
	ended  func()       // sends the last spans
	// metrics is nil unless the settings name an address to show them at.
	metrics *metrics.Metrics
	sealer  *sealer // of a process that has workers
	// validators are of a process that has the API.
	validators *seal.Validators
}

func now() time.Time { return time.Now().UTC().Add(failpoint.Skew()) } //nolint:forbidigo // the clock that all others are given

// newID makes ids whose order is the order of creation (RFC 9562, UUIDv7).
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// keysLimit bounds how long a request waits for keys that were rotated.
const keysLimit = 3 * time.Second

// openStore opens the database alone.
func openStore(ctx context.Context, cfg config.Config) (*store.Store, *vault.Vault, error) {
	v, err := vault.New(string(cfg.MasterKey))
	if err != nil {
		return nil, nil, err
	}
	s, err := store.Open(ctx, store.Config{
		URL: string(cfg.DatabaseURL), BaseURL: cfg.BaseURL, LeakedPasswords: cfg.LeakedPasswords, Plans: cfg.Plans(), Vault: v, Now: now, NewID: newID,
	})
	return s, v, err
}

// openBlobs opens the file store.
func openBlobs(ctx context.Context, cfg config.Config, v *vault.Vault) (*blob.Encrypted, error) {
	plain, err := blob.Open(ctx, cfg.BlobURL)
	if err != nil {
		return nil, err
	}
	return blob.Sealed(plain, v, cfg.EncryptFiles), nil
}

// assemble opens everything that the API and the worker share. The database
// must be up to date.
func assemble(ctx context.Context, cfg config.Config, log *slog.Logger) (_ *parts, err error) {
	p := &parts{cfg: cfg, log: log}
	if cfg.MetricsListen != "" {
		p.metrics = metrics.New(version)
	}
	if err := p.trace(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.store, p.vault, err = openStore(ctx, cfg); err != nil {
		return nil, err
	}
	if err := p.store.Migrated(ctx); err != nil {
		return nil, err
	}
	if err := p.measureStore(); err != nil {
		return nil, err
	}
	if p.blobs, err = openBlobs(ctx, cfg, p.vault); err != nil {
		return nil, err
	}
	keys, err := p.store.Keys(ctx, models.KeyTokens)
	if err != nil {
		return nil, err
	}
	if p.tokens, err = credential.NewTokens(keys, now); err != nil {
		return nil, err
	}
	p.tokens.Follow(func() ([]store.Key, error) {
		ctx, cancel := context.WithTimeout(ctx, keysLimit)
		defer cancel()
		return p.store.Keys(ctx, models.KeyTokens)
	})
	mail, err := notify.NewSMTP(notify.SMTPConfig{URL: string(cfg.SMTPURL), From: cfg.MailFrom})
	if err != nil {
		return nil, err
	}
	p.mail = p.metrics.Mailer(mail)
	if cfg.SMSURL != "" {
		sms, err := notify.NewTwilio(string(cfg.SMSURL), &http.Client{Timeout: 15 * time.Second})
		if err != nil {
			return nil, err
		}
		p.sms = p.metrics.SMS(sms)
	}
	if p.client, err = temporal.Dial(cfg, p.log, p.temporalObserver()); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *parts) close() error {
	if p.validators != nil {
		p.validators.Close()
	}
	if p.client != nil {
		p.client.Close()
	}
	var err error
	if p.store != nil {
		err = p.store.Close()
	}
	if p.ended != nil {
		p.ended()
	}
	return err
}

// api puts the HTTP handler together.
func (p *parts) api() (http.Handler, error) {
	admission := seal.DefaultLimits()
	admission.MaxBytes = p.cfg.UploadLimit
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that validates PDFs: %w", err)
	}
	p.validators = seal.NewValidators(self, "validate-pdf")
	admission.Validators = p.validators
	others, err := settingsTrust(p.cfg)
	if err != nil {
		return nil, err
	}
	codeKeys, err := p.vault.Derive("otp")
	if err != nil {
		return nil, err
	}
	var scanner api.Scanner
	if p.cfg.ClamdURL != "" {
		if scanner, err = clamd.Parse(p.cfg.ClamdURL); err != nil {
			return nil, err
		}
	}
	for _, w := range p.cfg.Warnings() {
		p.log.Warn(w)
	}
	return api.New(api.Config{
		Scanner: scanner,
		Store:   p.store, Blobs: p.blobs, Tokens: p.tokens, Codes: credential.NewCodes(codeKeys[0]), Mail: p.mail, SMS: p.sms,
		Workflows: temporal.Workflows{Client: p.client}, Pages: web.Handler(),
		BaseURL: p.cfg.BaseURL, SigningURL: p.cfg.SigningURL, EmbedURL: p.cfg.EmbedURL, WorkflowsURL: p.cfg.WorkflowsURL(), UploadLimit: p.cfg.UploadLimit, Admission: admission,
		RateLimit: p.cfg.RateLimit, SharedLimits: strings.HasPrefix(string(p.cfg.DatabaseURL), "postgres"),
		DefaultExpiryDays: p.cfg.DefaultExpiryDays, ReminderInterval: p.cfg.ReminderInterval, ConsoleIdle: p.cfg.ConsoleIdle, ConsoleTOTP: p.cfg.ConsoleTOTP,
		DeclineNeedsCode: p.cfg.DeclineNeedsCode, CodeBeforeReading: !p.cfg.ReadBeforeCode, AllowPrivateHooks: p.cfg.WebhookAllowPrivate,
		Development: p.cfg.WebhookAllowPrivate, TrustedProxies: p.cfg.TrustedProxies, Trust: others,
		Version: version, Observe: p.metrics.Request, FileMissing: p.metrics.FileMissing, Tracer: p.tracer, Log: p.log, Now: now, NewID: newID,
	})
}

// housekeep removes what has run out, every minute, until ctx ends.
func (p *parts) housekeep(ctx context.Context) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		if err := p.store.Housekeep(ctx); err != nil && ctx.Err() == nil {
			p.log.WarnContext(ctx, "housekeeping failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// workers puts the Temporal workers together. The seal makes a trial signature
// here, so that a missing or expired key is noticed before anyone has signed.
func (p *parts) workers(ctx context.Context) (worker.Workers, error) {
	sealer, err := newSealer(ctx, p.cfg, p.store)
	if err != nil {
		return nil, err
	}
	if err := p.store.RecordSealCertificate(ctx, sealer.certificate()); err != nil {
		return nil, err
	}
	p.sealer = sealer
	p.metrics.Certificate(sealer.NotAfter)
	return worker.New(p.client, &activities.Activities{
		Store: p.store, Blobs: p.blobs, Tokens: p.tokens, Mail: p.mail, SMS: p.sms, Sealer: p.metrics.Sealer(sealer, now),
		Webhooks: p.deliverer(), Anchors: p.anchorer(),
		BaseURL: p.cfg.BaseURL, SigningURL: p.cfg.SigningURL, AttachmentLimit: p.cfg.EmailAttachmentLimit,
		ReminderInterval: p.cfg.ReminderInterval, Now: now, NewID: newID, Random: rand.Int64N,
	}, worker.Deployment{Name: p.cfg.WorkerDeployment, BuildID: cmp.Or(p.cfg.WorkerBuildID, version)}), nil
}

// dispatcher tells Temporal what was committed.
func (p *parts) dispatcher() *temporal.Dispatcher {
	return &temporal.Dispatcher{
		Outbox: p.store, Client: p.client, Namespace: p.cfg.TemporalNamespace, Delays: p.cfg.WebhookSchedule[:], Log: p.log, Tracer: p.tracer,
	}
}

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

// The limits of a connection to the API.
const (
	readHeaderLimit = 10 * time.Second
	readLimit       = 5 * time.Minute // a 25 MB file over a slow line
	idleLimit       = 2 * time.Minute
	shutdownLimit   = 15 * time.Second
)

// serve answers requests on l until ctx ends, and lets those in flight end.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: readHeaderLimit, ReadTimeout: readLimit, IdleTimeout: idleLimit, MaxHeaderBytes: 64 << 10}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}

// listen takes an address, with an error that says which.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}
