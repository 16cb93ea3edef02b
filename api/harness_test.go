package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"countersign/api"
	"countersign/internal/credential"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/notify"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
	"countersign/test/kit"
)

type object = map[string]any

// clock is a clock that tests can advance.
type clock struct {
	mu   sync.Mutex
	skew time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().UTC().Add(c.skew)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew += d
}

// nextMinute advances the clock to the beginning of the next minute, when all rate limit windows start.
func (c *clock) nextMinute() {
	now := c.now()
	c.advance(now.Truncate(time.Minute).Add(time.Minute).Sub(now))
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// fakeMailer records emails and text messages instead of sending them.
type fakeMailer struct {
	mu    sync.Mutex
	mails []notify.Mail
	texts []string
	fail  error
}

func (p *fakeMailer) Send(_ context.Context, m notify.Mail) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mails = append(p.mails, m)
	return p.fail
}

func (p *fakeMailer) MessageID(parts ...string) string { return strings.Join(parts, "-") + "@test" }

// code returns the most recently emailed one-time code.
func (p *fakeMailer) code(t *testing.T) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range slices.Backward(p.mails) {
		if m.Kind == "code" {
			return regexp.MustCompile(`\b[0-9]{6}\b`).FindString(m.Text)
		}
	}
	require.Fail(t, "no code was mailed")
	return ""
}

func (p *fakeMailer) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mails)
}

type fakeSMS struct{ *fakeMailer }

func (s fakeSMS) Send(_ context.Context, _, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = append(s.texts, text)
	return nil
}

// fakeWorkflows replaces the Temporal client.
type fakeWorkflows struct{ fail error }

func (w fakeWorkflows) Progress(context.Context, uuid.UUID) (temporal.Progress, error) {
	at := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	return temporal.Progress{Step: "waiting", OpenGroup: 1, Awaiting: []uuid.UUID{uuid.New()}, Deadline: &at, NextReminder: &at}, w.fail
}

func (w fakeWorkflows) Running(context.Context, uuid.UUID) (bool, error) {
	return w.fail == nil, w.fail
}
func (w fakeWorkflows) Check(context.Context) error { return w.fail }

// service is an API server with a database but without Temporal.
type service struct {
	*httptest.Server

	url   string // URL of the database
	cfg   api.Config
	store *store.Store
	api   *api.Server
	clock *clock
	mails *fakeMailer
	app   *models.App
	id    string
	pass  string
}

func eachDatabase(t *testing.T, test func(*testing.T, *service)) {
	t.Helper()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		test(t, start(t, kit.MigratedURL(t, kind), nil))
	})
}

// onSQLite starts a service for tests whose result does not depend on the database.
func onSQLite(t *testing.T, edit func(*api.Config)) *service {
	t.Helper()
	return start(t, kit.MigratedURL(t, "sqlite"), edit)
}

func start(t testing.TB, db string, edit func(*api.Config)) *service {
	t.Helper()
	v, err := vault.New("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	require.NoError(t, err)
	s := &service{url: db, clock: &clock{}, mails: &fakeMailer{}}
	const base = "https://sign.example.com"
	s.store, err = store.Open(t.Context(), store.Config{URL: db, BaseURL: base, Vault: v, PasswordCost: bcrypt.MinCost, Now: s.clock.now, NewID: newID})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.store.Close()) })
	blobs, err := blob.Open(t.Context(), "file://"+t.TempDir())
	require.NoError(t, err)
	s.store.UseArchives(blobs)
	keys, err := s.store.Keys(t.Context(), models.KeyTokens)
	require.NoError(t, err)
	tokens, err := credential.NewTokens(keys, s.clock.now)
	require.NoError(t, err)
	s.cfg = api.Config{
		Store: s.store, Blobs: blobs, Tokens: tokens, Codes: credential.NewCodes([]byte("key")), Mail: s.mails, SMS: fakeSMS{s.mails}, Workflows: fakeWorkflows{}, Renderer: kit.Renderer{},
		Pages: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; frame-ancestors 'none'")
			w.WriteHeader(http.StatusOK)
			_, _ = io.WriteString(w, "<!doctype html>")
		}),
		BaseURL: base, SigningURL: base + "/sign", EmbedURL: base + "/embed", UploadLimit: 1 << 20, RateLimit: 100_000,
		SharedLimits: strings.HasPrefix(db, "postgres"), DefaultExpiryDays: 30, ReminderInterval: 72 * time.Hour, Version: "test",
		ConsoleIdle: 4 * time.Hour, // long, because tests advance the clock
		StreamLimit: 50 * time.Millisecond, DeliveryDelays: []time.Duration{0, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: s.clock.now, NewID: newID,
	}
	if edit != nil {
		edit(&s.cfg)
	}
	s.api, err = api.New(s.cfg)
	require.NoError(t, err)
	s.Server = httptest.NewServer(s.api)
	t.Cleanup(s.Close)
	var secret string
	s.app, secret, err = s.store.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
	require.NoError(t, err)
	s.id, s.pass = s.app.ClientID.String(), secret
	return s
}

// client calls the API with one set of credentials.
type client struct {
	t     *testing.T
	s     *service
	token string
	head  http.Header
}

func (s *service) client(t *testing.T) *client {
	t.Helper()
	token, err := s.cfg.Tokens.IssueAccess(s.app.ID)
	require.NoError(t, err)
	return &client{t: t, s: s, token: token}
}

// other returns a client for another app.
func (s *service) other(t *testing.T, tenants ...string) *client {
	t.Helper()
	app, _, err := s.store.CreateApp(t.Context(), "Other", models.PlanEnterprise, tenants)
	require.NoError(t, err)
	token, err := s.cfg.Tokens.IssueAccess(app.ID)
	require.NoError(t, err)
	return &client{t: t, s: s, token: token}
}

// limit restricts the service's app to certain tenants.
func (s *service) limit(t *testing.T, tenants ...string) {
	t.Helper()
	_, err := s.store.UpdateApp(t.Context(), s.app.ID, store.AppChange{Tenants: &tenants})
	require.NoError(t, err)
}

func (c client) with(name, value string) *client {
	c.head = c.head.Clone()
	if c.head == nil {
		c.head = http.Header{}
	}
	c.head.Set(name, value)
	return &c
}

type response struct {
	status int
	header http.Header
	raw    []byte
	body   object // nil if the body is not an object
	t      *testing.T
}

func (a *response) want(status int) *response {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s", a.raw)
	return a
}

func (a *response) rejected(status int, code string) *response {
	a.t.Helper()
	a.want(status)
	require.Equal(a.t, code, a.body["error"], "%s", a.raw)
	return a
}

func (a *response) str(name string) string {
	v, _ := a.body[name].(string)
	return v
}

func (c *client) send(method, path, contentType string, body []byte) *response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.s.URL+path, bytes.NewReader(body))
	require.NoError(c.t, err)
	for k, v := range c.head {
		req.Header[k] = v
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.s.Client().Transport.RoundTrip(req)
	require.NoError(c.t, err)
	defer func() { _ = res.Body.Close() }()
	a := &response{status: res.StatusCode, header: res.Header, t: c.t}
	a.raw, err = io.ReadAll(res.Body)
	require.NoError(c.t, err)
	_ = json.Unmarshal(a.raw, &a.body)
	checkContract(c.t, req, body, res, a.raw)
	return a
}

func (c *client) call(method, path string, body any) *response {
	c.t.Helper()
	if body == nil {
		return c.send(method, path, "", nil)
	}
	b, err := json.Marshal(body)
	require.NoError(c.t, err)
	return c.send(method, path, "application/json", b)
}

func (c *client) get(path string) *response { c.t.Helper(); return c.call(http.MethodGet, path, nil) }

func (c *client) post(path string, body any) *response {
	c.t.Helper()
	return c.call(http.MethodPost, path, body)
}

func (c *client) del(path string) *response {
	c.t.Helper()
	return c.call(http.MethodDelete, path, nil)
}
