package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"countersign/config"
	"countersign/internal/bundled"
	"countersign/internal/hostguard"
	"countersign/internal/inbox"
	"countersign/internal/vault"
	"countersign/seal"
	"countersign/store"
)

type devCommand struct {
	Listen       string   `help:"Address of the API." default:"127.0.0.1:8080"`
	DataDir      string   `help:"Directory that everything is kept in." default:"./data" type:"path" env:"COUNTERSIGN_DATA_DIR"`
	InboxListen  string   `help:"Address of the inbox page." default:"127.0.0.1:0"`
	Host         []string `help:"Name under which a browser may ask for the inbox and the Temporal UI, beside localhost and addresses; may be repeated."`
	TemporalPort int      `help:"Port of the bundled Temporal; 0 chooses a free one." default:"0"`
	UIPort       int      `help:"Port of the Temporal UI; 0 chooses a free one." default:"0" name:"temporal-ui-port"`
}

const (
	startLimit = 60 * time.Second
	demoFile   = "demo.json"
)

// Run runs everything in this process but Temporal, which is a child of it.
func (d devCommand) Run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	started := now()
	d.DataDir = cmp.Or(d.DataDir, config.Default().DataDir) // the variable may be set to nothing
	l, cfg, release, err := d.prepare(ctx)
	if err != nil {
		return err
	}
	defer release()
	log := logger(cfg, true)

	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	info, stopServers, err := d.startServers(ctx, cancel, &wg, &cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopServers()) }()
	h, stopService, err := startService(ctx, cancel, &wg, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopService()) }()

	served := make(chan error, 1)
	go func() { served <- serve(ctx, l, h) }()
	if err := writeJSON(filepath.Join(d.DataDir, demoFile), info); err != nil {
		return err
	}
	d.greet(info, now().Sub(started))
	err = <-served
	return cmp.Or(whatEnded(ctx), err)
}

// prepare takes the data directory and the address of the API, and reads the settings. release gives both up.
func (d devCommand) prepare(ctx context.Context) (l net.Listener, cfg config.Config, release func(), err error) {
	if err := prepareDataDir(d.DataDir); err != nil {
		return nil, cfg, nil, err
	}
	unlock, err := lockDataDir(d.DataDir)
	if err != nil {
		return nil, cfg, nil, err
	}
	l, err = listen(ctx, d.Listen)
	if err != nil {
		unlock()
		return nil, cfg, nil, err
	}
	release = func() {
		_ = l.Close() // the server closes it too
		unlock()
	}
	cfg, err = devConfig(d.DataDir, l.Addr().String())
	if err != nil {
		release()
		return nil, cfg, nil, err
	}
	return l, cfg, release, nil
}

// startServers starts what the service asks others for, mail, text messages and Temporal, and prepares the database.
// The settings then name them, and info tells of all. stop ends Temporal.
func (d devCommand) startServers(ctx context.Context, cancel context.CancelCauseFunc, wg *sync.WaitGroup, cfg *config.Config) (info demo, stop func() error, err error) {
	before := readDemo(d.DataDir)
	info.BaseURL, info.ConsoleURL = cfg.BaseURL, cfg.BaseURL+"/console"
	if info.InboxURL, info.SMTPAddress, err = d.startInbox(ctx, wg, cfg, before); err != nil {
		return demo{}, nil, err
	}
	if info.TemporalUIURL, stop, err = d.startTemporal(ctx, cancel, cfg, before); err != nil {
		return demo{}, nil, err
	}
	if info.TemporalUIURL != "" {
		info.TemporalAddress = cfg.TemporalAddress
	}
	if info.credentials, info.consoleLogin, err = prepareStore(ctx, *cfg, before); err != nil {
		return demo{}, nil, errors.Join(err, stop())
	}
	return info, stop, nil
}

// startService starts everything of the service but its API's listener, which serves h. stop ends what does not end
// with ctx.
func startService(ctx context.Context, cancel context.CancelCauseFunc, wg *sync.WaitGroup, cfg config.Config, log *slog.Logger) (h http.Handler, stop func() error, err error) {
	a, err := newApp(ctx, cfg, log)
	if err != nil {
		return nil, nil, err
	}
	end := a.close
	defer func() {
		if err != nil {
			err = errors.Join(err, end())
		}
	}()
	if h, err = a.newHandler(ctx); err != nil {
		return nil, nil, err
	}
	acts, err := a.newActivities(ctx)
	if err != nil {
		return nil, nil, err
	}
	ws, err := a.startWorkers(ctx, acts, cancel)
	if err != nil {
		return nil, nil, err
	}
	end = func() error { ws.Stop(); return a.close() }
	wg.Go(func() { a.newDispatcher().Run(ctx) })
	wg.Go(func() { a.watchCertificate(ctx) })
	if err := a.serveOperators(ctx, wg); err != nil {
		return nil, nil, err
	}
	return h, end, nil
}

// startInbox runs the mail and SMS inbox, unless the settings name other servers.
func (d devCommand) startInbox(ctx context.Context, wg *sync.WaitGroup, cfg *config.Config, before demo) (address, smtpAddress string, err error) {
	box, err := inbox.Open(filepath.Join(d.DataDir, "inbox"), now)
	if err != nil {
		return "", "", err
	}
	page, err := listenOnSamePort(ctx, d.InboxListen, strings.TrimPrefix(before.InboxURL, "http://"))
	if err != nil {
		return "", "", err
	}
	smtp, err := listenOnSamePort(ctx, "127.0.0.1:0", before.SMTPAddress)
	if err != nil {
		return "", "", errors.Join(err, page.Close())
	}
	wg.Go(func() { _ = box.ServeSMTP(ctx, smtp) })                                      // ends with ctx
	wg.Go(func() { _ = serve(ctx, page, hostguard.Handler(box.Handler(), d.Host...)) }) // ends with ctx
	if cfg.SMTPURL == "" {
		cfg.SMTPURL = config.Secret("smtp://" + smtp.Addr().String() + "?tls=none")
	}
	if cfg.SMSURL == "" {
		u := url.URL{
			Scheme: "http", User: url.UserPassword("ACdev", "dev"), Host: page.Addr().String(),
			Path: "/2010-04-01/Accounts/ACdev/Messages.json", RawQuery: "From=%2B15005550006",
		}
		cfg.SMSURL = config.Secret(u.String())
	}
	return "http://" + page.Addr().String(), smtp.Addr().String(), nil
}

// startTemporal runs the bundled Temporal, unless the settings name another.
func (d devCommand) startTemporal(ctx context.Context, cancel context.CancelCauseFunc, cfg *config.Config, before demo) (ui string, stop func() error, err error) {
	if _, given := os.LookupEnv(config.Prefix + "TEMPORAL_ADDRESS"); given {
		return "", func() error { return nil }, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("find the bundled Temporal server: %w", err)
	}
	port, uiPort := fmt.Sprint(d.TemporalPort), fmt.Sprint(d.UIPort)
	if port == "0" {
		port = samePort(ctx, before.TemporalAddress)
	}
	if uiPort == "0" {
		uiPort = samePort(ctx, before.TemporalUIURL)
	}
	start, done := context.WithTimeout(ctx, startLimit)
	defer done()
	args := []string{
		"--db-filename", filepath.Join(d.DataDir, "temporal.db"), "--namespace", cfg.TemporalNamespace,
		"--port", port, "--ui-port", uiPort,
	}
	for _, host := range d.Host {
		args = append(args, "--ui-host", host)
	}
	srv, err := bundled.Start(start, filepath.Join(filepath.Dir(self), bundled.Binary), args...)
	if err != nil {
		return "", nil, err
	}
	cfg.TemporalAddress = srv.Address
	if cfg.TemporalUIURL == "" {
		cfg.TemporalUIURL = srv.UI
	}
	go func() {
		select {
		case <-srv.Ended():
			cancel(fmt.Errorf("%w: %w", errPartEnded, srv.Err()))
		case <-ctx.Done():
		}
	}()
	return srv.UI, srv.Stop, nil
}

// prepareStore migrates the database and makes the demo application and an
// administrator of its console, or finds those that an earlier run made.
func prepareStore(ctx context.Context, cfg config.Config, before demo) (made credentials, user consoleLogin, err error) {
	err = withStore(ctx, cfg, func(s *store.Store, _ *vault.Vault) error {
		if _, err := s.Migrate(ctx); err != nil {
			return err
		}
		app, secret, err := demoApp(ctx, s, before)
		if err != nil {
			return err
		}
		made = credentials{ClientID: app.ClientID.String(), ClientSecret: secret}
		user, err = demoUser(ctx, s, app.ID, before)
		return err
	})
	return made, user, err
}

func (d devCommand) greet(i demo, took time.Duration) {
	//nolint:forbidigo // this is what the command is for
	fmt.Printf(`
  Countersign is ready (%.1[1]f s)

  API            %[2]s
  client id      %[3]s
  client secret  %[4]s
  inbox          %[5]s  (every mail and text message)
  console        %[6]s  (sign in as %[7]s, password %[8]s)
  verification   %[2]s/verify
  reference      %[2]s/docs
  Temporal UI    %[9]s
  data           %[10]s

  Try it:
  curl -sS --fail-with-body %[2]s/oauth/token -d grant_type=client_credentials \
    -d client_id=%[3]s -d client_secret=%[4]s

  The README goes on from there. Ctrl-C stops everything; the data stays.

`, took.Seconds(), i.BaseURL, i.ClientID, i.ClientSecret, i.InboxURL, i.ConsoleURL, i.ConsoleEmail, i.ConsolePassword, i.TemporalUIURL, d.DataDir)
}

// devConfig is the settings of dev: everything in the data directory, and what
// the environment names over it.
func devConfig(dir, listen string) (config.Config, error) {
	master, err := os.ReadFile(filepath.Join(dir, "keys", "master.key")) //nolint:gosec // our own data directory
	if err != nil {
		return config.Config{}, fmt.Errorf("data directory: %w", err)
	}
	c := config.Default()
	c.Listen, c.DataDir = listen, dir
	c.DatabaseURL = config.Secret("sqlite://" + filepath.Join(dir, "countersign.db"))
	c.BlobURL = "file://" + filepath.ToSlash(filepath.Join(dir, "files"))
	c.MasterKey = config.Secret(master)
	c.SealKey, c.SealCert = filepath.Join(dir, "keys", "seal.key.pem"), filepath.Join(dir, "keys", "seal.cert.pem")
	c.WebhookAllowPrivate, c.LogLevel = true, slog.LevelWarn
	c.MailFrom = "Countersign <no-reply@countersign.example>"
	return config.Load(os.Environ(), c)
}

// prepareDataDir makes the directory and the keys in it. What is there stays.
func prepareDataDir(dir string) error {
	keys := filepath.Join(dir, "keys")
	if err := os.MkdirAll(keys, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if _, err := os.Stat(filepath.Join(keys, "seal.cert.pem")); errors.Is(err, fs.ErrNotExist) {
		ca, cert, key, err := seal.SelfSigned("Countersign development", now(), rand.Reader)
		if err != nil {
			return fmt.Errorf("make seal key: %w", err)
		}
		for name, b := range map[string][]byte{"seal.ca.pem": ca, "seal.key.pem": key, "seal.cert.pem": append(cert, ca...)} {
			if err := os.WriteFile(filepath.Join(keys, name), b, 0o600); err != nil {
				return fmt.Errorf("data directory: %w", err)
			}
		}
	}
	master := make([]byte, 32)
	_, _ = rand.Read(master)                                                                           // never fails
	f, err := os.OpenFile(filepath.Join(keys, "master.key"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // our own data directory
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return fmt.Errorf("data directory: %w", err)
	}
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(master))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// lockDataDir keeps a second service off the same directory.
func lockDataDir(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // our own data directory
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another countersign is running on %s", dir), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// writeJSON writes a file that only its owner may read, whole or not at all.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = replaceFile(path, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
