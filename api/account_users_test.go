package api_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
)

func TestConsoleUsers_ChangedByAdministrators(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		admin, other := s.person(t, models.RoleAdmin), s.person(t, models.RoleViewer)
		me, id := admin.me().body["user"].(object)["id"].(string), other.me().body["user"].(object)["id"].(string)
		at := "/v1/console/users/" + id

		// A changed role takes effect with the next request, in the same session.
		other.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com"}).rejected(403, "role_forbidden")
		changed := admin.call(http.MethodPatch, at, object{"role": "support", "name": "Grace Hopper"}).want(200)
		require.Equal(t, "support", changed.str("role"))
		other.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com"}).want(200)
		other.call(http.MethodPatch, at, object{"role": "admin"}).rejected(403, "role_forbidden")
		require.Equal(t, "Grace Hopper", other.me().body["user"].(object)["name"])
		require.Equal(t, "support", admin.call(http.MethodPatch, at, object{"name": nil, "role": nil}).want(200).str("role"), "null changes nothing")
		admin.call(http.MethodPatch, at, object{"role": "owner"}).rejected(400, "validation_error")

		// Administrators cannot remove their own access by mistake.
		admin.call(http.MethodPatch, "/v1/console/users/"+me, object{"role": "viewer"}).rejected(403, "own_account")
		admin.call(http.MethodPatch, "/v1/console/users/"+me, object{"name": "Own Name", "role": "admin"}).want(200)
		admin.del("/v1/console/users/"+me).rejected(403, "own_account")
		admin.post("/v1/console/users/"+me+"/password", object{"newPassword": "another long one"}).rejected(403, "own_account")

		// If a user forgot the password, an administrator sets a new one, which also ends the user's sessions.
		admin.post(at+"/password", object{"newPassword": "short"}).rejected(400, "validation_error")
		admin.post(at+"/password", object{"newPassword": "another long one"}).want(204)
		other.me().rejected(401, "unauthorized")
		email := named(t, list(admin.get("/v1/console/users").want(200)), "id", id)["email"]
		(&client{t: t, s: s}).post("/v1/console/login", object{"email": email, "password": password}).rejected(401, "invalid_credentials")
		s.enters(t, object{"email": email, "password": "another long one"})

		// Another app's users are not found.
		stranger := s.other(t)
		stranger.call(http.MethodPatch, at, object{"role": "viewer"}).rejected(404, "not_found")
		stranger.post(at+"/password", object{"newPassword": "another long one"}).rejected(404, "not_found")
		admin.call(http.MethodPatch, "/v1/console/users/"+uuid.NewString(), object{}).rejected(404, "not_found")
	})
}

func TestConsoleUsers_ListedWithSessions(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		admin := s.person(t, models.RoleAdmin)
		secured, _, _ := s.enrolled(t, models.RoleViewer)
		away, err := s.store.CreateUser(t.Context(), s.app.ID, "away@example.com", "Away", password, models.RoleViewer)
		require.NoError(t, err)
		users := list(admin.get("/v1/console/users").want(200))
		require.Len(t, users, 3)
		one := named(t, users, "id", secured.me().body["user"].(object)["id"])
		require.Equal(t, true, one["secondFactor"])
		require.NotNil(t, one["seenAt"])
		two := named(t, users, "id", away.ID.String())
		require.Equal(t, false, two["secondFactor"])
		require.Nil(t, two["seenAt"])
	})
}

// TestConsoleUsers_ChangesAreLogged checks that changes are logged with the user and the administrator, but without
// secrets.
func TestConsoleUsers_ChangesAreLogged(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	s := onSQLite(t, func(cfg *api.Config) { cfg.Log = slog.New(slog.NewTextHandler(log, nil)) })
	admin := s.person(t, models.RoleAdmin)
	me := models.UserActor(uuid.MustParse(admin.me().body["user"].(object)["id"].(string)))
	user := admin.post("/v1/console/users", object{"email": "new@example.com", "name": "New", "password": "first long word", "role": "viewer"}).want(201).str("id")
	admin.call(http.MethodPatch, "/v1/console/users/"+user, object{"role": "support"}).want(200)
	admin.post("/v1/console/users/"+user+"/password", object{"newPassword": "second long word"}).want(204)
	admin.del("/v1/console/users/" + user).want(204)
	admin.call(http.MethodPatch, "/v1/console/app", object{"name": "Renamed"}).want(200)
	secret := admin.post("/v1/console/client-secrets", object{"password": password}).want(201).str("clientSecret")
	old := list(admin.get("/v1/console/client-secrets").want(200))[1].(object)["id"].(string)
	admin.post("/v1/console/client-secrets/"+old+"/end", object{"password": password}).want(204)
	hook := admin.post("/v1/console/webhooks", object{"url": "https://example.com/a", "events": []string{"envelope.sent"}, "secret": "endpoint secret"}).want(201).str("id")
	admin.call(http.MethodPatch, "/v1/console/webhooks/"+hook, object{"url": "https://example.com/b"}).want(200)
	admin.del("/v1/console/webhooks/" + hook).want(204)
	text := log.String()
	for _, what := range []string{
		"console user created", "console user changed", "console password set", "console user disabled", "app changed", "client secret created", "client secret revoked",
		"webhook created", "webhook changed", "webhook deleted",
	} {
		line := ""
		for l := range strings.Lines(text) {
			if strings.Contains(l, `msg="`+what+`"`) {
				line = l
			}
		}
		require.Contains(t, line, "by="+me, what)
	}
	for _, hidden := range []string{"first long word", "second long word", secret, "endpoint secret", "new@example.com", password} {
		require.NotContains(t, text, hidden)
	}
}

func TestConsoleUsersAndRoles(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		viewer, support, admin := s.signIn(t, models.RoleViewer), s.signIn(t, models.RoleSupport), s.signIn(t, models.RoleAdmin)
		e, _ := s.client(t).sent(contract())
		at := "/v1/console/envelopes/" + e.str("id")

		me := viewer.get("/v1/console/me").want(200)
		require.Equal(t, "viewer", me.body["user"].(object)["role"])
		require.Nil(t, s.client(t).get("/v1/console/me").want(200).body["user"])

		viewer.get(at).want(200)
		viewer.post(at+"/void", nil).rejected(403, "role_forbidden")
		viewer.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com"}).rejected(403, "role_forbidden")
		support.call(http.MethodPut, "/v1/console/settings", object{}).rejected(403, "role_forbidden")
		voided := support.post(at+"/void", object{"reason": "typo"}).want(200)
		log := voided.body["auditLog"].([]any)
		require.True(t, strings.HasPrefix(log[len(log)-1].(object)["actor"].(string), "user:"), "the audit trail names the person")

		// A console user's token is valid for operations on envelopes, but not for operations that only an app may use.
		admin.get("/v1/envelopes?tenantId=acme").want(200) // see TestEnvelopes_Roles
		admin.get("/v1/webhooks").rejected(401, "unauthorized")

		made := admin.post("/v1/console/users", object{"email": "new@example.com", "name": "New", "password": password, "role": "viewer"}).want(201)
		admin.post("/v1/console/users", object{"email": "NEW@example.com", "name": "New", "password": password, "role": "viewer"}).rejected(409, "user_exists")
		admin.post("/v1/console/users", object{"email": "x", "name": "", "password": "short", "role": "boss"}).rejected(400, "validation_error")
		require.Equal(t, 4, strings.Count(string(admin.get("/v1/console/users").want(200).raw), `"role"`))
		nobody := &client{t: t, s: s}
		token := nobody.post("/v1/console/login", object{"email": "new@example.com", "password": password}).want(200).str("access_token")
		admin.del("/v1/console/users/" + made.str("id")).want(204)
		gone := &client{t: t, s: s, token: token}
		gone.get("/v1/console/me").rejected(401, "unauthorized")
		nobody.post("/v1/console/login", object{"email": "new@example.com", "password": password}).rejected(401, "invalid_credentials")
		admin.del("/v1/console/users/"+made.str("id")).rejected(404, "not_found")
	})
}
