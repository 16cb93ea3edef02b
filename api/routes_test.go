package api_test

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// The tests in this file try every operation in the contract with faults that can affect any operation.

// isOwn reports whether only console users, and not the app, can use an operation.
func isOwn(op *openapi3.Operation) bool {
	return op.Security != nil && len(*op.Security) == 1 && (*op.Security)[0]["console"] != nil
}

// TestOperations_RequireCredentialAndRole checks that every operation rejects callers without the required token or
// role.
func TestOperations_RequireCredentialAndRole(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	at := pathReplacer(t, s)
	viewer := s.signIn(t, models.RoleViewer)
	eachOperation(t, s, func(c *client, method, path string, op *openapi3.Operation) {
		if c.token == "" {
			return
		}
		for _, token := range []string{"", "x", "a.b.c"} {
			(&client{t: t, s: s, token: token}).call(method, at.Replace(path), nil).rejected(401, "unauthorized")
		}
		basic := (&client{t: t, s: s}).with("Authorization", "Basic YTpi")
		basic.call(method, at.Replace(path), nil).rejected(401, "unauthorized")
		if isOwn(op) {
			c.call(method, path, nil).rejected(403, "user_required")
		} else if method != http.MethodGet && strings.HasPrefix(path, "/v1/console/") {
			viewer.call(method, at.Replace(path), nil).rejected(403, "role_forbidden")
		}
	})
	viewer.get("/v1/console/users").rejected(403, "role_forbidden")
	s.limit(t, "acme")
	s.clock.advance(2 * time.Second) // a change to an app takes effect after a second
	c := s.client(t)
	c.post("/v1/envelopes", object{"tenantId": "other", "signers": []object{{"name": "A", "email": "a@example.com"}}}).rejected(403, "tenant_forbidden")
	c.get("/v1/envelopes?tenantId=other").rejected(403, "tenant_forbidden")
	c.get("/v1/console/envelopes?tenantId=other").rejected(403, "tenant_forbidden")
	c.get("/v1/console/settings?tenantId=other").rejected(403, "tenant_forbidden")
	c.call(http.MethodPut, "/v1/console/settings?tenantId=other", object{}).rejected(403, "tenant_forbidden")
	e, _ := c.sent(contract())
	c.post("/v1/embedded/signing-sessions", object{
		"tenantId": "other", "envelopeId": e.str("id"), "signerId": e.signer(0)["id"], "allowedOrigin": "https://app.example.com",
	}).rejected(403, "tenant_forbidden")
}

// TestOperations_AreRateLimited checks that every operation except the probes rejects requests once the limit is
// reached.
func TestOperations_AreRateLimited(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	at := pathReplacer(t, s)
	app := s.client(t)
	edit := s.cfg
	edit.RateLimit = 1
	limited, err := api.New(edit)
	require.NoError(t, err)
	s.Config.Handler = limited
	exhausted := func(c *client) bool { return c.get("/v1/webhooks").status == http.StatusTooManyRequests }
	eachOperation(t, s, func(c *client, method, path string, _ *openapi3.Operation) {
		if path == "/healthz" || path == "/readyz" {
			for range 3 {
				require.Equal(t, 200, c.call(method, path, nil).status, "health checks are not rate-limited")
			}
			return
		}
		if c.token != "" {
			c = app
		}
		if !exhausted(c) { // exhaust the limit for the first operation, and again after each minute
			exhausted(c)
		}
		a := c.call(method, at.Replace(path), nil)
		if a.status != http.StatusTooManyRequests && exhausted(c) {
			a = c.call(method, at.Replace(path), nil) // the minute ended in the meantime
		}
		a.rejected(429, "rate_limited")
		require.NotEmpty(t, a.header.Get("Retry-After"), "%s %s", method, path)
		require.Equal(t, "0", a.header.Get("X-RateLimit-Remaining"), "%s %s", method, path)
	})
}

// TestPlanLimits_OnEveryRoute checks the limits of the free plan, one document and five envelopes, on every endpoint
// that could exceed them.
func TestPlanLimits_OnEveryRoute(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	free := models.PlanFree
	_, err := s.store.UpdateApp(t.Context(), s.app.ID, store.AppChange{Plan: &free})
	require.NoError(t, err)
	c := s.client(t)
	require.EqualValues(t, 5, c.get("/v1/console/usage").want(200).body["envelopesLimit"])
	e := c.draft(contract())
	at := "/v1/envelopes/" + e.str("id")
	c.send(http.MethodPost, at+"/document", "application/pdf", kit.OnePage()).rejected(402, "plan_documents")
	ct, body := multipartBody(t, nil, kit.OnePage())
	c.send(http.MethodPost, "/v1/console/envelopes/"+e.str("id")+"/documents", ct, body).rejected(402, "plan_documents")
	for range 5 {
		c.sent(contract())
	}
	c.post(at+"/send", nil).rejected(402, "plan_limit_reached")
	empty := "/" + c.post("/v1/envelopes", object{"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com"}}}).want(201).str("id")
	c.send(http.MethodPost, "/v1/envelopes"+empty+"/document", "application/pdf", make([]byte, 1<<20+1)).rejected(413, "file_too_large")
	c.send(http.MethodPost, "/v1/verify", "application/pdf", make([]byte, 116<<20+1)).rejected(413, "file_too_large")
	ct, body = multipartBody(t, nil, make([]byte, 1<<20+1))
	c.send(http.MethodPost, "/v1/console/envelopes"+empty+"/documents", ct, body).rejected(413, "file_too_large")
	(&client{t: t, s: s}).send(http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", form("a", strings.Repeat("x", 64<<10))).rejected(413, "request_too_large")
	for _, prefix := range []string{"/v1", "/v1/console"} {
		c.get(prefix+"/envelopes/"+e.str("id")+"/document?kind=sealed").rejected(409, "envelope_not_completed")
	}
	c.get("/v1/envelopes/"+e.str("id")+"/progress").rejected(409, "envelope_draft")
	c.post("/v1/console/envelopes/"+e.str("id")+"/signers/"+e.signer(0)["id"].(string)+"/resend", nil).rejected(409, "envelope_draft")
}

// TestDependenciesUnavailable checks the responses while Temporal and the mail server are unavailable.
func TestDependenciesUnavailable(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.Workflows = fakeWorkflows{errors.New("down")} })
	c := s.client(t)
	data := contract()
	data["signers"] = []object{{"name": "A", "email": "a@example.com"}}
	e, link := c.sent(data)
	require.Equal(t, "database", c.get("/v1/envelopes/"+e.str("id")+"/progress").want(200).str("answeredBy"))
	s.mails.fail = errors.New("down")
	nobody := &client{t: t, s: s}
	require.NotEmpty(t, nobody.post("/v1/signing/"+link+"/otp/request", nil).rejected(503, "otp_not_sent").header.Get("Retry-After"))
	a := nobody.get("/readyz").want(503)
	require.Equal(t, "down", a.str("temporal"))
	require.Equal(t, "ok", a.str("database"))
	require.Equal(t, object{"database": "ok", "files": "ok"}, nobody.get("/readyz?for=requests").want(200).body, "signers sign without Temporal")
}

// TestEnvelopes_Roles checks that a console user's role determines the permitted operations on envelopes.
func TestEnvelopes_Roles(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	by := map[models.Role]*client{}
	for _, role := range models.Roles {
		by[role] = s.signIn(t, role)
	}
	e := s.client(t).draft(contract())
	at := "/v1/envelopes/" + e.str("id")
	signer, field, doc := "/signers/"+e.signer(0)["id"].(string), "/fields/"+e.field(0)["id"].(string), "/documents/"+e.original(0)["id"].(string)
	attached, token := s.client(t).sent(attaching())
	link := "/v1/signing/" + token
	by[models.RoleViewer].get(link).want(200)
	by[models.RoleViewer].post(link+"/consent", nil).want(200)
	file := by[models.RoleViewer].attach(token, attached.field(0)["id"], "a.pdf", kit.OnePage()).want(201).str("attachmentId")
	by[models.RoleViewer].post(link+"/sign", object{"fields": []object{{"fieldId": attached.field(0)["id"], "attachmentId": file}}}).want(200)
	for _, role := range []models.Role{models.RoleViewer, models.RoleSupport} {
		c := by[role]
		c.get(at).want(200)
		c.get("/v1/envelopes?tenantId=acme").want(200)
		c.get(at + "/document").want(200)
		c.get(at + "/values").want(200)
		require.Equal(t, kit.OnePage(), c.get("/v1/envelopes/"+attached.str("id")+"/attachments/"+file).want(200).raw)
		c.post("/v1/envelopes", contract()).rejected(403, "role_forbidden")
		c.post(at+"/send", nil).rejected(403, "role_forbidden")
		c.post(at+"/signers", object{"name": "B", "email": "b@example.com"}).rejected(403, "role_forbidden")
		c.post(at+"/fields", object{}).rejected(403, "role_forbidden")
		c.send(http.MethodPost, at+"/document", "application/octet-stream", nil).rejected(403, "role_forbidden")
		kind, body := multipartBody(t, nil, kit.OnePage())
		c.send(http.MethodPost, "/v1/console/envelopes/"+e.str("id")+"/documents", kind, body).rejected(403, "role_forbidden")
		for _, part := range []string{"", signer, field, doc} {
			c.patch(at+part, object{}).rejected(403, "role_forbidden")
			c.del(at+part).rejected(403, "role_forbidden")
		}
	}
	by[models.RoleViewer].post(at+"/void", nil).rejected(403, "role_forbidden")
	by[models.RoleSender].patch(at, object{"subject": "Mine"}).want(200)
	kind, body := multipartBody(t, nil, kit.OnePage())
	by[models.RoleSender].send(http.MethodPost, "/v1/console/envelopes/"+e.str("id")+"/documents", kind, body).want(201)
	sent := by[models.RoleSender].post(at+"/send", nil).want(200)
	prepared := sent.body["auditLog"].([]any)[len(sent.eventNames())-2].(object)["detail"].(object)
	require.Regexp(t, "^user:", prepared["editors"].([]any)[0])
	by[models.RoleSupport].post(at+"/void", nil).want(200)
	own := by[models.RoleSender].draft(contract())
	by[models.RoleSender].del("/v1/envelopes/" + own.str("id")).want(204)
	by[models.RoleSender].get("/v1/console/users").rejected(403, "role_forbidden")
}

// TestOperations_RequireSecondFactor checks that a console user who must still enroll a second factor can use only the
// account endpoints needed for enrollment.
func TestOperations_RequireSecondFactor(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.ConsoleTOTP = models.SecondFactorAdmins })
	at := pathReplacer(t, s)
	admin := s.person(t, models.RoleAdmin)
	rejected := 0
	eachOperation(t, s, func(_ *client, method, path string, op *openapi3.Operation) {
		forbidden := op.Responses.Status(http.StatusForbidden)
		if forbidden != nil && slices.Contains(forbidden.Value.Content["application/json"].Schema.Value.Properties["error"].Value.Enum, any("second_factor_required")) {
			admin.call(method, at.Replace(path), nil).rejected(403, "second_factor_required")
			rejected++
		}
	})
	require.Greater(t, rejected, 80)
}

// TestOperations_BodiesAreBounded checks that the size limit applies even to a body that the operation ignores.
func TestOperations_BodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.UploadLimit = 64 << 10 })
	at := pathReplacer(t, s)
	large := bytes.Repeat([]byte(" "), 2<<20)
	tried := 0
	eachOperation(t, s, func(c *client, method, path string, op *openapi3.Operation) {
		if method != http.MethodPost || op.RequestBody != nil {
			return
		}
		if a := c.call(method, at.Replace(path)+"?a=%zz", nil); a.status == http.StatusForbidden {
			c = s.person(t, models.RoleAdmin)
		}
		c.with("Idempotency-Key", "k").send(method, at.Replace(path), "", large).rejected(413, "request_too_large")
		tried++
	})
	require.Greater(t, tried, 10)
}
