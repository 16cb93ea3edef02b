package main

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/config"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/store"
)

func composeSetup(t *testing.T) setupCommand {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "docker-compose.yml"), nil, 0o600))
	return setupCommand{Dir: dir, URL: "https://sign.example.com", App: "Example's Ltd", Email: "you@example.com", SMTPURL: "smtps://a:p$w#d&x@smtp.example.com"}
}

// written returns the assignments in a settings file written by setup.
func written(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	vars := map[string]string{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			for _, quote := range []string{"'", `"`} {
				if quoted, is := strings.CutPrefix(value, quote); is {
					value = strings.TrimSuffix(quoted, quote)
					break
				}
			}
			vars[name] = value
		}
	}
	return vars
}

// TestSetup_WritesCompleteSettings checks that the written settings, together with the values added by the Compose
// file, are complete for a worker.
func TestSetup_WritesCompleteSettings(t *testing.T) {
	t.Parallel()
	c := composeSetup(t)
	require.NoError(t, c.Run())
	vars := written(t, filepath.Join(c.Dir, ".env"))
	var environ []string
	for name, value := range vars {
		environ = append(environ, name+"="+value)
	}
	cfg, err := config.Load(append(environ, "COUNTERSIGN_DATABASE_URL=postgres://h/d", "COUNTERSIGN_BLOB_URL=file:///f", "COUNTERSIGN_SEAL_KEY=/run/secrets/seal_key"), config.Default())
	require.NoError(t, err)
	require.NoError(t, cfg.Require("DATABASE_URL", "BLOB_URL", "SMTP_URL", "MASTER_KEY", "SEAL_KEY", "FIRST_APP", "FIRST_USER", "FIRST_PASSWORD"))
	require.Equal(t, c.SMTPURL, string(cfg.SMTPURL))
	require.Equal(t, models.SecondFactorRequired, cfg.ConsoleTOTP)
	require.Equal(t, "Example's Ltd <no-reply@sign.example.com>", cfg.MailFrom)
	require.Equal(t, "sign.example.com", vars["COUNTERSIGN_SITE"])

	info, err := os.Stat(filepath.Join(c.Dir, ".env"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	info, err = os.Stat(filepath.Join(c.Dir, "deploy", "secrets"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "the key is readable only in containers")
	cfg.SealKey, cfg.SealCert = filepath.Join(c.Dir, vars["SEAL_KEY_FILE"]), filepath.Join(c.Dir, vars["SEAL_CERT_FILE"])
	_, chain, err := sealKey(cfg)
	require.NoError(t, err)
	require.Equal(t, "Example's Ltd trial", chain[0].Subject.CommonName)
}

// TestSetup_Twice checks that setup overwrites no files and keeps an existing sealing key.
func TestSetup_Twice(t *testing.T) {
	t.Parallel()
	c := composeSetup(t)
	require.NoError(t, c.Run())
	files := func() string {
		var all strings.Builder
		for _, name := range []string{".env", "deploy/secrets/seal.key", "deploy/secrets/seal.crt"} {
			b, err := os.ReadFile(filepath.Join(c.Dir, name))
			require.NoError(t, err)
			all.Write(b)
		}
		return all.String()
	}
	before := files()
	require.ErrorContains(t, c.Run(), ".env exists, so nothing was changed")
	require.Equal(t, before, files())

	key, err := os.ReadFile(filepath.Join(c.Dir, "deploy/secrets/seal.key"))
	require.NoError(t, err)
	require.NoError(t, os.Rename(filepath.Join(c.Dir, ".env"), filepath.Join(c.Dir, "old.env")))
	require.NoError(t, c.Run())
	again, err := os.ReadFile(filepath.Join(c.Dir, "deploy/secrets/seal.key"))
	require.NoError(t, err)
	require.Equal(t, key, again, "an existing sealing key is used")

	require.NoError(t, os.Rename(filepath.Join(c.Dir, ".env"), filepath.Join(c.Dir, "older.env")))
	require.NoError(t, os.Remove(filepath.Join(c.Dir, "deploy/secrets/seal.crt")))
	require.ErrorContains(t, c.Run(), "only one of")
	require.NoFileExists(t, filepath.Join(c.Dir, ".env"))
}

// TestSetup_Faults checks that each error names the invalid flag, and that setup changes nothing.
func TestSetup_Faults(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*setupCommand){
		"--url must be an address":           func(c *setupCommand) { c.URL = "sign.example.com" },
		"without a path":                     func(c *setupCommand) { c.URL = "https://example.com/sign" },
		"--email":                            func(c *setupCommand) { c.Email = "you" },
		"--app":                              func(c *setupCommand) { c.App = strings.Repeat("x", 256) },
		"has no docker-compose.yml":          func(c *setupCommand) { c.Dir = "/" },
		"--smtp-url must be set with --host": func(c *setupCommand) { c.Host, c.SMTPURL = true, "" },
		"COUNTERSIGN_FIRST_APP: \"Mayer":     func(c *setupCommand) { c.App, c.MailFrom = `Mayer's "Best"`, "a@example.com" },
	} {
		c := composeSetup(t)
		change(&c)
		require.ErrorContains(t, c.Run(), want)
		require.NoFileExists(t, filepath.Join(c.Dir, ".env"))
	}
}

// TestSetup_Host checks that the settings for the systemd units in the packages create the first user only once.
func TestSetup_Host(t *testing.T) {
	c := composeSetup(t)
	c.Host = true
	require.NoError(t, c.Run())
	for name, value := range written(t, filepath.Join(c.Dir, "countersign.env")) {
		t.Setenv(name, value)
	}
	t.Setenv("COUNTERSIGN_DATABASE_URL", "sqlite://"+filepath.Join(c.Dir, "x.db"))
	require.NoError(t, migrateCommand{}.Run(t.Context()))
	cfg, err := productionConfig("SEAL_KEY", "SEAL_CERT", "BLOB_URL", "TEMPORAL_ADDRESS")
	require.NoError(t, err)
	b, err := os.ReadFile(cfg.SealCert)
	require.NoError(t, err)
	block, _ := pem.Decode(b)
	leaf, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	require.Contains(t, leaf.Subject.CommonName, "trial")
	require.NoError(t, withStore(t.Context(), cfg, func(s *store.Store, _ *vault.Vault) error {
		u, err := s.Login(t.Context(), "you@example.com", string(cfg.FirstPassword))
		require.NoError(t, err)
		require.Equal(t, models.RoleAdmin, u.Role)
		app, err := s.App(t.Context(), u.AppID)
		require.NoError(t, err)
		require.Equal(t, models.PlanEnterprise, app.Plan)
		created, err := createFirst(t.Context(), cfg, s)
		require.NoError(t, err)
		require.False(t, created, "once")
		return nil
	}))
}
