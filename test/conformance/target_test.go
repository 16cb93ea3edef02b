// Package conformance tests a running service against its interface, using only HTTP. If BASE_URL is set, it tests
// that service. Otherwise it starts the built program with each database.
//
//	BASE_URL=https://sign.example.com CLIENT_ID=… CLIENT_SECRET=… go test -count=1 ./test/conformance
//
// The app should have the pro or enterprise plan. If INBOX_URL is set to the address of the development inbox, emails
// are checked. If SINK_HOST is set to a host name at which the service can reach this machine, webhooks are checked.
package conformance_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/test/kit"
	"countersign/test/kit/contractcheck"
)

type object = map[string]any

// target is the service under test.
type target struct {
	BaseURL      string `json:"baseUrl"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	InboxURL     string `json:"inboxUrl"` // empty if there is no inbox
	sinkHost     string // empty if there is no sink
	tenant       string // used only in this run
	doc          *openapi3.T
	router       routers.Router
	answers      *contractcheck.Answers
	token        string
	api          *countersign.Client // authenticated as the app

	mu     sync.Mutex
	seen   map[string]map[int]bool // statuses of the responses, by operation
	byApps map[string]bool         // operations that the Go client called
}

// targets runs the suite against the service in BASE_URL, or against the built program with each database.
func targets(t *testing.T, suite func(*testing.T, *target)) {
	t.Helper()
	if base := os.Getenv("BASE_URL"); base != "" {
		s := &target{
			BaseURL: strings.TrimRight(base, "/"), ClientID: os.Getenv("CLIENT_ID"), ClientSecret: os.Getenv("CLIENT_SECRET"),
			InboxURL: os.Getenv("INBOX_URL"), sinkHost: os.Getenv("SINK_HOST"),
		}
		require.NotEmpty(t, s.ClientSecret, "CLIENT_ID and CLIENT_SECRET must specify the suite's app")
		s.prepare(t)
		suite(t, s)
		return
	}
	for name, env := range map[string]func(testing.TB) []string{
		"sqlite": func(testing.TB) []string { return nil },
		"postgres": func(tb testing.TB) []string {
			tb.Helper()
			return []string{"COUNTERSIGN_DATABASE_URL=" + kit.Postgres(tb)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dev(t, env(t))
			s.prepare(t)
			suite(t, s)
		})
	}
}

// dev starts the built program, with a configuration in which every sealed document is too large for an email.
func dev(t *testing.T, env []string) *target {
	t.Helper()
	program, err := filepath.Abs(cmp.Or(os.Getenv("COUNTERSIGN_TEST_PROGRAM"), "../../bin/countersign"))
	require.NoError(t, err)
	require.FileExists(t, program, `run "make build" first`)
	dir := t.TempDir()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "dev", "--listen", "127.0.0.1:0", "--data-dir", dir)
	cmd.Env = append(append(os.Environ(), "COUNTERSIGN_EMAIL_ATTACHMENT_LIMIT=1", "COUNTERSIGN_RATE_LIMIT=100000"), env...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	s := &target{sinkHost: "127.0.0.1"}
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(filepath.Join(dir, "demo.json"))
		return err == nil && json.Unmarshal(b, s) == nil && s.InboxURL != ""
	}, time.Minute, 50*time.Millisecond)
	return s
}

// prepare loads the contract from the service itself, and authenticates.
func (s *target) prepare(t *testing.T) {
	t.Helper()
	s.tenant = "conformance-" + uuid.NewString()
	nobody := &client{s: s}
	doc, err := contractcheck.Load(nobody.send(t, http.MethodGet, "/openapi.yaml", "", nil).want(t, 200).raw, nobody.send(t, http.MethodGet, "/console.yaml", "", nil).want(t, 200).raw)
	require.NoError(t, err)
	s.answers, err = contractcheck.NewAnswers(doc)
	require.NoError(t, err)
	s.doc, s.seen, s.byApps = doc, make(map[string]map[int]bool), make(map[string]bool)
	s.router, err = gorillamux.NewRouter(doc)
	require.NoError(t, err)
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {s.ClientID}, "client_secret": {s.ClientSecret}}
	a := nobody.send(t, http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", []byte(form.Encode())).want(t, 200)
	require.Equal(t, "Bearer", a.str("token_type"))
	require.EqualValues(t, 3600, a.body["expires_in"])
	s.token = a.str("access_token")
	// Send each request only once, with the idempotency keys of the suite.
	s.api, err = countersign.New(s.BaseURL, s.ClientID, s.ClientSecret, countersign.WithRetries(0), countersign.WithHTTPClient(&http.Client{Transport: recorder{}}))
	require.NoError(t, err)
}

// client sends requests to the service. It uses either a specific credential or, to act as the app, the Go client.
type client struct {
	s     *target
	app   bool
	token string
	key   string // Idempotency-Key
	head  map[string]string
}

func (s *target) app() *client { return &client{s: s, app: true} }

type answer struct {
	request  *http.Request
	response *http.Response
	sent     []byte

	status int
	header http.Header
	raw    []byte
	body   object
	list   []any
}

func (a *answer) want(t *testing.T, status int) *answer {
	t.Helper()
	require.Equal(t, status, a.status, "%s", a.raw)
	if status >= 400 {
		for _, name := range []string{"error", "message", "details", "type", "title", "status", "errors"} {
			require.Contains(t, a.body, name, "both formats of an error")
		}
	}
	return a
}

func (a *answer) rejected(t *testing.T, status int, code string) *answer {
	t.Helper()
	a.want(t, status)
	require.Equal(t, code, a.str("error"), "%s", a.raw)
	return a
}

func (a *answer) str(name string) string { v, _ := a.body[name].(string); return v }

func (a *answer) item(name string, i int) object { return a.body[name].([]any)[i].(object) }

func (c *client) send(t *testing.T, method, path, contentType string, body []byte) *answer {
	t.Helper()
	a := &answer{sent: body}
	req, err := http.NewRequestWithContext(context.WithValue(t.Context(), answerKey{}, a), method, c.s.BaseURL+path, bytes.NewReader(body))
	require.NoError(t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.key != "" {
		req.Header.Set("Idempotency-Key", c.key)
	}
	for k, v := range c.head {
		req.Header.Set(k, v)
	}
	var res *http.Response
	if c.app {
		res, err = c.s.api.Do(req)
	} else {
		res, err = recorder{}.RoundTrip(req)
	}
	var rejected *countersign.Error
	if !errors.As(err, &rejected) {
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	_ = json.Unmarshal(a.raw, &a.body)
	if a.list, _ = a.body["data"].([]any); a.list == nil {
		_ = json.Unmarshal(a.raw, &a.list)
	}
	for _, h := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		require.NotEmpty(t, a.header.Get(h), "%s of %s %s", h, method, path)
	}
	if c.s.router != nil {
		c.s.check(t, a, c.app)
	}
	if rejected != nil && c.head["Accept"] == "" {
		require.Equal(t, []any{a.status, a.body["error"], a.body["message"]}, []any{rejected.Status, rejected.Code, rejected.Message}, "the client's error for a rejected request")
		for name := range rejected.Fields {
			require.Contains(t, a.body["errors"], name)
		}
	}
	return a
}

type answerKey struct{}

// recorder stores each response in the answer that the context of its request contains.
type recorder struct{}

// RoundTrip implements http.RoundTripper.
func (recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(req)
	a, ok := req.Context().Value(answerKey{}).(*answer)
	if err != nil || !ok {
		return res, err
	}
	a.raw, err = io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	a.request, a.response, a.status, a.header = req, res, res.StatusCode, res.Header
	res.Body = io.NopCloser(bytes.NewReader(a.raw))
	return res, nil
}

// check validates a response against the contract that the service publishes. For a response to an app, it also
// checks that the types of the Go client represent the response completely.
func (s *target) check(t *testing.T, a *answer, byApp bool) {
	t.Helper()
	req, res, body := a.request, a.response, a.raw
	known := req.Clone(t.Context())
	known.URL, known.Host, known.Body = &url.URL{Path: req.URL.Path, RawQuery: req.URL.RawQuery}, "", http.NoBody
	route, _, err := s.router.FindRoute(known)
	if err != nil {
		return // a page or an unknown path
	}
	s.mu.Lock()
	name := req.Method + " " + route.Path
	if s.seen[name] == nil {
		s.seen[name] = make(map[int]bool)
	}
	s.seen[name][res.StatusCode] = true
	s.mu.Unlock()
	require.NoError(t, s.answers.Validate(route.Operation, res.StatusCode, res.Header, body), "%s %s: %s", req.Method, route.Path, body)
	if byApp && res.StatusCode < http.StatusMultipleChoices && len(*route.Operation.Security) > 0 {
		requireRead(t, route.Operation.OperationID, a)
		if req.Header.Get("Content-Type") == "application/json" {
			requireRepresentable(t, route.Operation.OperationID, a.sent)
		}
		s.mu.Lock()
		s.byApps[name] = true
		s.mu.Unlock()
	}
}

// complete returns the operations in the contract that have not returned a successful response.
func (s *target) complete() (missing []string) {
	for path, item := range s.doc.Paths.Map() {
		// These operations require a person or a device; see checkProvider and checkPasskeys.
		if strings.HasPrefix(path, "/v1/console/provider/") || strings.HasPrefix(path, "/v1/console/passkeys") {
			continue
		}
		// The restart endpoint requires a lost workflow; see TestRestartWorkflow_QueuesOnce in package api.
		if strings.HasSuffix(path, "/restart") {
			continue
		}
		for method, op := range item.Operations() {
			for status := range op.Responses.Map() {
				code, err := strconv.Atoi(status)
				// A partial response is tested by TestDownload_RangesAndConditions in package api.
				done := err == nil && code < 300 && code != http.StatusPartialContent
				if done && !s.seen[method+" "+path][code] {
					missing = append(missing, method+" "+path+" "+status)
				}
			}
			if acceptsAppToken(op) && !s.byApps[method+" "+path] {
				missing = append(missing, method+" "+path+" by the Go client")
			}
		}
	}
	slices.Sort(missing)
	return missing
}

func acceptsAppToken(op *openapi3.Operation) bool {
	for _, r := range *op.Security {
		if _, ok := r["bearer"]; ok {
			return true
		}
	}
	return false
}

func (c *client) call(t *testing.T, method, path string, body any) *answer {
	t.Helper()
	if body == nil {
		return c.send(t, method, path, "", nil)
	}
	b, err := json.Marshal(body)
	require.NoError(t, err)
	return c.send(t, method, path, "application/json", b)
}

func (c *client) get(t *testing.T, path string) *answer {
	t.Helper()
	return c.call(t, http.MethodGet, path, nil)
}

// pages reads a list page by page with its cursor, and returns all items. The path must contain a query.
func (c *client) pages(t *testing.T, path string) (items []object) {
	t.Helper()
	seen := make(map[string]bool)
	for cursor := ""; ; {
		page := c.get(t, path+cursor).want(t, 200)
		for i := range page.body["data"].([]any) {
			items = append(items, page.item("data", i))
		}
		next, more := page.body["nextCursor"].(string)
		if !more {
			return items
		}
		require.False(t, seen[next], "the cursors of %s form a cycle", path)
		seen[next] = true
		cursor = "&cursor=" + next
	}
}

func (c *client) post(t *testing.T, path string, body any) *answer {
	t.Helper()
	return c.call(t, http.MethodPost, path, body)
}

func (c *client) multipart(t *testing.T, path string, fields map[string]string, file []byte) *answer {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for k, v := range fields {
		require.NoError(t, w.WriteField(k, v))
	}
	if file != nil {
		p, err := w.CreateFormFile("file", "contract.pdf")
		require.NoError(t, err)
		_, err = p.Write(file)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return c.send(t, http.MethodPost, path, w.FormDataContentType(), b.Bytes())
}
