// Package browser_test tests the web pages in a real Chromium, against the built program.
package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"countersign/test/kit"
)

var (
	svc     *service
	browser context.Context
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests spend much of their time waiting for the effect of a key or for the page's own delays, so more tests than
	// usual can run in parallel.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", "4")
	}
	code, err := run(m)
	if err != nil {
		log.Print(err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "countersign-browser-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	svc, err = startService(dir, "127.0.0.1")
	if err != nil {
		return 1, err
	}
	defer svc.stop()

	fonts, err := fontConfig(dir, svc.root)
	if err != nil {
		return 1, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("/usr/bin/chromium-headless-shell"), chromedp.NoSandbox, chromedp.Flag("hide-scrollbars", true), chromedp.Flag("force-color-profile", "srgb"),
		// The tests need no GPU. On a busy machine, the watchdog would consider the GPU process to be hanging.
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-gpu-watchdog", true),
		// Frames from other origins run in the process of the page, so that one DevTools connection can access all of them.
		chromedp.Flag("disable-site-isolation-trials", true), chromedp.Flag("disable-features", "Translate,IsolateOrigins,site-per-process"),
		chromedp.Env("FONTCONFIG_FILE="+fonts), chromedp.WSURLReadTimeout(2*waitTimeout))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	b, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(b); err != nil {
		return 1, fmt.Errorf("starting chromium: %w", err)
	}
	browser = b
	return m.Run(), nil
}

// service is a development instance of the program in its own directory.
type service struct {
	root, base, inbox, secret, client, bearer, log, data string
	// provider is the address of the OpenID provider through which console users can sign in instead of using a
	// password. A test starts the provider.
	provider string

	cmd *exec.Cmd
	app *application
}

// startService starts a service with additional settings. The browser accesses it under hostname.
func startService(dir, hostname string, settings ...string) (*service, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	program := os.Getenv("BROWSER_TEST_PROGRAM")
	if program == "" {
		program = filepath.Join(root, "bin", "countersign")
	}
	port, err := kit.FreePort(context.Background())
	if err != nil {
		return nil, err
	}
	address := "127.0.0.1:" + strconv.Itoa(port)
	providerPort, err := kit.FreePort(context.Background())
	if err != nil {
		return nil, err
	}
	s := &service{root: root, base: "http://" + hostname + ":" + strconv.Itoa(port), log: filepath.Join(dir, "log"), provider: "http://localhost:" + strconv.Itoa(providerPort)}
	out, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	data := filepath.Join(dir, "data")
	s.data = data
	s.cmd = exec.CommandContext(context.Background(), program, "dev", "--listen", address, "--data-dir", data)
	s.cmd.Stdout, s.cmd.Stderr = out, out
	// With these settings, every sealed copy is downloaded with a link, and webhook deliveries fail permanently after
	// a short time. The rate limit is high, because all tests use the same address.
	s.cmd.Env = append(os.Environ(), "COUNTERSIGN_EMAIL_ATTACHMENT_LIMIT=0", "COUNTERSIGN_WEBHOOK_SCHEDULE=0s,50ms,50ms,50ms,50ms", "COUNTERSIGN_RATE_LIMIT=100000",
		"COUNTERSIGN_OIDC_ISSUER="+s.provider, "COUNTERSIGN_OIDC_CLIENT_ID=console", "COUNTERSIGN_OIDC_CLIENT_SECRET="+providerSecret, "COUNTERSIGN_OIDC_ROLE_CLAIM=roles", "COUNTERSIGN_OIDC_NAME=Staff login")
	s.cmd.Env = append(s.cmd.Env, settings...)
	s.cmd.Env = append(s.cmd.Env, "COUNTERSIGN_BASE_URL="+s.base)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the service (make build first): %w", err)
	}
	if err := s.login(filepath.Join(data, "demo.json")); err != nil {
		s.stop()
		text, _ := os.ReadFile(s.log)
		return nil, fmt.Errorf("%w; the service printed:\n%s", err, text)
	}
	if s.app, err = startApplication(s); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *service) stop() {
	if s.app != nil {
		if err := s.app.stop(); err != nil {
			log.Print(err)
		}
	}
	_ = s.cmd.Process.Signal(os.Interrupt)
	done := make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = s.cmd.Process.Kill()
		<-done
	}
}

func (s *service) login(demo string) error {
	ready := func() bool {
		res, err := http.Get(s.base + "/readyz") //nolint:noctx // the test's own probe
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	}
	for deadline := time.Now().Add(2 * waitTimeout); !ready(); {
		if time.Now().After(deadline) {
			return errors.New("the service did not become ready")
		}
		time.Sleep(100 * time.Millisecond)
	}
	raw, err := os.ReadFile(demo)
	if err != nil {
		return err
	}
	var d struct{ ClientID, ClientSecret, InboxURL string }
	if err := json.Unmarshal(raw, &d); err != nil {
		return err
	}
	s.inbox, s.client, s.secret = d.InboxURL, d.ClientID, d.ClientSecret
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {d.ClientID}, "client_secret": {d.ClientSecret}}
	var t struct {
		AccessToken string `json:"access_token"`
	}
	if _, err := s.do(http.MethodPost, s.base+"/oauth/token", "application/x-www-form-urlencoded", strings.NewReader(form.Encode()), &t); err != nil {
		return err
	}
	s.bearer = t.AccessToken
	return nil
}

// do sends a request without a credential, as signers do. It decodes a JSON response into out, which may be nil.
func (s *service) do(method, address, contentType string, body io.Reader, out any) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return 0, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if res.StatusCode >= http.StatusBadRequest {
		return res.StatusCode, fmt.Errorf("%s %s: %s: %s", method, req.URL.Path, res.Status, raw)
	}
	switch o := out.(type) {
	case nil:
	case *[]byte:
		*o = raw
	default:
		if err := json.NewDecoder(bytes.NewReader(raw)).Decode(out); err != nil {
			return res.StatusCode, err
		}
	}
	return res.StatusCode, nil
}

// fontConfig adds the fonts of the seal to the browser, so that the scripts in the tests can be rendered on every
// machine.
func fontConfig(dir, root string) (string, error) {
	path := filepath.Join(dir, "fonts.conf")
	return path, os.WriteFile(path, fmt.Appendf(nil, `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>%s</dir>
  <cachedir>%s</cachedir>
</fontconfig>
`, filepath.Join(root, "seal", "fonts"), filepath.Join(dir, "fonts")), 0o600)
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("no go.mod found above the test directory")
}
