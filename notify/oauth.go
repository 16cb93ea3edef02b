package notify

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"countersign/internal/netfail"
)

// OAuthConfig configures authentication at the mail server with an access token instead of a password (SASL XOAUTH2).
// The zero value disables OAuth. Otherwise, set either TokenURL, ClientID and ClientSecret (client credentials, RFC
// 6749 §4.4, for Microsoft 365) or ServiceAccount (a signed assertion, RFC 7523, for Google).
type OAuthConfig struct {
	// TokenURL is the token endpoint. Its scheme is https, or http for a loopback address.
	TokenURL string
	// ClientID and ClientSecret authenticate the application at the token endpoint.
	ClientID, ClientSecret string
	// Scope is the requested scope. If it is empty, the default is Gmail's scope if ServiceAccount is set, and
	// Microsoft 365's scope otherwise.
	Scope string
	// ServiceAccount is the JSON key of a Google service account that may impersonate the user of the SMTP URL.
	ServiceAccount string
}

const (
	microsoftScope = "https://outlook.office365.com/.default"
	googleScope    = "https://mail.google.com/"
)

// Limits for a request to the token endpoint.
const (
	tokenTimeout   = 15 * time.Second
	maxTokenAnswer = 64 << 10
	assertionLife  = 10 * time.Minute
	// tokenReserve is how long before its expiry an access token is replaced.
	tokenReserve = time.Minute
)

// tokens obtains and caches access tokens. It is safe for concurrent use.
type tokens struct {
	endpoint string
	form     func(now time.Time) (url.Values, error)
	private  []string // removed from the endpoint's responses
	client   *http.Client
	now      func() time.Time

	lock  chan struct{} // allows one request at a time; guards the following fields
	token string
	until time.Time
}

// newTokens validates the configuration for a user, without connecting. Its errors contain no secret.
func newTokens(cfg OAuthConfig, user string, now func() time.Time) (*tokens, error) {
	if user == "" {
		return nil, errors.New("the SMTP URL must name the mailbox as its user, such as smtp://sign%40example.com@smtp.office365.com:587")
	}
	if now == nil {
		now = time.Now //nolint:forbidigo // the default of an injected clock
	}
	t := &tokens{now: now, lock: make(chan struct{}, 1), client: &http.Client{
		Timeout: tokenTimeout,
		// Redirects are not followed, so that the secret is not sent to another endpoint.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if cfg.ServiceAccount != "" {
		if cfg.TokenURL+cfg.ClientID+cfg.ClientSecret != "" {
			return nil, errors.New("set either a service account, or a token URL with a client id and secret")
		}
		if err := t.useServiceAccount(cfg, user); err != nil {
			return nil, fmt.Errorf("service account: %w", err)
		}
	} else {
		if cfg.TokenURL == "" || cfg.ClientID == "" || cfg.ClientSecret == "" {
			return nil, errors.New("token URL, client id and client secret must be set together")
		}
		scope := cfg.Scope
		if scope == "" {
			scope = microsoftScope
		}
		t.endpoint, t.private = cfg.TokenURL, []string{cfg.ClientSecret}
		t.form = func(time.Time) (url.Values, error) {
			return url.Values{"grant_type": {"client_credentials"}, "client_id": {cfg.ClientID}, "client_secret": {cfg.ClientSecret}, "scope": {scope}}, nil
		}
	}
	if u, err := url.Parse(t.endpoint); err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, errors.New("the token URL must be an https address without credentials")
	}
	return t, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// useServiceAccount reads the key and adds an assertion signed with it to each request.
func (t *tokens) useServiceAccount(cfg OAuthConfig, user string) error {
	var key struct {
		Type     string `json:"type"`
		Email    string `json:"client_email"`
		ID       string `json:"private_key_id"`
		Key      string `json:"private_key"`
		TokenURL string `json:"token_uri"`
	}
	if err := json.Unmarshal([]byte(cfg.ServiceAccount), &key); err != nil {
		return errors.New("not a service account key in JSON")
	}
	if key.Type != "service_account" || key.Email == "" || key.TokenURL == "" {
		return errors.New(`"type" must be "service_account", and "client_email" and "token_uri" must be set`)
	}
	private, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(key.Key))
	if err != nil {
		return errors.New(`"private_key" must be an RSA key as PEM`)
	}
	scope := cfg.Scope
	if scope == "" {
		scope = googleScope
	}
	t.endpoint = key.TokenURL
	t.form = func(now time.Time) (url.Values, error) {
		signed, err := assertion(now, private, key.ID, jwt.MapClaims{"iss": key.Email, "sub": user, "aud": key.TokenURL, "scope": scope})
		return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {signed}}, err
	}
	return nil
}

func assertion(now time.Time, key *rsa.PrivateKey, id string, claims jwt.MapClaims) (string, error) {
	claims["iat"], claims["exp"] = now.Unix(), now.Add(assertionLife).Unix()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = id
	return token.SignedString(key)
}

// get returns the cached access token, or a new token if the cached one expires within tokenReserve.
func (t *tokens) get(ctx context.Context) (string, error) {
	select {
	case t.lock <- struct{}{}:
		defer func() { <-t.lock }()
	case <-ctx.Done():
		return "", fmt.Errorf("token endpoint: %w", ctx.Err())
	}
	if t.token != "" && t.now().Before(t.until) {
		return t.token, nil
	}
	token, life, err := t.fetch(ctx)
	if err != nil {
		return "", err
	}
	t.token, t.until = token, t.now().Add(life-tokenReserve)
	return token, nil
}

// drop discards a token that the mail server rejected.
func (t *tokens) drop(token string) {
	t.lock <- struct{}{}
	if t.token == token {
		t.token = ""
	}
	<-t.lock
}

// fetch requests a token from the endpoint. Its errors contain neither secrets nor tokens.
func (t *tokens) fetch(ctx context.Context) (token string, life time.Duration, err error) {
	form, err := t.form(t.now())
	if err != nil {
		return "", 0, errors.New("the key of the service account cannot sign")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, errors.New("token endpoint: the address cannot be used")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	res, err := t.client.Do(req)
	if err != nil {
		if cause := netfail.CauseOf(err); cause != netfail.Unknown {
			return "", 0, fmt.Errorf("token endpoint %s: %s", req.URL.Host, cause)
		}
		return "", 0, fmt.Errorf("token endpoint %s: no response", req.URL.Host)
	}
	defer func() { _ = res.Body.Close() }() // all required data has been read
	body, err := io.ReadAll(io.LimitReader(res.Body, maxTokenAnswer))
	if err != nil {
		return "", 0, fmt.Errorf("token endpoint %s: incomplete response", req.URL.Host)
	}
	var answer struct {
		Token       string  `json:"access_token"`
		Life        float64 `json:"expires_in"` // in seconds
		Error       string  `json:"error"`
		Description string  `json:"error_description"`
	}
	switch err := json.Unmarshal(body, &answer); {
	case res.StatusCode != http.StatusOK || err == nil && answer.Error != "":
		return "", 0, fmt.Errorf("token endpoint %s: rejected with %d%s", req.URL.Host, res.StatusCode, t.errorText(answer.Error, answer.Description))
	case err != nil || answer.Token == "" || !tokenSyntax.MatchString(answer.Token):
		return "", 0, fmt.Errorf("token endpoint %s: the response contains no access token", req.URL.Host)
	}
	return answer.Token, time.Duration(min(max(answer.Life, 0), 24*60*60)) * time.Second, nil
}

// tokenSyntax matches the characters of a token (RFC 6750 §2.1, excluding the separators of XOAUTH2).
var tokenSyntax = regexp.MustCompile(`^[\x21-\x7e]+$`)

// errorText returns the endpoint's error text as a single line of limited length, without addresses or secrets. It is
// empty if there is no text.
func (t *tokens) errorText(code, description string) string {
	line := strings.TrimSpace(code + ": " + description)
	for _, secret := range t.private {
		line = strings.ReplaceAll(line, secret, "[secret]")
	}
	line = addressInLine.ReplaceAllString(line, "[address]")
	line = strings.Trim(oneLine(line), ": ")
	if line == "" {
		return ""
	}
	return " " + line
}
