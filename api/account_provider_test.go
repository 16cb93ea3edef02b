package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/internal/openid"
	"countersign/models"
	"countersign/test/kit"
)

const (
	providerClient = "countersign"
	providerSecret = "a secret of the provider's & its client's"
)

// fakeProvider is an OpenID provider that can also return responses that no real provider would send. It enforces the
// rules for codes: each code is valid once, and only with the matching verifier (RFC 7636).
type fakeProvider struct {
	*httptest.Server

	t   *testing.T
	key *ecdsa.PrivateKey
	now func() time.Time

	mu       sync.Mutex
	codes    map[string]url.Values // parameters of the authorization requests, by code
	requests []string              // requested paths, in order
	claims   object                // added to the claims of every token
	userinfo object                // nil if the provider has no userinfo endpoint
	sign     func(jwt.MapClaims) string
	discover func(object)
	down     bool
}

func newFakeProvider(t *testing.T, now func() time.Time) *fakeProvider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	p := &fakeProvider{t: t, key: key, now: now, codes: map[string]url.Values{}}
	p.sign = func(c jwt.MapClaims) string { return signed(t, jwt.SigningMethodES256, p.key, c) }
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	p.setUser("ada", "ada@example.com", "viewer")
	return p
}

func signed(t *testing.T, method jwt.SigningMethod, key any, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, c)
	token.Header["kid"] = "one"
	s, err := token.SignedString(key)
	require.NoError(t, err)
	return s
}

func (p *fakeProvider) setUser(subject, email string, roles ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = object{"sub": subject, "email": email, "email_verified": true, "name": "Ada Byron", "roles": roles}
}

func (p *fakeProvider) set(name string, v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims[name] = v
}

func (p *fakeProvider) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *fakeProvider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r.URL.Path)
	if p.down {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		o := object{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"ES256", "none", "HS256"},
		}
		if p.userinfo != nil {
			o["userinfo_endpoint"] = p.URL + "/me"
		}
		if p.discover != nil {
			p.discover(o)
		}
		answer(200, o)
	case "/keys":
		text := func(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
		raw, err := p.key.PublicKey.Bytes()
		if err != nil {
			answer(500, object{})
			return
		}
		answer(200, object{"keys": []object{{"kty": "EC", "crv": "P-256", "kid": "one", "alg": "ES256", "use": "sig", "x": text(raw[1:33]), "y": text(raw[33:])}}})
	case "/me":
		answer(200, p.userinfo)
	case "/token":
		_ = r.ParseForm()
		id, secret, _ := r.BasicAuth()
		secret, _ = url.QueryUnescape(secret)
		asked, known := p.codes[r.PostForm.Get("code")]
		delete(p.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if id != providerClient || secret != providerSecret || !known || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) ||
			asked.Get("code_challenge_method") != "S256" || r.PostForm.Get("redirect_uri") != asked.Get("redirect_uri") {
			answer(400, object{"error": "invalid_grant", "error_description": "ada@example.com"})
			return
		}
		now := p.now().Unix()
		c := jwt.MapClaims{"iss": p.URL, "aud": providerClient, "iat": now, "exp": now + 60, "nonce": asked.Get("nonce")}
		for k, v := range p.claims {
			if c[k] = v; v == nil {
				delete(c, k)
			}
		}
		answer(200, object{"access_token": "an access token", "token_type": "Bearer", "id_token": p.sign(c)})
	}
}

// authorize simulates the user's consent at the provider. It returns the parameters of the redirect back to the
// service.
func (p *fakeProvider) authorize(address string) object {
	p.t.Helper()
	u, err := url.Parse(address)
	require.NoError(p.t, err)
	require.Equal(p.t, p.URL+"/authorize", "http://"+u.Host+u.Path)
	q := u.Query()
	require.Equal(p.t, "https://sign.example.com/console/signed-in", q.Get("redirect_uri"))
	require.Equal(p.t, "code", q.Get("response_type"))
	require.Equal(p.t, providerClient, q.Get("client_id"))
	require.GreaterOrEqual(p.t, len(q.Get("nonce")), 22)
	code := uuid.NewString()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.codes[code] = q
	return object{"code": code, "state": q.Get("state")}
}

// withProvider starts a service that supports sign-in through a provider.
func withProvider(t *testing.T, db string, also ...func(*api.Config)) (*service, *fakeProvider, *kit.Buffer) {
	t.Helper()
	var p *fakeProvider
	log := &kit.Buffer{}
	s := start(t, db, func(cfg *api.Config) {
		p = newFakeProvider(t, cfg.Now)
		cfg.Provider = &api.ProviderConfig{Name: "Staff login", Client: openid.New(openid.Config{
			Issuer: p.URL, ClientID: providerClient, ClientSecret: providerSecret, RedirectURL: cfg.BaseURL + "/console/signed-in", RoleClaim: "roles", Now: cfg.Now,
		})}
		cfg.Log = slog.New(slog.NewTextHandler(log, nil))
		for _, set := range also {
			set(cfg)
		}
	})
	return s, p, log
}

const (
	beginPath    = "/v1/console/provider/begin"
	completePath = "/v1/console/provider/complete"
	connectPath  = "/v1/console/provider/connect"
)

// begin begins a sign-in. It returns the browser with its cookie, and the provider's URL.
func (s *service) begin(t *testing.T, body any) (*client, string) {
	t.Helper()
	a := (&client{t: t, s: s}).post(beginPath, body).want(200)
	return (&client{t: t, s: s}).with("Cookie", cookieOf(t, a)), a.str("url")
}

// cookieOf returns the cookie set by a response, in the format of a Cookie header.
func cookieOf(t *testing.T, a *response) string {
	t.Helper()
	c, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	require.NoError(t, err)
	require.Equal(t, "__Host-countersign-sign-in", c.Name)
	require.True(t, c.Secure && c.HttpOnly && c.Domain == "" && c.Path == "/" && c.SameSite == http.SameSiteLaxMode, "%s", c)
	require.Equal(t, 600, c.MaxAge)
	return c.Name + "=" + c.Value
}

// atProvider signs in the provider's current user.
func (s *service) atProvider(t *testing.T, p *fakeProvider) *response {
	t.Helper()
	browser, address := s.begin(t, object{})
	return browser.post(completePath, p.authorize(address))
}

func (s *service) withToken(t *testing.T, a *response) *client {
	t.Helper()
	return &client{t: t, s: s, token: a.want(200).str("access_token")}
}

func eachDatabaseWithProvider(t *testing.T, test func(*testing.T, *service, *fakeProvider)) {
	t.Helper()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		s, p, _ := withProvider(t, kit.MigratedURL(t, kind))
		test(t, s, p)
	})
}

// TestProviderSignIn_WithRole checks that a person with a role at the provider can sign in. Every sign-in is for the
// same user, whose role is updated.
func TestProviderSignIn_WithRole(t *testing.T) {
	t.Parallel()
	eachDatabaseWithProvider(t, func(t *testing.T, s *service, p *fakeProvider) {
		nobody := &client{t: t, s: s}
		require.Equal(t, object{"provider": object{"name": "Staff login"}, "passkeys": true}, nobody.get("/v1/console/sign-in").want(200).body)
		require.Empty(t, p.requests, "the provider is not contacted before the first sign-in")

		a := s.atProvider(t, p).want(200)
		require.Equal(t, "provider", a.str("signIn"))
		require.Equal(t, []string{""}, slices.Compact([]string{strings.SplitN(strings.SplitN(a.header.Get("Set-Cookie"), "=", 2)[1], ";", 2)[0]}), "the cookie is deleted")
		ada := s.withToken(t, a)
		user := ada.me().want(200).body["user"].(object)
		require.Equal(t, "ada@example.com", user["email"])
		require.Equal(t, "Ada Byron", user["name"])
		require.Equal(t, "viewer", user["role"])
		ada.get("/v1/console/users").rejected(403, "role_forbidden")

		p.setUser("ada", "new@example.com", "something", "support", "viewer", "sender")
		again := s.withToken(t, s.atProvider(t, p))
		require.Equal(t, user["id"], again.me().body["user"].(object)["id"], "the account is identified by subject, not by address")
		require.Equal(t, "sender", again.me().body["user"].(object)["role"], "the highest")
		p.setUser("ada", "ada@example.com", "admin")
		s.withToken(t, s.atProvider(t, p)).get("/v1/console/users").want(200)
		p.setUser("ada", "ada@example.com")
		s.atProvider(t, p).rejected(403, "role_missing")

		// Another person with the same email address is a different user.
		p.setUser("eve", "ada@example.com", "admin")
		s.atProvider(t, p).rejected(409, "account_exists")
		ada.post("/v1/console/logout", nil).want(204)
		ada.me().rejected(401, "unauthorized")
	})
}

// TestProviderSignIn_RejectedResponses checks that a response is rejected if it does not prove that the provider has
// just authenticated the user for this service.
func TestProviderSignIn_RejectedResponses(t *testing.T) {
	t.Parallel()
	s, p, log := withProvider(t, kit.MigratedURL(t, "sqlite"))
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	honest := p.sign
	for name, attack := range map[string]func(){
		"nonce of another sign-in":   func() { p.claims["nonce"] = "another nonce, which is as long as one" },
		"no nonce":                   func() { p.claims["nonce"] = nil },
		"another audience":           func() { p.claims["aud"] = "another-client" },
		"several, for another party": func() { p.claims["aud"], p.claims["azp"] = []string{providerClient, "another"}, "another" },
		"several, for nobody":        func() { p.claims["aud"] = []string{providerClient, "another"} },
		"another issuer":             func() { p.claims["iss"] = "https://login.example.com" },
		"expired":                    func() { p.claims["exp"] = s.clock.now().Add(-time.Minute).Unix() },
		"of the future":              func() { p.claims["iat"] = s.clock.now().Add(time.Hour).Unix() },
		"no subject":                 func() { p.claims["sub"] = nil },
		"a subject that is too long": func() { p.claims["sub"] = strings.Repeat("x", 256) },
		"unsigned": func() {
			p.sign = func(c jwt.MapClaims) string {
				return signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, c)
			}
		},
		"another key": func() {
			p.sign = func(c jwt.MapClaims) string { return signed(t, jwt.SigningMethodES256, stranger, c) }
		},
		"the client's secret as key": func() {
			p.sign = func(c jwt.MapClaims) string { return signed(t, jwt.SigningMethodHS256, []byte(providerSecret), c) }
		},
		"no token": func() { p.sign = func(jwt.MapClaims) string { return "" } },
		"claims that are changed": func() {
			p.sign = func(c jwt.MapClaims) string {
				parts := strings.Split(honest(c), ".")
				c["roles"] = []string{"admin", "sender"}
				return parts[0] + "." + strings.Split(honest(c), ".")[1] + "." + parts[2]
			}
		},
	} {
		p.setUser("ada", "ada@example.com", "admin")
		p.change(func() { p.sign = honest; attack() })
		a := s.atProvider(t, p)
		require.Equal(t, 401, a.status, "%s: %s", name, a.raw)
		require.Equal(t, "sign_in_refused", a.body["error"], name)
	}
	p.change(func() { p.sign = honest })
	for name, attack := range map[string]func(){
		"not verified":   func() { p.claims["email_verified"] = false },
		"not said":       func() { p.claims["email_verified"] = nil },
		"no truth value": func() { p.claims["email_verified"] = "true" },
		"no address":     func() { p.claims["email"] = nil },
		"not an address": func() { p.claims["email"] = "ada@example.com, eve@example.com" },
	} {
		p.setUser("ada", "ada@example.com", "admin")
		p.change(attack)
		require.Equal(t, "email_unverified", s.atProvider(t, p).want(403).body["error"], name)
	}
	for name, roles := range map[string]any{
		"none": nil, "of another service": []string{"owner"}, "in capitals": "ADMIN", "part of a text": "admin viewer", "a number": 4, "in an object": object{"admin": true}, "empty": []string{},
	} {
		p.setUser("ada", "ada@example.com")
		p.set("roles", roles)
		require.Equal(t, "role_missing", s.atProvider(t, p).want(403).body["error"], name)
	}
	users, err := s.store.Users(t.Context(), s.app.ID)
	require.NoError(t, err)
	require.Empty(t, users)

	p.setUser("ada", "ada@example.com", "viewer")
	s.withToken(t, s.atProvider(t, p)).me().want(200)
	for _, secret := range []string{"ada@example.com", "an access token", providerSecret, "eyJ", "Ada Byron"} {
		require.NotContains(t, log.String(), secret)
	}
	require.Contains(t, log.String(), "provider sign-in rejected")
	require.Contains(t, log.String(), "console user signed in")
}

// TestProviderSignIn_BelongsToItsBrowser checks that a response is accepted once, within minutes, and only from the
// browser that started the sign-in.
func TestProviderSignIn_BelongsToItsBrowser(t *testing.T) {
	t.Parallel()
	eachDatabaseWithProvider(t, func(t *testing.T, s *service, p *fakeProvider) {
		browser, address := s.begin(t, object{})
		other, another := s.begin(t, object{})
		back := p.authorize(address)
		(&client{t: t, s: s}).post(completePath, back).rejected(401, "sign_in_expired")
		other.post(completePath, back).rejected(401, "sign_in_expired")
		browser.with("Cookie", "__Host-countersign-sign-in=").post(completePath, back).rejected(401, "sign_in_expired")
		browser.post(completePath, object{"code": back["code"], "state": "made up"}).rejected(401, "sign_in_expired")
		a := browser.post(completePath, back).want(200)
		require.NotContains(t, string(a.raw), back["code"])

		// A retry is rejected, and so is another code that the provider would accept.
		browser.post(completePath, back).rejected(401, "sign_in_expired")
		browser.post(completePath, object{"code": p.authorize(address)["code"], "state": back["state"]}).rejected(401, "sign_in_expired")

		// A code from another sign-in is rejected, because its verifier does not match (RFC 7636).
		stolen := p.authorize(address)["code"]
		other.post(completePath, object{"code": stolen, "state": p.authorize(another)["state"]}).rejected(401, "sign_in_refused")

		// A code that was already used at the provider is rejected.
		browser, address = s.begin(t, object{})
		back = p.authorize(address)
		p.change(func() { clear(p.codes) })
		browser.post(completePath, back).rejected(401, "sign_in_refused")

		// A response that names another issuer is rejected (RFC 9207).
		browser, address = s.begin(t, object{})
		back = p.authorize(address)
		back["iss"] = "https://login.example.com"
		browser.post(completePath, back).rejected(401, "sign_in_refused")
		browser, address = s.begin(t, object{})
		back = p.authorize(address)
		back["iss"] = p.URL
		browser.post(completePath, back).want(200)

		browser, address = s.begin(t, object{})
		s.clock.advance(10*time.Minute - time.Second)
		browser.post(completePath, p.authorize(address)).want(200)
		browser, address = s.begin(t, object{})
		back = p.authorize(address)
		s.clock.advance(10*time.Minute + time.Second)
		browser.post(completePath, back).rejected(401, "sign_in_expired")
		require.NoError(t, kit.RemoveExpired(t.Context(), s.store))

		// Only one of many requests with the same response succeeds.
		browser, address = s.begin(t, object{})
		back = p.authorize(address)
		var wg sync.WaitGroup
		results := make([]int, 8)
		for i := range results {
			wg.Go(func() { results[i] = browser.post(completePath, back).status })
		}
		wg.Wait()
		slices.Sort(results)
		require.Equal(t, []int{200, 401, 401, 401, 401, 401, 401, 401}, results)
	})
}

// TestLinkProvider_IsLogged checks that linking an account to the provider logs the user's ID and role, but not the
// email address.
func TestLinkProvider_IsLogged(t *testing.T) {
	t.Parallel()
	s, p, log := withProvider(t, kit.MigratedURL(t, "sqlite"))
	ada := s.person(t, models.RoleAdmin)
	id := ada.me().body["user"].(object)["id"].(string)
	a := ada.post(connectPath, object{"password": password}).want(200)
	p.setUser("ada", "other@example.com", "sender")
	browser := (&client{t: t, s: s}).with("Cookie", cookieOf(t, a))
	browser.post(completePath, p.authorize(a.str("url"))).want(200)
	require.Contains(t, log.String(), `msg="console user connected to the provider" user=`+id+" role=sender")
	require.NotContains(t, log.String(), "other@example.com")
}

// TestLinkProvider_OnlyByTheOwner checks that only the owner of a password account can link it to the provider, even if
// another person at the provider has the same email address.
func TestLinkProvider_OnlyByTheOwner(t *testing.T) {
	t.Parallel()
	eachDatabaseWithProvider(t, func(t *testing.T, s *service, p *fakeProvider) {
		ada := s.person(t, models.RoleAdmin)
		email := ada.email()
		id := ada.me().body["user"].(object)["id"].(string)
		p.setUser("eve", strings.ToUpper(email), "admin")
		s.atProvider(t, p).rejected(409, "account_exists")
		ada.me().want(200)

		// The owner links the provider's account and confirms this with the password.
		ada.post(connectPath, object{"password": "something else"}).rejected(400, "validation_error")
		a := ada.post(connectPath, object{"password": password}).want(200)
		p.setUser("ada", "other@example.com", "sender")
		browser := (&client{t: t, s: s}).with("Cookie", cookieOf(t, a))
		connected := s.withToken(t, browser.post(completePath, p.authorize(a.str("url"))))
		require.Equal(t, id, connected.me().body["user"].(object)["id"])
		require.Equal(t, "sender", connected.me().body["user"].(object)["role"])
		ada.me().rejected(401, "unauthorized")
		nobody := &client{t: t, s: s}
		login := object{"email": email, "password": password}
		nobody.post("/v1/console/login", login).rejected(401, "invalid_credentials")
		require.Equal(t, id, s.withToken(t, s.atProvider(t, p)).me().body["user"].(object)["id"])
		connected.post(connectPath, object{"password": password}).rejected(409, "provider_account")
		connected.post("/v1/console/password", object{"password": password, "newPassword": "another long one"}).rejected(409, "provider_account")
		connected.post("/v1/console/totp", object{"password": password}).rejected(409, "provider_account")
		connected.post("/v1/console/totp/confirm", object{"code": "000000"}).rejected(409, "provider_account")

		// An account at the provider can be linked to only one user.
		bob := s.person(t, models.RoleViewer)
		a = bob.post(connectPath, object{"password": password}).want(200)
		browser = (&client{t: t, s: s}).with("Cookie", cookieOf(t, a))
		browser.post(completePath, p.authorize(a.str("url"))).rejected(409, "identity_taken")
		bob.me().want(200)

		// The provider determines the role until an administrator sets a new password.
		app := s.client(t)
		app.call(http.MethodPatch, "/v1/console/users/"+id, object{"role": "admin"}).rejected(409, "provider_account")
		app.call(http.MethodPatch, "/v1/console/users/"+id, object{"name": "Ada", "role": "sender"}).want(200)
		app.post("/v1/console/users/"+id+"/password", object{"newPassword": password}).want(204)
		connected.me().rejected(401, "unauthorized")
		s.atProvider(t, p) // other@example.com is no longer linked, so this is a different user
		nobody.post("/v1/console/login", login).want(200)
	})
}

// TestProviderSignIn_DisabledUser checks that disabled users cannot sign in, including users who had a password.
func TestProviderSignIn_DisabledUser(t *testing.T) {
	t.Parallel()
	eachDatabaseWithProvider(t, func(t *testing.T, s *service, p *fakeProvider) {
		ada := s.withToken(t, s.atProvider(t, p))
		app := s.client(t)
		app.del("/v1/console/users/" + ada.me().body["user"].(object)["id"].(string)).want(204)
		ada.me().rejected(401, "unauthorized")
		s.atProvider(t, p).rejected(403, "account_disabled")
		p.setUser("ada-again", "ada@example.com", "admin")
		s.atProvider(t, p).rejected(403, "account_disabled")

		bob := s.person(t, models.RoleViewer)
		email := bob.email()
		app.del("/v1/console/users/" + bob.me().body["user"].(object)["id"].(string)).want(204)
		p.setUser("bob", strings.ToUpper(email), "admin")
		s.atProvider(t, p).rejected(403, "account_disabled")

		// To restore access, an administrator creates a new account and the user links it.
		p.setUser("ada", "ada@example.com", "viewer")
		app.post("/v1/console/users", object{"email": "ada@example.com", "name": "Ada", "password": password, "role": "viewer"}).want(201)
		fresh := s.enters(t, object{"email": "ada@example.com", "password": password})
		a := fresh.post(connectPath, object{"password": password}).want(200)
		browser := (&client{t: t, s: s}).with("Cookie", cookieOf(t, a))
		browser.post(completePath, p.authorize(a.str("url"))).want(200)
		s.atProvider(t, p).want(200)
	})
}

// TestProviderSignIn_NeedsNoSecondFactor checks that the service requires no second factor from users of the provider.
func TestProviderSignIn_NeedsNoSecondFactor(t *testing.T) {
	t.Parallel()
	var p *fakeProvider
	s := onSQLite(t, func(cfg *api.Config) {
		p = newFakeProvider(t, cfg.Now)
		cfg.ConsoleTOTP = models.SecondFactorRequired
		cfg.Provider = &api.ProviderConfig{Name: "x", Client: openid.New(openid.Config{
			Issuer: p.URL, ClientID: providerClient, ClientSecret: providerSecret, RedirectURL: cfg.BaseURL + "/console/signed-in", RoleClaim: "roles", Now: cfg.Now,
		})}
	})
	p.setUser("ada", "ada@example.com", "admin")
	a := s.atProvider(t, p).want(200)
	require.Equal(t, false, a.body["mustEnrol"])
	ada := s.withToken(t, a)
	ada.get("/v1/console/users").want(200)
	require.Equal(t, object{"active": false, "required": false, "recoveryCodes": 0.0}, ada.get("/v1/console/totp").want(200).body)
	secret := object{"password": "-"}
	ada.post("/v1/console/client-secrets", secret).rejected(403, "sign_in_again")

	// The provider must authenticate the user again, and confirm the time of the authentication.
	browser, address := s.begin(t, object{"again": true})
	u, err := url.Parse(address)
	require.NoError(t, err)
	require.Equal(t, "login", u.Query().Get("prompt"))
	require.Equal(t, "0", u.Query().Get("max_age"))
	browser.post(completePath, p.authorize(address)).rejected(401, "sign_in_refused")
	p.set("auth_time", s.clock.now().Add(-6*time.Minute).Unix())
	browser, address = s.begin(t, object{"again": true})
	browser.post(completePath, p.authorize(address)).rejected(401, "sign_in_refused")
	p.set("auth_time", s.clock.now().Unix())
	browser, address = s.begin(t, object{"again": true})
	fresh := s.withToken(t, browser.post(completePath, p.authorize(address)))
	ada.post("/v1/console/client-secrets", secret).rejected(403, "sign_in_again")
	fresh.post("/v1/console/client-secrets", object{}).rejected(400, "validation_error")
	fresh.post("/v1/console/client-secrets", secret).want(201)
	s.clock.advance(5*time.Minute + time.Second)
	fresh.post("/v1/console/client-secrets", secret).rejected(403, "sign_in_again")

	// The period is not extended if the provider's clock is ahead.
	p.set("auth_time", s.clock.now().Add(time.Hour).Unix())
	ahead := s.withToken(t, s.atProvider(t, p))
	ahead.post("/v1/console/sessions/end", secret).want(204)
	s.clock.advance(5*time.Minute + time.Second)
	ahead.post("/v1/console/sessions/end", secret).rejected(403, "sign_in_again")
}

// TestProviderSignIn_ChoosesAnotherAccount checks that a user can choose another account at the provider after the
// automatically selected one was rejected.
func TestProviderSignIn_ChoosesAnotherAccount(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prompts []string // the prompt values listed in the provider's metadata
		want    string
	}{
		"missing": {nil, "login"},
		"known":   {[]string{"none", "login", "select_account"}, "select_account"},
		"unknown": {[]string{"none", "login", "consent"}, "login"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, _ := withProvider(t, kit.MigratedURL(t, "sqlite"))
			if test.prompts != nil {
				p.change(func() { p.discover = func(o object) { o["prompt_values_supported"] = test.prompts } })
			}
			prompt := func(body object) string {
				_, address := s.begin(t, body)
				u, err := url.Parse(address)
				require.NoError(t, err)
				return u.Query().Get("prompt")
			}
			p.setUser("guest", "guest@example.com", "other")
			s.atProvider(t, p).rejected(403, "role_missing")
			require.Empty(t, prompt(object{}))
			require.Equal(t, test.want, prompt(object{"otherAccount": true}))
			require.Equal(t, "login", prompt(object{"otherAccount": true, "again": true}), "prompt=login also lets the user choose another account")
			browser, address := s.begin(t, object{"otherAccount": true})
			p.setUser("ada", "ada@example.com", "viewer")
			browser.post(completePath, p.authorize(address)).want(200)
		})
	}
}

// TestProviderUnavailable_Recovers checks that the service starts while its provider is unavailable, reports the
// failure, and recovers.
func TestProviderUnavailable_Recovers(t *testing.T) {
	t.Parallel()
	s, p, log := withProvider(t, kit.MigratedURL(t, "sqlite"))
	nobody := &client{t: t, s: s}
	p.change(func() { p.down = true })
	nobody.get("/v1/console/sign-in").want(200)
	for range 5 {
		nobody.post(beginPath, object{}).rejected(503, "provider_unreachable")
	}
	s.person(t, models.RoleViewer).post(connectPath, object{"password": password}).rejected(503, "provider_unreachable")
	p.change(func() { require.Len(t, p.requests, 1, "the provider is not contacted again immediately") })
	p.change(func() { p.down = false })
	s.clock.advance(5 * time.Second)
	browser, address := s.begin(t, object{})
	back := p.authorize(address)
	p.change(func() { p.down = true })
	browser.post(completePath, back).rejected(503, "provider_unreachable")
	p.change(func() { p.down = false })

	// The provider's metadata is refreshed after an hour. If the refresh fails, the old metadata remains in use.
	s.clock.advance(time.Hour)
	p.change(func() { p.down = true })
	browser, address = s.begin(t, object{})
	p.change(func() { p.down = false })
	browser.post(completePath, p.authorize(address)).want(200)

	for name, discover := range map[string]func(object){
		"another issuer":   func(o object) { o["issuer"] = "https://login.example.com" },
		"a plain address":  func(o object) { o["token_endpoint"] = "http://login.example.com/token" },
		"no keys":          func(o object) { o["jwks_uri"] = nil },
		"a script":         func(o object) { o["authorization_endpoint"] = "javascript:alert(1)" },
		"too large":        func(o object) { o["filler"] = strings.Repeat("x", 1<<20) },
		"plain userinfo":   func(o object) { o["userinfo_endpoint"] = "http://login.example.com/me" },
		"no authorization": func(o object) { o["authorization_endpoint"] = nil },
	} {
		s, p, _ := withProvider(t, kit.MigratedURL(t, "sqlite"))
		p.change(func() { p.discover = discover })
		a := (&client{t: t, s: s}).post(beginPath, object{})
		require.Equal(t, 503, a.status, name)
	}
	require.NotContains(t, log.String(), "code")
	require.Contains(t, log.String(), "the sign-in provider does not respond")

	without := onSQLite(t, nil)
	nobody = &client{t: t, s: without}
	require.Equal(t, object{"provider": nil, "passkeys": true}, nobody.get("/v1/console/sign-in").want(200).body)
	nobody.post(beginPath, object{}).rejected(404, "not_found")
	nobody.post(completePath, object{"code": "x", "state": "y"}).rejected(404, "not_found")
	for _, name := range []string{"code", "state"} {
		in := object{"code": "x", "state": "y"}
		in[name] = strings.Repeat("x", 4096)
		nobody.post(completePath, in).rejected(404, "not_found")
		in[name] = strings.Repeat("x", 4097)
		require.Equal(t, []string{name}, nobody.post(completePath, in).rejected(400, "validation_error").faults())
	}
	without.person(t, models.RoleViewer).post(connectPath, object{"password": password}).rejected(404, "not_found")
}

// TestProviderClaims_FromUserinfo checks that claims are also read from the userinfo response, whose subject must match
// the token's.
func TestProviderClaims_FromUserinfo(t *testing.T) {
	t.Parallel()
	s, p, _ := withProvider(t, kit.MigratedURL(t, "sqlite"))
	p.change(func() {
		p.claims = object{"sub": "ada"}
		p.userinfo = object{"sub": "eve", "email": "ada@example.com", "email_verified": true, "roles": "support"}
	})
	s.atProvider(t, p).rejected(401, "sign_in_refused")
	p.change(func() { p.userinfo["sub"] = "ada" })
	who := s.withToken(t, s.atProvider(t, p)).me().body["user"].(object)
	require.Equal(t, "support", who["role"])
	require.Equal(t, "ada@example.com", who["name"], "a user without a name is shown by address")
	// A verified address in the userinfo response does not verify a different address in the token.
	p.change(func() { p.claims = object{"sub": "bob", "email": "bob@example.com"}; p.userinfo["sub"] = "bob" })
	s.atProvider(t, p).rejected(403, "email_unverified")
}

// TestProviderSignIn_SeveralApps checks that the configuration must specify the app for users of the provider if there
// are several apps.
func TestProviderSignIn_SeveralApps(t *testing.T) {
	t.Parallel()
	s, p, _ := withProvider(t, kit.MigratedURL(t, "sqlite"))
	ada := s.withToken(t, s.atProvider(t, p))
	other, _, err := s.store.CreateApp(t.Context(), "Other", models.PlanPro, nil)
	require.NoError(t, err)
	s.atProvider(t, p).rejected(409, "application_unclear")
	s.cfg.Provider.App = other.ClientID
	s.atProvider(t, p).rejected(403, "account_elsewhere")
	ada.me().want(200)
	p.setUser("bob", "bob@example.com", "viewer")
	require.Equal(t, other.ID.String(), s.withToken(t, s.atProvider(t, p)).me().body["app"].(object)["id"])
	s.cfg.Provider.App = uuid.New()
	s.atProvider(t, p).rejected(409, "application_unclear")
}

// TestProviderSignIn_GuessesAreLimited checks that failed attempts are limited per client address.
func TestProviderSignIn_GuessesAreLimited(t *testing.T) {
	t.Parallel()
	s, _, _ := withProvider(t, kit.MigratedURL(t, "sqlite"))
	nobody := &client{t: t, s: s}
	s.clock.nextMinute()
	status := map[int]int{}
	for range 70 {
		status[nobody.post(completePath, object{"code": "x", "state": "y"}).status]++
	}
	require.Equal(t, 60, status[401])
	require.Equal(t, 10, status[429])
}
