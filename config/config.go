// Package config reads the settings of Countersign. No other package reads settings from the environment.
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

// Prefix is the prefix of every setting in the environment.
const Prefix = "COUNTERSIGN_"

// Config contains all settings. Each is read from the environment variable COUNTERSIGN_ followed by the name in its env
// tag. A setting that is not set keeps its default. Alternatively, a Secret can be read from a file whose path is in
// the variable with the suffix _FILE.
type Config struct {
	// Listen is the address that the API listens on.
	Listen string `env:"LISTEN"`
	// BaseURL is the public URL of the API, without a trailing slash.
	BaseURL string `env:"BASE_URL"`
	// SigningURL is the prefix of signing links. The default is BASE_URL/sign.
	SigningURL string `env:"SIGNING_URL"`
	// EmbedURL is the prefix of the URLs of embedded sessions. The default is BASE_URL/embed.
	EmbedURL string `env:"EMBED_URL"`
	// DataDir is the data directory of `dev` unless --data-dir is given.
	DataDir string `env:"DATA_DIR"`
	// DatabaseURL is postgres://… or sqlite://path. It may contain a password.
	DatabaseURL Secret `env:"DATABASE_URL"`
	// DatabaseReadURL is the postgres://… URL of a standby database from which lists are read. If it is empty, lists are
	// read from the primary database.
	DatabaseReadURL Secret `env:"DATABASE_READ_URL"`
	// TemporalAddress is the host:port of the Temporal frontend.
	TemporalAddress string `env:"TEMPORAL_ADDRESS"`
	// TemporalNamespace is the Temporal namespace.
	TemporalNamespace string `env:"TEMPORAL_NAMESPACE"`
	// TemporalAPIKey and the TLS files are used for Temporal Cloud.
	TemporalAPIKey  Secret `env:"TEMPORAL_API_KEY"`
	TemporalTLSCert string `env:"TEMPORAL_TLS_CERT"`
	TemporalTLSKey  string `env:"TEMPORAL_TLS_KEY"`
	// TemporalUIURL is the prefix of the Temporal UI's URLs, to which the console links. If it is empty, there are no
	// links.
	TemporalUIURL string `env:"TEMPORAL_UI_URL"`
	// BlobURL is the location of the PDFs: file:///dir, s3://bucket?… or azblob://container.
	BlobURL string `env:"BLOB_URL"`
	// SMTPURL is the URL of the mail server: smtp:// or smtps://user:password@host:port.
	SMTPURL Secret `env:"SMTP_URL"`
	// SMTPOAuthTokenURL, SMTPOAuthClientID and SMTPOAuthClientSecret are used to authenticate to the mail server with an
	// access token (XOAUTH2) instead of a password. They are OAuth client credentials, for example for Microsoft 365.
	SMTPOAuthTokenURL     string `env:"SMTP_OAUTH_TOKEN_URL"`
	SMTPOAuthClientID     string `env:"SMTP_OAUTH_CLIENT_ID"`
	SMTPOAuthClientSecret Secret `env:"SMTP_OAUTH_CLIENT_SECRET"`
	// SMTPOAuthServiceAccount is the JSON key of a Google service account, as an alternative to the OAuth client
	// credentials.
	SMTPOAuthServiceAccount Secret `env:"SMTP_OAUTH_SERVICE_ACCOUNT"`
	// SMTPOAuthScope is the OAuth scope to request. If it is empty, the scope for Microsoft 365 or Gmail is used.
	SMTPOAuthScope string `env:"SMTP_OAUTH_SCOPE"`
	// MailFrom is the sender of all emails, for example "Countersign <sign@example.com>".
	MailFrom string `env:"MAIL_FROM"`
	// SMSURL is the URL of a Twilio-compatible service. If it is empty, no text messages are sent.
	SMSURL Secret `env:"SMS_URL"`
	// WebhookSchedule contains the delay before each of the five attempts. It is quickstart, detailed, or five durations
	// separated by commas.
	WebhookSchedule webhook.Schedule `env:"WEBHOOK_SCHEDULE"`
	// WebhookAllowPrivate permits webhook endpoints at private addresses and over plain http.
	WebhookAllowPrivate bool `env:"WEBHOOK_ALLOW_PRIVATE"`
	// RateLimit is the maximum number of requests per minute for each app, or for each address if there is no app.
	RateLimit int `env:"RATE_LIMIT"`
	// TrustedProxies lists the addresses or networks of proxies whose X-Forwarded-For header is trusted.
	TrustedProxies []string `env:"TRUSTED_PROXIES"`
	// EmailAttachmentLimit is the maximum size of sealed PDFs that are attached to emails, in bytes.
	EmailAttachmentLimit int64 `env:"EMAIL_ATTACHMENT_LIMIT"`
	// UploadLimit is the maximum size of a PDF, in bytes.
	UploadLimit int64 `env:"UPLOAD_LIMIT"`
	// ClamdURL is the URL of the ClamAV daemon that scans uploads: tcp://host:3310 or unix:///path. If it is empty,
	// uploads are not scanned.
	ClamdURL string `env:"CLAMD_URL"`
	// PlanFree, PlanPro and PlanEnterprise are the limits of each plan: documents per envelope, envelopes per month, and
	// whether overage is allowed.
	PlanFree       models.PlanLimits `env:"PLAN_FREE"`
	PlanPro        models.PlanLimits `env:"PLAN_PRO"`
	PlanEnterprise models.PlanLimits `env:"PLAN_ENTERPRISE"`
	// DefaultExpiryDays is the number of days until the deadline of an envelope that specifies none.
	DefaultExpiryDays int `env:"DEFAULT_EXPIRY_DAYS"`
	// HistoryDays is the retention period for events, deliveries and email records, in days.
	HistoryDays int `env:"HISTORY_DAYS"`
	// ArchiveAfterDays is the number of days between the last change of a closed envelope and its archiving. Zero disables
	// archiving.
	ArchiveAfterDays int `env:"ARCHIVE_AFTER_DAYS"`
	// ReminderInterval is the time between reminders to a signer. Zero disables reminders.
	ReminderInterval time.Duration `env:"REMINDER_INTERVAL"`
	// ConsoleIdle is the time after which an idle console session ends.
	ConsoleIdle time.Duration `env:"CONSOLE_IDLE"`
	// ConsoleTOTP determines which console users must have a second factor: optional, admins or required.
	ConsoleTOTP models.SecondFactor `env:"CONSOLE_TOTP"`
	// OIDCIssuer is the issuer of an OpenID provider for signing in to the console in addition to passwords. If it is
	// empty, users can sign in only with passwords.
	OIDCIssuer string `env:"OIDC_ISSUER"`
	// OIDCClientID and OIDCClientSecret are the credentials of this service at the provider.
	OIDCClientID     string `env:"OIDC_CLIENT_ID"`
	OIDCClientSecret Secret `env:"OIDC_CLIENT_SECRET"`
	// OIDCRoleClaim identifies the provider's claim that contains a user's roles. It is a name, or a path such as
	// realm_access.roles.
	OIDCRoleClaim string `env:"OIDC_ROLE_CLAIM"`
	// OIDCName is the display name of the provider in the console. If it is empty, the provider's host is used.
	OIDCName string `env:"OIDC_NAME"`
	// OIDCApp is the client ID of the app to which users are added when they first sign in. It is optional if there is
	// only one app.
	OIDCApp string `env:"OIDC_APP"`
	// DeclineNeedsCode requires signers who have a one-time code to confirm it before they can decline.
	DeclineNeedsCode bool `env:"DECLINE_NEEDS_CODE"`
	// ReadBeforeCode permits the holder of a signing link to read the documents before confirming the one-time code.
	ReadBeforeCode bool `env:"READ_BEFORE_CODE"`
	// LeakedPasswords is the path of a file with passwords that console users must not choose. It contains sorted SHA-1
	// hashes in the format of Have I Been Pwned. If it is empty, passwords are not checked.
	LeakedPasswords string `env:"LEAKED_PASSWORDS"`
	// BulkInFlight is the number of envelopes with pending invitations above which bulk sends pause. While only bulk sends
	// are active, the limit is six times as high. Zero means half the number of processors.
	BulkInFlight int `env:"BULK_IN_FLIGHT"`
	// WorkerDeployment is the name of the deployment for Temporal's worker versioning. If it is empty, versioning is not
	// used.
	WorkerDeployment string `env:"WORKER_DEPLOYMENT"`
	// WorkerBuildID is the version of the workers in the deployment. If it is empty, the version of the program is used.
	WorkerBuildID string `env:"WORKER_BUILD_ID"`
	// MasterKey is 32 bytes in base64. While a key is being replaced, it contains several keys separated by commas.
	MasterKey Secret `env:"MASTER_KEY"`
	// EncryptFiles enables the encryption of stored documents. The file keys are encrypted with the first master key.
	EncryptFiles bool `env:"ENCRYPT_FILES"`
	// SealKey and SealCert specify the sealing key: two PEM files, or a PKCS#12 file in SealKey and an empty SealCert, or
	// a PKCS#11 URI (RFC 7512) in SealKey.
	SealKey  string `env:"SEAL_KEY"`
	SealCert string `env:"SEAL_CERT"`
	// SealPassword is the password of a PKCS#12 file, or the PIN of a PKCS#11 token.
	SealPassword Secret `env:"SEAL_PASSWORD"`
	// MetricsListen is the address on which /metrics, /healthz and /readyz are served for operators. If it is empty, they
	// are not served.
	MetricsListen string `env:"METRICS_LISTEN"`
	// PprofListen is the loopback address on which /debug/pprof/ is served for developers. If it is empty, profiles are
	// not served.
	PprofListen string `env:"PPROF_LISTEN"`
	// TSAURL is the URL of an RFC 3161 time-stamp service. If it is empty, seals contain no time-stamps.
	TSAURL string `env:"TSA_URL"`
	// TSAOptional allows seals without a time-stamp while the service is unavailable. The time-stamp is added later.
	TSAOptional bool `env:"TSA_OPTIONAL"`
	// TSAAnchor enables a daily time-stamp over the heads of all audit chains.
	TSAAnchor bool `env:"TSA_ANCHOR"`
	// SealLongTerm adds validation data and a document time-stamp to each seal (PAdES B-LTA).
	SealLongTerm bool `env:"SEAL_LONG_TERM"`
	// TrustCA is a semicolon-separated list of PEM files with the certificates of authorities for the organizations in
	// TrustSealers.
	TrustCA []string `env:"TRUST_CA" envSeparator:";"`
	// TrustSealers is a semicolon-separated list of the sealers that are trusted in addition to this installation. Each
	// is a PEM file with certificates or public keys, or O= followed by the exact organization in a certificate issued
	// under TrustCA.
	TrustSealers []string `env:"TRUST_SEALERS" envSeparator:";"`
	// TrustTSA is a semicolon-separated list of PEM files with the certificates of time-stamp authorities. If it is
	// empty, times are not confirmed.
	TrustTSA []string `env:"TRUST_TSA" envSeparator:";"`
	// TrustKeys is a semicolon-separated list of files with the JWK sets of other installations whose records are
	// trusted.
	TrustKeys []string `env:"TRUST_KEYS" envSeparator:";"`
	// FirstApp, FirstUser and FirstPassword specify the app and the administrator that migrate creates if the database
	// contains no console users.
	FirstApp      string `env:"FIRST_APP"`
	FirstUser     string `env:"FIRST_USER"`
	FirstPassword Secret `env:"FIRST_PASSWORD"`
	// LogLevel is the log level: debug, info, warn or error.
	LogLevel slog.Level `env:"LOG_LEVEL"`
}

// Traces reports whether the standard variables of OpenTelemetry enable the export of traces. The export is enabled if
// the variables specify a destination and do not disable it. Only OTLP over HTTP is supported.
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

// Secret is a setting whose value must not be displayed or logged.
type Secret string

// String returns a placeholder instead of the value.
func (Secret) String() string { return "[secret]" }

// GoString returns a placeholder instead of the value.
func (Secret) GoString() string { return "[secret]" }

// LogValue returns a placeholder instead of the value.
func (Secret) LogValue() slog.Value { return slog.StringValue("[secret]") }

// MarshalText returns a placeholder instead of the value.
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

// Load reads the settings from the environment, with the given defaults, and validates them. The error lists all
// problems, not only the first.
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

// parseProblems converts the library's errors so that they contain the name of the setting but not its value.
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

// serviceLink matches the names of variables that Kubernetes sets in each pod for every Service, unless
// enableServiceLinks is false. If a Service is named countersign or countersign-api, its variables look like settings.
var serviceLink = regexp.MustCompile(`^` + Prefix + `([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// foreignVariables lists variables in the same environment that other programs read: the commands that call a service
// (docs/build/cli.md), and docker-compose.yml.
var foreignVariables = []string{
	"URL", "CLIENT_ID", "CLIENT_SECRET", "TENANT", "WEBHOOK_SECRET",
	"SITE", "VERSION", "ENV_FILE", "DB_PASSWORD", "HTTP_PORT", "HTTPS_PORT",
}

// unknown returns an error that lists the names that are not settings, because they are probably misspelled.
func unknown(vars map[string]string) error {
	var known []string
	for _, name := range foreignVariables {
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

// Warnings returns warnings about settings that are valid but probably unintended, such as a SigningURL that does not
// end in /sign, the path of the signing page.
func (c Config) Warnings() []string {
	var out []string
	for _, s := range []struct{ name, v, path string }{{"SIGNING_URL", c.SigningURL, "/sign"}, {"EMBED_URL", c.EmbedURL, "/embed"}} {
		if u, err := url.Parse(s.v); err == nil && u.Path != s.path {
			out = append(out, fmt.Sprintf("%s%s does not end in %s, the path of the page on this service: links return a 404 unless a proxy rewrites them", Prefix, s.name, s.path))
		}
	}
	return out
}

// Plans returns the limits of all plans.
func (c Config) Plans() models.Plans {
	return models.Plans{Free: c.PlanFree, Pro: c.PlanPro, Enterprise: c.PlanEnterprise}
}

// WorkflowsURL returns the prefix of the URLs of workflows in the Temporal UI, or "" if there is no UI.
func (c Config) WorkflowsURL() string {
	if c.TemporalUIURL == "" {
		return ""
	}
	return c.TemporalUIURL + "/namespaces/" + url.PathEscape(c.TemporalNamespace) + "/workflows"
}

// Require returns an error that lists the given settings that are not set. Production commands use it for settings that
// have no sensible default.
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
