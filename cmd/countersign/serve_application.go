package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime"
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
	"countersign/internal/metrics"
	"countersign/internal/openid"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/notify"
	"countersign/operate/reconcile"
	"countersign/seal/admission"
	"countersign/seal/sandbox"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
	"countersign/web"
)

// app contains the parts of the service that the API and the worker share.
type app struct {
	cfg         config.Config
	log         *slog.Logger
	vault       *vault.Vault
	store       *store.Store
	blobs       blob.Store
	tokens      *credential.Tokens
	mail        metrics.Mailer
	sms         notify.SMS
	client      client.Client
	tracer      trace.Tracer // nil unless the environment enables tracing
	stopTracing func()       // sends the remaining spans
	// metrics is nil unless the settings specify an address on which to serve metrics.
	metrics *metrics.Metrics
	sealer  *reloadingSealer // set only in a process with workers
	// validators and renderer are set only in a process with the API.
	validators *sandbox.Pool
	renderer   *pageRenderer
}

// keysLimit is the time limit for loading rotated keys during a request.
const keysLimit = 3 * time.Second

// newApp creates everything that the API and the worker share. The database must be migrated to the version of this
// program.
func newApp(ctx context.Context, cfg config.Config, log *slog.Logger) (_ *app, err error) {
	a := &app{cfg: cfg, log: log}
	if cfg.MetricsListen != "" {
		a.metrics = metrics.New(version)
	}
	if err := a.trace(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if err := a.retryUntilReady(ctx, "the database", store.Unavailable, a.openDatabase); err != nil {
		return nil, err
	}
	if err := a.measureStore(); err != nil {
		return nil, err
	}
	if a.blobs, err = openBlobs(ctx, cfg, a.vault); err != nil {
		return nil, err
	}
	a.store.UseArchives(a.blobs)
	keys, err := a.store.Keys(ctx, models.KeyTokens)
	if err != nil {
		return nil, err
	}
	if a.tokens, err = credential.NewTokens(keys, now); err != nil {
		return nil, err
	}
	a.tokens.ReloadFrom(func() ([]store.Key, error) {
		ctx, cancel := context.WithTimeout(ctx, keysLimit)
		defer cancel()
		return a.store.Keys(ctx, models.KeyTokens)
	})
	mail, err := notify.NewSMTP(cfg.SMTP())
	if err != nil {
		return nil, err
	}
	a.mail = a.metrics.Mailer(mail)
	if cfg.SMSURL != "" {
		sms, err := notify.NewTwilio(string(cfg.SMSURL))
		if err != nil {
			return nil, err
		}
		a.sms = a.metrics.SMS(sms)
	}
	if a.client, err = temporal.Dial(cfg, a.log, a.temporalObserver()); err != nil {
		return nil, err
	}
	return a, nil
}

// openDatabase opens the database. The database must be migrated to the version of this program and match the master
// key.
func (a *app) openDatabase(ctx context.Context) error {
	s, v, err := openStore(ctx, a.cfg)
	if err != nil {
		return err
	}
	if err := checkReady(ctx, s); err != nil {
		return errors.Join(err, s.Close())
	}
	a.store, a.vault = s, v
	return nil
}

func (a *app) close() error {
	if a.validators != nil {
		a.validators.Close()
	}
	if a.client != nil {
		a.client.Close()
	}
	var err error
	if a.renderer != nil {
		err = a.renderer.close()
	}
	if a.store != nil {
		err = errors.Join(err, a.store.Close())
	}
	if a.stopTracing != nil {
		a.stopTracing()
	}
	return err
}

// newHandler creates the HTTP handler. Event streams end when ctx ends.
func (a *app) newHandler(ctx context.Context) (http.Handler, error) {
	limits := admission.DefaultLimits()
	limits.MaxBytes = a.cfg.UploadLimit
	validators, err := newValidators()
	if err != nil {
		return nil, err
	}
	a.validators, limits.Validators = validators, validators
	if a.renderer, err = newRenderer(a.cfg.DataDir, a.log); err != nil {
		return nil, err
	}
	others, err := settingsTrust(a.cfg)
	if err != nil {
		return nil, err
	}
	codeKeys, err := a.vault.Derive("otp")
	if err != nil {
		return nil, err
	}
	var scanner api.Scanner
	if a.cfg.ClamdURL != "" {
		if scanner, err = clamd.Parse(a.cfg.ClamdURL); err != nil {
			return nil, err
		}
	}
	for _, w := range a.cfg.Warnings() {
		a.log.Warn(w)
	}
	return api.New(api.Config{
		Scanner: scanner, Renderer: a.renderer, Provider: signInProvider(a.cfg),
		Store: a.store, Blobs: a.blobs, Tokens: a.tokens, Codes: credential.NewCodes(codeKeys[0]), Mail: a.mail, SMS: a.sms,
		Workflows: temporal.Workflows{Client: a.client}, Pages: web.Handler(),
		BaseURL: a.cfg.BaseURL, SigningURL: a.cfg.SigningURL, EmbedURL: a.cfg.EmbedURL, WorkflowsURL: a.cfg.WorkflowsURL(), DeliveryDelays: a.cfg.WebhookSchedule[:], UploadLimit: a.cfg.UploadLimit, Admission: limits,
		RateLimit: a.cfg.RateLimit, SharedLimits: strings.HasPrefix(string(a.cfg.DatabaseURL), "postgres"),
		DefaultExpiryDays: a.cfg.DefaultExpiryDays, ReminderInterval: a.cfg.ReminderInterval, ConsoleIdle: a.cfg.ConsoleIdle, ConsoleTOTP: a.cfg.ConsoleTOTP,
		DeclineNeedsCode: a.cfg.DeclineNeedsCode, CodeBeforeReading: !a.cfg.ReadBeforeCode, AllowPrivateHooks: a.cfg.WebhookAllowPrivate,
		Development: a.cfg.WebhookAllowPrivate, TrustedProxies: a.cfg.TrustedProxies, Trust: others,
		Stopping: ctx.Done(), Version: version, Observe: a.metrics.Requests(), FileMissing: a.metrics.FileMissing, Tracer: a.tracer, Log: a.log, Now: now, NewID: newID,
	})
}

// signInProvider returns the OpenID provider that console users can sign in with instead of a password, or nil if none is configured.
func signInProvider(cfg config.Config) *api.ProviderConfig {
	if cfg.OIDCIssuer == "" {
		return nil
	}
	app, _ := uuid.Parse(cfg.OIDCApp) // the settings were validated, so it is empty or a UUID
	return &api.ProviderConfig{Name: cfg.ProviderName(), App: app, Client: openid.New(openid.Config{
		Issuer: cfg.OIDCIssuer, ClientID: cfg.OIDCClientID, ClientSecret: string(cfg.OIDCClientSecret), RoleClaim: cfg.OIDCRoleClaim,
		RedirectURL: cfg.BaseURL + "/console/signed-in", Now: now,
	})}
}

// newActivities creates the activities of the Temporal workers. It creates a test signature with the sealing key, so
// that a missing or expired key is detected before anyone signs an envelope.
func (a *app) newActivities(ctx context.Context) (*activities.Activities, error) {
	sealer, err := newReloadingSealer(ctx, a.cfg, a.store)
	if err != nil {
		return nil, err
	}
	if err := a.store.RecordSealCertificate(ctx, sealer.leaf); err != nil {
		return nil, err
	}
	a.sealer = sealer
	a.metrics.Certificate(sealer.NotAfter)
	for _, work := range store.AllWork {
		a.metrics.Restarted(string(work), 0) // Prometheus can detect an increase only if the counter already exists
	}
	return &activities.Activities{
		Store: a.store, Blobs: a.blobs, Tokens: a.tokens, Mail: a.mail, SMS: a.sms, Sealer: a.metrics.Sealer(sealer, now),
		Webhooks: a.deliverer(), Anchors: a.newAnchorer(),
		Reconciler: &reconcile.Reconciler{Store: a.store, Client: a.client}, Restarted: a.metrics.Restarted,
		BaseURL: a.cfg.BaseURL, SigningURL: a.cfg.SigningURL, AttachmentLimit: a.cfg.EmailAttachmentLimit,
		ReminderInterval: a.cfg.ReminderInterval, Now: now, NewID: newID, Random: rand.Int64N,
		ArchiveAfter: time.Duration(a.cfg.ArchiveAfterDays) * 24 * time.Hour,
		BulkThrottle: &activities.BulkThrottle{InFlight: cmp.Or(a.cfg.BulkInFlight, runtime.GOMAXPROCS(0)/2)},
	}, nil
}

func (a *app) newDispatcher() *temporal.Dispatcher {
	plans := &activities.Activities{Store: a.store, ReminderInterval: a.cfg.ReminderInterval}
	return &temporal.Dispatcher{
		Plan:   plans.LoadPlan,
		Outbox: a.store, Client: a.client, Namespace: a.cfg.TemporalNamespace, Delays: a.cfg.WebhookSchedule[:], Log: a.log, Tracer: a.tracer,
	}
}
