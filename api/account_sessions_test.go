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
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"countersign/api"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

func (c *client) me() *response { c.t.Helper(); return c.get("/v1/console/me") }

// again returns a client with another session of the same user.
func (c *client) again() *client {
	c.t.Helper()
	return c.s.enters(c.t, object{"email": c.email(), "password": password})
}

func (c *client) email() string {
	c.t.Helper()
	return c.me().want(200).body["user"].(object)["email"].(string)
}

func (c *client) sessions() []any { c.t.Helper(); return list(c.get("/v1/console/sessions").want(200)) }

func TestSignOut_EndsTheSessionAtTheServer(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		one := s.person(t, models.RoleAdmin)
		two := one.again()
		require.NotEqual(t, one.token, two.token)
		one.post("/v1/console/logout", nil).want(204)
		one.me().rejected(401, "unauthorized")
		one.post("/v1/console/logout", nil).rejected(401, "unauthorized")
		two.me().want(200)
		two.get("/v1/console/users").want(200)
	})
}

func TestConsoleSessions_EndWhenIdle(t *testing.T) {
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
		left.me().rejected(401, "unauthorized")
		polling.me().rejected(401, "unauthorized") // polling does not keep a session active
		require.Len(t, busy.sessions(), 1)
		s.clock.advance(idle - 30*time.Minute)
		busy.me().want(200)
		s.clock.advance(30 * time.Minute) // more than eight hours after the login
		busy.me().want(401)
		require.NoError(t, kit.RemoveExpired(t.Context(), s.store))
	})
}

func TestConsoleSessions_Own(t *testing.T) {
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
		one.post(end, object{"password": password, "sessionId": id}).rejected(404, "not_found")
		one.post(end, object{"password": "something else", "sessionId": id}).rejected(400, "validation_error")
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
		one.me().rejected(401, "unauthorized") // the oldest session was ended because there were too many
	})
}

func TestConsoleSessions_EndedByAdministrators(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		admin, user := s.person(t, models.RoleAdmin), s.person(t, models.RoleSupport)
		at := "/v1/console/users/" + user.me().body["user"].(object)["id"].(string)
		user.del(at+"/sessions").rejected(403, "role_forbidden")
		admin.del(at + "/sessions").want(204)
		user.me().want(401)
		user = s.enters(t, object{"email": admin.email(), "password": password})
		user.me().want(200)
		require.NoError(t, s.store.EndAllConsoleSessions(t.Context()))
		user.me().want(401)
		admin.me().want(401)
		s.client(t).del("/v1/console/users/"+uuid.NewString()+"/sessions").rejected(404, "not_found")
	})
}

func TestChangePassword_Own(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		const change = "/v1/console/password"
		c := s.person(t, models.RoleViewer)
		other, email := c.again(), c.email()
		long := strings.Repeat("страница ", 9) // 81 characters, but 153 bytes: longer than the bcrypt limit
		errs := func(a *response) object {
			t.Helper()
			return a.rejected(400, "validation_error").body["errors"].(object)
		}
		require.Contains(t, errs(c.post(change, object{"password": "not the password", "newPassword": long})), "password")
		require.Contains(t, errs(c.post(change, object{"password": password, "newPassword": "short"})), "newPassword")
		require.Contains(t, errs(c.post(change, object{"password": password, "newPassword": strings.Repeat("😀", 9)})), "newPassword") // 9 characters, but 36 bytes
		other.me().want(200)
		c.post(change, object{"password": password, "newPassword": long}).want(204)
		c.me().want(200)
		other.me().rejected(401, "unauthorized")
		nobody := &client{t: t, s: s}
		for _, wrong := range []string{password, long[:len(long)-1], strings.ToUpper(long), " " + long} {
			nobody.post("/v1/console/login", object{"email": email, "password": wrong}).rejected(401, "invalid_credentials")
		}
		s.enters(t, object{"email": email, "password": long})
	})
}

func TestChangePassword_RejectsGuessable(t *testing.T) {
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
		var rejection *models.Error
		require.ErrorAs(t, err, &rejection, p)
		require.Contains(t, rejection.Fields, "password", p)
	}
	_, err = strict.CreateUser(t.Context(), s.app.ID, "ada.lovelace@example.com", "Ada Lovelace", "notes on the engine", models.RoleViewer)
	require.NoError(t, err)
	require.NoError(t, os.Remove(file))
	_, err = strict.CreateUser(t.Context(), s.app.ID, "b@example.com", "B", "notes on the engine", models.RoleViewer)
	require.ErrorContains(t, err, "leaked passwords", "a password that cannot be checked is rejected")

	c := s.person(t, models.RoleViewer)
	a := c.post("/v1/console/password", object{"password": password, "newPassword": "password1234"}).rejected(400, "validation_error")
	require.Contains(t, a.body["errors"], "newPassword")
}

// TestSignIn_IsLogged checks that sign-ins are logged with the user's ID and the method, but without secrets or addresses.
func TestSignIn_IsLogged(t *testing.T) {
	t.Parallel()
	var log logBuffer
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
		"console password changed\" user=" + id, "access token issued\" app=" + s.app.ID.String(),
	} {
		require.Contains(t, text, line)
	}
	for _, hidden := range []string{email, password, "not the password", "another long one", secret, "code=" + spent, recovery[0].(string), s.pass, c.token} {
		require.NotContains(t, text, hidden)
	}
}

// logBuffer collects log output and supports concurrent writes.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestLargeBodiesOfOwnRoutes(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.person(t, models.RoleViewer)
	for _, path := range []string{"/sessions/end", "/password", "/totp", "/totp/confirm", "/totp/recovery-codes", "/totp/remove"} {
		c.send(http.MethodPost, "/v1/console"+path, "application/json", make([]byte, 64<<10+1)).rejected(413, "request_too_large")
	}
}

// list returns the items of a response. The response is an array, or an object with the array in the member "data".
func list(a *response) (out []any) {
	a.t.Helper()
	if data, ok := a.body["data"].([]any); ok {
		return data
	}
	require.NoError(a.t, json.Unmarshal(a.raw, &out))
	return out
}

// databaseFiles returns the contents of the database file and its write-ahead log.
func databaseFiles(t *testing.T, s *service) (out []string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(strings.TrimPrefix(s.url, "sqlite://") + suffix)
		require.NoError(t, err)
		out = append(out, string(b))
	}
	return out
}

func TestSignIn_IsThrottled(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		s.signIn(t, models.RoleViewer)
		c := &client{t: t, s: s}
		s.clock.nextMinute()
		rejected := 0
		for range 25 {
			a := c.post("/v1/console/login", object{"email": "viewer@example.com", "password": "wrong"})
			if a.status == http.StatusTooManyRequests {
				rejected++
				require.NotEmpty(t, a.header.Get("Retry-After"))
			} else {
				a.rejected(401, "invalid_credentials")
			}
		}
		require.GreaterOrEqual(t, rejected, 4)
		c.post("/v1/console/login", object{"email": "viewer@example.com", "password": "correct horse"}).rejected(429, "rate_limited")
		s.clock.advance(time.Minute)
		c.post("/v1/console/login", object{"email": "viewer@example.com", "password": "correct horse"}).want(200)
	})
}
