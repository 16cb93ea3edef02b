package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
)

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
		nobody.with("Referer", "https://evil.example.com/").get("/embed/"+token).rejected(403, "origin_forbidden")
		nobody.with("Referer", "https://app.example.com/x").get("/embed/" + token).want(200)
		unknown := nobody.get("/embed/unknown").want(404)
		require.Contains(t, unknown.header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
		require.Contains(t, nobody.get("/sign/x").want(200).header.Get("Content-Security-Policy"), "frame-ancestors 'none'")

		c.del("/v1/embedded/signing-sessions/" + made.str("sessionId")).want(204)
		over := nobody.get("/v1/embedded/sessions/"+token).rejected(401, "session_invalid")
		require.Equal(t, object{"allowedOrigin": "https://app.example.com", "envelopeId": e.str("id"), "signerId": e.signer(0)["id"]}, over.body["details"], "the origin and the IDs for the message to the embedding page")
		require.Contains(t, nobody.get("/embed/"+token).want(200).header.Get("Content-Security-Policy"), "frame-ancestors https://app.example.com")
		nobody.get(signing).rejected(401, "session_invalid")
		require.Empty(t, nobody.get("/v1/embedded/sessions/unknown").rejected(401, "session_invalid").body["details"])

		// The session of a closed envelope is rejected. The error still contains the data that the embedding page needs
		// to notify the application.
		ended, _ := c.sent(contract())
		of := in()
		of["envelopeId"], of["signerId"] = ended.str("id"), ended.signer(0)["id"]
		made = c.post("/v1/embedded/signing-sessions", of).want(201)
		c.post("/v1/envelopes/"+ended.str("id")+"/void", nil).want(200)
		over = nobody.get("/v1/embedded/sessions/"+made.str("sessionToken")).rejected(401, "session_invalid")
		require.Equal(t, object{"allowedOrigin": "https://app.example.com", "envelopeId": ended.str("id"), "signerId": ended.signer(0)["id"]}, over.body["details"])

		// The signing token issued by a session expires with the session.
		short := in()
		short["expiresInMinutes"] = 1
		made = c.post("/v1/embedded/signing-sessions", short).want(201)
		open = nobody.get("/v1/embedded/sessions/" + made.str("sessionToken")).want(200)
		s.clock.advance(2 * time.Minute)
		nobody.get("/v1/embedded/sessions/"+made.str("sessionToken")).rejected(401, "session_expired")
		nobody.get("/v1/signing/"+open.str("signingToken")).rejected(401, "signing_link_expired")

		for name, v := range map[string]any{
			"allowedOrigin": "http://app.example.com", "expiresInMinutes": 121, "returnUrl": "http://x.example.com", "signerId": "x", "theme": "dark", "tenantId": nil,
		} {
			bad := in()
			bad[name] = v
			require.Contains(t, c.post("/v1/embedded/signing-sessions", bad).rejected(400, "validation_error").body["errors"], name)
		}
		for _, origin := range []string{"https://app.example.com/", "https://*.example.com", "https://u:p@app.example.com", "https://a b", "null", "*", "http://localhost:3000", ""} {
			bad := in()
			bad["allowedOrigin"] = origin
			require.Contains(t, c.post("/v1/embedded/signing-sessions", bad).rejected(400, "validation_error").body["errors"], "allowedOrigin", origin)
			builder := object{"tenantId": "acme", "envelopeId": e.str("id"), "allowedOrigin": origin}
			require.Contains(t, c.post("/v1/embedded/builder-sessions", builder).rejected(400, "validation_error").body["errors"], "allowedOrigin", origin)
		}
		written := in()
		written["allowedOrigin"] = "https://BÜCHER.example:0443"
		session := c.post("/v1/embedded/signing-sessions", written).want(201)
		require.Equal(t, "https://xn--bcher-kva.example", nobody.get("/v1/embedded/sessions/"+session.str("sessionToken")).want(200).str("allowedOrigin"))
		wrong := in()
		wrong["tenantId"] = "other"
		c.post("/v1/embedded/signing-sessions", wrong).rejected(404, "not_found")
		wrong = in()
		wrong["signerId"] = uuid.NewString()
		c.post("/v1/embedded/signing-sessions", wrong).rejected(404, "not_found")
		s.other(t).post("/v1/embedded/signing-sessions", in()).rejected(404, "not_found")

		last := c.post("/v1/embedded/signing-sessions", in()).want(201)
		open = nobody.get("/v1/embedded/sessions/" + last.str("sessionToken")).want(200)
		c.signs(e, open.str("signingToken"))
		nobody.get("/v1/embedded/sessions/"+last.str("sessionToken")).rejected(410, "session_completed")
		c.post("/v1/embedded/signing-sessions", in()).rejected(409, "envelope_closed")
	})
}

// TestEmbeddedSession_OutlivesTheLink checks that the signer can sign until the session ends, even if the signing link
// would have expired earlier.
func TestEmbeddedSession_OutlivesTheLink(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		data := contract()
		data["expiresInDays"] = nil
		data["signers"].([]object)[0]["notify"] = false
		e, old := s.client(t).sent(data)
		nobody := &client{t: t, s: s}
		embed := func(renewed int) (signing string) {
			c := s.client(t) // the previous token has expired
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
		nobody.get("/v1/signing/"+old).rejected(401, "signing_link_invalid")
		nobody.get(first).rejected(401, "signing_link_expired") // the session has ended
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

// TestEmbeddedSession_Limits checks the permitted durations of a session, from one minute to two hours, and the maximum
// length of its URLs.
func TestEmbeddedSession_Limits(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, _ := c.sent(contract())
	ask := func(name string, value any) *response {
		in := object{"tenantId": "acme", "envelopeId": e.str("id"), "signerId": e.signer(0)["id"], "allowedOrigin": "https://app.example.com"}
		if name != "" {
			in[name] = value
		}
		return c.post("/v1/embedded/signing-sessions", in)
	}
	for _, tt := range []struct {
		given any
		want  time.Duration // 0 if rejected
	}{{nil, 30 * time.Minute}, {1, time.Minute}, {120, 2 * time.Hour}, {0, 0}, {-1, 0}, {121, 0}} {
		a := ask("expiresInMinutes", tt.given)
		if tt.want == 0 {
			require.Contains(t, a.rejected(400, "validation_error").body["errors"], "expiresInMinutes", "%v", tt.given)
			continue
		}
		until, err := time.Parse(time.RFC3339Nano, a.want(201).str("expiresAt"))
		require.NoError(t, err)
		require.WithinDuration(t, s.clock.now().Add(tt.want), until, 30*time.Second)
	}
	longest := "https://app.example.com/" + strings.Repeat("a", 2048-len("https://app.example.com/"))
	ask("returnUrl", longest).want(201)
	for _, bad := range []string{longest + "a", "http://app.example.com", "https://app.example.com/\x00", "app", "https://u@app.example.com", "https:///path", "https:app.example.com"} {
		require.Contains(t, ask("returnUrl", bad).rejected(400, "validation_error").body["errors"], "returnUrl", bad)
	}
	for _, tenant := range []string{"", strings.Repeat("x", 256)} {
		require.Contains(t, ask("tenantId", tenant).rejected(400, "validation_error").body["errors"], "tenantId")
	}
	ask("tenantId", "other").rejected(404, "not_found")
}
