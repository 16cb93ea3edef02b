package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"countersign/internal/clamd"
	"countersign/internal/vault"
)

const maxDays = 3650 // maximum of every setting whose unit is days

// reporter records a problem with a setting.
type reporter func(name, format string, args ...any)

// check returns the problems that it finds in the values of the settings.
func (c *Config) check() []error {
	var out []error
	bad := func(name, format string, args ...any) {
		out = append(out, fmt.Errorf("  %s%s: %s", Prefix, name, fmt.Sprintf(format, args...)))
	}
	c.checkListeners(bad)
	c.checkURLs(bad)
	c.checkTrust(bad)
	c.checkMailFrom(bad)
	c.checkSMTPOAuth(bad)
	c.checkNumbers(bad)
	c.checkDurations(bad)
	c.checkOIDC(bad)
	if !c.ConsoleTOTP.Valid() {
		bad("CONSOLE_TOTP", "must be optional, admins or required")
	}
	if c.MasterKey != "" {
		if _, err := vault.New(string(c.MasterKey)); err != nil {
			bad("MASTER_KEY", "%s", err)
		}
	}
	slices.SortFunc(out, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return out
}

// checkListeners checks the addresses that have no scheme.
func (c *Config) checkListeners(bad reporter) {
	for name, addr := range map[string]string{"LISTEN": c.Listen, "TEMPORAL_ADDRESS": c.TemporalAddress, "METRICS_LISTEN": c.MetricsListen} {
		if _, _, err := net.SplitHostPort(addr); err != nil && (addr != "" || name != "METRICS_LISTEN") {
			bad(name, "must be host:port")
		}
	}
	if host, _, err := net.SplitHostPort(c.PprofListen); c.PprofListen != "" {
		if ip, notIP := netip.ParseAddr(host); err != nil || notIP != nil || !ip.IsLoopback() {
			bad("PPROF_LISTEN", "must be a loopback address and a port, such as 127.0.0.1:6060, because profiles reveal internals of the program")
		}
	}
	for _, t := range c.TrustedProxies {
		_, err1 := netip.ParsePrefix(t)
		_, err2 := netip.ParseAddr(t)
		if err1 != nil && err2 != nil {
			bad("TRUSTED_PROXIES", "%q is neither an address nor a network such as 10.0.0.0/8", t)
		}
	}
}

func (c *Config) checkURLs(bad reporter) {
	for name, v := range map[string]string{"BASE_URL": c.BaseURL, "SIGNING_URL": c.SigningURL, "EMBED_URL": c.EmbedURL, "TSA_URL": c.TSAURL, "TEMPORAL_UI_URL": c.TemporalUIURL} {
		if u, err := url.Parse(v); v != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
			bad(name, "must be an http or https address")
		}
	}
	for _, s := range []struct {
		name, v string
		schemes []string
	}{
		{"DATABASE_URL", string(c.DatabaseURL), []string{"postgres", "postgresql", "sqlite"}},
		{"DATABASE_READ_URL", string(c.DatabaseReadURL), []string{"postgres", "postgresql"}},
		{"BLOB_URL", c.BlobURL, []string{"file", "s3", "azblob"}},
		{"SMTP_URL", string(c.SMTPURL), []string{"smtp", "smtps"}},
		{"SMS_URL", string(c.SMSURL), []string{"http", "https"}},
	} {
		scheme, _, ok := strings.Cut(s.v, "://")
		if s.v != "" && (!ok || !slices.Contains(s.schemes, scheme)) {
			bad(s.name, "must begin with %s://", strings.Join(s.schemes, ":// or "))
		}
	}
	if c.DatabaseReadURL != "" && !strings.HasPrefix(string(c.DatabaseURL), "postgres") {
		bad("DATABASE_READ_URL", "requires a %sDATABASE_URL that begins with postgres://", Prefix)
	}
	if _, err := clamd.Parse(c.ClamdURL); err != nil && c.ClamdURL != "" {
		bad("CLAMD_URL", "%s", err)
	}
}

// checkTrust checks that the settings for time-stamps and authorities are complete.
func (c *Config) checkTrust(bad reporter) {
	for name, on := range map[string]bool{"TSA_OPTIONAL": c.TSAOptional, "SEAL_LONG_TERM": c.SealLongTerm, "TSA_ANCHOR": c.TSAAnchor} {
		if on && c.TSAURL == "" {
			bad(name, "requires %sTSA_URL", Prefix)
		}
	}
	if len(c.TrustCA) > 0 && len(c.TrustSealers) == 0 {
		bad("TRUST_CA", "requires %sTRUST_SEALERS: otherwise every certificate issued by the authority would be trusted", Prefix)
	}
}

func (c *Config) checkNumbers(bad reporter) {
	const unbounded = 0
	for _, n := range []struct {
		name             string
		value, min, most int64
		note             string
	}{
		{"RATE_LIMIT", int64(c.RateLimit), 1, unbounded, ""},
		{"UPLOAD_LIMIT", c.UploadLimit, 1, unbounded, ""},
		{"EMAIL_ATTACHMENT_LIMIT", c.EmailAttachmentLimit, 0, unbounded, ""},
		{"DEFAULT_EXPIRY_DAYS", int64(c.DefaultExpiryDays), 1, maxDays, ""},
		{"HISTORY_DAYS", int64(c.HistoryDays), 1, maxDays, ""},
		{"ARCHIVE_AFTER_DAYS", int64(c.ArchiveAfterDays), 0, maxDays, "; 0 disables archiving"},
		{"BULK_IN_FLIGHT", int64(c.BulkInFlight), 0, 100, ""},
	} {
		switch {
		case n.most == unbounded && n.value < n.min:
			bad(n.name, "must be %d or more", n.min)
		case n.most != unbounded && (n.value < n.min || n.value > n.most):
			bad(n.name, "must be between %d and %d%s", n.min, n.most, n.note)
		}
	}
}

func (c *Config) checkDurations(bad reporter) {
	if d := c.ReminderInterval; d != 0 && d < time.Minute {
		bad("REMINDER_INTERVAL", "must be 0 or at least 1m")
	}
	if c.ConsoleIdle < time.Minute || c.ConsoleIdle > 8*time.Hour {
		bad("CONSOLE_IDLE", "must be between 1m and 8h")
	}
}
