package api_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store/blob"
)

// password is that of all console users here.
const password = "correct horse"

// signIn makes a console user and signs in.
func (s *service) signIn(t *testing.T, role models.Role) *client {
	t.Helper()
	email := string(role) + "@example.com"
	_, err := s.store.CreateUser(t.Context(), s.app.ID, email, "Some "+string(role), password, role)
	require.NoError(t, err)
	return s.enters(t, object{"email": strings.ToUpper(email), "password": password})
}

// person signs a new console user in, of whom there may be many.
func (s *service) person(t *testing.T, role models.Role) *client {
	t.Helper()
	email := uuid.NewString() + "@example.com"
	_, err := s.store.CreateUser(t.Context(), s.app.ID, email, "Some "+string(role), password, role)
	require.NoError(t, err)
	return s.enters(t, object{"email": email, "password": password})
}

// enters signs in.
func (s *service) enters(t *testing.T, login object) *client {
	t.Helper()
	c := &client{t: t, s: s}
	a := c.post("/v1/console/login", login).want(200)
	require.InDelta(t, 28800, a.body["expires_in"], 0)
	c.token = a.str("access_token")
	return c
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
		viewer.post(at+"/void", nil).refused(403, "role_forbidden")
		viewer.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com"}).refused(403, "role_forbidden")
		support.call(http.MethodPut, "/v1/console/settings", object{}).refused(403, "role_forbidden")
		voided := support.post(at+"/void", object{"reason": "typo"}).want(200)
		log := voided.body["auditLog"].([]any)
		require.True(t, strings.HasPrefix(log[len(log)-1].(object)["actor"].(string), "user:"), "the audit trail names the person")

		// A console token opens the console alone.
		admin.get("/v1/envelopes?tenantId=acme").want(200) // and envelopes, see TestRolesOnEnvelopes
		admin.get("/v1/webhooks").refused(401, "unauthorized")

		made := admin.post("/v1/console/users", object{"email": "new@example.com", "name": "New", "password": password, "role": "viewer"}).want(201)
		admin.post("/v1/console/users", object{"email": "NEW@example.com", "name": "New", "password": password, "role": "viewer"}).refused(409, "user_exists")
		admin.post("/v1/console/users", object{"email": "x", "name": "", "password": "short", "role": "boss"}).refused(400, "validation_error")
		require.Equal(t, 4, strings.Count(string(admin.get("/v1/console/users").want(200).raw), `"role"`))
		nobody := &client{t: t, s: s}
		token := nobody.post("/v1/console/login", object{"email": "new@example.com", "password": password}).want(200).str("access_token")
		admin.del("/v1/console/users/" + made.str("id")).want(204)
		gone := &client{t: t, s: s, token: token}
		gone.get("/v1/console/me").refused(401, "unauthorized")
		nobody.post("/v1/console/login", object{"email": "new@example.com", "password": password}).refused(401, "invalid_credentials")
		admin.del("/v1/console/users/"+made.str("id")).refused(404, "not_found")
	})
}

func TestLoginIsThrottled(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		s.signIn(t, models.RoleViewer)
		c := &client{t: t, s: s}
		now := s.clock.now()
		s.clock.advance(now.Truncate(time.Minute).Add(time.Minute).Sub(now)) // windows are whole minutes
		refused := 0
		for range 25 {
			a := c.post("/v1/console/login", object{"email": "viewer@example.com", "password": "wrong"})
			if a.status == http.StatusTooManyRequests {
				refused++
				require.NotEmpty(t, a.header.Get("Retry-After"))
			} else {
				a.refused(401, "invalid_credentials")
			}
		}
		require.GreaterOrEqual(t, refused, 4)
		c.post("/v1/console/login", object{"email": "viewer@example.com", "password": "correct horse"}).refused(429, "rate_limited")
		s.clock.advance(time.Minute)
		c.post("/v1/console/login", object{"email": "viewer@example.com", "password": "correct horse"}).want(200)
	})
}

func TestConsoleEnvelopes(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		data := contract()
		data["tenantId"], data["subject"] = "zeta", "Lease of the Blue House"
		c.sent(data)
		e, token := c.sent(contract())
		all := c.get("/v1/console/envelopes").want(200)
		require.EqualValues(t, 2, all.body["total"])
		require.EqualValues(t, 1, c.get("/v1/console/envelopes?tenantId=zeta").want(200).body["total"])
		require.EqualValues(t, 1, c.get("/v1/console/envelopes?search=blue+house").want(200).body["total"])
		require.EqualValues(t, 2, c.get("/v1/console/envelopes?search=ADA@EXAMPLE.com").want(200).body["total"])
		require.EqualValues(t, 0, c.get("/v1/console/envelopes?status=in_progress").want(200).body["total"])

		at := "/v1/console/envelopes/" + e.str("id")
		signer := e.signer(0)["id"].(string)
		a := c.post(at+"/signers/"+signer+"/resend", nil).want(202)
		require.NotContains(t, string(a.raw), "signingUrl")
		c.get("/v1/signing/"+token).refused(401, "signing_link_invalid")
		rows, err := s.store.ClaimOutbox(t.Context(), 100, time.Minute)
		require.NoError(t, err)
		for range 3 { // one row of each envelope at a time
			for _, r := range rows {
				require.NoError(t, s.store.FinishOutbox(t.Context(), r.Seq))
			}
			if rows, err = s.store.ClaimOutbox(t.Context(), 100, time.Minute); len(rows) > 0 && rows[0].Kind == models.OutboxReinvite {
				break
			}
			require.NoError(t, err)
		}
		require.Len(t, rows, 1)
		require.Equal(t, models.OutboxReinvite, rows[0].Kind)
		require.Equal(t, signer, rows[0].Refs.SignerID.String())
		c.post(at+"/signers/"+uuid.NewString()+"/resend", nil).refused(404, "not_found")
		c.get("/v1/envelopes/" + e.str("id") + "/progress").want(200)
		full := c.get(at).want(200)
		require.Contains(t, full.body, "mails")
		require.Contains(t, full.body, "deliveries")
		s.other(t).get(at).refused(404, "not_found")
	})
}

func TestContactsAndUsage(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		one := c.post("/v1/console/contacts", object{"name": "Ada Byron", "email": "Ada@example.com", "phone": "+44 20 7946 0958"}).want(200)
		require.Equal(t, "+442079460958", one.str("phone"))
		two := c.post("/v1/console/contacts", object{"name": "Ada Lovelace", "email": "ada@EXAMPLE.com"}).want(200)
		require.Equal(t, one.str("id"), two.str("id"), "unique per app and address")
		c.post("/v1/console/contacts", object{"name": "Bob", "email": "bob@example.com"}).want(200)
		c.post("/v1/console/contacts", object{"email": "x"}).refused(400, "validation_error")
		require.Equal(t, 1, strings.Count(string(c.get("/v1/console/contacts?search=LOVE").want(200).raw), `"appId"`))
		require.Equal(t, 2, strings.Count(string(c.get("/v1/console/contacts").want(200).raw), `"appId"`))
		s.other(t).del("/v1/console/contacts/"+one.str("id")).refused(404, "not_found")
		c.del("/v1/console/contacts/" + one.str("id")).want(204)

		c.sent(contract())
		u := c.get("/v1/console/usage").want(200)
		require.Equal(t, "enterprise", u.str("plan"))
		require.EqualValues(t, 1, u.body["envelopesUsed"])
		require.Nil(t, u.body["envelopesLimit"])
		now := s.clock.now()
		require.Equal(t, now.Format("2006-01-")+"01", u.str("periodStart"))
		require.Equal(t, time.Date(now.Year(), now.Month()+1, 0, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), u.str("periodEnd"))
	})
}

func TestSettingsHold(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		c.call(http.MethodPut, "/v1/console/settings", object{"fieldOrigin": "bottom-left", "senderName": "Acme Legal"}).want(200)
		a := c.call(http.MethodPut, "/v1/console/settings?tenantId=acme", object{"defaultExpiryDays": 3, "retentionDays": 30}).want(200)
		eff := a.body["effective"].(object)
		require.EqualValues(t, 3, eff["defaultExpiryDays"])
		require.Equal(t, "bottom-left", eff["fieldOrigin"])
		require.Equal(t, "Acme Legal", eff["senderName"])
		require.EqualValues(t, 72, eff["reminderIntervalHours"])
		require.Nil(t, a.body["own"].(object)["senderName"])

		e, token := c.sent(contract())
		until, err := time.Parse(time.RFC3339, e.str("expiresAt"))
		require.NoError(t, err)
		require.WithinDuration(t, s.clock.now().AddDate(0, 0, 3), until, time.Minute)
		require.InDelta(t, 842-50-20, e.field(0)["y"], 0.01, "counted from the bottom")
		require.Equal(t, "Acme Legal", c.get("/v1/signing/"+token).want(200).str("senderName"))

		data := contract()
		data["expiresInDays"] = nil
		require.Nil(t, c.draft(data).body["expiresAt"], "null is no deadline")
		c.call(http.MethodPut, "/v1/console/settings?tenantId=acme", object{"defaultExpiryDays": 0}).refused(400, "validation_error")
		limited := s.other(t, "only")
		limited.get("/v1/console/settings?tenantId=acme").refused(403, "tenant_forbidden")
		limited.get("/v1/console/settings").refused(403, "tenant_forbidden")
		limited.get("/v1/console/settings?tenantId=only").want(200)
	})
}

// TestSettingsAreChangedOneByOne: a client that knows some settings does not
// take back the others.
func TestSettingsAreChangedOneByOne(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		put := func(path string, v object) object {
			own, _ := c.call(http.MethodPut, "/v1/console/settings"+path, v).want(200).body["own"].(object)
			return own
		}
		all := object{
			"defaultExpiryDays": 3., "reminderIntervalHours": 0., "retentionDays": 30., "fieldOrigin": "bottom-left", "senderName": "Legal",
			"language": "de", "replyTo": "office@acme.example", "notifyEmail": "ops@acme.example",
		}
		for _, path := range []string{"", "?tenantId=acme"} {
			require.Equal(t, all, put(path, all))
			require.Equal(t, all, put(path, object{}))
		}
		changed := maps.Clone(all)
		for name, v := range map[string]any{"senderName": nil, "defaultExpiryDays": 9., "replyTo": "else@acme.example", "notifyEmail": nil} {
			changed[name] = v
			require.Equal(t, changed, put("?tenantId=acme", object{name: v}), name)
		}
		require.Equal(t, changed, c.get("/v1/console/settings?tenantId=acme").want(200).body["own"])
		require.Equal(t, all, c.get("/v1/console/settings").want(200).body["own"], "the app's stay")
		effective, _ := c.get("/v1/console/settings?tenantId=acme").want(200).body["effective"].(object)
		require.Equal(t, "Legal", effective["senderName"], "taken back: the app's")
		for name := range all {
			changed[name] = nil
			require.Equal(t, changed, put("?tenantId=acme", object{name: nil}), name)
		}
		c.call(http.MethodPut, "/v1/console/settings?tenantId=acme", object{"language": "de", "replyTo": "nobody"}).refused(400, "validation_error")
		require.Equal(t, changed, c.get("/v1/console/settings?tenantId=acme").want(200).body["own"], "all or nothing")
	})
}

func TestEmbeddedSessions(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e, _ := c.sent(contract())
		in := func() object {
			return object{
				"tenantId": "acme", "envelopeId": e.str("id"), "signerId": e.signer(0)["id"], "allowedOrigin": "https://app.example.com",
				"returnUrl": "https://app.example.com/done", "theme": object{"primaryColor": "#1A56DB", "borderRadius": 8, "font": "x"},
			}
		}
		made := c.post("/v1/embedded/signing-sessions", in()).want(201)
		token := made.str("sessionToken")
		require.Equal(t, "https://sign.example.com/embed/"+token, made.str("embedUrl"))
		nobody := &client{t: t, s: s}
		open := nobody.get("/v1/embedded/sessions/" + token).want(200)
		require.Equal(t, e.str("id"), open.str("envelopeId"))
		require.Equal(t, object{"primaryColor": "#1A56DB", "borderRadius": "8px"}, open.body["theme"])
		signing := "/v1/signing/" + open.str("signingToken")
		nobody.get(signing).want(200)

		page := nobody.get("/embed/" + token).want(200)
		require.Equal(t, "default-src 'none'; script-src 'self'; frame-ancestors https://app.example.com", page.header.Get("Content-Security-Policy"))
		require.Empty(t, page.header.Get("X-Frame-Options"))
		nobody.with("Referer", "https://evil.example.com/").get("/embed/"+token).refused(403, "origin_forbidden")
		nobody.with("Referer", "https://app.example.com/x").get("/embed/" + token).want(200)
		unknown := nobody.get("/embed/unknown").want(404)
		require.Contains(t, unknown.header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
		require.Contains(t, nobody.get("/sign/x").want(200).header.Get("Content-Security-Policy"), "frame-ancestors 'none'")

		c.del("/v1/embedded/signing-sessions/" + made.str("sessionId")).want(204)
		over := nobody.get("/v1/embedded/sessions/"+token).refused(401, "session_invalid")
		require.Equal(t, object{"allowedOrigin": "https://app.example.com", "envelopeId": e.str("id"), "signerId": e.signer(0)["id"]}, over.body["details"], "whom the frame tells")
		require.Contains(t, nobody.get("/embed/"+token).want(200).header.Get("Content-Security-Policy"), "frame-ancestors https://app.example.com")
		nobody.get(signing).refused(401, "session_invalid")
		require.Empty(t, nobody.get("/v1/embedded/sessions/unknown").refused(401, "session_invalid").body["details"])

		// A session of an envelope that has ended opens nothing, and the frame still gets its event.
		ended, _ := c.sent(contract())
		of := in()
		of["envelopeId"], of["signerId"] = ended.str("id"), ended.signer(0)["id"]
		made = c.post("/v1/embedded/signing-sessions", of).want(201)
		c.post("/v1/envelopes/"+ended.str("id")+"/void", nil).want(200)
		over = nobody.get("/v1/embedded/sessions/"+made.str("sessionToken")).refused(401, "session_invalid")
		require.Equal(t, object{"allowedOrigin": "https://app.example.com", "envelopeId": ended.str("id"), "signerId": ended.signer(0)["id"]}, over.body["details"])

		// It ends by itself, and so does the signing token that it gave.
		short := in()
		short["expiresInMinutes"] = 1
		made = c.post("/v1/embedded/signing-sessions", short).want(201)
		open = nobody.get("/v1/embedded/sessions/" + made.str("sessionToken")).want(200)
		s.clock.advance(2 * time.Minute)
		nobody.get("/v1/embedded/sessions/"+made.str("sessionToken")).refused(401, "session_expired")
		nobody.get("/v1/signing/"+open.str("signingToken")).refused(401, "signing_link_expired")

		for name, v := range map[string]any{
			"allowedOrigin": "http://app.example.com", "expiresInMinutes": 121, "returnUrl": "http://x.example.com", "signerId": "x", "theme": "dark",
		} {
			bad := in()
			bad[name] = v
			require.Contains(t, c.post("/v1/embedded/signing-sessions", bad).refused(400, "validation_error").body["errors"], name)
		}
		for _, origin := range []string{"https://app.example.com/", "https://*.example.com", "https://u:p@app.example.com", "https://a b", "null", "*", "http://localhost:3000", ""} {
			bad := in()
			bad["allowedOrigin"] = origin
			require.Contains(t, c.post("/v1/embedded/signing-sessions", bad).refused(400, "validation_error").body["errors"], "allowedOrigin", origin)
			builder := object{"tenantId": "acme", "envelopeId": e.str("id"), "allowedOrigin": origin}
			require.Contains(t, c.post("/v1/embedded/builder-sessions", builder).refused(400, "validation_error").body["errors"], "allowedOrigin", origin)
		}
		written := in()
		written["allowedOrigin"] = "https://BÜCHER.example:0443"
		session := c.post("/v1/embedded/signing-sessions", written).want(201)
		require.Equal(t, "https://xn--bcher-kva.example", nobody.get("/v1/embedded/sessions/"+session.str("sessionToken")).want(200).str("allowedOrigin"))
		wrong := in()
		wrong["tenantId"] = "other"
		c.post("/v1/embedded/signing-sessions", wrong).refused(404, "not_found")
		wrong = in()
		wrong["signerId"] = uuid.NewString()
		c.post("/v1/embedded/signing-sessions", wrong).refused(404, "not_found")
		s.other(t).post("/v1/embedded/signing-sessions", in()).refused(404, "not_found")

		last := c.post("/v1/embedded/signing-sessions", in()).want(201)
		open = nobody.get("/v1/embedded/sessions/" + last.str("sessionToken")).want(200)
		c.signs(e, open.str("signingToken"))
		nobody.get("/v1/embedded/sessions/"+last.str("sessionToken")).refused(410, "session_completed")
		c.post("/v1/embedded/signing-sessions", in()).refused(409, "envelope_closed")
	})
}

// TestEmbeddedSessionsOutliveLinks: a session can be signed in until it ends, also where
// the signer's link has ended, or ends before, which nobody renews for who gets no mail.
func TestEmbeddedSessionsOutliveLinks(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		data := contract()
		data["expiresInDays"] = nil
		data["signers"].([]object)[0]["notify"] = false
		e, old := s.client(t).sent(data)
		nobody := &client{t: t, s: s}
		embed := func(renewed int) (signing string) {
			c := s.client(t) // its token has expired meanwhile
			made := c.post("/v1/embedded/signing-sessions", object{
				"tenantId": "acme", "envelopeId": e.str("id"), "signerId": e.signer(0)["id"], "allowedOrigin": "https://app.example.com",
			}).want(201)
			signing = "/v1/signing/" + nobody.get("/v1/embedded/sessions/"+made.str("sessionToken")).want(200).str("signingToken")
			nobody.get(signing).want(200)
			issued := c.get("/v1/envelopes/" + e.str("id")).want(200).events("link.issued")
			require.Len(t, issued, renewed)
			for _, detail := range issued {
				require.Equal(t, true, detail["rotated"])
			}
			return signing
		}
		first := embed(0)
		nobody.get("/v1/signing/" + old).want(200)

		s.clock.advance(models.LinkLifetime - 29*time.Minute)
		second := embed(1)
		nobody.get("/v1/signing/"+old).refused(401, "signing_link_invalid")
		nobody.get(first).refused(401, "signing_link_expired") // the session's own end
		require.NotEqual(t, second, embed(1), "the new link lasts")
		nobody.get(second).want(200)

		s.clock.advance(models.LinkLifetime + 24*time.Hour)
		last := embed(2)
		s.clock.advance(29 * time.Minute)
		nobody.get(last).want(200)
	})
}

func TestEmbeddedOnLocalhostInDevelopment(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.Development = true })
	c := s.client(t)
	e, _ := c.sent(contract())
	c.post("/v1/embedded/signing-sessions", object{
		"tenantId": "acme", "envelopeId": e.str("id"), "signerId": e.signer(0)["id"], "allowedOrigin": "http://localhost:3000",
	}).want(201)
}

func TestDeliveriesInTheConsole(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/hook", "events": []string{"envelope.sent"}, "secret": "first secret"}).want(201)
		c.sent(contract())
		list := c.get("/v1/console/webhook-deliveries?status=pending&event=envelope.sent&webhookId=" + hook.str("id")).want(200)
		require.EqualValues(t, 1, list.body["total"])
		id := list.body["data"].([]any)[0].(object)["id"].(string)
		one := c.get("/v1/console/webhook-deliveries/" + id).want(200)
		require.Equal(t, "envelope.sent", one.body["payload"].(object)["event"])
		c.post("/v1/console/webhook-deliveries/"+id+"/resend", nil).refused(409, "delivery_pending")

		run := 0 // each attempt below is the first since the delivery was sent again
		fail := func(at time.Time, gone bool) string {
			disabled, err := s.store.RecordAttempt(t.Context(), models.DeliveryAttempt{
				DeliveryID: uuid.MustParse(id), At: at, Status: 500, Body: []byte("oops\x00\xff"),
			}, models.DeliveryOutcome{WebhookID: uuid.MustParse(hook.str("id")), Last: true, Gone: gone, Run: run})
			require.NoError(t, err)
			run++
			return disabled
		}
		require.Empty(t, fail(s.clock.now(), false))
		one = c.get("/v1/console/webhook-deliveries/" + id).want(200)
		require.Equal(t, "failed", one.str("status"))
		require.Equal(t, "oops", one.body["attemptLog"].([]any)[0].(object)["body"])
		again := c.post("/v1/console/webhook-deliveries/"+id+"/resend", nil).want(202)
		require.Equal(t, one.str("eventId"), again.str("eventId"))
		require.EqualValues(t, 1, again.body["resends"])
		require.Empty(t, fail(s.clock.now(), false))
		since := object{"since": s.clock.now().Add(-time.Hour).Format(time.RFC3339)}
		require.EqualValues(t, 1, c.post("/v1/console/webhooks/"+hook.str("id")+"/resend", since).want(202).body["resent"])
		require.EqualValues(t, 0, c.post("/v1/console/webhooks/"+hook.str("id")+"/resend", since).want(202).body["resent"], "it is on its way")
		c.post("/v1/console/webhooks/"+hook.str("id")+"/resend", object{"since": "yesterday"}).refused(400, "validation_error")

		ping := c.post("/v1/console/webhooks/"+hook.str("id")+"/ping", nil).want(202)
		require.Nil(t, ping.body["envelopeId"])

		// Five days without a success switch it off, with all that is on its way.
		require.Equal(t, models.DisabledFailing, fail(s.clock.now().Add(models.DisableAfter+time.Hour), false))
		require.EqualValues(t, 0, c.get("/v1/console/webhook-deliveries?status=pending").want(200).body["total"])
		c.post("/v1/console/webhook-deliveries/"+id+"/resend", nil).refused(409, "webhook_inactive")
		c.post("/v1/console/webhooks/"+hook.str("id")+"/ping", nil).refused(409, "webhook_inactive")
		c.sent(contract())
		require.EqualValues(t, 0, c.get("/v1/console/webhook-deliveries?status=pending").want(200).body["total"], "it hears of nothing")
		c.post("/v1/console/webhooks/"+hook.str("id")+"/resume", nil).want(200)
		c.post("/v1/console/webhook-deliveries/"+id+"/resend", nil).want(202)
		require.Equal(t, models.DisabledGone, fail(s.clock.now(), true), "410 switches off at once")

		c.post("/v1/console/webhooks/"+hook.str("id")+"/resume", nil).want(200)
		rotated := c.post("/v1/console/webhooks/"+hook.str("id")+"/secret", object{"secret": "second secret"}).want(200)
		require.NotNil(t, rotated.body["previousSecretUntil"])
		require.NotContains(t, string(rotated.raw), "second secret")
		c.post("/v1/console/webhook-deliveries/"+id+"/resend", nil).want(202)
		job, err := s.store.DeliveryJob(t.Context(), uuid.MustParse(id))
		require.NoError(t, err)
		assert.Equal(t, [][]byte{[]byte("second secret"), []byte("first secret")}, job.Secrets)
		s.clock.advance(25 * time.Hour)
		job, err = s.store.DeliveryJob(t.Context(), uuid.MustParse(id))
		require.NoError(t, err)
		assert.Equal(t, [][]byte{[]byte("second secret")}, job.Secrets, "the overlap has ended")

		c = s.client(t)
		c.del("/v1/webhooks/" + hook.str("id")).want(204)
		_, err = s.store.DeliveryJob(t.Context(), uuid.MustParse(id))
		require.ErrorIs(t, err, models.ErrNotFound, "deleting ends the queue")
	})
}

// TestASenderSeesThatSealingFails: the envelope says so until it is sealed or
// closed, and says nothing of it else.
func TestASenderSeesThatSealingFails(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e, token := c.sent(contract())
		c.signs(e, token)
		at := "/v1/envelopes/" + e.str("id")
		require.NotContains(t, c.get(at).want(200).body, "sealingProblem")
		change := func(fn func(*models.Envelope) error) {
			t.Helper()
			_, err := s.store.Change(t.Context(), s.app.ID, uuid.MustParse(e.str("id")), fn)
			require.NoError(t, err)
		}
		change(func(e *models.Envelope) error { return e.SealingFailed(s.act("system"), models.SealingOriginalMissing) })
		full := c.get(at).want(200)
		problem, ok := full.body["sealingProblem"].(object)
		require.True(t, ok)
		require.Equal(t, "original_missing", problem["code"])
		require.NotEmpty(t, problem["message"])
		require.NotEmpty(t, problem["since"])
		require.Equal(t, "in_progress", full.str("status"))
		c.post(at+"/void", nil).refused(400, "envelope_sealing")
		staff := s.signIn(t, models.RoleViewer)
		require.Contains(t, staff.get("/v1/console/envelopes/"+e.str("id")).want(200).body, "sealingProblem")
		row := staff.get("/v1/console/envelopes").want(200).body["data"].([]any)[0].(object)
		require.Contains(t, row, "sealingProblem")

		change(func(e *models.Envelope) error { return e.VoidStuck(s.act("system"), "the file is lost") })
		closed := c.get(at).want(200)
		require.Equal(t, "voided", closed.str("status"))
		require.NotContains(t, closed.body, "sealingProblem")
	})
}

func TestRetentionInThePortal(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e, token := c.sent(contract())
		c.signs(e, token)
		portal := "/v1/download/" + s.completes(t, e.str("id"), 30)
		nobody := &client{t: t, s: s}
		nobody.get(portal).want(200)
		file := nobody.get(portal + "/document").want(200)
		require.Equal(t, testkit.OnePage(), file.raw)
		full := c.get("/v1/envelopes/" + e.str("id")).want(200)
		require.Equal(t, s.clock.now().AddDate(0, 0, 30).Format(time.DateOnly), full.body["documents"].([]any)[1].(object)["retentionUntil"])

		purge := func(e *models.Envelope) error { return e.Purge(s.act("system")) }
		id := uuid.MustParse(e.str("id"))
		_, err := s.store.Change(t.Context(), s.app.ID, id, purge)
		require.ErrorContains(t, err, "retention_not_due")
		s.clock.advance(31 * 24 * time.Hour)
		_, err = s.store.Change(t.Context(), s.app.ID, id, purge)
		require.NoError(t, err)
		nobody.get(portal).refused(410, "document_purged")
		nobody.get(portal+"/document").refused(410, "document_purged")
		c = s.client(t)
		for _, prefix := range []string{"/v1", "/v1/console"} {
			c.get(prefix+"/envelopes/"+e.str("id")+"/document").refused(410, "document_purged")
		}
		full = c.get("/v1/envelopes/" + e.str("id")).want(200)
		require.Equal(t, 2, strings.Count(string(full.raw), `"document.purged"`), "a tombstone for each file")
		require.Equal(t, "purged", full.body["documents"].([]any)[0].(object)["purgeStatus"])
	})
}

func TestVerifyEndpoint(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	now := s.clock.now() // what follows is counted in one minute
	s.clock.advance(now.Truncate(time.Minute).Add(time.Minute).Sub(now))
	nobody := &client{t: t, s: s}
	a := nobody.send(http.MethodPost, "/v1/verify", "application/pdf", testkit.OnePage()).want(200)
	require.Equal(t, "not_sealed", a.str("verdict"))
	ct, body := multipartBody(t, nil, testkit.OnePage())
	nobody.send(http.MethodPost, "/v1/verify", ct, body).want(200)
	nobody.send(http.MethodPost, "/v1/verify", "application/pdf", nil).refused(400, "validation_error")
	nobody.send(http.MethodPost, "/v1/verify", "text/plain", []byte("x")).refused(400, "content_type")
	nobody.send(http.MethodPost, "/v1/verify", "application/pdf", make([]byte, 116<<20+1)).refused(413, "file_too_large")
	ct, body = multipartBody(t, nil, make([]byte, 116<<20+1))
	nobody.send(http.MethodPost, "/v1/verify", ct, body).refused(413, "file_too_large")
	ct, body = multipartBody(t, map[string]string{"other": "x"}, nil)
	nobody.send(http.MethodPost, "/v1/verify", ct, body).refused(400, "validation_error")
	for i := range 30 {
		if a = nobody.send(http.MethodPost, "/v1/verify", "application/pdf", []byte(fmt.Sprint(i))); a.status == http.StatusTooManyRequests {
			return
		}
	}
	t.Fatal("not limited")
}

// purgingStore is a file store whose files are purged the moment they are asked for.
type purgingStore struct {
	blob.Store
	purge func()
}

func (p *purgingStore) Open(ctx context.Context, key string) (*blob.File, error) {
	p.purge()
	return p.Store.Open(ctx, key)
}

// TestPurgedMeanwhile: a file that goes while it is asked for is gone, not lost.
func TestPurgedMeanwhile(t *testing.T) {
	t.Parallel()
	files := &purgingStore{}
	s := onSQLite(t, func(cfg *api.Config) { files.Store, cfg.Blobs = cfg.Blobs, files })
	c := s.client(t)
	e, token := c.sent(contract())
	c.signs(e, token)
	s.completes(t, e.str("id"), 1)
	s.clock.advance(25 * time.Hour)
	purge := sync.OnceFunc(func() {
		before, err := s.store.Envelope(t.Context(), s.app.ID, uuid.MustParse(e.str("id")))
		require.NoError(t, err)
		_, err = s.store.Change(t.Context(), s.app.ID, before.ID, func(e *models.Envelope) error { return e.Purge(s.act("system")) })
		require.NoError(t, err)
		for _, d := range before.Documents {
			require.NoError(t, files.Delete(t.Context(), d.BlobKey))
		}
	})
	files.purge = purge
	s.client(t).get("/v1/envelopes/"+e.str("id")+"/document?kind=sealed").refused(410, "document_purged")
}

// TestSealedDocumentsAreNamed: by their own id or by that of their original, and by no other.
func TestSealedDocumentsAreNamed(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, token := c.sent(contract())
	c.signs(e, token)
	s.completes(t, e.str("id"), 0)
	at := "/v1/envelopes/" + e.str("id")
	docs := c.get(at).want(200).body["documents"].([]any)
	require.Len(t, docs, 2)
	for _, d := range docs {
		id, _ := d.(object)["id"].(string)
		c.get(at + "/document?kind=sealed&documentId=" + id).want(200)
	}
	c.get(at+"/document?kind=sealed&documentId="+newID().String()).refused(404, "not_found")
	c.get(at+"/document?documentId="+newID().String()).refused(404, "not_found")
}

// TestBoundsOfEmbeddedSessions: a session lasts from one minute to two hours, half an hour unless said otherwise, and
// has addresses of at most 2,048 characters.
func TestBoundsOfEmbeddedSessions(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, _ := c.sent(contract())
	ask := func(name string, value any) *answer {
		in := object{"tenantId": "acme", "envelopeId": e.str("id"), "signerId": e.signer(0)["id"], "allowedOrigin": "https://app.example.com"}
		if name != "" {
			in[name] = value
		}
		return c.post("/v1/embedded/signing-sessions", in)
	}
	for _, tt := range []struct {
		given any
		want  time.Duration // 0: refused
	}{{nil, 30 * time.Minute}, {1, time.Minute}, {120, 2 * time.Hour}, {0, 0}, {-1, 0}, {121, 0}} {
		a := ask("expiresInMinutes", tt.given)
		if tt.want == 0 {
			require.Contains(t, a.refused(400, "validation_error").body["errors"], "expiresInMinutes", "%v", tt.given)
			continue
		}
		until, err := time.Parse(time.RFC3339Nano, a.want(201).str("expiresAt"))
		require.NoError(t, err)
		require.WithinDuration(t, s.clock.now().Add(tt.want), until, 30*time.Second)
	}
	longest := "https://app.example.com/" + strings.Repeat("a", 2048-len("https://app.example.com/"))
	ask("returnUrl", longest).want(201)
	for _, bad := range []string{longest + "a", "http://app.example.com", "https://app.example.com/\x00", "app", "https://u@app.example.com", "https:///path", "https:app.example.com"} {
		require.Contains(t, ask("returnUrl", bad).refused(400, "validation_error").body["errors"], "returnUrl", bad)
	}
	for _, tenant := range []string{"", strings.Repeat("x", 256)} {
		require.Contains(t, ask("tenantId", tenant).refused(400, "validation_error").body["errors"], "tenantId")
	}
	ask("tenantId", "other").refused(404, "not_found")
}
