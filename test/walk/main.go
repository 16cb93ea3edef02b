// Command walk lists the packages whose code runs when a signer signs, from the request to the signal for the
// workflow. It builds the service with -cover, starts the API, sends an envelope to one signer, and waits until the
// outbox is empty. It then counts the code that is executed between POST …/sign and the delivery of the signature's
// outbox row. No worker is running.
//
//	go run ./test/kit/testenv go run ./test/walk [-v] [-tree DIR]
//
// With -tree, it builds another working tree, such as a checkout of an earlier commit. That tree needs its own
// web/dist.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"

	"countersign/test/kit"
)

const limit = 5 * time.Minute // for the complete run, most of which is spent on the build

func main() {
	tree := flag.String("tree", ".", "working tree whose service is built")
	verbose := flag.Bool("v", false, "also list the functions")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := walk(ctx, *tree, *verbose); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(1)
	}
}

func walk(ctx context.Context, tree string, verbose bool) (err error) {
	dir, err := os.MkdirTemp("", "countersign-walk-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Mkdir(filepath.Join(dir, "counters"), 0o700); err != nil {
		return err
	}
	bin, err := build(ctx, tree, dir)
	if err != nil {
		return err
	}
	db, env, err := settings(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := &service{bin: bin, env: env, db: db, dir: dir}
	if err := s.sign(ctx); err != nil {
		return err
	}
	return report(ctx, filepath.Join(dir, "counters"), verbose)
}

// hookFile is the name of the copy of hook.go while the service is built. Without the build tag, the file has no
// effect.
const hookFile = "walkhook.go"

// build builds the service from a tree, with hook.go next to its main.go.
func build(ctx context.Context, tree, dir string) (bin string, err error) {
	hook, err := os.ReadFile("test/walk/hook.go")
	if err != nil {
		return "", err
	}
	file := filepath.Join(tree, "cmd/countersign", hookFile)
	if err := os.WriteFile(file, hook, 0o600); err != nil { //nolint:gosec // the developer chooses the tree
		return "", err
	}
	defer func() { err = errors.Join(err, os.Remove(file)) }()
	bin = filepath.Join(dir, "countersign")
	cmd := exec.CommandContext(ctx, "go", "build", "-C", tree, "-cover", "-covermode=atomic", "-tags=nomsgpack,walk", "-o", bin, "./cmd/countersign") //nolint:gosec // the developer chooses the tree
	cmd.Stderr = os.Stderr
	return bin, cmd.Run()
}

// settings creates a database, and returns the environment variables of the service.
func settings(ctx context.Context, dir string) (*sql.DB, []string, error) {
	address, temporal := os.Getenv(kit.PostgresVariable), os.Getenv(kit.TemporalVariable)
	if address == "" || temporal == "" {
		return nil, nil, errors.New("run this command with test/kit/testenv")
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil, err
	}
	admin, err := sql.Open("pgx", address)
	if err != nil {
		return nil, nil, err
	}
	name := "walk_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if _, err := admin.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, nil, errors.Join(err, admin.Close())
	}
	u.Path = "/" + name
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		return nil, nil, errors.Join(err, admin.Close())
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, errors.Join(err, admin.Close(), db.Close())
	}
	env := append(os.Environ(), "WALK_DIR="+dir, "GOCOVERDIR="+dir, "COUNTERSIGN_LISTEN="+l.Addr().String(), "COUNTERSIGN_DATABASE_URL="+u.String(),
		"COUNTERSIGN_BLOB_URL=file://"+filepath.Join(dir, "files"), "COUNTERSIGN_TEMPORAL_ADDRESS="+temporal, "COUNTERSIGN_SMTP_URL=smtp://127.0.0.1:1?tls=none",
		"COUNTERSIGN_MASTER_KEY="+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)))
	return db, env, errors.Join(admin.Close(), l.Close())
}

// service is the API process under examination.
type service struct {
	bin   string
	env   []string
	db    *sql.DB
	dir   string
	base  string
	token string
}

func (s *service) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.bin, args...) //nolint:gosec // the program under test
	cmd.Env, cmd.Stderr = s.env, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// sign sends an envelope, signs it, and records the code that the signature executes.
func (s *service) sign(ctx context.Context) (err error) {
	if err := s.command(ctx, "migrate").Run(); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	out, err := s.command(ctx, "app", "create", "--name", "Walk", "--plan", "enterprise", "--json").Output()
	if err != nil {
		return fmt.Errorf("app create: %w", err)
	}
	var app struct{ ClientID, ClientSecret string }
	if err := json.Unmarshal(out, &app); err != nil {
		return err
	}
	api := s.command(ctx, "api")
	if err := api.Start(); err != nil {
		return err
	}
	defer func() { _ = errors.Join(api.Process.Kill(), api.Wait()) }() // killing the process always causes an error
	for _, e := range s.env {
		if address, ok := strings.CutPrefix(e, "COUNTERSIGN_LISTEN="); ok {
			s.base = "http://" + address
		}
	}
	if err := await(ctx, func() bool { return s.call(ctx, http.MethodGet, "/readyz", "", nil, nil) == nil }); err != nil {
		return fmt.Errorf("the API is not ready: %w", err)
	}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {app.ClientID}, "client_secret": {app.ClientSecret}}
	var login struct {
		AccessToken string `json:"access_token"`
	}
	if err := s.call(ctx, http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", []byte(form.Encode()), &login); err != nil {
		return err
	}
	s.token = login.AccessToken
	link, fields, err := s.send(ctx)
	if err != nil {
		return err
	}
	if err := s.drained(ctx); err != nil {
		return err
	}
	if err := s.signalled(ctx, api, syscall.SIGUSR1, "cleared"); err != nil {
		return err
	}
	if err := s.post(ctx, link+"/sign", map[string]any{"fields": fields}, nil); err != nil {
		return err
	}
	if err := s.drained(ctx); err != nil {
		return err
	}
	return s.signalled(ctx, api, syscall.SIGUSR2, "written")
}

// send sends an envelope. It returns the path of the signer's link and the values of the signer's fields.
func (s *service) send(ctx context.Context) (link string, fields []map[string]string, err error) {
	var e struct {
		ID      string
		Signers []struct{ SigningURL string }
		Fields  []struct{ ID, Type string }
	}
	draft := map[string]any{
		"tenantId": "walk", "subject": "Walk",
		"signers": []map[string]any{{"name": "Ada Lovelace", "email": "ada@example.com", "authMethod": "none"}},
		"fields": []map[string]any{
			{"signerId": "0", "type": "signature", "page": 1, "x": 72, "y": 100, "w": 150, "h": 50},
			{"signerId": "0", "type": "text", "page": 1, "x": 300, "y": 100, "w": 150, "h": 20},
		},
	}
	if err := s.post(ctx, "/v1/envelopes", draft, &e); err != nil {
		return "", nil, err
	}
	if err := s.call(ctx, http.MethodPost, "/v1/envelopes/"+e.ID+"/document", "application/octet-stream", kit.OnePage(), nil); err != nil {
		return "", nil, err
	}
	if err := s.post(ctx, "/v1/envelopes/"+e.ID+"/send", map[string]any{}, &e); err != nil {
		return "", nil, err
	}
	for _, f := range e.Fields {
		value := map[string]string{"fieldId": f.ID, "textValue": "London"}
		if f.Type == "signature" {
			value = map[string]string{"fieldId": f.ID, "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature())}
		}
		fields = append(fields, value)
	}
	link = "/v1/signing/" + path.Base(e.Signers[0].SigningURL)
	return link, fields, s.post(ctx, link+"/consent", map[string]any{}, nil)
}

// drained waits until the dispatcher has delivered every row of the outbox.
func (s *service) drained(ctx context.Context) error {
	err := await(ctx, func() bool {
		var rows int
		return s.db.QueryRowContext(ctx, "SELECT count(*) FROM outbox").Scan(&rows) == nil && rows == 0
	})
	if err != nil {
		err = fmt.Errorf("the outbox was not delivered to Temporal: %w", err)
	}
	return err
}

// signalled sends a signal to the API, and waits for the file that confirms it.
func (s *service) signalled(ctx context.Context, api *exec.Cmd, signal os.Signal, file string) error {
	if err := api.Process.Signal(signal); err != nil {
		return err
	}
	return await(ctx, func() bool {
		_, err := os.Stat(filepath.Join(s.dir, file))
		return err == nil
	})
}

func (s *service) post(ctx context.Context, path string, in, out any) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return s.call(ctx, http.MethodPost, path, "application/json", b, out)
}

func (s *service) call(ctx context.Context, method, path, contentType string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", contentType)
	if s.token != "" && !strings.HasPrefix(path, "/v1/signing/") {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := (&http.Client{Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return err
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %.40s: %d %s", method, path, res.StatusCode, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// await polls until holds returns true.
func await(ctx context.Context, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for ticks := time.NewTicker(20 * time.Millisecond); !holds(); {
		select {
		case <-ctx.Done():
			ticks.Stop()
			return ctx.Err()
		case <-ticks.C:
		}
	}
	return nil
}

// report prints the packages with executed functions, and the number of packages.
func report(ctx context.Context, counters string, verbose bool) error {
	out, err := exec.CommandContext(ctx, "go", "tool", "covdata", "func", "-i="+counters).Output() //nolint:gosec // written above
	if err != nil {
		return fmt.Errorf("go tool covdata: %w", err)
	}
	executed := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		// Example of a line: countersign/api/rest_auth.go:61:     verify  75.0%
		words := strings.Fields(line)
		if len(words) != 3 || words[2] == "0.0%" || words[0] == "total" {
			continue
		}
		file, _, _ := strings.Cut(words[0], ":")
		if path.Base(file) != hookFile {
			executed[path.Dir(file)] = append(executed[path.Dir(file)], path.Base(file)+" "+words[1])
		}
	}
	packages := make([]string, 0, len(executed))
	for p := range executed {
		packages = append(packages, p)
	}
	slices.Sort(packages)
	for _, p := range packages {
		fmt.Fprintf(os.Stdout, "%-32s %4d functions\n", p, len(executed[p]))
		if verbose {
			slices.Sort(executed[p])
			fmt.Fprintln(os.Stdout, "    "+strings.Join(executed[p], "\n    "))
		}
	}
	fmt.Fprintf(os.Stdout, "%d packages\n", len(packages))
	return nil
}
