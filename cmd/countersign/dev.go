package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
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
	"time"

	"countersign/activities"
	"countersign/cli/devdir"
	"countersign/cli/terminal"
	"countersign/config"
	"countersign/internal/hostguard"
	"countersign/internal/inbox"
	"countersign/internal/vault"
	"countersign/seal/sealkey"
	"countersign/store"
	"countersign/worker"
)

type devCommand struct {
	Listen       string   `help:"Address of the API." default:"127.0.0.1:8080"`
	DataDir      string   `help:"Directory for all data." default:"./data" type:"path" env:"COUNTERSIGN_DATA_DIR"`
	InboxListen  string   `help:"Address of the inbox page." default:"127.0.0.1:0"`
	Host         []string `help:"Additional host name under which browsers may open the inbox and the Temporal UI; may be repeated."`
	TemporalPort int      `help:"Port of the bundled Temporal; 0 chooses a free one." default:"0"`
	UIPort       int      `help:"Port of the Temporal UI; 0 chooses a free one." default:"0" name:"temporal-ui-port"`

	// Set by tools/dev, which starts the service before the bundled Temporal server has been compiled.
	TemporalBuild int   `help:"Id of the process that compiles the bundled Temporal." hidden:""`
	BuildStarted  int64 `help:"When the build began, in Unix seconds." hidden:""`
}

const (
	startLimit = 60 * time.Second
)

// Run runs all parts of the service in this process, except for Temporal, which runs in a child process.
func (d devCommand) Run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.DataDir = cmp.Or(d.DataDir, config.Default().DataDir) // the environment variable may be set to an empty value
	l, cfg, release, err := d.prepare(ctx)
	if err != nil {
		return err
	}
	defer release()
	log := logger(cfg, true)

	started := now()
	if d.BuildStarted != 0 {
		started = time.Unix(d.BuildStarted, 0)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	before := devdir.Read(d.DataDir)
	info := devdir.Info{BaseURL: cfg.BaseURL, ConsoleURL: cfg.BaseURL + "/console"}
	if info.InboxURL, info.SMTPAddress, err = d.startInbox(ctx, &wg, &cfg, before); err != nil {
		return err
	}
	t, err := d.newTemporal(ctx, cancel, &cfg, before)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	info.TemporalAddress, info.TemporalUIURL = t.address, t.ui
	if info.Credentials, info.ConsoleLogin, err = prepareStore(ctx, cfg, before); err != nil {
		return err
	}
	s, h, err := newDevService(ctx, &wg, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if t.build == nil {
		if err := s.startWorking(ctx, cancel, &wg); err != nil {
			return err
		}
	}

	served := make(chan error, 1)
	go func() { served <- serve(ctx, l, h, cfg.RateLimit) }()
	if err := devdir.Write(d.DataDir, info); err != nil {
		return err
	}
	d.greet(info, now().Sub(started), t.build != nil)
	if t.build != nil {
		late := make(chan struct{})
		go func() {
			defer close(late)
			err := s.startWorkersWhenBuilt(ctx, cancel, &wg, t)
			d.greetTemporal(ctx, err, now().Sub(started))
		}()
		defer func() { cancel(nil); <-late }()
	}
	err = <-served
	return cmp.Or(failedPart(ctx), err)
}

// prepare locks the data directory, listens on the address of the API, and loads the settings. The returned function
// unlocks the directory and closes the listener.
func (d devCommand) prepare(ctx context.Context) (l net.Listener, cfg config.Config, release func(), err error) {
	if err := prepareDataDir(d.DataDir); err != nil {
		return nil, cfg, nil, err
	}
	unlock, err := devdir.Lock(d.DataDir)
	if err != nil {
		return nil, cfg, nil, err
	}
	l, err = listen(ctx, d.Listen)
	if err != nil {
		unlock()
		return nil, cfg, nil, err
	}
	release = func() {
		_ = l.Close() // fails if the server has already closed the listener
		unlock()
	}
	cfg, err = devConfig(d.DataDir, l.Addr().String())
	if err != nil {
		release()
		return nil, cfg, nil, err
	}
	return l, cfg, release, nil
}

// devService contains all parts of the service that run in the dev process.
type devService struct {
	*app

	activities *activities.Activities
	workers    worker.Workers // nil until startWorking is called
}

// newDevService creates all parts of the service except for the API listener and the parts that need Temporal. It also
// returns the handler of the API.
func newDevService(ctx context.Context, wg *sync.WaitGroup, cfg config.Config, log *slog.Logger) (_ *devService, h http.Handler, err error) {
	a, err := newApp(ctx, cfg, log)
	if err != nil {
		return nil, nil, err
	}
	s := &devService{app: a}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if h, err = a.newHandler(ctx); err != nil {
		return nil, nil, err
	}
	if s.activities, err = a.newActivities(ctx); err != nil {
		return nil, nil, err
	}
	wg.Go(func() { a.watchCertificate(ctx) })
	wg.Go(func() { _ = a.renderer.compile(ctx) }) // so that the first request for a page need not wait
	return s, h, a.serveOperators(ctx, wg)
}

// startWorking starts the parts that need Temporal: the workers and the dispatcher.
func (s *devService) startWorking(ctx context.Context, cancel context.CancelCauseFunc, wg *sync.WaitGroup) (err error) {
	if s.workers, err = s.startWorkers(ctx, s.activities, cancel); err != nil {
		return err
	}
	wg.Go(func() { s.newDispatcher().Run(ctx) })
	return nil
}

// startWorkersWhenBuilt waits until the bundled Temporal server is compiled, starts it, and then calls startWorking.
func (s *devService) startWorkersWhenBuilt(ctx context.Context, cancel context.CancelCauseFunc, wg *sync.WaitGroup, t *devTemporal) error {
	if err := t.built(ctx); err != nil {
		return err
	}
	if err := t.start(ctx); err != nil {
		return err
	}
	return s.startWorking(ctx, cancel, wg)
}

func (s *devService) stop() error {
	s.workers.Stop()
	return s.close()
}

// startInbox starts the inbox, and changes cfg so that emails and text messages are sent to the inbox. It does not
// replace a mail server or SMS service that the settings specify.
func (d devCommand) startInbox(ctx context.Context, wg *sync.WaitGroup, cfg *config.Config, before devdir.Info) (address, smtpAddress string, err error) {
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
	wg.Go(func() { _ = box.ServeSMTP(ctx, smtp) })                                         // ends with ctx
	wg.Go(func() { _ = serve(ctx, page, hostguard.Handler(box.Handler(), d.Host...), 0) }) // ends with ctx
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

// prepareStore migrates the database. It creates the demo app and an administrator of its console, or returns the ones
// that a previous run created.
func prepareStore(ctx context.Context, cfg config.Config, before devdir.Info) (made devdir.Credentials, user devdir.ConsoleLogin, err error) {
	err = withStore(ctx, cfg, func(s *store.Store, _ *vault.Vault) error {
		if _, err := s.Migrate(ctx); err != nil {
			return err
		}
		if err := checkMasterKey(ctx, s); err != nil {
			return err
		}
		app, secret, err := demoApp(ctx, s, before)
		if err != nil {
			return err
		}
		made = devdir.Credentials{ClientID: app.ClientID.String(), ClientSecret: secret}
		user, err = demoUser(ctx, s, app.ID, before)
		return err
	})
	return made, user, err
}

// greet prints the next steps for the user. The Temporal server may still be compiling.
func (d devCommand) greet(i devdir.Info, took time.Duration, building bool) {
	file, program := "docs/contract.pdf", os.Args[0]
	if _, err := os.Stat(file); err != nil {
		file = "contract.pdf"
	}
	if usual, err := filepath.Abs(config.Default().DataDir); err != nil || usual != d.DataDir {
		program = config.Prefix + "DATA_DIR=" + d.DataDir + " " + program
	}
	waiting := ""
	if building {
		waiting = "\n  Temporal is still being compiled. You can send and sign now; emails are sent, and signed\n  documents are sealed, as soon as it is running.\n"
	}
	//nolint:forbidigo // this is the purpose of the command
	fmt.Printf(`
  Countersign is ready (%.0[1]f s)
%[2]s
  1. Open the console:          %[3]s
     sign in as                 %[4]s, password %[5]s
  2. Send your first envelope:  %[6]s send %[7]s --to you@example.com
     and open the inbox:        %[8]s  (every email and text message)
  3. Read the guide:            docs/build/guide.md, and the reference at %[9]s/docs

  Verify a sealed PDF           %[9]s/verify
  Client id, secret             %[10]s, %[11]s
  Temporal UI                   %[12]s
  Data                          %[13]s

  Ctrl-C stops everything; the data is kept.

`, took.Seconds(), waiting, i.ConsoleURL, i.ConsoleEmail, i.ConsolePassword, program, file, i.InboxURL, i.BaseURL, i.ClientID, i.ClientSecret,
		cmp.Or(i.TemporalUIURL, "not started by this program"), d.DataDir)
}

// greetTemporal reports that the Temporal server is running, or why it is not.
func (d devCommand) greetTemporal(ctx context.Context, err error, took time.Duration) {
	switch {
	case ctx.Err() != nil: // dev was stopped while the server was starting
	case err != nil:
		terminal.Inform("  Temporal is not running: %v. No emails are sent and nothing is sealed until you run \"make dev\" again.\n", err)
	default:
		terminal.Inform("  Temporal is ready (%.0f s): emails are sent.\n", took.Seconds())
	}
}

// devConfig returns the settings of dev. By default all data is in the data directory. Environment variables override
// the settings.
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
	made := c
	c, err = config.Load(os.Environ(), c)
	if err == nil && c.SealKey != made.SealKey && c.SealCert == made.SealCert { // only the key was set, so its file (such as a PKCS#12 file) also contains the certificate
		c.SealCert = ""
	}
	return c, err
}

// prepareDataDir creates the data directory and its keys. It does not change existing files.
func prepareDataDir(dir string) error {
	keys := filepath.Join(dir, "keys")
	if err := os.MkdirAll(keys, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if _, err := os.Stat(filepath.Join(keys, "seal.cert.pem")); errors.Is(err, fs.ErrNotExist) {
		ca, cert, key, err := sealkey.SelfSigned("Countersign development", now(), rand.Reader)
		if err != nil {
			return fmt.Errorf("create seal key: %w", err)
		}
		for name, b := range map[string][]byte{"seal.ca.pem": ca, "seal.key.pem": key, "seal.cert.pem": append(cert, ca...)} {
			if err := os.WriteFile(filepath.Join(keys, name), b, 0o600); err != nil {
				return fmt.Errorf("data directory: %w", err)
			}
		}
	}
	master := make([]byte, 32)
	_, _ = rand.Read(master)                                                                           // never returns an error
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
