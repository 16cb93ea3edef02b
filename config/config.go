// Package config reads the settings of Countersign. It is the only reader of
// the environment.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"countersign/models"
	"countersign/webhook"
)

// Prefix begins the name of every setting in the environment.
const Prefix = "COUNTERSIGN_"

// Config holds every setting. Each is read from COUNTERSIGN_ and the name in its env tag; settings that are not set
// keep their default. A Secret may be in a file instead, which the same name with the suffix _FILE names.
type Config struct {
	// Listen is the address the API listens on.
	Listen string `env:"LISTEN"`
	// BaseURL is the public address of the API, without a slash at the end.
	BaseURL string `env:"BASE_URL"`
	// SigningURL begins the signers' links; default BASE_URL/sign.
	SigningURL string `env:"SIGNING_URL"`
	// EmbedURL begins the addresses of embedded sessions; default BASE_URL/embed.
	EmbedURL string `env:"EMBED_URL"`
	// DataDir is the directory of `dev`, unless --data-dir is given.
	DataDir string `env:"DATA_DIR"`
	// DatabaseURL is postgres://… or sqlite://path. It may hold a password.
	DatabaseURL Secret `env:"DATABASE_URL"`
	// DatabaseReadURL is the postgres://… URL of a standby for reading lists; empty: none.
	DatabaseReadURL Secret `env:"DATABASE_READ_URL"`
	// TemporalAddress is host:port of the Temporal frontend.
	TemporalAddress string `env:"TEMPORAL_ADDRESS"`
	// TemporalNamespace is the Temporal namespace.
	TemporalNamespace string `env:"TEMPORAL_NAMESPACE"`
	// TemporalAPIKey and the TLS files are for Temporal Cloud.
	TemporalAPIKey  Secret `env:"TEMPORAL_API_KEY"`
	TemporalTLSCert string `env:"TEMPORAL_TLS_CERT"`
	TemporalTLSKey  string `env:"TEMPORAL_TLS_KEY"`
	// TemporalUIURL begins the addresses of the Temporal UI, to which the console links; empty: no links.
	TemporalUIURL string `env:"TEMPORAL_UI_URL"`
	// BlobURL is the location of the PDFs: file:///dir, s3://bucket?… or azblob://container.
	BlobURL string `env:"BLOB_URL"`
	// SMTPURL is smtp:// or smtps://user:password@host:port.
	SMTPURL Secret `env:"SMTP_URL"`
	// SMTPOAuthTokenURL, SMTPOAuthClientID and SMTPOAuthClientSecret sign in to the mail server with an access token
	// (XOAUTH2) in place of a password: the client credentials of Microsoft 365.
	SMTPOAuthTokenURL     string `env:"SMTP_OAUTH_TOKEN_URL"`
	SMTPOAuthClientID     string `env:"SMTP_OAUTH_CLIENT_ID"`
	SMTPOAuthClientSecret Secret `env:"SMTP_OAUTH_CLIENT_SECRET"`
	// SMTPOAuthServiceAccount is the JSON key of a Google service account, in their place.
	SMTPOAuthServiceAccount Secret `env:"SMTP_OAUTH_SERVICE_ACCOUNT"`
	// SMTPOAuthScope is the requested permission; empty: the one for Microsoft 365 or Gmail.
	SMTPOAuthScope string `env:"SMTP_OAUTH_SCOPE"`
	// MailFrom is the sender of all emails, such as "Countersign <sign@example.com>".
	MailFrom string `env:"MAIL_FROM"`
	// SMSURL is a Twilio-compatible address; empty: no SMS.
	SMSURL Secret `env:"SMS_URL"`
	// WebhookSchedule holds the delays before each of the five attempts:
	// quickstart, detailed, or five durations separated by commas.
	WebhookSchedule webhook.Schedule `env:"WEBHOOK_SCHEDULE"`
	// WebhookAllowPrivate permits webhooks to private addresses and over plain http.
	WebhookAllowPrivate bool `env:"WEBHOOK_ALLOW_PRIVATE"`
	// RateLimit is the number of requests per minute and app (or address).
	RateLimit int `env:"RATE_LIMIT"`
	// TrustedProxies are the addresses or networks whose X-Forwarded-For is trusted.
	TrustedProxies []string `env:"TRUSTED_PROXIES"`
	// EmailAttachmentLimit is the size in bytes up to which sealed PDFs are attached.
	EmailAttachmentLimit int64 `env:"EMAIL_ATTACHMENT_LIMIT"`
	// UploadLimit is the largest PDF in bytes.
	UploadLimit int64 `env:"UPLOAD_LIMIT"`
	// ClamdURL is ClamAV's daemon, which scans uploads: tcp://host:3310 or unix:///path; empty: uploads are not scanned.
	ClamdURL string `env:"CLAMD_URL"`
	// PlanFree, PlanPro and PlanEnterprise are the limits of an app's plan: documents per envelope, envelopes per
	// month, and whether overage is allowed.
	PlanFree       models.PlanLimits `env:"PLAN_FREE"`
	PlanPro        models.PlanLimits `env:"PLAN_PRO"`
	PlanEnterprise models.PlanLimits `env:"PLAN_ENTERPRISE"`
	// DefaultExpiryDays is the deadline of envelopes without one, in days.
	DefaultExpiryDays int `env:"DEFAULT_EXPIRY_DAYS"`
	// HistoryDays is the retention of events, deliveries and email records, in days.
	HistoryDays int `env:"HISTORY_DAYS"`
	// ArchiveAfterDays is the number of days from the last change of an ended envelope to its archiving; 0: never.
	ArchiveAfterDays int `env:"ARCHIVE_AFTER_DAYS"`
	// ReminderInterval is the time between reminders to a signer; 0: none.
	ReminderInterval time.Duration `env:"REMINDER_INTERVAL"`
	// ConsoleIdle is the idle time after which a console session ends.
	ConsoleIdle time.Duration `env:"CONSOLE_IDLE"`
	// ConsoleTOTP selects the console users who need a second factor: optional, admins or required.
	ConsoleTOTP models.SecondFactor `env:"CONSOLE_TOTP"`
	// OIDCIssuer is an OpenID provider for console sign-in in addition to passwords; empty: none.
	OIDCIssuer string `env:"OIDC_ISSUER"`
	// OIDCClientID and OIDCClientSecret are whom the provider knows this service as.
	OIDCClientID     string `env:"OIDC_CLIENT_ID"`
	OIDCClientSecret Secret `env:"OIDC_CLIENT_SECRET"`
	// OIDCRoleClaim names the provider's claim with a person's roles: a claim, or a path such as realm_access.roles.
	OIDCRoleClaim string `env:"OIDC_ROLE_CLAIM"`
	// OIDCName is the provider's name in the console; empty: its host.
	OIDCName string `env:"OIDC_NAME"`
	// OIDCApp is the client id of the application for users who sign in for the first time; empty: the only
	// application.
	OIDCApp string `env:"OIDC_APP"`
	// DeclineNeedsCode requires the one-time code before declining, for signers who have one.
	DeclineNeedsCode bool `env:"DECLINE_NEEDS_CODE"`
	// ReadBeforeCode permits the holder of a signing link to read the documents before verifying the one-time code.
	ReadBeforeCode bool `env:"READ_BEFORE_CODE"`
	// LeakedPasswords is a file of passwords that console users cannot choose: sorted SHA-1 hashes in the format of
	// Have I Been Pwned; empty: none.
	LeakedPasswords string `env:"LEAKED_PASSWORDS"`
	// BulkInFlight is the number of envelopes awaiting their invitations above which a bulk send pauses (while only
	// bulk sends send, six times as many); 0: half the processors.
	BulkInFlight int `env:"BULK_IN_FLIGHT"`
	// WorkerDeployment is the name of the workers for Temporal's worker versioning; empty: none.
	WorkerDeployment string `env:"WORKER_DEPLOYMENT"`
	// WorkerBuildID is the workers' version in it; empty: the program's.
	WorkerBuildID string `env:"WORKER_BUILD_ID"`
	// MasterKey is base64 of 32 bytes; several, separated by commas, while a key is replaced.
	MasterKey Secret `env:"MASTER_KEY"`
	// EncryptFiles keeps documents encrypted, with keys that the first master key encrypts.
	EncryptFiles bool `env:"ENCRYPT_FILES"`
	// SealKey and SealCert are PEM files; or SealKey is a PKCS#12 file and SealCert
	// empty, or SealKey a PKCS#11 URI (RFC 7512).
	SealKey  string `env:"SEAL_KEY"`
	SealCert string `env:"SEAL_CERT"`
	// SealPassword opens a PKCS#12 file, or is the PIN of a PKCS#11 token.
	SealPassword Secret `env:"SEAL_PASSWORD"`
	// MetricsListen is the address of /metrics, /healthz and /readyz for operators; empty: none.
	MetricsListen string `env:"METRICS_LISTEN"`
	// PprofListen is the loopback address of /debug/pprof/ for developers; empty: none.
	PprofListen string `env:"PPROF_LISTEN"`
	// TSAURL is the RFC 3161 time-stamping service; empty: none.
	TSAURL string `env:"TSA_URL"`
	// TSAOptional allows seals without a time-stamp while that service is unavailable. The time-stamp is added later.
	TSAOptional bool `env:"TSA_OPTIONAL"`
	// TSAAnchor has the heads of all audit chains time-stamped every day.
	TSAAnchor bool `env:"TSA_ANCHOR"`
	// SealLongTerm adds validation data and a document time-stamp to each seal (PAdES B-LTA).
	SealLongTerm bool `env:"SEAL_LONG_TERM"`
	// TrustCA are PEM files, separated by semicolons, with the authorities that vouch for the organisations in TrustSealers.
	TrustCA []string `env:"TRUST_CA" envSeparator:";"`
	// TrustSealers are the trusted sealers in addition to this installation, separated by semicolons: PEM files with
	// certificates or public keys, or O= and the exact organization of a certificate under TrustCA.
	TrustSealers []string `env:"TRUST_SEALERS" envSeparator:";"`
	// TrustTSA are PEM files, separated by semicolons, with the authorities for time-stamps; empty: no time is confirmed.
	TrustTSA []string `env:"TRUST_TSA" envSeparator:";"`
	// TrustKeys are the JWK sets of other installations with trusted records, separated by semicolons.
	TrustKeys []string `env:"TRUST_KEYS" envSeparator:";"`
	// FirstApp, FirstUser and FirstPassword are the app and the administrator that migrate creates in a database without
	// console users.
	FirstApp      string `env:"FIRST_APP"`
	FirstUser     string `env:"FIRST_USER"`
	FirstPassword Secret `env:"FIRST_PASSWORD"`
	// LogLevel is debug, info, warn or error.
	LogLevel slog.Level `env:"LOG_LEVEL"`
}

// Traces reports whether OpenTelemetry's standard variables enable traces: they name a destination, and do not disable
// them. Only OTLP over HTTP is supported.
func Traces(environ []string) (bool, error) {
	vars := env.ToMap(environ)
	exporter := vars["OTEL_TRACES_EXPORTER"]
	wanted := exporter == "otlp" || exporter == "" && (vars["OTEL_EXPORTER_OTLP_ENDPOINT"] != "" || vars["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] != "")
	if strings.EqualFold(vars["OTEL_SDK_DISABLED"], "true") || exporter == "none" || exporter == "" && !wanted {
		return false, nil
	}
	if !wanted {
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not supported; use otlp or none", exporter)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := vars[name]; p != "" {
			if p != "http/protobuf" {
				return false, fmt.Errorf("%s: %q is not supported; use http/protobuf, on port 4318", name, p)
			}
			break
		}
	}
	return true, nil
}

// Secret is a setting that must not be shown.
type Secret string

// String hides the value.
func (Secret) String() string { return "[secret]" }

// GoString hides the value.
func (Secret) GoString() string { return "[secret]" }

// LogValue hides the value.
func (Secret) LogValue() slog.Value { return slog.StringValue("[secret]") }

// MarshalText hides the value.
func (Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// Default returns the default settings.
func Default() Config {
	plans := models.DefaultPlans()
	return Config{
		PlanFree: plans.Free, PlanPro: plans.Pro, PlanEnterprise: plans.Enterprise,
		Listen: "127.0.0.1:8080", DataDir: "./data", TemporalAddress: "127.0.0.1:7233", TemporalNamespace: "default",
		MailFrom:        "Countersign <no-reply@localhost>",
		WebhookSchedule: webhook.Schedule{0, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour},
		RateLimit:       600, EmailAttachmentLimit: 10 << 20, UploadLimit: 25 << 20, DefaultExpiryDays: 30, HistoryDays: 90,
		ConsoleIdle: 30 * time.Minute, ConsoleTOTP: models.SecondFactorOptional, ReadBeforeCode: true,
		ReminderInterval: 72 * time.Hour, LogLevel: slog.LevelInfo,
	}
}

// Load reads the environment over defaults and checks everything. The error
// names all that is wrong, not just the first.
func Load(environ []string, defaults Config) (Config, error) {
	c := defaults
	vars := env.ToMap(environ)
	problems := append([]error{unknown(vars)}, readSecretFiles(vars)...)
	err := env.ParseWithOptions(&c, env.Options{Prefix: Prefix, Environment: vars})
	problems = append(problems, parseProblems(err))
	c.BaseURL = strings.TrimRight(cmp.Or(c.BaseURL, "http://"+c.Listen), "/")
	c.SigningURL = strings.TrimRight(cmp.Or(c.SigningURL, c.BaseURL+"/sign"), "/")
	c.EmbedURL = strings.TrimRight(cmp.Or(c.EmbedURL, c.BaseURL+"/embed"), "/")
	c.TemporalUIURL = strings.TrimRight(c.TemporalUIURL, "/")
	if err := errors.Join(append(problems, c.check()...)...); err != nil {
		return Config{}, fmt.Errorf("invalid settings:\n%w", err)
	}
	return c, nil
}

// parseProblems rewrites the library's errors so that they name the setting and hide its value.
func parseProblems(err error) error {
	all, ok := errors.AsType[env.AggregateError](err)
	if !ok {
		return err
	}
	var out []error
	for _, e := range all.Errors {
		p, ok := errors.AsType[env.ParseError](e)
		if !ok {
			out = append(out, e)
		} else if f, ok := reflect.TypeFor[Config]().FieldByName(p.Name); ok {
			out = append(out, fmt.Errorf("  %s%s: %w", Prefix, f.Tag.Get("env"), p.Err))
		}
	}
	return errors.Join(out...)
}

// serviceLink matches the names of the variables that Kubernetes sets in a pod for each Service (unless
// enableServiceLinks is false). The variables of a Service named countersign, or countersign-api, look like settings.
var serviceLink = regexp.MustCompile(`^` + Prefix + `([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// notOurs are variables for other readers in the same environment: the commands that call a service
// (docs/build/cli.md), and docker-compose.yml.
var notOurs = []string{
	"URL", "CLIENT_ID", "CLIENT_SECRET", "TENANT", "WEBHOOK_SECRET",
	"SITE", "VERSION", "ENV_FILE", "DB_PASSWORD", "HTTP_PORT", "HTTPS_PORT",
}

// unknown finds settings that do not exist: most likely misspelt ones.
func unknown(vars map[string]string) error {
	var known []string
	for _, name := range notOurs {
		known = append(known, Prefix+name)
	}
	for f := range reflect.TypeFor[Config]().Fields() {
		known = append(known, Prefix+f.Tag.Get("env"))
	}
	for _, name := range secretNames() {
		known = append(known, Prefix+name+fileSuffix)
	}
	var out []error
	_, inPod := vars["KUBERNETES_SERVICE_HOST"]
	for name := range vars {
		if !strings.HasPrefix(name, Prefix) || strings.HasPrefix(name, Prefix+"TEST_") || slices.Contains(known, name) || inPod && serviceLink.MatchString(name) {
			continue
		}
		out = append(out, fmt.Errorf("  %s: unknown setting", name))
	}
	slices.SortFunc(out, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(out...)
}

// Warnings describes settings that are allowed but rarely intended: the pages of SigningURL and EmbedURL are served
// only under /sign and /embed.
func (c Config) Warnings() []string {
	var out []string
	for _, s := range []struct{ name, v, path string }{{"SIGNING_URL", c.SigningURL, "/sign"}, {"EMBED_URL", c.EmbedURL, "/embed"}} {
		if u, err := url.Parse(s.v); err == nil && u.Path != s.path {
			out = append(out, fmt.Sprintf("%s%s does not end in %s after the host, where this service has the page: links lead to a 404 unless a proxy rewrites them", Prefix, s.name, s.path))
		}
	}
	return out
}

// Plans returns the limits of the apps' plans.
func (c Config) Plans() models.Plans {
	return models.Plans{Free: c.PlanFree, Pro: c.PlanPro, Enterprise: c.PlanEnterprise}
}

// WorkflowsURL returns the beginning of the addresses of workflows in the Temporal UI; empty if there is no UI.
func (c Config) WorkflowsURL() string {
	if c.TemporalUIURL == "" {
		return ""
	}
	return c.TemporalUIURL + "/namespaces/" + url.PathEscape(c.TemporalNamespace) + "/workflows"
}

// Require reports which of the named settings are missing. Production commands require the settings without a sensible
// default.
func (c Config) Require(names ...string) error {
	var out []error
	for field, v := range reflect.ValueOf(c).Fields() {
		if name := field.Tag.Get("env"); slices.Contains(names, name) && v.IsZero() {
			out = append(out, fmt.Errorf("  %s%s: must be set", Prefix, name))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return fmt.Errorf("missing settings:\n%w", errors.Join(out...))
}
