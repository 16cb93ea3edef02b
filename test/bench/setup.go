package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/bundled"
	"countersign/test/kit"
)

// benchEnv is a service that runs in separate processes, with PostgreSQL and Temporal.
type benchEnv struct {
	options

	dir, bin    string
	pg          string // URL of the API
	temporal    string // host:port
	temporalPID int
	mails       mailbox
	profiled    map[string]string // addresses of the profiles of API and worker
	env         []string
	base        string
	client      *client
	api         *exec.Cmd
	worker      *exec.Cmd
	ends        []func()
}

func setUp(ctx context.Context, o options, onPostgres bool) (_ *benchEnv, err error) {
	w := &benchEnv{options: o}
	defer func() {
		if err != nil {
			w.tearDown()
		}
	}()
	if w.bin, err = filepath.Abs(o.program); err != nil {
		return nil, err
	}
	if err := evictFromPageCache(w.bin); err != nil {
		return nil, err
	}
	if w.dir, err = os.MkdirTemp("", "countersign-bench-"); err != nil {
		return nil, err
	}
	w.ends = append(w.ends, func() { _ = os.RemoveAll(w.dir) })
	if w.pg = os.Getenv("COUNTERSIGN_TEST_POSTGRES"); w.pg == "" {
		pg, err := kit.StartPostgres(ctx, kit.PostgresOptions{Durable: true, Statements: o.profiles != ""})
		if err != nil {
			return nil, err
		}
		w.pg = pg.URL
		w.ends = append(w.ends, func() { _ = pg.Stop(context.WithoutCancel(ctx)) })
	}
	store, err := w.temporalStore(ctx, onPostgres)
	if err != nil {
		return nil, err
	}
	t, err := bundled.Start(ctx, filepath.Join(filepath.Dir(w.bin), bundled.Binary), append(store, "--port", "0", "--headless")...)
	if err != nil {
		return nil, err
	}
	w.temporal, w.temporalPID = t.Address, t.PID()
	w.ends = append(w.ends, func() { _ = t.Stop() })
	return w, nil
}

// temporalStore returns the options for Temporal's database, which is SQLite as in development, or PostgreSQL as in
// production.
func (w *benchEnv) temporalStore(ctx context.Context, onPostgres bool) ([]string, error) {
	if !onPostgres {
		return []string{"--db-filename", filepath.Join(w.dir, "temporal.db")}, nil
	}
	db, err := sql.Open("pgx", w.pg)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"temporal", "temporal_visibility"} {
		if _, err := db.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	u, err := url.Parse(w.pg)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	u.Path = "/temporal"
	return []string{"--postgres", u.String()}, db.Close()
}

func (w *benchEnv) tearDown() {
	for _, cmd := range []*exec.Cmd{w.api, w.worker} {
		if cmd != nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	}
	for i := len(w.ends) - 1; i >= 0; i-- {
		w.ends[i]()
	}
}

func (w *benchEnv) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.bin, args...) //nolint:gosec // the program under test
	cmd.Env = append(os.Environ(), w.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// startService runs the migrations and starts the API and the worker. The mail server runs in this process.
func (w *benchEnv) startService(ctx context.Context) error {
	smtp, err1 := listen(ctx)
	api, err2 := listen(ctx)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	go w.mails.serve(smtp) // runs until the process exits
	address := api.Addr().String()
	if err := api.Close(); err != nil {
		return err
	}
	out, err := w.command(ctx, "app", "create", "--data-dir", filepath.Join(w.dir, "keys"), "--name", "keys", "--plan", "free").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	keys := filepath.Join(w.dir, "keys", "keys")
	w.base = "http://" + address
	w.env = []string{
		"COUNTERSIGN_LISTEN=" + address, "COUNTERSIGN_DATABASE_URL=" + w.pg, "COUNTERSIGN_BLOB_URL=file://" + filepath.Join(w.dir, "files"),
		"COUNTERSIGN_TEMPORAL_ADDRESS=" + w.temporal, "COUNTERSIGN_SMTP_URL=smtp://" + smtp.Addr().String() + "?tls=none",
		"COUNTERSIGN_MASTER_KEY=" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)), "COUNTERSIGN_RATE_LIMIT=10000000", "COUNTERSIGN_WEBHOOK_ALLOW_PRIVATE=true",
		"COUNTERSIGN_SEAL_KEY=" + filepath.Join(keys, "seal.key.pem"), "COUNTERSIGN_SEAL_CERT=" + filepath.Join(keys, "seal.cert.pem"),
	}
	if out, err := w.command(ctx, "migrate").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	w.api, w.worker = w.command(ctx, "api"), w.command(ctx, "worker")
	if err := w.serveProfiles(ctx); err != nil {
		return err
	}
	if err := errors.Join(w.api.Start(), w.worker.Start()); err != nil {
		return err
	}
	if err := waitReady(ctx, w.base); err != nil {
		return err
	}
	w.client, err = w.app(ctx, "Bench")
	return err
}

// app creates an app and returns a client that is authenticated as that app.
func (w *benchEnv) app(ctx context.Context, name string) (*client, error) {
	out, err := w.command(ctx, "app", "create", "--name", name, "--plan", "enterprise", "--json").Output()
	if err != nil {
		return nil, err
	}
	var app struct{ ClientID, ClientSecret string }
	if err := json.Unmarshal(out, &app); err != nil {
		return nil, err
	}
	c, err := login(w.base, app.ClientID, app.ClientSecret)
	if err == nil { // fetch the token before the measurement
		_, err = c.API.GetCurrentUserWithResponse(ctx)
	}
	return c, err
}

// measureStart measures the time from starting `dev` in an empty directory until readyz succeeds.
func (w *benchEnv) measureStart(ctx context.Context) error {
	l, err := listen(ctx)
	if err != nil {
		return err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	cmd := w.command(ctx, "dev", "--listen", address, "--data-dir", filepath.Join(w.dir, "dev"))
	start := now()
	if err := cmd.Start(); err != nil {
		return err
	}
	err = waitReady(ctx, "http://"+address)
	took := now().Sub(start)
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	if err == nil {
		report("dev ready after                         %.1f s                     (goal: under 5 s)", took.Seconds())
	}
	return err
}

// evictFromPageCache removes a file from the page cache. After a build, the cache contains the program in large folios,
// and one access maps a whole folio. If the file were not removed, the idle processes would appear to use about 15 MB
// more than after a normal start.
func evictFromPageCache(path string) (err error) {
	f, err := os.Open(path) //nolint:gosec // the program under test
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Sync(); err != nil { // only clean pages can be removed
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// measureMemory measures the resident memory of the idle API and worker.
func (w *benchEnv) measureMemory(ctx context.Context) error {
	select { // wait until the effects of starting have subsided
	case <-ctx.Done():
	case <-time.After(5 * time.Second):
	}
	var rss, pss int
	for _, cmd := range []*exec.Cmd{w.api, w.worker} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", cmd.Process.Pid))
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(b)) {
			var name string
			var kb int
			if n, _ := fmt.Sscanf(line, "%s %d kB", &name, &kb); n == 2 && name == "Rss:" {
				rss += kb
			} else if n == 2 && name == "Pss:" {
				pss += kb
			}
		}
	}
	report("idle memory, api + worker               %d MB                    (goal: at most 83 MB; as two processes, shared pages counted once; %d MB if counted twice)", pss/1024, rss/1024)
	return nil
}

func listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", "127.0.0.1:0")
}

// probe is the HTTP client for readiness checks.
var probe = &http.Client{Timeout: 5 * time.Second}

func waitReady(ctx context.Context, base string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
		if err != nil {
			return err
		}
		if res, err := probe.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
