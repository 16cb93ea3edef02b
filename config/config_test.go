package config_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/config"
)

func load(vars ...string) (config.Config, error) { return config.Load(vars, config.Default()) }

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := load("PATH=/bin", "COUNTERSIGN_TEST_POSTGRES=anything")
	require.NoError(t, err)
	assert.Equal(t, "http://127.0.0.1:8080", c.BaseURL)
	assert.Equal(t, "http://127.0.0.1:8080/sign", c.SigningURL)
	assert.Equal(t, "http://127.0.0.1:8080/embed", c.EmbedURL)
	assert.Equal(t, [5]time.Duration{0, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}, [5]time.Duration(c.WebhookSchedule))
}

// TestLoad_IgnoresForeignVariables checks that variables for other programs are ignored. A developer's shell contains
// the variables of the command-line client, and those of the Compose file if the shell has sourced .env.
func TestLoad_IgnoresForeignVariables(t *testing.T) {
	t.Parallel()
	of := map[string]*regexp.Regexp{
		"../docs/build/cli.md":    regexp.MustCompile(`COUNTERSIGN_[A-Z_]+`),
		"../deploy/env.example":   regexp.MustCompile(`(?m)^#?(COUNTERSIGN_[A-Z_]+)=`),
		"../docker-compose.yml":   regexp.MustCompile(`\$\{(COUNTERSIGN_[A-Z_]+)`),
		"../clients/go/README.md": regexp.MustCompile(`COUNTERSIGN_[A-Z_]+`),
	}
	settings := map[string]bool{}
	for f := range reflect.TypeFor[config.Config]().Fields() {
		settings[config.Prefix+f.Tag.Get("env")] = true
		settings[config.Prefix+f.Tag.Get("env")+"_FILE"] = f.Type == reflect.TypeFor[config.Secret]()
	}
	found := 0
	for file, pattern := range of {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
			if name := m[len(m)-1]; !settings[name] {
				found++
				_, err := load(name + "=x")
				require.NoError(t, err, "%s names it", file)
			}
		}
	}
	require.Greater(t, found, 10)
}

// TestLoad_IgnoresKubernetesServiceVariables checks that the variables that Kubernetes sets for a Service are ignored.
// Their names begin with the name of the Service, which is usually countersign.
func TestLoad_IgnoresKubernetesServiceVariables(t *testing.T) {
	t.Parallel()
	links := []string{
		"COUNTERSIGN_SERVICE_HOST=10.0.0.7", "COUNTERSIGN_SERVICE_PORT=80", "COUNTERSIGN_SERVICE_PORT_HTTP=80", "COUNTERSIGN_PORT=tcp://10.0.0.7:80",
		"COUNTERSIGN_PORT_80_TCP=tcp://10.0.0.7:80", "COUNTERSIGN_PORT_80_TCP_PROTO=tcp", "COUNTERSIGN_PORT_80_TCP_PORT=80", "COUNTERSIGN_PORT_80_TCP_ADDR=10.0.0.7",
		"COUNTERSIGN_API_SERVICE_HOST=10.0.0.8", "COUNTERSIGN_API_PORT_53_UDP=udp://10.0.0.8:53",
	}
	_, err := load(append(links, "KUBERNETES_SERVICE_HOST=10.0.0.1")...)
	require.NoError(t, err)
	for _, link := range links {
		name, _, _ := strings.Cut(link, "=")
		_, err := load(link)
		require.ErrorContains(t, err, name, "outside Kubernetes, the variable is an error")
	}
	_, err = load("KUBERNETES_SERVICE_HOST=10.0.0.1", "COUNTERSIGN_BASE_ULR=https://sign.example.com")
	require.ErrorContains(t, err, "COUNTERSIGN_BASE_ULR", "misspelled settings are detected in a pod, too")
}

func TestLoad_EnvironmentOverridesDefaults(t *testing.T) {
	t.Parallel()
	c, err := load("COUNTERSIGN_BASE_URL=https://sign.example.com/", "COUNTERSIGN_SIGNING_URL=https://s.example.com/x/", "COUNTERSIGN_WEBHOOK_SCHEDULE=detailed",
		"COUNTERSIGN_TRUSTED_PROXIES=10.0.0.0/8,127.0.0.1", "COUNTERSIGN_LOG_LEVEL=debug", "COUNTERSIGN_REMINDER_INTERVAL=0", "COUNTERSIGN_RATE_LIMIT=5")
	require.NoError(t, err)
	assert.Equal(t, "https://sign.example.com", c.BaseURL)
	assert.Equal(t, "https://s.example.com/x", c.SigningURL)
	assert.Equal(t, 30*time.Second, c.WebhookSchedule[0])
	assert.Equal(t, []string{"10.0.0.0/8", "127.0.0.1"}, c.TrustedProxies)
	assert.Equal(t, slog.LevelDebug, c.LogLevel)
	assert.Zero(t, c.ReminderInterval)
	assert.Equal(t, 5, c.RateLimit)
}

func TestLoad_ReportsEveryError(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		"LISTEN": "8080", "METRICS_LISTEN": "9090", "PPROF_LISTEN": "0.0.0.0:6060", "BASE_URL": "sign.example.com", "DATABASE_URL": "mysql://root:hunter2@db", "BLOB_URL": "ftp://x", "SMTP_URL": "mail.example.com",
		"SMS_URL": "twilio", "WEBHOOK_SCHEDULE": "1s,2s", "WEBHOOK_ALLOW_PRIVATE": "perhaps", "RATE_LIMIT": "0", "UPLOAD_LIMIT": "-1",
		"DEFAULT_EXPIRY_DAYS": "9999", "HISTORY_DAYS": "9999", "MASTER_KEY": "c2hvcnQ=", "MAIL_FROM": "nobody", "TRUSTED_PROXIES": "10.0.0.0/99", "LOG_LEVEL": "loud",
		"REMINDER_INTERVAL": "1s", "TSA_URL": "tsa", "TEMPORAL_ADDRESS": "temporal", "TYPO": "1", "TSA_OPTIONAL": "perhaps", "SEAL_LONG_TERM": "perhaps", "TSA_ANCHOR": "perhaps", "EMAIL_ATTACHMENT_LIMIT": "-5",
		"CONSOLE_IDLE": "5s", "CONSOLE_TOTP": "never", "OIDC_APP": "acme", "OIDC_ISSUER": "http://login.example.com", "CLAMD_URL": "localhost", "BULK_IN_FLIGHT": "101",
	}
	var vars []string
	for name, v := range bad {
		vars = append(vars, config.Prefix+name+"="+v)
	}
	_, err := load(vars...)
	require.Error(t, err)
	for name := range bad {
		assert.Contains(t, err.Error(), config.Prefix+name)
	}
	assert.NotContains(t, err.Error(), "hunter2")
	assert.NotContains(t, err.Error(), "c2hvcnQ=")
}

// TestOIDC_RequiresAllSettings checks that incomplete settings and plain http URLs are rejected.
func TestOIDC_RequiresAllSettings(t *testing.T) {
	t.Parallel()
	settings := map[string]string{
		"BASE_URL": "https://sign.example.com", "OIDC_ISSUER": "https://login.example.com/staff", "OIDC_CLIENT_ID": "countersign", "OIDC_CLIENT_SECRET": "hunter2", "OIDC_ROLE_CLAIM": "roles",
	}
	with := func(changes map[string]string) (config.Config, error) {
		all := maps.Clone(settings)
		maps.Copy(all, changes)
		var vars []string
		for name, v := range all {
			vars = append(vars, config.Prefix+name+"="+v)
		}
		return load(vars...)
	}
	c, err := with(nil)
	require.NoError(t, err)
	assert.Equal(t, "login.example.com", c.ProviderName())
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", c, c, c), "hunter2")
	c, err = with(map[string]string{"OIDC_NAME": "Staff login", "OIDC_APP": "0b8f2a60-5f3e-4d0b-9a9c-0d5f0f6a7b11"})
	require.NoError(t, err)
	assert.Equal(t, "Staff login", c.ProviderName())
	for _, base := range []string{"http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"} {
		_, err = with(map[string]string{"BASE_URL": base, "OIDC_ISSUER": "http://localhost:9000"})
		require.NoError(t, err, base)
	}
	for name, bad := range map[string][]string{
		"OIDC_ISSUER":    {"", "http://login.example.com", "http://127.0.0.1.example.com", "login.example.com", "https://login.example.com?x=1", "https://login.example.com#x", "https://a:b@login.example.com", "file:///etc/passwd"},
		"OIDC_CLIENT_ID": {""}, "OIDC_CLIENT_SECRET": {""}, "OIDC_ROLE_CLAIM": {""}, "OIDC_APP": {"acme"}, "OIDC_NAME": {strings.Repeat("x", 61)},
	} {
		for _, v := range bad {
			_, err := with(map[string]string{name: v})
			require.ErrorContains(t, err, config.Prefix+name, "%s", v)
			assert.NotContains(t, err.Error(), "hunter2")
		}
	}
	_, err = with(map[string]string{"BASE_URL": "http://sign.example.com"})
	require.ErrorContains(t, err, "COUNTERSIGN_OIDC_ISSUER: requires a COUNTERSIGN_BASE_URL that begins with https://")
}

func TestTimestamps_RequireAnAuthority(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"TSA_OPTIONAL", "SEAL_LONG_TERM", "TSA_ANCHOR"} {
		_, err := load(config.Prefix + name + "=true")
		require.ErrorContains(t, err, config.Prefix+name+": requires COUNTERSIGN_TSA_URL")
		_, err = load(config.Prefix+name+"=true", "COUNTERSIGN_TSA_URL=https://tsa.example.com")
		require.NoError(t, err)
	}
}

func TestReadReplica_RequiresPostgreSQL(t *testing.T) {
	t.Parallel()
	const replica = "COUNTERSIGN_DATABASE_READ_URL=postgres://standby/countersign"
	for _, database := range []string{"", "COUNTERSIGN_DATABASE_URL=sqlite:///tmp/x.db"} {
		_, err := load(replica, database)
		require.ErrorContains(t, err, "COUNTERSIGN_DATABASE_READ_URL: requires a COUNTERSIGN_DATABASE_URL that begins with postgres://")
	}
	_, err := load(replica, "COUNTERSIGN_DATABASE_URL=postgresql://primary/countersign")
	require.NoError(t, err)
	_, err = load("COUNTERSIGN_DATABASE_READ_URL=sqlite:///x", "COUNTERSIGN_DATABASE_URL=postgres://primary/countersign")
	require.ErrorContains(t, err, "COUNTERSIGN_DATABASE_READ_URL: must begin with")
}

func TestTraces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vars []string
		want bool
		err  string
	}{
		{nil, false, ""},
		{[]string{"OTEL_SERVICE_NAME=x"}, false, ""},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"}, true, ""},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:4318/v1/traces", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}, true, ""},
		{[]string{"OTEL_TRACES_EXPORTER=otlp"}, true, ""},
		{[]string{"OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"}, false, ""},
		{[]string{"OTEL_SDK_DISABLED=true", "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"}, false, ""},
		{[]string{"OTEL_TRACES_EXPORTER=zipkin"}, false, "OTEL_TRACES_EXPORTER"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, false, "http/protobuf"},
	} {
		got, err := config.Traces(c.vars)
		assert.Equal(t, c.want, got, "%v", c.vars)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
		} else {
			require.NoError(t, err)
		}
	}
}

func TestRequire(t *testing.T) {
	t.Parallel()
	c, err := load("COUNTERSIGN_DATABASE_URL=sqlite:///x")
	require.NoError(t, err)
	err = c.Require("DATABASE_URL", "SMTP_URL", "MASTER_KEY")
	require.ErrorContains(t, err, "COUNTERSIGN_SMTP_URL")
	require.ErrorContains(t, err, "COUNTERSIGN_MASTER_KEY")
	assert.NotContains(t, err.Error(), "DATABASE_URL")
}

func TestSecrets_AreRedacted(t *testing.T) {
	t.Parallel()
	key := base64.StdEncoding.EncodeToString(make([]byte, 32))
	c, err := load("COUNTERSIGN_MASTER_KEY="+key, "COUNTERSIGN_DATABASE_URL=postgres://u:hunter2@h/d")
	require.NoError(t, err)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("settings", "config", c, "key", c.MasterKey)
	slog.New(slog.NewTextHandler(&log, nil)).Info("settings", "config", c, "key", c.MasterKey)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", c, c, c, c.DatabaseURL), log.String()} {
		assert.NotContains(t, text, key)
		assert.NotContains(t, text, "hunter2")
	}
}

// TestEverySettingIsDocumented checks that docs/run/settings.md contains every field of the struct.
func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/run/settings.md")
	require.NoError(t, err)
	typ := reflect.TypeFor[config.Config]()
	for i := range typ.NumField() {
		name := typ.Field(i).Tag.Get("env")
		require.NotEmpty(t, name, typ.Field(i).Name)
		assert.Contains(t, string(doc), "`"+name+"`")
	}
}

// TestUnreachableLinks_CauseWarnings checks the warnings about URLs whose path is not /sign or /embed.
func TestUnreachableLinks_CauseWarnings(t *testing.T) {
	t.Parallel()
	for set, warned := range map[string]int{
		"": 0, "COUNTERSIGN_SIGNING_URL=https://sign.example.com/sign": 0, "COUNTERSIGN_SIGNING_URL=https://sign.example.com": 1,
		"COUNTERSIGN_SIGNING_URL=https://sign.example.com/s": 1, "COUNTERSIGN_EMBED_URL=https://example.com/frames": 1, "COUNTERSIGN_EMBED_URL=https://example.com/embed/": 0,
	} {
		c, err := config.Load([]string{"COUNTERSIGN_BASE_URL=https://example.com", set}, config.Default())
		require.NoError(t, err, set)
		require.Len(t, c.Warnings(), warned, set)
	}
}
