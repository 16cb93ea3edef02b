package api_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
)

// enrolled returns a client for a new user with a second factor, the secret of that factor, and the recovery codes.
func (s *service) enrolled(t *testing.T, role models.Role) (c *client, secret string, recovery []any) {
	t.Helper()
	c = s.person(t, role)
	a := c.post("/v1/console/totp", object{"password": password}).want(201)
	secret = a.str("secret")
	require.Contains(t, a.str("uri"), "secret="+secret)
	require.True(t, strings.HasPrefix(a.str("qr"), "<svg "))
	recovery = c.post("/v1/console/totp/confirm", object{"code": s.code(t, secret)}).want(200).body["recoveryCodes"].([]any)
	require.Len(t, recovery, 10)
	return c, secret, recovery
}

// code returns the next code of an authenticator app. It advances the clock so that each code is new.
func (s *service) code(t *testing.T, secret string) string {
	t.Helper()
	s.clock.advance(30 * time.Second)
	code, err := totp.GenerateCode(secret, s.clock.now())
	require.NoError(t, err)
	return code
}

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		before := s.person(t, models.RoleViewer)
		state := func(c *client) object { t.Helper(); return c.get("/v1/console/totp").want(200).body }
		require.Equal(t, object{"active": false, "required": false, "recoveryCodes": 0.0}, state(before))
		before.post("/v1/console/totp/confirm", object{"code": "000000"}).rejected(409, "second_factor_none")
		before.post("/v1/console/totp/remove", object{"password": password}).rejected(409, "second_factor_none")
		before.post("/v1/console/totp/recovery-codes", object{"password": password}).rejected(409, "second_factor_none")
		before.post("/v1/console/totp", object{"password": "something else"}).rejected(400, "validation_error")

		// A secret is inactive until the first correct code is entered. Another request creates a new secret.
		old := before.post("/v1/console/totp", object{"password": password}).want(201).str("secret")
		fresh := before.post("/v1/console/totp", object{"password": password}).want(201).str("secret")
		require.NotEqual(t, old, fresh)
		before.post("/v1/console/totp/confirm", object{"code": s.code(t, old)}).rejected(400, "validation_error")
		other := before.again()
		c := before
		recovery := c.post("/v1/console/totp/confirm", object{"code": s.code(t, fresh)}).want(200).body["recoveryCodes"].([]any)
		other.me().rejected(401, "unauthorized") // a change of the sign-in method ends other sessions
		require.Equal(t, object{"active": true, "required": false, "recoveryCodes": 10.0}, state(c))
		c.post("/v1/console/totp", object{"password": password, "code": s.code(t, fresh)}).rejected(409, "second_factor_active")

		// The password alone is no longer sufficient.
		email, nobody := c.email(), &client{t: t, s: s}
		login := func(code any) *response {
			t.Helper()
			return nobody.post("/v1/console/login", object{"email": email, "password": password, "code": code})
		}
		login(nil).rejected(401, "code_required")
		nobody.post("/v1/console/login", object{"email": email, "password": "something else", "code": s.code(t, fresh)}).rejected(401, "invalid_credentials")
		code := s.code(t, fresh)
		login(code[1:]).rejected(401, "invalid_code")
		login(code).want(200)
		login(code).rejected(401, "invalid_code") // a code is valid once (RFC 6238 §5.2)
		s.clock.advance(2 * time.Minute)
		login(code).rejected(401, "invalid_code")

		// A recovery code is valid once, in any notation.
		spare := recovery[3].(string)
		login(strings.ToLower(strings.ReplaceAll(spare, "-", " "))).want(200)
		login(spare).rejected(401, "invalid_code")
		require.EqualValues(t, 9, state(c)["recoveryCodes"])
		renewed := c.post("/v1/console/totp/recovery-codes", object{"password": password, "code": recovery[4]}).want(200).body["recoveryCodes"].([]any)
		login(recovery[5]).rejected(401, "invalid_code")
		login(renewed[5]).want(200)

		// Changes require both the password and a code.
		c.post("/v1/console/password", object{"password": password, "newPassword": "another long one"}).rejected(400, "validation_error")
		c.post("/v1/console/password", object{"password": password, "newPassword": "another long one", "code": "000000"}).rejected(400, "validation_error")
		c.post("/v1/console/totp/remove", object{"password": password, "code": s.code(t, fresh)}).want(204)
		login(nil).want(200)
		login(renewed[6]).want(200) // no second factor is required, so the code is ignored
		require.Equal(t, object{"active": false, "required": false, "recoveryCodes": 0.0}, state(c))
	})
}

// TestSecondFactor_CodeIsAcceptedOnce checks that only one of many concurrent sign-ins with the same code succeeds.
func TestSecondFactor_CodeIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, secret, recovery := s.enrolled(t, models.RoleViewer)
		id := uuid.MustParse(c.me().body["user"].(object)["id"].(string))
		for _, code := range []string{s.code(t, secret), recovery[0].(string)} {
			var in atomic.Int32
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if s.store.ConsumeCode(t.Context(), id, code) == nil {
						in.Add(1)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, 1, in.Load())
		}
	})
}

func TestSecondFactor_GuessingIsLimited(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, secret, _ := s.enrolled(t, models.RoleViewer)
		s.clock.advance(time.Hour - time.Duration(s.clock.now().UnixNano())%time.Hour) // the rate limit counts attempts per hour
		email, nobody := c.email(), &client{t: t, s: s}
		login := func(code string) *response {
			t.Helper()
			s.clock.advance(10 * time.Second)
			return nobody.post("/v1/console/login", object{"email": email, "password": password, "code": code})
		}
		for range 10 {
			login("wrong").rejected(401, "invalid_code")
		}
		require.NotEmpty(t, login(s.code(t, secret)).rejected(429, "rate_limited").header.Get("Retry-After"))
		s.person(t, models.RoleViewer) // other users are unaffected
		c.me().want(200)
		s.clock.advance(time.Hour)
		login(s.code(t, secret)).want(200)
	})
}

func TestSecondFactor_IsRequired(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.ConsoleTOTP = models.SecondFactorAdmins })
	viewer := s.person(t, models.RoleViewer)
	viewer.get("/v1/console/envelopes").want(200)
	require.Equal(t, false, viewer.me().body["mustEnrol"])
	s.client(t).get("/v1/console/envelopes").want(200)
	require.Equal(t, false, s.client(t).me().want(200).body["mustEnrol"])

	admin := s.person(t, models.RoleAdmin)
	require.Equal(t, true, admin.me().want(200).body["mustEnrol"])
	admin.get("/v1/console/envelopes").rejected(403, "second_factor_required")
	admin.get("/v1/console/users").rejected(403, "second_factor_required")
	secret := admin.post("/v1/console/totp", object{"password": password}).want(201).str("secret")
	admin.get("/v1/console/envelopes").rejected(403, "second_factor_required")
	admin.post("/v1/console/totp/confirm", object{"code": s.code(t, secret)}).want(200)
	admin.get("/v1/console/envelopes").want(200)
	require.Equal(t, false, admin.me().want(200).body["mustEnrol"])
	require.Equal(t, true, admin.get("/v1/console/totp").body["required"])
	admin.post("/v1/console/totp/remove", object{"password": password, "code": s.code(t, secret)}).want(204)
	admin.get("/v1/console/envelopes").rejected(403, "second_factor_required")
}

func TestLostPhone(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		lost, _, recovery := s.enrolled(t, models.RoleSupport)
		admin, secret, _ := s.enrolled(t, models.RoleAdmin)
		email := lost.email()
		at := func(c *client) string {
			return "/v1/console/users/" + c.me().body["user"].(object)["id"].(string) + "/totp"
		}
		lost.del(at(admin)).rejected(403, "role_forbidden")
		admin.del(at(admin)).rejected(403, "own_account")
		s.other(t).del(at(lost)).rejected(404, "not_found")
		admin.del(at(lost)).want(204)
		lost.me().rejected(401, "unauthorized")
		c := s.enters(t, object{"email": email, "password": password, "code": recovery[0]})
		require.Equal(t, false, c.get("/v1/console/totp").want(200).body["active"])
		s.enters(t, object{"email": admin.email(), "password": password, "code": s.code(t, secret)})
	})
}

// TestSecondFactor_IsEncrypted checks that the database contains neither secrets nor recovery codes in plain text.
func TestSecondFactor_IsEncrypted(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	_, secret, recovery := s.enrolled(t, models.RoleViewer)
	n, err := s.store.Rewrap(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "all secrets are encrypted with the same key")
	for _, file := range databaseFiles(t, s) {
		require.NotContains(t, file, secret)
		require.NotContains(t, file, recovery[0])
		require.NotContains(t, file, strings.ReplaceAll(recovery[0].(string), "-", ""))
	}
}
