package api_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/internal/credential"
	"countersign/models"
	"countersign/store"
)

// TestForgedTokens checks that only an unmodified token is valid, and only for its purpose.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	good := s.client(t)
	e, signing := good.sent(contract())
	good.signs(e, signing)
	download := s.completes(t, e.str("id"), 0)
	_, fresh := good.sent(contract())
	admin := s.signIn(t, models.RoleAdmin)
	keys, err := s.store.Keys(t.Context(), models.KeyTokens)
	require.NoError(t, err)
	manifests, err := s.store.Keys(t.Context(), models.KeyManifests)
	require.NoError(t, err)
	mine, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(keys[0].Private.Public())
	require.NoError(t, err)

	parts := strings.Split(good.token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	var claims jwt.MapClaims
	require.NoError(t, json.Unmarshal(raw, &claims))
	with := func(change func(jwt.MapClaims)) jwt.MapClaims {
		c := jwt.MapClaims{}
		for k, v := range claims {
			c[k] = v
		}
		if change != nil {
			change(c)
		}
		return c
	}
	forge := func(method jwt.SigningMethod, key any, head map[string]any, c jwt.MapClaims) string {
		tok := jwt.NewWithClaims(method, c)
		tok.Header["kid"] = keys[0].ID
		for k, v := range head {
			tok.Header[k] = v
		}
		out, err := tok.SignedString(key)
		require.NoError(t, err)
		return out
	}
	jwk := map[string]any{
		"kty": "EC", "crv": "P-256", "x": base64.RawURLEncoding.EncodeToString(mine.X.FillBytes(make([]byte, 32))),
		"y": base64.RawURLEncoding.EncodeToString(mine.Y.FillBytes(make([]byte, 32))),
	}
	genuine := func(change func(jwt.MapClaims)) string {
		return forge(jwt.SigningMethodES256, keys[0].Private, nil, with(change))
	}
	forged := map[string]string{
		"none":                forge(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, with(nil)),
		"None without kid":    forge(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, map[string]any{"alg": "None", "kid": ""}, with(nil)),
		"HMAC, public key":    forge(jwt.SigningMethodHS256, public, nil, with(nil)),
		"HMAC, kid":           forge(jwt.SigningMethodHS256, []byte(keys[0].ID), nil, with(nil)),
		"own key":             forge(jwt.SigningMethodES256, mine, nil, with(nil)),
		"own key in jwk":      forge(jwt.SigningMethodES256, mine, map[string]any{"jwk": jwk}, with(nil)),
		"own key in jku":      forge(jwt.SigningMethodES256, mine, map[string]any{"jku": "https://evil.example.com/jwks.json"}, with(nil)),
		"kid is a path":       forge(jwt.SigningMethodES256, mine, map[string]any{"kid": "../../../dev/null"}, with(nil)),
		"kid is SQL":          forge(jwt.SigningMethodES256, mine, map[string]any{"kid": "x' UNION SELECT 'a"}, with(nil)),
		"kid is no text":      forge(jwt.SigningMethodES256, keys[0].Private, map[string]any{"kid": 1}, with(nil)),
		"manifest key":        forge(jwt.SigningMethodES256, manifests[0].Private, map[string]any{"kid": manifests[0].ID}, with(nil)),
		"other audience":      genuine(func(c jwt.MapClaims) { c["aud"] = "countersign:download" }),
		"no audience":         genuine(func(c jwt.MapClaims) { delete(c, "aud") }),
		"expired":             genuine(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Minute).Unix() }),
		"no expiry":           genuine(func(c jwt.MapClaims) { delete(c, "exp") }),
		"subject is no id":    genuine(func(c jwt.MapClaims) { c["sub"] = "admin" }),
		"subject is nobody's": genuine(func(c jwt.MapClaims) { c["sub"] = uuid.NewString() }),
		"signing token":       fresh,
		"download token":      download,
		"cut":                 good.token[:len(good.token)-4],
		"no signature":        parts[0] + "." + parts[1] + ".",
		"long":                good.token + strings.Repeat("A", 5000),
		"empty":               "",
		"dots":                "..",
	}
	for name, token := range forged {
		c := &client{t: t, s: s, token: token}
		for _, path := range []string{"/v1/envelopes?tenantId=acme", "/v1/console/me", "/v1/webhooks"} {
			require.Equal(t, 401, c.get(path).status, "%s accepted as access token on %s", name, path)
		}
		if token == "" || name == ".." {
			continue
		}
		nobody := &client{t: t, s: s}
		if name != "signing token" {
			require.Equal(t, 401, nobody.get("/v1/signing/"+token).status, "%s as signing token", name)
		}
		if name != "download token" {
			require.Equal(t, 401, nobody.get("/v1/download/"+token).status, "%s as download token", name)
		}
	}
	nobody := &client{t: t, s: s}
	for _, token := range []string{good.token, admin.token, download} {
		nobody.get("/v1/signing/" + token).want(401)
	}
	for _, token := range []string{good.token, admin.token, fresh} {
		nobody.get("/v1/download/" + token).want(401)
	}
	good.get("/v1/envelopes?tenantId=acme").want(200)
	s.clock.advance(61 * time.Minute)
	good.get("/v1/envelopes?tenantId=acme").rejected(401, "token_expired")
}

// TestKeyRotation checks that tokens signed with the old key remain valid, and that running processes load the new key.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		asked := 0
		follow := func() { // simulates a process that started before the rotation
			keys, err := s.store.Keys(t.Context(), models.KeyTokens)
			require.NoError(t, err)
			s.cfg.Tokens, err = credential.NewTokens(keys, s.clock.now)
			require.NoError(t, err)
			s.cfg.Tokens.ReloadFrom(func() ([]store.Key, error) {
				asked++
				return s.store.Keys(context.WithoutCancel(t.Context()), models.KeyTokens)
			})
		}
		follow()
		signer := s.cfg.Tokens
		follow()
		again, err := api.New(s.cfg)
		require.NoError(t, err)
		s.Config.Handler = again

		old := s.client(t)
		_, link := old.sent(contract())
		id, err := s.store.RotateKey(t.Context(), models.KeyTokens)
		require.NoError(t, err)
		manifest, err := s.store.RotateKey(t.Context(), models.KeyManifests)
		require.NoError(t, err)
		old.get("/v1/webhooks").want(200)
		(&client{t: t, s: s}).get("/v1/signing/" + link).want(200)
		require.Zero(t, asked, "known keys are not loaded again")

		s.clock.advance(31 * time.Second)
		token, err := signer.IssueAccess(s.app.ID) // issued by the process whose clock is ahead
		require.NoError(t, err)
		head, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
		require.NoError(t, err)
		require.Contains(t, string(head), id)
		(&client{t: t, s: s, token: token}).get("/v1/webhooks").want(200)
		require.Equal(t, 2, asked, "each process loaded the keys once")
		for range 20 {
			forged := strings.Replace(token, strings.Split(token, ".")[0], base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"`+uuid.NewString()+`"}`)), 1)
			(&client{t: t, s: s, token: forged}).get("/v1/webhooks").want(401)
		}
		require.LessOrEqual(t, asked, 22)
		old.get("/v1/webhooks").want(200)
		set := (&client{t: t, s: s}).get("/.well-known/jwks.json").want(200)
		require.Equal(t, manifest, set.body["keys"].([]any)[0].(object)["kid"])
		require.Len(t, set.body["keys"], 2, "previous keys are still published")
	})
}

// TestClientSecretRotation_BothAreValid checks that both secrets are valid during a rotation.
func TestClientSecretRotation_BothAreValid(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	login := func(secret string) *response {
		return (&client{t: t, s: s}).send(http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded",
			form("grant_type", "client_credentials", "client_id", s.id, "client_secret", secret))
	}
	fresh, err := s.store.AddSecret(t.Context(), s.app.ID, time.Hour)
	require.NoError(t, err)
	login(s.pass).want(200)
	login(fresh).want(200)
	s.clock.advance(2 * time.Hour)
	login(s.pass).rejected(401, "invalid_client")
	login(fresh).want(200)
}

// TestForeignIDs_AreNotFound checks that each route with IDs returns the same 404 for the IDs of another app or tenant,
// in every combination.
func TestForeignIDs_AreNotFound(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		owner := s.client(t)
		e, _ := owner.sent(contract())
		owner.draft(contract())
		draft := owner.draft(contract())
		hook := owner.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"envelope.sent"}}).want(201)
		owner.sent(contract())
		delivery := owner.get("/v1/console/webhook-deliveries").want(200).body["data"].([]any)[0].(object)
		contact := owner.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com"}).want(200)
		session := owner.post("/v1/embedded/signing-sessions", object{
			"tenantId": "acme", "envelopeId": e.str("id"), "signerId": e.signer(0)["id"], "allowedOrigin": "https://app.example.com",
		}).want(201)
		user := owner.post("/v1/console/users", object{"email": "u@example.com", "name": "U", "password": password, "role": "admin"}).want(201)
		ids := map[string]string{
			"envelope": e.str("id"), "draft": draft.str("id"), "webhook": hook.str("id"), "delivery": delivery["id"].(string), "contact": contact.str("id"),
			"session": session.str("sessionId"), "user": user.str("id"), "signer": e.signer(0)["id"].(string), "document": e.body["documents"].([]any)[0].(object)["id"].(string),
			"app": s.id, "nobody's": uuid.NewString(),
		}
		other := s.other(t)
		foreign, _ := other.sent(contract())
		stranger, err := s.store.CreateUser(t.Context(), uuid.MustParse(other.me().body["app"].(object)["id"].(string)), "s@example.com", "S", password, models.RoleAdmin)
		require.NoError(t, err)
		person := s.enters(t, object{"email": stranger.Email, "password": password})
		var same string
		tried := 0
		for _, route := range s.api.Routes() {
			method, path, _ := strings.Cut(route, " ")
			if !strings.Contains(path, "{") || strings.Contains(path, "{token}") || strings.Contains(path, "{tenantId}") {
				continue
			}
			for name, id := range ids {
				for _, signer := range []string{ids["signer"], foreign.signer(0)["id"].(string)} {
					at := strings.NewReplacer("{id}", id, "{signerId}", signer).Replace(path)
					caller := other
					if strings.HasPrefix(path, "/v1/console/client-secrets/") || strings.HasPrefix(path, passkeysPath+"/") { // for console users only
						caller = person
					}
					a := caller.call(method, at, nil)
					require.Equal(t, 404, a.status, "%s with the id of the %s: %s", route, name, a.raw)
					if same == "" {
						same = string(a.raw)
					}
					require.Equal(t, same, string(a.raw), "%s: the response must not depend on the id", route)
					tried++
					if !strings.Contains(path, "{signerId}") {
						break
					}
				}
			}
		}
		require.Greater(t, tried, 200)
		// IDs that belong together in the other app are not found either.
		other.post("/v1/console/envelopes/"+foreign.str("id")+"/signers/"+ids["signer"]+"/resend", nil).rejected(404, "not_found")
		other.get("/v1/envelopes/"+foreign.str("id")+"/document?documentId="+ids["document"]).rejected(404, "not_found")
		for _, list := range []string{"/v1/envelopes?tenantId=acme", "/v1/console/envelopes"} {
			require.Len(t, rowsOf(other.get(list).want(200)), 1)
		}
		require.EqualValues(t, 0, other.get("/v1/console/webhook-deliveries?webhookId=" + ids["webhook"]).want(200).body["total"])
		require.Equal(t, "[]", string(other.get("/v1/webhooks").want(200).raw))
		owner.get("/v1/envelopes/" + ids["envelope"]).want(200) // the envelope is unchanged
		owner.get("/v1/console/webhook-deliveries/" + ids["delivery"]).want(200)
		require.Equal(t, "draft", owner.get("/v1/envelopes/"+ids["draft"]).want(200).str("status"))

		// Now restrict the owner's client to another tenant.
		s.limit(t, "elsewhere")
		s.clock.advance(time.Second) // a change to an app takes effect after a second
		for _, route := range s.api.Routes() {
			method, path, _ := strings.Cut(route, " ")
			if strings.Contains(path, "/envelopes/{id}") {
				at := strings.NewReplacer("{id}", ids["draft"], "{signerId}", ids["signer"]).Replace(path)
				require.Equal(t, same, string(owner.call(method, at, nil).want(404).raw), route)
			}
		}
		owner.del("/v1/embedded/signing-sessions/"+ids["session"]).rejected(404, "not_found")
		owner.get("/v1/envelopes?tenantId=acme").rejected(403, "tenant_forbidden")
		owner.get("/v1/console/envelopes").rejected(400, "validation_error")
	})
}

func TestResponses_HaveSecurityHeaders(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, token := c.sent(contract())
	for _, path := range []string{
		"/v1/signing/" + token, "/v1/envelopes/" + e.str("id"), "/v1/download/x", "/v1/nothing", "/oauth/token", "/healthz", "/v1/envelopes/", "/sign/x", "//v1/webhooks",
	} {
		h := c.get(path).header
		require.Equal(t, "no-store", h.Get("Cache-Control"), path)
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"), path)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		require.Contains(t, h.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
		require.Contains(t, h.Get("Strict-Transport-Security"), "max-age", path)
		require.NotEmpty(t, h.Get("X-RateLimit-Reset"), path)
	}
}

// TestGet_ChangesNothing checks that GET requests to a signing link, such as those of email scanners, only record that
// the link was opened.
func TestGet_ChangesNothing(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, token := c.sent(contract())
	nobody := &client{t: t, s: s}
	for range 3 {
		for _, path := range []string{"", "/document", "/documents", "/otp/request", "/otp/verify", "/consent", "/sign", "/decline"} {
			nobody.get("/v1/signing/" + token + path)
			nobody.call(http.MethodHead, "/v1/signing/"+token+path, nil)
		}
	}
	now := c.get("/v1/envelopes/" + e.str("id")).want(200)
	require.Equal(t, "viewed", now.signer(0)["status"])
	c.signs(e, token)
}

func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	for name, proxies := range map[string][]string{"203.0.113.9": {"127.0.0.1"}, "127.0.0.1": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onSQLite(t, func(cfg *api.Config) { cfg.TrustedProxies = proxies })
			c := s.client(t)
			e := c.with("X-Forwarded-For", "198.51.100.1, 203.0.113.9").draft(contract())
			require.Equal(t, name, e.body["auditLog"].([]any)[0].(object)["ip"])
		})
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, one *service) {
		edit := one.cfg
		edit.RateLimit = 20
		limited, err := api.New(edit)
		require.NoError(t, err)
		second, err := api.New(edit) // simulates another process that uses the same database
		require.NoError(t, err)
		one.clock.nextMinute()
		servers := []*api.Server{limited}
		if edit.SharedLimits {
			servers = append(servers, second)
		}
		ok, last := 0, -1
		for i := range 30 {
			one.Config.Handler = servers[i%len(servers)]
			a := one.client(t).get("/v1/console/usage")
			if a.status == 200 {
				ok++
				last = i
			} else {
				a.rejected(429, "rate_limited")
				require.NotEmpty(t, a.header.Get("Retry-After"))
				require.Equal(t, "0", a.header.Get("X-RateLimit-Remaining"))
			}
			require.Equal(t, "20", a.header.Get("X-RateLimit-Limit"))
		}
		require.Equal(t, 20, ok, "the limit applies to all processes together")
		require.Equal(t, 19, last)
		one.clock.advance(time.Minute)
		one.client(t).get("/v1/console/usage").want(200)
	})
}

func TestTokenEndpoint_IsThrottled(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		s.clock.nextMinute()
		c := &client{t: t, s: s}
		try := func(secret string) *response {
			return c.send(http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", form("grant_type", "client_credentials", "client_id", s.id, "client_secret", secret))
		}
		for range 20 {
			try("guess").rejected(401, "invalid_client")
		}
		try("guess").rejected(429, "rate_limited")
		try(s.pass).rejected(429, "rate_limited")
		s.clock.advance(time.Minute)
		for range 25 { // successful attempts do not count
			require.Equal(t, "no-store", try(s.pass).want(200).header.Get("Cache-Control"))
		}
	})
}
