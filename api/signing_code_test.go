package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/api"
)

// TestVerification_BelongsToTheClient checks that operations that require a code are accepted only from the client that
// confirmed the code.
func TestVerification_BelongsToTheClient(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		boundClient(t, s)
		unboundClient(t, s)
		newLink(t, s)
		repeatedCode(t, s)
	})
}

// browser and stranger return clients that have the same address but different user agents.
func (s *service) browser(t *testing.T) *client {
	t.Helper()
	return (&client{t: t, s: s}).with("User-Agent", "browser")
}

func (s *service) stranger(t *testing.T) *client {
	t.Helper()
	return (&client{t: t, s: s}).with("User-Agent", "stranger")
}

func needCode(t *testing.T, c *client, at string) {
	t.Helper()
	require.Equal(t, false, c.get(at).want(200).body["otpVerified"])
	c.post(at+"/consent", nil).rejected(401, "otp_required")
	c.post(at+"/sign", object{"fields": []object{}}).rejected(401, "otp_required")
}

// boundClient checks that only the session identifies the client if the code was confirmed with bind. The session is
// sent as a cookie or in a header.
func boundClient(t *testing.T, s *service) {
	t.Helper()
	c, nobody, stranger := s.client(t), s.browser(t), s.stranger(t)
	e, _ := c.sent(twoSigners())
	at := s.link(t, e, 0)
	needCode(t, nobody, at)
	verified := nobody.post(at+"/otp/verify", object{"code": nobody.code(at), "bind": true}).want(200)
	require.Equal(t, true, verified.body["verified"])
	cookie := verified.header.Get("Set-Cookie")
	for _, part := range []string{"; HttpOnly", "; Secure", "; SameSite=Lax", "; Path=/v1/signing/"} {
		require.Contains(t, cookie, part)
	}
	require.NotContains(t, cookie, "Partitioned")
	token := verified.str("sessionToken")
	require.Len(t, token, 43, "256 bits")
	for _, c := range []*client{nobody, stranger} { // the same address and user agent are not sufficient
		needCode(t, c, at)
		c.post(at+"/decline", nil).rejected(401, "otp_required")
	}
	nobody.with("X-Signer-Session", strings.Repeat("x", 43)).post(at+"/consent", nil).rejected(401, "otp_required")
	pair, _, _ := strings.Cut(cookie, ";")
	byCookie, byHeader := stranger.with("Cookie", pair), stranger.with("X-Signer-Session", token)
	for _, c := range []*client{byCookie, byHeader} {
		ctx := c.get(at).want(200)
		require.Equal(t, true, ctx.body["otpVerified"])
		require.Equal(t, verified.str("draftKey"), ctx.str("draftKey"))
	}
	byCookie.post(at+"/consent", nil).want(200)

	// If another person with access to the signer's email confirms a code, the previous session ends.
	thief := stranger.binds(at)
	needSession(t, byHeader, at)
	require.Equal(t, verified.str("draftKey"), thief.get(at).want(200).str("draftKey"), "the code belongs to the link")
	back := nobody.binds(at)
	needSession(t, thief, at)

	// The session of another signer is not valid here.
	other, _ := c.sent(twoSigners())
	mine := nobody.binds(s.link(t, other, 0))
	needSession(t, nobody.with("X-Signer-Session", mine.head.Get("X-Signer-Session")), at)

	s.clock.advance(23 * time.Hour)
	require.Equal(t, true, back.get(at).want(200).body["otpVerified"])
	s.clock.advance(2 * time.Hour)
	needSession(t, back, at)
	nobody.binds(at).post(at+"/sign", object{"fields": []object{}}).want(200)
}

// unboundClient checks that a client that confirmed the code without bind is recognized by its address and user agent
// for half an hour.
func unboundClient(t *testing.T, s *service) {
	t.Helper()
	c, nobody, stranger := s.client(t), s.browser(t), s.stranger(t)
	e, _ := c.sent(twoSigners())
	at := s.link(t, e, 0)
	a := nobody.post(at+"/otp/verify", object{"code": nobody.code(at)}).want(200)
	require.JSONEq(t, `{"verified": true}`, string(a.raw), "as the contract specifies")
	require.Empty(t, a.header.Get("Set-Cookie"))
	needCode(t, stranger, at)
	s.clock.advance(29 * time.Minute)
	require.Equal(t, true, nobody.get(at).want(200).body["otpVerified"])
	s.clock.advance(2 * time.Minute)
	needCode(t, nobody, at)
	nobody.post(at+"/otp/verify", object{"code": nobody.code(at)}).want(200)
	nobody.post(at+"/consent", nil).want(200)
	stranger.post(at+"/sign", object{"fields": []object{}}).rejected(401, "otp_required")
	nobody.post(at+"/sign", object{"fields": []object{}}).want(200)
}

// newLink checks that a new link requires a new code.
func newLink(t *testing.T, s *service) {
	t.Helper()
	c, nobody := s.client(t), s.browser(t)
	e, _ := c.sent(twoSigners())
	at := s.link(t, e, 0)
	bound := nobody.binds(at)
	c.post("/v1/console/envelopes/"+e.str("id")+"/signers/"+e.signer(0)["id"].(string)+"/resend", nil).want(202)
	bound.get(at).rejected(401, "signing_link_invalid")
	fresh := s.link(t, e, 0)
	needSession(t, bound, fresh)
}

// repeatedCode checks that the session token is returned only once.
func repeatedCode(t *testing.T, s *service) {
	t.Helper()
	c, nobody := s.client(t), s.browser(t)
	e, _ := c.sent(twoSigners())
	at := s.link(t, e, 0)
	body := object{"code": nobody.code(at), "bind": true}
	keyed := nobody.with("Idempotency-Key", "k")
	token := keyed.post(at+"/otp/verify", body).want(200).str("sessionToken")
	again := keyed.post(at+"/otp/verify", body).rejected(400, "otp_incorrect")
	require.NotContains(t, string(again.raw), token, "the session token is returned once")
}

// needSession checks that a client without a confirmed code is rejected.
func needSession(t *testing.T, c *client, at string) {
	t.Helper()
	ctx := c.get(at).want(200)
	require.Equal(t, false, ctx.body["otpVerified"])
	require.Nil(t, ctx.body["shown"])
	c.post(at+"/sign", object{"fields": []object{}}).rejected(401, "otp_required")
}

// TestEmbeddedSessionCookie checks that the session cookie is partitioned if the signing page is in a frame on another
// site.
func TestEmbeddedSessionCookie(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	e, _ := c.sent(twoSigners())
	session := c.post("/v1/embedded/signing-sessions", object{
		"tenantId": "acme", "envelopeId": e.str("id"), "signerId": e.signer(0)["id"], "allowedOrigin": "https://app.example.com",
	}).want(201)
	at := "/v1/signing/" + nobody.get("/v1/embedded/sessions/"+session.str("sessionToken")).want(200).str("signingToken")
	cookie := nobody.post(at+"/otp/verify", object{"code": nobody.code(at), "bind": true}).want(200).header.Get("Set-Cookie")
	for _, part := range []string{"; HttpOnly", "; Secure", "; SameSite=None", "; Partitioned"} {
		require.Contains(t, cookie, part)
	}
	pair, _, _ := strings.Cut(cookie, ";")
	nobody.with("Cookie", pair).post(at+"/consent", nil).want(200)
}

// TestCodeState_SurvivesReload checks that a reloaded page gets the current state of the code, and that the emailed
// code remains valid.
func TestCodeState_SurvivesReload(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	e, _ := c.sent(twoSigners())
	at := s.link(t, e, 0)
	state := func() object { return nobody.get(at).want(200).body["code"].(object) }
	require.Equal(t, object{"liveUntil": nil, "triesLeft": nil, "requestableAt": nil, "locked": false}, state())
	right := nobody.code(at)
	st := state()
	require.EqualValues(t, 3, st["triesLeft"])
	require.NotNil(t, st["liveUntil"])
	require.NotNil(t, st["requestableAt"], "another code cannot be requested immediately")
	wrong := "000000"
	if right == wrong {
		wrong = "111111"
	}
	details := nobody.post(at+"/otp/verify", object{"code": wrong}).rejected(400, "otp_incorrect").body["details"].(object)
	require.EqualValues(t, 2, details["triesLeft"])
	require.EqualValues(t, 2, state()["triesLeft"])
	s.clock.advance(time.Minute)
	require.Nil(t, state()["requestableAt"])
	nobody.post(at+"/otp/verify", object{"code": right}).want(200)
	require.Nil(t, state()["liveUntil"])
	for range 4 {
		nobody.post(at+"/otp/request", nil).want(200)
	}
	free, err := time.Parse(time.RFC3339, state()["requestableAt"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, s.clock.now().Add(9*time.Minute), free, 15*time.Second, "after five requests in ten minutes")
	nobody.post(at+"/otp/request", nil).rejected(429, "otp_rate_limited")
	for range 3 {
		nobody.post(at+"/otp/verify", object{"code": "abcdef"}).rejected(400, "otp_incorrect")
	}
	require.Nil(t, state()["liveUntil"], "three wrong attempts invalidate the code")
	data := contract()
	_, token := c.sent(data)
	require.Nil(t, nobody.get("/v1/signing/" + token).want(200).body["code"], "no code is required")
}

// TestCodeSettings checks the settings that require a code for declining and reading.
func TestCodeSettings(t *testing.T) {
	t.Parallel()
	strict := onSQLite(t, func(cfg *api.Config) { cfg.DeclineNeedsCode, cfg.CodeBeforeReading = true, true })
	c, nobody := strict.client(t), &client{t: t, s: strict}
	e, _ := c.sent(twoSigners())
	at := strict.link(t, e, 0)
	ctx := nobody.get(at).want(200)
	require.Equal(t, true, ctx.body["declineNeedsCode"])
	require.Equal(t, false, ctx.body["readBeforeCode"])
	doc := ctx.body["documents"].([]any)[0].(object)["documentId"].(string)
	for _, path := range []string{"/document", "/documents/" + doc} {
		nobody.get(at+path).rejected(401, "otp_required")
	}
	nobody.post(at+"/decline", nil).rejected(401, "otp_required")
	confirmed := nobody.binds(at)
	confirmed.get(at + "/document").want(200)
	confirmed.get(at + "/documents/" + doc).want(200)
	confirmed.post(at+"/decline", nil).want(200)
	confirmed.post(at+"/decline", nil).rejected(409, "already_signed_or_declined")
	nobody.post(at+"/decline", nil).rejected(409, "already_signed_or_declined")
	_, token := c.sent(contract())
	nobody.get("/v1/signing/" + token + "/document").want(200)
	nobody.post("/v1/signing/"+token+"/decline", nil).want(200)

	usual := onSQLite(t, nil)
	c, nobody = usual.client(t), &client{t: t, s: usual}
	e, _ = c.sent(twoSigners())
	at = usual.link(t, e, 0)
	nobody.get(at + "/document").want(200)
	nobody.post(at+"/decline", nil).want(200)
}

// TestCode_WithoutSMSService checks the response to a signer who needs a code by text message after the SMS service was
// removed from the configuration.
func TestCode_WithoutSMSService(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	data := twoSigners()
	signer := data["signers"].([]object)[0]
	signer["authMethod"], signer["phone"] = "sms_otp", "+4930901820"
	e, _ := s.client(t).sent(data)
	at := s.link(t, e, 0)
	s.browser(t).post(at+"/otp/request", nil).want(200)
	require.Len(t, s.mails.texts, 1)
	without := s.cfg
	without.SMS = nil
	h, err := api.New(without)
	require.NoError(t, err)
	s.Config.Handler = h
	s.clock.advance(time.Minute)
	refused := s.browser(t).post(at+"/otp/request", nil).rejected(503, "otp_not_sent")
	require.Equal(t, "30", refused.header.Get("Retry-After"))
}
