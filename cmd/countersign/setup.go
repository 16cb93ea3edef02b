package main

import (
	"bufio"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/mail"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"countersign/cli/terminal"
	"countersign/config"
	"countersign/models"
	"countersign/seal/sealkey"
)

type setupCommand struct {
	Host     bool   `help:"Write the settings for a service without containers, as used by the packages' systemd units."`
	Dir      string `help:"Directory of docker-compose.yml or, with --host, of the settings (default: /etc/countersign)." type:"path"`
	URL      string `help:"Public address of the service, such as https://sign.example.com; http://localhost for a trial." name:"url"`
	App      string `help:"Name of the first app, as signers see it; usually the name of your organization."`
	Email    string `help:"Email address of the first user, an administrator."`
	SMTPURL  string `help:"Mail server, such as smtps://user:password@smtp.example.com:465. Default with Compose: a mail catcher." name:"smtp-url"`
	MailFrom string `help:"Sender of all emails, such as 'Example <sign@example.com>'. Default: no-reply at the host of --url."`
	Database string `help:"Database for --host." default:"postgres:///countersign?host=/run/postgresql"`
	Temporal string `help:"With --host, Temporal's address." default:"127.0.0.1:7233"`
}

// Help returns the additional help text of the command.
func (setupCommand) Help() string {
	return "Prompts for missing flags. Writes .env (keys, passwords, a first app and user) and a self-signed sealing certificate with \"trial\" in its name. Existing files are not overwritten."
}

// Run writes the settings. If they already exist, it changes nothing.
func (c setupCommand) Run() error {
	dir, envFile, secrets := c.places()
	if _, err := os.Lstat(envFile); err == nil {
		return fmt.Errorf("%s exists, so nothing was changed: edit it, or move it first. Keep its %sMASTER_KEY: without it the data cannot be decrypted", envFile, config.Prefix)
	}
	if !c.Host {
		if _, err := os.Stat(filepath.Join(dir, "docker-compose.yml")); err != nil {
			return fmt.Errorf("%s has no docker-compose.yml: set its directory with --dir, or use --host for a service without containers", dir)
		}
	}
	if err := c.prompt(); err != nil {
		return err
	}
	base, err := c.check()
	if err != nil {
		return err
	}
	key, cert, err := c.trialSeal(secrets)
	if err != nil {
		return err
	}
	password := strings.ToLower(rand.Text()[:20])
	settings := c.composeSettings(base, key, cert)
	if c.Host {
		settings = c.hostSettings(base, key, cert)
	}
	settings = append(settings,
		setting{"The first app and its administrator, created by \"countersign migrate\" in a database without users. The password can be removed afterwards.", "COUNTERSIGN_FIRST_APP", c.App},
		setting{"", "COUNTERSIGN_FIRST_USER", c.Email},
		setting{"", "COUNTERSIGN_FIRST_PASSWORD", password})
	text, err := envText(settings)
	if err != nil {
		return err
	}
	if err := c.write(envFile, text, 0o600); err != nil {
		return err
	}
	next := "docker compose up --build --detach"
	if c.Host {
		next = "systemctl enable --now countersign-api countersign-worker"
	}
	return terminal.Printf("Wrote %s: keep a copy of its %sMASTER_KEY in another place.\nThe sealing certificate is for trials only: %s\n\nNext       %s\nConsole    %s/console\n  email    %s\n  password %s",
		envFile, config.Prefix, cert, next, strings.TrimRight(c.URL, "/"), c.Email, password)
}

// places returns the installation directory, the path of the settings file, and the directory for secrets.
func (c setupCommand) places() (dir, envFile, secrets string) {
	switch {
	case c.Host && c.Dir == "":
		dir = "/etc/countersign"
	case c.Dir == "":
		dir = "."
	default:
		dir = c.Dir
	}
	if c.Host {
		return dir, filepath.Join(dir, "countersign.env"), dir
	}
	return dir, filepath.Join(dir, ".env"), filepath.Join(dir, "deploy", "secrets")
}

// prompt prompts for all required values that were not set by flags.
func (c *setupCommand) prompt() error {
	in := bufio.NewReader(os.Stdin)
	for _, q := range []struct {
		value        *string
		prompt, flag string
	}{
		{&c.URL, "Public address of the service (http://localhost for a trial): ", "--url"},
		{&c.App, "Name of your organization, as signers see it: ", "--app"},
		{&c.Email, "Your email address, for the first user: ", "--email"},
	} {
		if *q.value != "" {
			continue
		}
		answer, err := terminal.Prompt(in, q.prompt, false)
		if err != nil {
			return fmt.Errorf("%s is missing: set the flag, or answer the prompt on a terminal", q.flag)
		}
		*q.value = answer
	}
	return nil
}

// check validates the values and returns the parsed public URL.
func (c *setupCommand) check() (*url.URL, error) {
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") || strings.Trim(base.Path, "/") != "" {
		return nil, errors.New("--url must be an address such as https://sign.example.com, without a path")
	}
	p := models.Problems{}
	models.CheckEmail(p, "--email", c.Email)
	models.CheckText(p, "--app", c.App, 1, 255)
	if err := p.Err(); err != nil {
		return nil, err
	}
	if c.MailFrom == "" {
		c.MailFrom = "no-reply@" + base.Hostname()
		named := c.App + " <" + c.MailFrom + ">"
		if parsed, err := mail.ParseAddress(named); err == nil && parsed.Name == c.App { // the name needs no quotation marks, which would have to be escaped in the settings file
			c.MailFrom = named
		}
	}
	if c.Host && c.SMTPURL == "" {
		return nil, errors.New("--smtp-url must be set with --host: invitations are sent by email")
	}
	return base, nil
}

// trialSeal creates a sealing key and its certificate unless both already exist.
func (c setupCommand) trialSeal(dir string) (key, cert string, err error) {
	key, cert = filepath.Join(dir, "seal.key"), filepath.Join(dir, "seal.crt")
	_, keyErr := os.Lstat(key)
	_, certErr := os.Lstat(cert)
	switch {
	case keyErr == nil && certErr == nil:
		return key, cert, nil
	case keyErr == nil || certErr == nil:
		return "", "", fmt.Errorf("only one of %s and %s exists, so nothing was changed: restore the other, or move the existing one", key, cert)
	}
	ca, leaf, private, err := sealkey.SelfSigned(c.App+" trial", now(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	// The containers read these files as a different user. The directory's permissions deny access to all other users on
	// the host.
	mode := fs.FileMode(0o640)
	if !c.Host {
		mode = 0o644
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", "", err
		}
		if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory
			return "", "", err
		}
	} else if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", "", err
	}
	for _, f := range []struct {
		path    string
		content []byte
	}{{key, private}, {cert, append(leaf, ca...)}, {filepath.Join(dir, "seal.ca.pem"), ca}} {
		if err := c.write(f.path, f.content, mode); err != nil {
			return "", "", err
		}
	}
	return key, cert, nil
}

// write creates a new file. With --host, the group of the service may read the file.
func (c setupCommand) write(path string, content []byte, mode fs.FileMode) error {
	if c.Host {
		mode = 0o640
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode) //nolint:gosec // path is specified by the user
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if c.Host && err == nil {
		if group, unknown := user.LookupGroup("countersign"); unknown == nil && os.Getuid() == 0 {
			id, _ := strconv.Atoi(group.Gid) // always a number on systems that have groups
			err = f.Chown(0, id)
		}
	}
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

// setting is one line in the settings file, preceded by its comment if it has one.
type setting struct{ comment, name, value string }

// common returns the settings that both kinds of installation require.
func (c setupCommand) common(base *url.URL) []setting {
	master := make([]byte, 32)
	_, _ = rand.Read(master) // never returns an error
	out := []setting{
		{"Settings of Countersign, written by \"countersign setup\". docs/run/settings.md describes each.\n\nPublic address.", "COUNTERSIGN_BASE_URL", strings.TrimRight(c.URL, "/")},
		{"Encrypts personal data and secrets at rest. Without it, the data cannot be decrypted.", "COUNTERSIGN_MASTER_KEY", base64.StdEncoding.EncodeToString(master)},
		{"Only signers who entered the one-time code can decline.", "COUNTERSIGN_DECLINE_NEEDS_CODE", "true"},
		{"", "COUNTERSIGN_MAIL_FROM", c.MailFrom},
	}
	if c.SMTPURL != "" {
		out = append(out, setting{"", "COUNTERSIGN_SMTP_URL", c.SMTPURL})
	}
	if base.Scheme == "https" {
		out = append(out, setting{"Users of the console need a second factor.", "COUNTERSIGN_CONSOLE_TOTP", "required"})
	}
	return out
}

func (c setupCommand) composeSettings(base *url.URL, key, cert string) []setting {
	password := func() string { return strings.ToLower(rand.Text() + rand.Text()) }
	site, port := base.Hostname(), base.Port()
	if base.Scheme == "http" {
		site = ":80"
	}
	out := append(c.common(base), setting{"Site of the reverse proxy: a name gets a certificate from Let's Encrypt.", "COUNTERSIGN_SITE", site})
	switch {
	case port != "" && base.Scheme == "http":
		out = append(out, setting{"", "COUNTERSIGN_HTTP_PORT", port})
	case port != "":
		out = append(out, setting{"", "COUNTERSIGN_HTTPS_PORT", port})
	}
	// Compose resolves relative paths from the directory of its file.
	relative := func(path string) string {
		return "./" + filepath.ToSlash(filepath.Join("deploy", "secrets", filepath.Base(path)))
	}
	return append(out,
		setting{"Passwords of the databases.", "POSTGRES_PASSWORD", password()},
		setting{"", "COUNTERSIGN_DB_PASSWORD", password()},
		setting{"", "TEMPORAL_DB_PASSWORD", password()},
		setting{"The sealing key and its certificate, for trials.", "SEAL_KEY_FILE", relative(key)},
		setting{"", "SEAL_CERT_FILE", relative(cert)})
}

func (c setupCommand) hostSettings(base *url.URL, key, cert string) []setting {
	return append(c.common(base),
		setting{"", "COUNTERSIGN_DATABASE_URL", c.Database},
		setting{"", "COUNTERSIGN_TEMPORAL_ADDRESS", c.Temporal},
		setting{"", "COUNTERSIGN_BLOB_URL", "file:///var/lib/countersign/files"},
		setting{"The reverse proxy on this machine.", "COUNTERSIGN_TRUSTED_PROXIES", "127.0.0.1,::1"},
		setting{"The sealing key and its certificate, for trials.", "COUNTERSIGN_SEAL_KEY", key},
		setting{"", "COUNTERSIGN_SEAL_CERT", cert})
}

// plainValue matches values that need no quotes in Compose, systemd and shells.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]*$`)

// envText formats the settings so that Compose, systemd and shells can read them.
func envText(settings []setting) ([]byte, error) {
	var b strings.Builder
	for _, s := range settings {
		if s.comment != "" {
			for line := range strings.SplitSeq("\n"+s.comment, "\n") {
				b.WriteString(strings.TrimRight(strings.Repeat("# ", min(len(line), 1))+line, " ") + "\n")
			}
		}
		value := s.value
		switch {
		case plainValue.MatchString(value):
		case !strings.ContainsAny(value, "'\\\r\n"):
			value = "'" + value + "'"
		case !strings.ContainsAny(value, "\"$`\\\r\n"):
			value = `"` + value + `"`
		default:
			return nil, fmt.Errorf("%s: %q cannot be quoted: it must not contain a backslash, a line break, or a single quote together with \", $ or `", s.name, value)
		}
		b.WriteString(s.name + "=" + value + "\n")
	}
	return []byte(strings.TrimLeft(b.String(), "\n")), nil
}
