package api_test

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"countersign/api"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/store"
)

func (c *client) me() *answer { c.t.Helper(); return c.get("/v1/console/me") }

// again signs the same person in once more.
func (c *client) again() *client {
	c.t.Helper()
	return c.s.enters(c.t, object{"email": c.email(), "password": password})
}

func (c *client) email() string {
	c.t.Helper()
	return c.me().want(200).body["user"].(object)["email"].(string)
}

func (c *client) sessions() []any { c.t.Helper(); return list(c.get("/v1/console/sessions").want(200)) }

func TestSignOutEndsAtTheServer(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		one := s.person(t, models.RoleAdmin)
		two := one.again()
		require.NotEqual(t, one.token, two.token)
		one.post("/v1/console/logout", nil).want(204)
		one.me().refused(401, "unauthorized")
		one.post("/v1/console/logout", nil).refused(401, "unauthorized")
		two.me().want(200)
		two.get("/v1/console/users").want(200)
	})
}

func TestIdleSessionsEnd(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		idle := s.cfg.ConsoleIdle
		busy := s.person(t, models.RoleViewer)
		left := busy.again()
		polling := busy.again().with("Countersign-Background", "1")
		s.clock.advance(idle - 10*time.Minute)
		busy.me().want(200)
		polling.me().want(200)
		require.Len(t, busy.sessions(), 3)
		s.clock.advance(20 * time.Minute)
		left.me().refused(401, "unauthorized")
		polling.me().refused(401, "unauthorized") // a page that looks by itself is nobody at work
		require.Len(t, busy.sessions(), 1)
		s.clock.advance(idle - 30*time.Minute)
		busy.me().want(200)
		s.clock.advance(30 * time.Minute) // more than eight hours since the login
		busy.me().want(401)
		require.NoError(t, s.store.Housekeep(t.Context()))
	})
}

func TestOwnSessions(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		const end = "/v1/console/sessions/end"
		one := s.person(t, models.RoleViewer).with("User-Agent", "Test/1 (one)")
		two, three := one.again(), one.again()
		stranger := s.person(t, models.RoleViewer)
		shown := one.sessions()
		require.Len(t, shown, 3)
		current := 0
		for _, v := range shown {
			o := v.(object)
			require.NotEmpty(t, o["ip"])
			require.Contains(t, o["userAgent"], "Go-http-client")
			if o["current"].(bool) {
				current++
			}
		}
		require.Equal(t, 1, current)
		id := stranger.sessions()[0].(object)["id"]
		one.post(end, object{"password": password, "sessionId": id}).refused(404, "not_found")
		one.post(end, object{"password": "something else", "sessionId": id}).refused(400, "validation_error")
		var newest any
		for _, v := range three.sessions() {
			if v.(object)["current"].(bool) {
				newest = v.(object)["id"]
			}
		}
		one.post(end, object{"password": password, "sessionId": newest}).want(204)
		three.me().want(401)
		two.me().want(200)
		one.post(end, object{"password": password}).want(204)
		two.me().want(401)
		one.me().want(200)
		stranger.me().want(200)

		last := one
		for range 20 {
			last = last.again()
		}
		require.Len(t, last.sessions(), 20)
		one.me().refused(401, "unauthorized") // the oldest of too many
	})
}

func TestAdministratorsEndSessions(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		admin, user := s.person(t, models.RoleAdmin), s.person(t, models.RoleSupport)
		at := "/v1/console/users/" + user.me().body["user"].(object)["id"].(string)
		user.del(at+"/sessions").refused(403, "role_forbidden")
		admin.del(at + "/sessions").want(204)
		user.me().want(401)
		user = s.enters(t, object{"email": admin.email(), "password": password})
		user.me().want(200)
		require.NoError(t, s.store.SignOutAll(t.Context()))
		user.me().want(401)
		admin.me().want(401)
		s.client(t).del("/v1/console/users/"+uuid.NewString()+"/sessions").refused(404, "not_found")
	})
}

func TestOwnPassword(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		const change = "/v1/console/password"
		c := s.person(t, models.RoleViewer)
		other, email := c.again(), c.email()
		long := strings.Repeat("страница ", 9) // 81 characters, 153 bytes: more than bcrypt reads
		errs := func(a *answer) object { t.Helper(); return a.refused(400, "validation_error").body["errors"].(object) }
		require.Contains(t, errs(c.post(change, object{"password": "not the password", "newPassword": long})), "password")
		require.Contains(t, errs(c.post(change, object{"password": password, "newPassword": "short"})), "newPassword")
		require.Contains(t, errs(c.post(change, object{"password": password, "newPassword": strings.Repeat("😀", 9)})), "newPassword") // 36 bytes
		other.me().want(200)
		c.post(change, object{"password": password, "newPassword": long}).want(204)
		c.me().want(200)
		other.me().refused(401, "unauthorized")
		nobody := &client{t: t, s: s}
		for _, wrong := range []string{password, long[:len(long)-1], strings.ToUpper(long), " " + long} {
			nobody.post("/v1/console/login", object{"email": email, "password": wrong}).refused(401, "invalid_credentials")
		}
		s.enters(t, object{"email": email, "password": long})
	})
}

func TestGuessablePasswords(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "leaked.txt")
	leaked := fmt.Sprintf("%X:3\r\n", sha1.Sum([]byte("leaked long ago")))
	require.NoError(t, os.WriteFile(file, []byte(leaked), 0o600))
	s := onSQLite(t, nil)
	v, err := vault.New("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	require.NoError(t, err)
	strict, err := store.Open(t.Context(), store.Config{URL: s.url, Vault: v, LeakedPasswords: file, PasswordCost: bcrypt.MinCost, Now: s.clock.now, NewID: newID})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, strict.Close()) })
	for _, p := range []string{"Password123!", "qwertyuiop", "Countersign 2026", "ada.lovelace@example.org", "leaked long ago"} {
		_, err := strict.CreateUser(t.Context(), s.app.ID, "ada.lovelace@example.com", "Ada Lovelace", p, models.RoleViewer)
		var refusal *models.Error
		require.ErrorAs(t, err, &refusal, p)
		require.Contains(t, refusal.Fields, "password", p)
	}
	_, err = strict.CreateUser(t.Context(), s.app.ID, "ada.lovelace@example.com", "Ada Lovelace", "notes on the engine", models.RoleViewer)
	require.NoError(t, err)
	require.NoError(t, os.Remove(file))
	_, err = strict.CreateUser(t.Context(), s.app.ID, "b@example.com", "B", "notes on the engine", models.RoleViewer)
	require.ErrorContains(t, err, "leaked passwords", "what cannot be checked is not taken")

	c := s.person(t, models.RoleViewer)
	a := c.post("/v1/console/password", object{"password": password, "newPassword": "password1234"}).refused(400, "validation_error")
	require.Contains(t, a.body["errors"], "newPassword")
}

// enrolled signs a new person in and gives the account a second factor.
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

// code is what an authenticator app shows. The clock goes on, so that each is a new one.
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
		before.post("/v1/console/totp/confirm", object{"code": "000000"}).refused(409, "second_factor_none")
		before.post("/v1/console/totp/remove", object{"password": password}).refused(409, "second_factor_none")
		before.post("/v1/console/totp/recovery-codes", object{"password": password}).refused(409, "second_factor_none")
		before.post("/v1/console/totp", object{"password": "something else"}).refused(400, "validation_error")

		// A secret counts for nothing until its first code was right, and asking again makes another.
		old := before.post("/v1/console/totp", object{"password": password}).want(201).str("secret")
		fresh := before.post("/v1/console/totp", object{"password": password}).want(201).str("secret")
		require.NotEqual(t, old, fresh)
		before.post("/v1/console/totp/confirm", object{"code": s.code(t, old)}).refused(400, "validation_error")
		other := before.again()
		c := before
		recovery := c.post("/v1/console/totp/confirm", object{"code": s.code(t, fresh)}).want(200).body["recoveryCodes"].([]any)
		other.me().refused(401, "unauthorized") // a change of how one signs in ends what is open
		require.Equal(t, object{"active": true, "required": false, "recoveryCodes": 10.0}, state(c))
		c.post("/v1/console/totp", object{"password": password, "code": s.code(t, fresh)}).refused(409, "second_factor_active")

		// From now on the password alone lets nobody in.
		email, nobody := c.email(), &client{t: t, s: s}
		login := func(code any) *answer {
			t.Helper()
			return nobody.post("/v1/console/login", object{"email": email, "password": password, "code": code})
		}
		login(nil).refused(401, "code_required")
		nobody.post("/v1/console/login", object{"email": email, "password": "something else", "code": s.code(t, fresh)}).refused(401, "invalid_credentials")
		code := s.code(t, fresh)
		login(code[1:]).refused(401, "invalid_code")
		login(code).want(200)
		login(code).refused(401, "invalid_code") // once (RFC 6238 §5.2)
		s.clock.advance(2 * time.Minute)
		login(code).refused(401, "invalid_code")

		// A recovery code does once, written as one likes.
		spare := recovery[3].(string)
		login(strings.ToLower(strings.ReplaceAll(spare, "-", " "))).want(200)
		login(spare).refused(401, "invalid_code")
		require.EqualValues(t, 9, state(c)["recoveryCodes"])
		renewed := c.post("/v1/console/totp/recovery-codes", object{"password": password, "code": recovery[4]}).want(200).body["recoveryCodes"].([]any)
		login(recovery[5]).refused(401, "invalid_code")
		login(renewed[5]).want(200)

		// Changes ask for both again.
		c.post("/v1/console/password", object{"password": password, "newPassword": "another long one"}).refused(400, "validation_error")
		c.post("/v1/console/password", object{"password": password, "newPassword": "another long one", "code": "000000"}).refused(400, "validation_error")
		c.post("/v1/console/totp/remove", object{"password": password, "code": s.code(t, fresh)}).want(204)
		login(nil).want(200)
		login(renewed[6]).want(200) // nothing is asked for, so nothing is wrong
		require.Equal(t, object{"active": false, "required": false, "recoveryCodes": 0.0}, state(c))
	})
}

// TestACodeIsTakenOnce: of many at the same time one gets in.
func TestACodeIsTakenOnce(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, secret, recovery := s.enrolled(t, models.RoleViewer)
		id := uuid.MustParse(c.me().body["user"].(object)["id"].(string))
		for _, code := range []string{s.code(t, secret), recovery[0].(string)} {
			var in atomic.Int32
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if s.store.TakeCode(t.Context(), id, code) == nil {
						in.Add(1)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, 1, in.Load())
		}
	})
}

func TestGuessingCodesIsLimited(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, secret, _ := s.enrolled(t, models.RoleViewer)
		s.clock.advance(time.Hour - time.Duration(s.clock.now().UnixNano())%time.Hour) // a window is an hour
		email, nobody := c.email(), &client{t: t, s: s}
		login := func(code string) *answer {
			t.Helper()
			s.clock.advance(10 * time.Second)
			return nobody.post("/v1/console/login", object{"email": email, "password": password, "code": code})
		}
		for range 10 {
			login("wrong").refused(401, "invalid_code")
		}
		require.NotEmpty(t, login(s.code(t, secret)).refused(429, "rate_limited").header.Get("Retry-After"))
		s.person(t, models.RoleViewer) // nobody else is kept out
		c.me().want(200)
		s.clock.advance(time.Hour)
		login(s.code(t, secret)).want(200)
	})
}

func TestSecondFactorIsRequired(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.ConsoleTOTP = models.SecondFactorAdmins })
	viewer := s.person(t, models.RoleViewer)
	viewer.get("/v1/console/envelopes").want(200)
	require.Equal(t, false, viewer.me().body["mustEnrol"])
	s.client(t).get("/v1/console/envelopes").want(200)
	require.Equal(t, false, s.client(t).me().want(200).body["mustEnrol"])

	admin := s.person(t, models.RoleAdmin)
	require.Equal(t, true, admin.me().want(200).body["mustEnrol"])
	admin.get("/v1/console/envelopes").refused(403, "second_factor_required")
	admin.get("/v1/console/users").refused(403, "second_factor_required")
	secret := admin.post("/v1/console/totp", object{"password": password}).want(201).str("secret")
	admin.get("/v1/console/envelopes").refused(403, "second_factor_required")
	admin.post("/v1/console/totp/confirm", object{"code": s.code(t, secret)}).want(200)
	admin.get("/v1/console/envelopes").want(200)
	require.Equal(t, false, admin.me().want(200).body["mustEnrol"])
	require.Equal(t, true, admin.get("/v1/console/totp").body["required"])
	admin.post("/v1/console/totp/remove", object{"password": password, "code": s.code(t, secret)}).want(204)
	admin.get("/v1/console/envelopes").refused(403, "second_factor_required")
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
		lost.del(at(admin)).refused(403, "role_forbidden")
		admin.del(at(admin)).refused(403, "own_account")
		s.other(t).del(at(lost)).refused(404, "not_found")
		admin.del(at(lost)).want(204)
		lost.me().refused(401, "unauthorized")
		c := s.enters(t, object{"email": email, "password": password, "code": recovery[0]})
		require.Equal(t, false, c.get("/v1/console/totp").want(200).body["active"])
		s.enters(t, object{"email": admin.email(), "password": password, "code": s.code(t, secret)})
	})
}

// TestSecondFactorIsSealed: the database shows no secret, and no recovery code.
func TestSecondFactorIsSealed(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	_, secret, recovery := s.enrolled(t, models.RoleViewer)
	n, err := s.store.Rewrap(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "all is sealed with the one key")
	for _, file := range databaseFiles(t, s) {
		require.NotContains(t, file, secret)
		require.NotContains(t, file, recovery[0])
		require.NotContains(t, file, strings.ReplaceAll(recovery[0].(string), "-", ""))
	}
}

// TestSignInsAreLogged: who was let in and how, by id; nothing that lets in, and no address.
func TestSignInsAreLogged(t *testing.T) {
	t.Parallel()
	var log logged
	s := onSQLite(t, func(cfg *api.Config) { cfg.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	c, secret, recovery := s.enrolled(t, models.RoleViewer)
	email, id := c.email(), c.me().body["user"].(object)["id"].(string)
	nobody := &client{t: t, s: s}
	nobody.post("/v1/console/login", object{"email": email, "password": "not the password"}).want(401)
	spent := s.code(t, secret)
	s.enters(t, object{"email": email, "password": password, "code": spent}).post("/v1/console/logout", nil).want(204)
	c.post("/v1/console/totp/remove", object{"password": password, "code": recovery[0]}).want(204)
	c.post("/v1/console/password", object{"password": password, "newPassword": "another long one"}).want(204)
	nobody.send(http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", form("grant_type", "client_credentials", "client_id", s.id, "client_secret", s.pass)).want(200)
	text := log.String()
	for _, line := range []string{
		"console user signed in\" user=" + id + " secondFactor=false", "second factor confirmed\" user=" + id, "route=/v1/console/login envelope=\"\" status=401",
		"console user signed in\" user=" + id + " secondFactor=true", "console user signed out\" user=" + id, "second factor removed\" user=" + id,
		"console password changed\" user=" + id, "access token issued\" app=" + s.id,
	} {
		require.Contains(t, text, line)
	}
	for _, hidden := range []string{email, password, "not the password", "another long one", secret, "code=" + spent, recovery[0].(string), s.pass, c.token} {
		require.NotContains(t, text, hidden)
	}
}

// logged is a log that is written at the same time.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestLargeBodiesOfOwnRoutes(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.person(t, models.RoleViewer)
	for _, path := range []string{"/sessions/end", "/password", "/totp", "/totp/confirm", "/totp/recovery-codes", "/totp/remove"} {
		c.send(http.MethodPost, "/v1/console"+path, "application/json", make([]byte, 1<<20+1)).refused(413, "request_too_large")
	}
}

func list(a *answer) (out []any) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.raw, &out))
	return out
}

// databaseFiles are the bytes of the database and of its log.
func databaseFiles(t *testing.T, s *service) (out []string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(strings.TrimPrefix(s.url, "sqlite://") + suffix)
		require.NoError(t, err)
		out = append(out, string(b))
	}
	return out
}
