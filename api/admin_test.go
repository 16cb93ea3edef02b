package api_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
)

// named finds the item of a list with that member.
func named(t *testing.T, items []any, member string, value any) object {
	t.Helper()
	for _, v := range items {
		if o := v.(object); o[member] == value {
			return o
		}
	}
	require.Failf(t, "not in the list", "%s = %v", member, value)
	return nil
}

func TestAdministratorsChangeUsers(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		admin, other := s.person(t, models.RoleAdmin), s.person(t, models.RoleViewer)
		me, id := admin.me().body["user"].(object)["id"].(string), other.me().body["user"].(object)["id"].(string)
		at := "/v1/console/users/" + id

		// A role holds from the next request on, and the session goes on.
		other.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com"}).refused(403, "role_forbidden")
		changed := admin.call(http.MethodPatch, at, object{"role": "support", "name": "Grace Hopper"}).want(200)
		require.Equal(t, "support", changed.str("role"))
		other.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com"}).want(200)
		other.call(http.MethodPatch, at, object{"role": "admin"}).refused(403, "role_forbidden")
		require.Equal(t, "Grace Hopper", other.me().body["user"].(object)["name"])
		require.Equal(t, "support", admin.call(http.MethodPatch, at, object{"name": nil, "role": nil}).want(200).str("role"), "null changes nothing")
		admin.call(http.MethodPatch, at, object{"role": "owner"}).refused(400, "validation_error")

		// Nobody takes away the own access by mistake.
		admin.call(http.MethodPatch, "/v1/console/users/"+me, object{"role": "viewer"}).refused(403, "own_account")
		admin.call(http.MethodPatch, "/v1/console/users/"+me, object{"name": "Own Name", "role": "admin"}).want(200)
		admin.del("/v1/console/users/"+me).refused(403, "own_account")
		admin.post("/v1/console/users/"+me+"/password", object{"newPassword": "another long one"}).refused(403, "own_account")

		// A forgotten password: a new one, and the sessions end.
		admin.post(at+"/password", object{"newPassword": "short"}).refused(400, "validation_error")
		admin.post(at+"/password", object{"newPassword": "another long one"}).want(204)
		other.me().refused(401, "unauthorized")
		email := named(t, list(admin.get("/v1/console/users").want(200)), "id", id)["email"]
		(&client{t: t, s: s}).post("/v1/console/login", object{"email": email, "password": password}).refused(401, "invalid_credentials")
		s.enters(t, object{"email": email, "password": "another long one"})

		// Another app's users do not exist.
		stranger := s.other(t)
		stranger.call(http.MethodPatch, at, object{"role": "viewer"}).refused(404, "not_found")
		stranger.post(at+"/password", object{"newPassword": "another long one"}).refused(404, "not_found")
		admin.call(http.MethodPatch, "/v1/console/users/"+uuid.NewString(), object{}).refused(404, "not_found")
	})
}

func TestUsersAreListedWithTheirSessions(t *testing.T) {
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

func TestAppInTheConsole(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		admin, viewer := s.person(t, models.RoleAdmin), s.person(t, models.RoleViewer)
		require.Equal(t, s.app.Name, viewer.get("/v1/console/app").want(200).str("name"))
		a := admin.call(http.MethodPatch, "/v1/console/app", object{"name": "Quayside", "contact": "ops@quayside.example"}).want(200)
		require.Equal(t, "ops@quayside.example", a.str("contact"))
		require.Equal(t, "Quayside", viewer.get("/v1/console/app").want(200).str("name"))
		require.Empty(t, admin.call(http.MethodPatch, "/v1/console/app", object{"contact": ""}).want(200).str("contact"))
		admin.call(http.MethodPatch, "/v1/console/app", object{"contact": "nobody"}).refused(400, "validation_error")
		for _, o := range []object{{"plan": "enterprise"}, {"tenants": []string{}}} { // what an app has paid for
			admin.call(http.MethodPatch, "/v1/console/app", o).refused(400, "validation_error")
		}
	})
}

func TestClientSecretsInTheConsole(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		admin, support := s.person(t, models.RoleAdmin), s.person(t, models.RoleSupport)
		login := func(secret string) int {
			return (&client{t: t, s: s}).send(http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded",
				form("grant_type", "client_credentials", "client_id", s.id, "client_secret", secret)).status
		}
		secrets := func() []any { return list(admin.get("/v1/console/client-secrets").want(200)) }
		require.Len(t, secrets(), 1)

		support.get("/v1/console/client-secrets").refused(403, "role_forbidden")
		support.post("/v1/console/client-secrets", object{"password": password}).refused(403, "role_forbidden")
		s.client(t).post("/v1/console/client-secrets", object{"password": password}).refused(403, "user_required")
		admin.post("/v1/console/client-secrets", object{"password": "wrong one"}).refused(400, "validation_error")
		admin.post("/v1/console/client-secrets", object{"password": password, "overlapHours": 721}).refused(400, "validation_error")
		require.Len(t, secrets(), 1)

		// It is shown once, also to who repeats the request.
		key := admin.with("Idempotency-Key", "secret")
		made := key.post("/v1/console/client-secrets", object{"password": password, "overlapHours": 2}).want(201)
		fresh := made.str("clientSecret")
		require.Equal(t, s.id, made.str("clientId"))
		require.NotContains(t, string(admin.get("/v1/console/client-secrets").want(200).raw), fresh)
		require.Equal(t, 200, login(s.pass))
		require.Equal(t, 200, login(fresh))
		old := secrets()[1].(object)
		require.Nil(t, secrets()[0].(object)["expiresAt"])
		require.NotNil(t, old["expiresAt"])

		// The old one ends by itself, or at once; the newest never.
		end := func(id any) *answer {
			return admin.post("/v1/console/client-secrets/"+id.(string)+"/end", object{"password": password})
		}
		end(secrets()[0].(object)["id"]).refused(409, "secret_newest")
		admin.post("/v1/console/client-secrets/"+old["id"].(string)+"/end", object{"password": "wrong one"}).refused(400, "validation_error")
		require.Equal(t, 200, login(s.pass))
		end(old["id"]).want(204)
		require.Equal(t, 401, login(s.pass))
		require.Equal(t, 200, login(fresh))
		end(old["id"]).refused(404, "not_found")

		last := admin.post("/v1/console/client-secrets", object{"password": password, "overlapHours": 1}).want(201).str("clientSecret")
		s.clock.advance(time.Hour + time.Second)
		require.Equal(t, 401, login(fresh))
		require.Equal(t, 200, login(last))

		// Another app's secrets are none of ours.
		app, _, err := s.store.CreateApp(t.Context(), "Other", models.PlanFree, nil)
		require.NoError(t, err)
		theirs, err := s.store.ClientSecrets(t.Context(), app.ID)
		require.NoError(t, err)
		end(theirs[0].ID.String()).refused(404, "not_found")
	})
}

// TestSecondFactorGuardsSecrets: whoever has a second factor gives a code, and a
// console that demands one lets no administrator without it near a secret.
func TestSecondFactorGuardsSecrets(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, secret, _ := s.enrolled(t, models.RoleAdmin)
	c.post("/v1/console/client-secrets", object{"password": password}).refused(400, "validation_error")
	c.post("/v1/console/client-secrets", object{"password": password, "code": "000000"}).refused(400, "validation_error")
	c.post("/v1/console/client-secrets", object{"password": password, "code": s.code(t, secret)}).want(201)

	strict := onSQLite(t, func(cfg *api.Config) { cfg.ConsoleTOTP = models.SecondFactorAdmins })
	strict.person(t, models.RoleAdmin).post("/v1/console/client-secrets", object{"password": password}).refused(403, "second_factor_required")
}

func TestEndpointsInTheConsole(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		admin, support := s.person(t, models.RoleAdmin), s.person(t, models.RoleSupport)
		in := object{"url": "https://example.com/a", "events": []string{"envelope.sent"}, "secret": "0123456789abcdef"}
		support.post("/v1/console/webhooks", in).refused(403, "role_forbidden")
		admin.post("/v1/console/webhooks", object{"url": "ftp://example.com", "events": []string{}}).refused(400, "validation_error")
		admin.post("/v1/console/webhooks", object{"url": "", "events": []string{"envelope.sent"}}).refused(400, "validation_error")
		hook := admin.post("/v1/console/webhooks", in).want(201)
		require.Equal(t, "secret", hook.str("signedWith"))
		require.NotContains(t, string(hook.raw), "0123456789abcdef")
		at := "/v1/console/webhooks/" + hook.str("id")
		require.Contains(t, string(s.client(t).get("/v1/webhooks").want(200).raw), hook.str("id"), "it is the app's own")

		changed := admin.call(http.MethodPatch, at, object{"url": "https://example.com/b"}).want(200)
		require.Equal(t, "https://example.com/b", changed.str("url"))
		require.Equal(t, []any{"envelope.sent"}, changed.body["events"])
		changed = admin.call(http.MethodPatch, at, object{"events": []string{"envelope.voided", "envelope.sent", "envelope.voided"}}).want(200)
		require.Equal(t, []any{"envelope.voided", "envelope.sent"}, changed.body["events"])
		admin.call(http.MethodPatch, at, object{"events": []string{}}).refused(400, "validation_error")
		admin.call(http.MethodPatch, at, object{"url": "nonsense"}).refused(400, "validation_error")
		support.call(http.MethodPatch, at, object{}).refused(403, "role_forbidden")
		s.other(t).call(http.MethodPatch, at, object{}).refused(404, "not_found")

		// A delivery says what it was about and where it went, until the endpoint is gone.
		e, _ := s.client(t).sent(contract())
		d := rowsOf(admin.get("/v1/console/webhook-deliveries?envelopeId=" + e.str("id")).want(200))[0].(object)
		require.Equal(t, "https://example.com/b", d["webhookUrl"])
		require.Equal(t, e.str("subject"), d["envelopeSubject"])
		one := admin.get("/v1/console/webhook-deliveries/" + d["id"].(string)).want(200)
		require.Equal(t, "https://example.com/b", one.str("webhookUrl"))
		require.Equal(t, e.str("subject"), one.str("envelopeSubject"))
		support.del(at).refused(403, "role_forbidden")
		s.other(t).del(at).refused(404, "not_found")
		admin.del(at).want(204)
		admin.del(at).refused(404, "not_found")
		one = admin.get("/v1/console/webhook-deliveries/" + d["id"].(string)).want(200)
		require.NotContains(t, one.body, "webhookUrl")
	})
}

// rowsOf are the rows of a page.
func rowsOf(a *answer) []any { return a.body["data"].([]any) }

// TestAnotherAddressIsAFreshStart: failures belong to the address that failed.
func TestAnotherAddressIsAFreshStart(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		hook, err := s.store.CreateWebhook(t.Context(), s.app.ID, "https://example.com/a", []models.EventName{models.EventEnvelopeSent}, "")
		require.NoError(t, err)
		c := s.client(t)
		c.sent(contract())
		d := rowsOf(c.get("/v1/console/webhook-deliveries").want(200))[0].(object)
		_, err = s.store.RecordAttempt(t.Context(), models.DeliveryAttempt{DeliveryID: uuid.MustParse(d["id"].(string)), At: s.clock.now(), Status: 500}, models.DeliveryOutcome{WebhookID: hook.ID})
		require.NoError(t, err)
		at := "/v1/console/webhooks/" + hook.ID.String()
		failing := func() any { return list(c.get("/v1/console/webhooks").want(200))[0].(object)["failingSince"] }
		require.NotNil(t, failing())
		c.call(http.MethodPatch, at, object{"url": "https://example.com/a", "events": []string{"envelope.sent"}}).want(200)
		require.NotNil(t, failing(), "the same address")
		c.call(http.MethodPatch, at, object{"url": "https://example.com/b"}).want(200)
		require.Nil(t, failing())
	})
}

func TestEnvelopesByDay(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		start := s.clock.now()
		old := c.draft(contract()).str("id")
		s.clock.advance(72 * time.Hour)
		c = s.client(t)
		fresh := c.draft(contract()).str("id")
		found := func(query string) (ids []string) {
			a := c.get("/v1/console/envelopes?" + query).want(200)
			for _, v := range rowsOf(a) {
				ids = append(ids, v.(object)["id"].(string))
			}
			require.EqualValues(t, len(ids), a.body["total"])
			return ids
		}
		day := func(n int) string { return start.AddDate(0, 0, n).Format(time.RFC3339) }
		require.Equal(t, []string{fresh, old}, found("createdAfter="+day(-1)))
		require.Equal(t, []string{fresh}, found("createdAfter="+day(1)))
		require.Equal(t, []string{old}, found("createdBefore="+day(1)))
		require.Empty(t, found("createdAfter="+day(1)+"&createdBefore="+day(2)))
		require.Equal(t, []string{old}, found("createdBefore="+day(1)+"&search=ada@example.com&tenantId=acme&status=draft"))
		c.post("/v1/envelopes/"+old+"/void", nil).want(200)
		require.Equal(t, []string{old}, found("createdBefore="+day(1)+"&status=voided"))
		c.get("/v1/console/envelopes?createdAfter=yesterday").refused(400, "validation_error")
		c.get("/v1/console/envelopes?undelivered=perhaps").refused(400, "validation_error")
	})
}

// TestUndeliveredMailIsShown: a refused invitation is seen in the list, until a
// later mail went out.
func TestUndeliveredMailIsShown(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e, _ := c.sent(contract())
		fine, _ := c.sent(contract())
		id, signer := uuid.MustParse(e.str("id")), uuid.MustParse(e.signer(0)["id"].(string))
		mail := func(name string) models.Mail {
			return models.Mail{ID: name + e.str("id"), EnvelopeID: id, SignerID: signer, Kind: models.MailInvitation}
		}
		undelivered := func(query string) map[string]any {
			out := map[string]any{}
			for _, v := range rowsOf(c.get("/v1/console/envelopes?" + query).want(200)) {
				out[v.(object)["id"].(string)] = v.(object)["undelivered"]
			}
			return out
		}
		none := []any{}
		require.Equal(t, map[string]any{e.str("id"): none, fine.str("id"): none}, undelivered(""))
		_, err := s.store.BeginMail(t.Context(), mail("one"))
		require.NoError(t, err)
		require.NoError(t, s.store.MailFailed(t.Context(), "one"+e.str("id"), "550 no such mailbox"))
		require.Equal(t, map[string]any{e.str("id"): []any{signer.String()}, fine.str("id"): none}, undelivered(""))
		require.Equal(t, map[string]any{e.str("id"): []any{signer.String()}}, undelivered("undelivered=true"))
		s.clock.advance(time.Second)
		_, err = s.store.BeginMail(t.Context(), mail("two"))
		require.NoError(t, err)
		require.Equal(t, []any{signer.String()}, undelivered("")[e.str("id")], "the next one is on its way only")
		require.NoError(t, s.store.MailSent(t.Context(), "two"+e.str("id")))
		require.Equal(t, none, undelivered("")[e.str("id")])
		c.get("/v1/envelopes?tenantId=acme").want(200) // and the interface's own list has no such member: the contract forbids it
	})
}

// TestAdministrationIsLogged: who did what, without the secrets.
func TestAdministrationIsLogged(t *testing.T) {
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
		"console user created", "console user changed", "console password set", "console user disabled", "app changed", "client secret made", "client secret ended",
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
