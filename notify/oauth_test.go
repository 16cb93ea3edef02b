package notify_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/notify"
)

const (
	mailbox     = "sign@example.com"
	oauthSecret = "s3cret~value.of-the-app"
)

// oauthSession implements XOAUTH2 in the same way as Microsoft 365 and Google. If the token is wrong, the server first
// sends a challenge that contains the reason.
type oauthSession struct {
	*session

	good func(user, token string) bool
}

func (s *oauthSession) AuthMechanisms() []string { return []string{"XOAUTH2"} }

func (s *oauthSession) Auth(string) (sasl.Server, error) { return &xoauth2{good: s.good}, nil }

type xoauth2 struct {
	good     func(user, token string) bool
	rejected bool
}

func (x *xoauth2) Next(response []byte) (challenge []byte, done bool, err error) {
	if x.rejected {
		return nil, true, &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 3}, Message: "Authentication unsuccessful"}
	}
	user, rest, ok1 := strings.Cut(strings.TrimPrefix(string(response), "user="), "\x01")
	token, end, ok2 := strings.Cut(strings.TrimPrefix(rest, "auth=Bearer "), "\x01")
	if ok1 && ok2 && end == "\x01" && x.good(user, token) {
		return nil, true, nil
	}
	x.rejected = true
	return []byte(`{"status":"401","schemes":"bearer"}`), false, nil
}

// tokenServer is a token endpoint that supports both grants. It numbers the tokens that it issues.
type tokenServer struct {
	url string

	mu       sync.Mutex
	issued   int
	lifetime int // lifetime of tokens in seconds
	forms    []url.Values
	answer   func(w http.ResponseWriter) // response instead of a token
}

func serveTokens(t *testing.T) *tokenServer {
	t.Helper()
	ts := &tokenServer{lifetime: 3600}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		ts.forms = append(ts.forms, r.PostForm)
		if ts.answer != nil {
			ts.answer(w)
			return
		}
		ts.issued++
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"token_type": "Bearer", "expires_in": ts.lifetime, "access_token": ts.current()})
	}))
	t.Cleanup(web.Close)
	ts.url = web.URL + "/tenant/oauth2/v2.0/token"
	return ts
}

func (ts *tokenServer) current() string { return fmt.Sprintf("eyJ0b2tlbg.%d_-", ts.issued) }

// good reports whether the token is the newest one.
func (ts *tokenServer) good(user, token string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return user == mailbox && token == ts.current()
}

func (ts *tokenServer) set(change func(*tokenServer)) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	change(ts)
}

func (ts *tokenServer) requests() []url.Values {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.forms
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func oauthSender(t *testing.T, m *mailServer, oauth notify.OAuthConfig, c *clock) *notify.SMTP {
	t.Helper()
	s, err := notify.NewSMTP(notify.SMTPConfig{
		URL: "smtp://sign%40example.com@" + m.addr, From: mailbox, Timeout: 10 * time.Second, RootCAs: m.roots, OAuth: oauth, Now: c.now,
	})
	require.NoError(t, err)
	return s
}

// TestOAuthClientCredentials_SendAndRenew checks that many emails use the same token, which is replaced before its
// expiry and after the mail server has rejected it.
func TestOAuthClientCredentials_SendAndRenew(t *testing.T) {
	t.Parallel()
	ts, c := serveTokens(t), &clock{at: time.Now()}
	server := serve(t, serverKind{tls: true, oauth: ts.good})
	s := oauthSender(t, server, notify.OAuthConfig{TokenURL: ts.url, ClientID: "app", ClientSecret: oauthSecret}, c)
	for range 3 {
		require.NoError(t, s.Send(t.Context(), hello()))
	}
	require.Len(t, ts.requests(), 1)
	assert.Equal(t, url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"app"}, "client_secret": {oauthSecret}, "scope": {"https://outlook.office365.com/.default"},
	}, ts.requests()[0])
	c.add(time.Hour - 30*time.Second)
	require.NoError(t, s.Send(t.Context(), hello()))
	require.Len(t, ts.requests(), 2, "a token that is about to expire is replaced")

	ts.set(func(ts *tokenServer) { ts.issued += 10 }) // revoke the token
	err := s.Send(t.Context(), hello())
	var failed *notify.ServerError
	require.ErrorAs(t, err, &failed, "the email is retried")
	require.ErrorContains(t, err, "535 5.7.3: Authentication unsuccessful")
	assert.NotContains(t, err.Error(), "eyJ")
	require.NoError(t, s.Send(t.Context(), hello()), "the next attempt uses a new token")
	assert.Len(t, server.messages(), 5)
	answer, err := s.Deliver(t.Context(), hello())
	require.NoError(t, err)
	assert.Contains(t, answer, "queued")
}

// TestOAuthServiceAccount_SignsForTheMailbox checks the grant in which Google accepts an assertion instead of a client
// secret.
func TestOAuthServiceAccount_SignsForTheMailbox(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	ts, c := serveTokens(t), &clock{at: time.Now()}
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "mailer@project.iam.gserviceaccount.com", "private_key_id": "k1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": ts.url,
	})
	require.NoError(t, err)
	server := serve(t, serverKind{tls: true, oauth: ts.good})
	require.NoError(t, oauthSender(t, server, notify.OAuthConfig{ServiceAccount: string(account)}, c).Send(t.Context(), hello()))
	require.Len(t, ts.requests(), 1)
	assert.Equal(t, "urn:ietf:params:oauth:grant-type:jwt-bearer", ts.requests()[0].Get("grant_type"))
	claims := jwt.MapClaims{}
	token, err := jwt.ParseWithClaims(ts.requests()[0].Get("assertion"), claims, func(*jwt.Token) (any, error) { return key.Public(), nil }, jwt.WithAudience(ts.url))
	require.NoError(t, err)
	assert.Equal(t, "k1", token.Header["kid"])
	assert.Equal(t, "mailer@project.iam.gserviceaccount.com", claims["iss"])
	assert.Equal(t, mailbox, claims["sub"])
	assert.Equal(t, "https://mail.google.com/", claims["scope"])
}

// TestOAuthTokenEndpoint_FailuresAreNamedAndRetried checks that the error describes each failure of the endpoint and
// contains no secret.
func TestOAuthTokenEndpoint_FailuresAreNamedAndRetried(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	answer := func(status int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, c := range map[string]struct {
		url    string
		answer func(http.ResponseWriter)
		want   string
	}{
		"down":     {url: closed.URL, want: "connection refused"},
		"refuses":  {answer: answer(401, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret `+oauthSecret+` provided for admin@example.com.\r\nTrace ID: 1"}`), want: "rejected with 401 invalid_client: AADSTS7000215: Invalid client secret [secret] provided for [address]"},
		"says 200": {answer: answer(200, `{"error":"invalid_scope"}`), want: "rejected with 200 invalid_scope"},
		"broken":   {answer: answer(500, "<html>"+strings.Repeat("x", 100_000)), want: "rejected with 500"},
		"moves":    {answer: answer(307, ""), want: "rejected with 307"},
		"no token": {answer: answer(200, `{"expires_in":3600}`), want: "contains no access token"},
		"no JSON":  {answer: answer(200, "token=1"), want: "contains no access token"},
		"injects":  {answer: answer(200, `{"access_token":"a\u0001b","expires_in":3600}`), want: "contains no access token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ts, now := serveTokens(t), &clock{at: time.Now()}
			server := serve(t, serverKind{tls: true, oauth: ts.good})
			ts.set(func(ts *tokenServer) { ts.answer = c.answer })
			oauth := notify.OAuthConfig{TokenURL: ts.url, ClientID: "app", ClientSecret: oauthSecret}
			if c.url != "" {
				oauth.TokenURL = c.url
			}
			s := oauthSender(t, server, oauth, now)
			for _, err := range []error{s.Send(t.Context(), hello()), s.Check(t.Context())} {
				var failed *notify.ServerError
				require.ErrorAs(t, err, &failed)
				require.ErrorContains(t, err, "mail server: token endpoint 127.0.0.1")
				require.ErrorContains(t, err, c.want)
				assert.NotContains(t, err.Error(), oauthSecret)
				assert.Less(t, len(err.Error()), 400)
			}
			if c.url == "" {
				ts.set(func(ts *tokenServer) { ts.answer = nil })
				require.NoError(t, s.Send(t.Context(), hello()), "emails are sent as soon as the endpoint issues tokens again")
			}
		})
	}
}

// TestOAuthConfig_Faults checks that the error for each invalid configuration describes the problem and contains no
// secret.
func TestOAuthConfig_Faults(t *testing.T) {
	t.Parallel()
	const user = "smtp://sign%40example.com@smtp.office365.com:587"
	good := notify.OAuthConfig{TokenURL: "https://login.example.com/token", ClientID: "app", ClientSecret: oauthSecret}
	with := func(change func(*notify.OAuthConfig)) notify.OAuthConfig {
		c := good
		change(&c)
		return c
	}
	_, err := notify.NewSMTP(notify.SMTPConfig{URL: user, From: mailbox, OAuth: good})
	require.NoError(t, err)
	for _, c := range []struct {
		url   string
		oauth notify.OAuthConfig
		want  string
	}{
		{"smtp://smtp.office365.com", good, "must name the mailbox"},
		{"smtp://a:" + oauthSecret + "@smtp.office365.com", good, "must not contain a password"},
		{user, with(func(c *notify.OAuthConfig) { c.ClientSecret = "" }), "must be set together"},
		{user, with(func(c *notify.OAuthConfig) { c.TokenURL = "http://login.example.com/token" }), "https"},
		{user, with(func(c *notify.OAuthConfig) { c.TokenURL = "https://x:" + oauthSecret + "@login.example.com" }), "https"},
		{user, with(func(c *notify.OAuthConfig) { c.ServiceAccount = "{}" }), "either a service account"},
		{user, notify.OAuthConfig{ServiceAccount: "/etc/key.json"}, "not a service account key in JSON"},
		{user, notify.OAuthConfig{ServiceAccount: `{"type":"authorized_user"}`}, "service_account"},
		{user, notify.OAuthConfig{ServiceAccount: `{"type":"service_account","client_email":"a","token_uri":"https://b","private_key":"` + oauthSecret + `"}`}, "private_key"},
	} {
		_, err := notify.NewSMTP(notify.SMTPConfig{URL: c.url, From: mailbox, OAuth: c.oauth})
		require.ErrorContains(t, err, c.want)
		assert.NotContains(t, err.Error(), oauthSecret)
	}
}
