package api_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
)

// TestEndpoint_GetPatchAndPing checks that an endpoint can be retrieved, changed in one request, and tested with a
// ping.
func TestEndpoint_GetPatchAndPing(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		made := c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"signer.replaced", "envelope.updated"}, "secret": "first"}).want(201)
		at := "/v1/webhooks/" + made.str("id")
		require.Equal(t, made.body, c.get(at).want(200).body)
		got := c.patch(at, object{"url": "https://example.com/2", "events": []string{"copy.sent"}, "active": false, "secret": "second", "overlapHours": 2}).want(200)
		require.Equal(t, []any{"https://example.com/2", []any{"copy.sent"}, false}, []any{got.body["url"], got.body["events"], got.body["active"]})
		require.Equal(t, got.body, c.get(at).want(200).body)
		shown := list(c.get("/v1/console/webhooks").want(200))[0].(object)
		require.NotNil(t, shown["previousSecretUntil"], "the old secret still signs")
		c.post(at+"/test", nil).rejected(409, "webhook_inactive")
		c.patch(at, object{"active": true}).want(200)
		delivery := c.post(at+"/test", nil).want(202)
		require.Equal(t, "ping", delivery.str("event"))
		for member, bad := range map[string]any{"url": "ftp://x", "events": []string{"nope"}, "active": "yes", "secret": "", "overlapHours": 1000} {
			require.Contains(t, fmt.Sprint(c.patch(at, object{member: bad, "x": 1}).rejected(400, "validation_error").body["errors"]), member)
		}
		require.Equal(t, "https://example.com/2", c.get(at).want(200).str("url"), "the change applies completely or not at all")
		other := s.other(t)
		other.get(at).rejected(404, "not_found")
		other.patch(at, object{}).rejected(404, "not_found")
		other.post(at+"/test", nil).rejected(404, "not_found")
		require.Equal(t, http.StatusOK, c.get("/v1/console/webhook-deliveries?event="+url.QueryEscape("copy.sent")).status)
	})
}

// TestEndpoint_RejectsPrivateNames checks that a private host name, such as that of a cloud metadata service, is
// rejected both at registration and in later changes.
func TestEndpoint_RejectsPrivateNames(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.AllowPrivateHooks = false })
	c, admin := s.client(t), s.signIn(t, models.RoleAdmin)
	events := []string{"envelope.sent"}
	good := c.post("/v1/webhooks", object{"url": "https://hooks.example.com/a", "events": events}).want(201)
	for _, name := range []string{"metadata.google.internal", "METADATA.GOOGLE.INTERNAL.", "metadata", "printer.local", "intranet.corp"} {
		hook := object{"url": "https://" + name + "/x", "events": events}
		require.Contains(t, c.post("/v1/webhooks", hook).rejected(400, "validation_error").body["errors"], "url", name)
		require.Contains(t, admin.post("/v1/console/webhooks", hook).rejected(400, "validation_error").body["errors"], "url", name)
		a := admin.call(http.MethodPatch, "/v1/console/webhooks/"+good.str("id"), object{"url": hook["url"]})
		require.Contains(t, a.rejected(400, "validation_error").body["errors"], "url", name)
	}
}

// TestEndpoint_ChangesAreLogged checks that each change by the app or by a console user is logged.
func TestEndpoint_ChangesAreLogged(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	s := onSQLite(t, func(cfg *api.Config) { cfg.Log = slog.New(slog.NewTextHandler(log, nil)) })
	app, admin := s.client(t), s.person(t, models.RoleAdmin)
	by := map[*client]string{app: models.AppActor(s.app.ID), admin: models.UserActor(uuid.MustParse(admin.me().body["user"].(object)["id"].(string)))}
	did := func(what string, who *client, do func() *response) {
		before := len(log.String())
		require.Less(t, do().status, 300, what)
		require.Regexp(t, `msg="`+what+`" webhook=[0-9a-f-]{36} by=`+by[who]+" ", log.String()[before:])
	}
	for who, path := range map[*client]string{app: "/v1/webhooks", admin: "/v1/console/webhooks"} {
		var at string
		did("webhook created", who, func() *response {
			made := who.post(path, object{"url": "https://example.com/a", "events": []string{"envelope.sent"}}).want(201)
			at = path + "/" + made.str("id")
			return made
		})
		did("webhook changed", who, func() *response { return who.patch(at, object{"url": "https://example.com/b"}) })
		if who == admin {
			did("webhook changed", who, func() *response { return who.post(at+"/pause", nil) })
			did("webhook changed", who, func() *response { return who.post(at+"/resume", nil) })
			did("webhook changed", who, func() *response { return who.post(at+"/secret", object{"secret": nil}) })
		}
		did("webhook deleted", who, func() *response { return who.del(at) })
	}
}
