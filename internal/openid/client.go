// Package openid authenticates people at an OpenID provider. It implements the authorization code flow (OpenID Connect
// Core 1.0 §3.1) with PKCE (RFC 7636). It stores nothing, so the caller must store the values that the provider's
// response repeats.
package openid

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Config specifies the provider and the client's registration with it.
type Config struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	RedirectURL  string
	RoleClaim    string // name of a claim, or a path such as realm_access.roles
	Now          func() time.Time
}

const (
	answerTime      = 10 * time.Second // timeout for all requests to the provider during one sign-in
	discoveryAge    = time.Hour
	discoveryPause  = 5 * time.Second // between attempts while the provider does not respond
	freshAge        = 5 * time.Minute
	clockDifference = time.Minute // permitted difference between the provider's clock and the service's
	maxSubject      = 255         // bytes (OpenID Connect Core 1.0 §2)
)

// Client authenticates people. It is safe for concurrent use, and sends no request to the provider before the first
// sign-in.
type Client struct {
	cfg  Config
	http *http.Client

	mu           sync.Mutex // held during discovery
	known        *provider
	discoveredAt time.Time
	failed       error
}

type provider struct {
	*oidc.Provider

	oauth          oauth2.Config
	choosesAccount bool // whether the provider supports prompt=select_account
}

// New returns a client. CheckIssuer must have accepted the issuer of cfg.
func New(cfg Config) *Client {
	return &Client{cfg: cfg, http: &http.Client{
		Timeout: answerTime, Transport: bounded{http.DefaultTransport.(*http.Transport).Clone()}, //nolint:forcetypeassert // the standard library's transport
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Issuer returns the provider's issuer identifier.
func (c *Client) Issuer() string { return c.cfg.Issuer }

// Request is a sign-in in progress. The provider returns State in the redirect URL. The caller stores the fields that
// have a JSON name.
type Request struct {
	URL      string `json:"-"`
	State    string `json:"-"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	Fresh    bool   `json:"fresh"` // whether the provider must authenticate the person again
}

// Prompt specifies the interaction that the provider must require, even if the person already has a session.
type Prompt struct {
	Fresh        bool // whether the person must authenticate again
	OtherAccount bool // whether the person must select an account
}

// Begin starts a sign-in and returns it with the URL for the browser.
func (c *Client) Begin(ctx context.Context, prompt Prompt) (Request, error) {
	p, err := c.provider(ctx)
	if err != nil {
		return Request{}, err
	}
	r := Request{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Fresh: prompt.Fresh}
	options := []oauth2.AuthCodeOption{oidc.Nonce(r.Nonce), oauth2.S256ChallengeOption(r.Verifier)}
	switch {
	case prompt.Fresh: // signing in again also allows the person to select an account
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	case prompt.OtherAccount && p.choosesAccount:
		options = append(options, oauth2.SetAuthURLParam("prompt", "select_account"))
	case prompt.OtherAccount:
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	r.URL = p.oauth.AuthCodeURL(r.State, options...)
	return r, nil
}

// Finish exchanges the authorization code of a sign-in and validates the provider's response.
func (c *Client) Finish(ctx context.Context, r Request, code string) (Person, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, c.http), answerTime)
	defer cancel()
	p, err := c.provider(ctx)
	if err != nil {
		return Person{}, err
	}
	tokens, err := p.oauth.Exchange(ctx, code, oauth2.VerifierOption(r.Verifier))
	if err != nil {
		return Person{}, exchangeError(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	id, err := p.Verifier(&oidc.Config{ClientID: c.cfg.ClientID, Now: c.cfg.Now}).Verify(ctx, raw)
	if err != nil {
		return Person{}, tokenError(err)
	}
	claims, err := readClaims(id)
	if err != nil {
		return Person{}, err
	}
	if err := c.check(id, claims, r); err != nil {
		return Person{}, err
	}
	// Some providers return claims about the person only at the userinfo endpoint (§5.4).
	if url := p.UserInfoEndpoint(); url != "" && (claims["email"] == nil || lookUp(claims, c.cfg.RoleClaim) == nil) {
		info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
		if err != nil {
			return Person{}, unreachable(err)
		}
		if info.Subject != id.Subject { // §5.3.2
			return Person{}, rejected("userinfo describes another user")
		}
		if claims, err = claims.and(info); err != nil {
			return Person{}, err
		}
	}
	return c.person(id, claims), nil
}

// check performs the validation that go-oidc leaves to the caller.
func (c *Client) check(id *oidc.IDToken, claims claims, r Request) error {
	now := c.cfg.Now()
	azp, _ := claims["azp"].(string)
	provedAt := claims.time("auth_time")
	switch {
	case r.Nonce == "" || subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(r.Nonce)) != 1:
		return rejected("the nonce does not match")
	case len(id.Audience) > 1 && azp == "", azp != "" && azp != c.cfg.ClientID: // §3.1.3.7
		return rejected("the authorized party is a different client")
	case id.Subject == "" || len(id.Subject) > maxSubject:
		return rejected("the subject is missing or too long")
	case id.IssuedAt.After(now.Add(clockDifference)):
		return rejected("the ID token was issued in the future")
	case r.Fresh && (provedAt == nil || now.Sub(*provedAt) > freshAge):
		return rejected("the user signed in too long ago")
	}
	return nil
}

// provider returns the provider's metadata. It requests the metadata on first use, and again after discoveryAge. If
// the provider no longer responds, the previous metadata remains in use.
func (c *Client) provider(ctx context.Context) (*provider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.cfg.Now()
	switch age := now.Sub(c.discoveredAt); {
	case c.known != nil && age < discoveryAge:
		return c.known, nil
	case c.failed != nil && age < discoveryPause:
		return nil, c.failed
	}
	// The request does not end with the caller's context, because the next caller needs the result as well.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	p, err := c.discover(oidc.ClientContext(ctx, c.http))
	c.discoveredAt = now
	if err == nil {
		c.known = p
	}
	if c.failed = err; c.known != nil {
		c.failed = nil
	}
	return c.known, c.failed
}

func (c *Client) discover(ctx context.Context) (*provider, error) {
	found, err := oidc.NewProvider(ctx, c.cfg.Issuer)
	if err != nil {
		return nil, unreachable(err)
	}
	var also struct {
		JWKS    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
		Prompts []string `json:"prompt_values_supported"` // Initiating User Registration via OpenID Connect 1.0 §4
	}
	if err := found.Claims(&also); err != nil {
		return nil, unreachable(err)
	}
	p := &provider{Provider: found, choosesAccount: slices.Contains(also.Prompts, "select_account"), oauth: oauth2.Config{
		ClientID: c.cfg.ClientID, ClientSecret: c.cfg.ClientSecret, RedirectURL: c.cfg.RedirectURL, Endpoint: found.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail},
	}}
	// Set the authentication style explicitly. Detecting it would send the code twice, and a provider treats a code
	// that is sent twice as stolen.
	p.oauth.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if len(also.Methods) > 0 && !slices.Contains(also.Methods, "client_secret_basic") {
		p.oauth.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	for _, address := range []string{p.oauth.Endpoint.AuthURL, p.oauth.Endpoint.TokenURL, also.JWKS, cmp.Or(found.UserInfoEndpoint(), c.cfg.Issuer)} {
		u, err := url.Parse(address)
		if err != nil || !Secure(u) {
			return nil, unreachable(fmt.Errorf("the provider lists an address that is not https: %s", address))
		}
	}
	return p, nil
}

// CheckIssuer returns an error if a provider's issuer identifier is invalid.
func CheckIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("must be an address such as https://login.example.com/realms/staff, without query, fragment and password")
	case !Secure(u):
		return errors.New("must begin with https://; http:// is accepted only for this machine")
	}
	return nil
}
