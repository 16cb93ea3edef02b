package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
)

// builder makes a builder session for a draft and is a client that holds its token.
func (c *client) builder(e *answer, features object) (*answer, *client) {
	c.t.Helper()
	in := object{"tenantId": e.str("tenantId"), "envelopeId": e.str("id"), "allowedOrigin": "https://app.example.com", "features": features}
	made := c.post("/v1/embedded/builder-sessions", in).want(201)
	return made, &client{t: c.t, s: c.s, token: made.str("sessionToken")}
}

// TestBuilderSessions: a page prepares its draft and nothing else, until the session or the draft ends.
func TestBuilderSessions(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e := c.draft(contract())
		at := "/v1/envelopes/" + e.str("id")
		made, page := c.builder(e, nil)
		token := made.str("sessionToken")
		require.Equal(t, "https://sign.example.com/embed/build/"+token, made.str("embedUrl"))
		nobody := &client{t: t, s: s}
		open := nobody.get("/v1/embedded/builders/" + token).want(200)
		require.Equal(t, e.str("id"), open.str("envelopeId"))
		require.Nil(t, open.body["returnUrl"])
		features := open.body["features"].(object)
		require.Equal(t, []any{true, true, false, len(models.FieldTypes)}, []any{features["recipients"], features["documents"], features["send"], len(features["fieldTypes"].([]any))})

		shown := nobody.get("/embed/build/" + token).want(200)
		require.Contains(t, shown.header.Get("Content-Security-Policy"), "frame-ancestors https://app.example.com")
		require.Contains(t, nobody.get("/embed/build/unknown").want(404).header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
		nobody.with("Referer", "https://evil.example.com/").get("/embed/build/"+token).refused(403, "origin_forbidden")

		// The draft's own calls, without its audit trail.
		draft := page.get(at).want(200)
		require.Empty(t, draft.body["auditLog"])
		require.Len(t, draft.body["documents"], 1)
		signer := page.post(at+"/signers", object{"name": "Bo", "email": "bo@example.com", "authMethod": "none"}).want(201)
		field := page.post(at+"/fields", object{"signerId": signer.str("id"), "type": "signature", "page": 1, "x": 10, "y": 10, "w": 100, "h": 30}).want(201)
		page.patch(at+"/fields/"+field.str("id"), object{"x": 20}).want(200)
		document := draft.body["documents"].([]any)[0].(object)["id"].(string)
		page.get(at + "/documents/" + document + "/suggestions").want(200)
		page.patch(at, object{"subject": "Mine"}).refused(403, "feature_forbidden")
		page.post(at+"/send", nil).refused(403, "feature_forbidden")
		require.Contains(t, c.get(at).want(200).body["auditLog"].([]any)[0].(object)["actor"], "app:", "the application made it")

		nobody.get("/v1/embedded/builders/unknown").refused(401, "session_invalid")
		c.del("/v1/embedded/builder-sessions/" + made.str("sessionId")).want(204)
		c.del("/v1/embedded/builder-sessions/" + made.str("sessionId")).want(204)
		s.other(t).del("/v1/embedded/builder-sessions/"+made.str("sessionId")).refused(404, "not_found")
		page.get(at).refused(401, "session_invalid")
		over := nobody.get("/v1/embedded/builders/"+token).refused(401, "session_invalid")
		require.Equal(t, object{"allowedOrigin": "https://app.example.com", "envelopeId": e.str("id")}, over.body["details"], "whom the frame tells")

		made, page = c.builder(e, nil)
		s.clock.advance(31 * time.Minute)
		page.get(at).refused(401, "session_expired")
		require.NoError(t, testkit.RemoveExpired(t.Context(), s.store))
		nobody.get("/v1/embedded/builders/"+made.str("sessionToken")).refused(401, "session_invalid")

		c = s.client(t) // its token has expired meanwhile
		made, page = c.builder(e, nil)
		c.post(at+"/send", nil).want(200)
		require.Equal(t, object{"status": "sent"}, page.get(at).refused(401, "session_invalid").body["details"], "so that a page that got no answer to its sending learns of it")
		over = nobody.get("/v1/embedded/builders/"+made.str("sessionToken")).refused(410, "session_completed")
		require.Equal(t, "sent", over.body["details"].(object)["status"])
		c.post("/v1/embedded/builder-sessions", object{"tenantId": "acme", "envelopeId": e.str("id"), "allowedOrigin": "https://app.example.com"}).refused(409, "envelope_not_draft")
	})
}

// TestBuilderSessionsOfTenants: a client of some tenants makes sessions for drafts of theirs.
func TestBuilderSessionsOfTenants(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e := c.draft(contract())
	s.limit(t, "other")
	s.clock.advance(2 * time.Second) // apps are remembered for one
	in := object{"tenantId": "acme", "envelopeId": e.str("id"), "allowedOrigin": "https://app.example.com", "returnUrl": "https://app.example.com/x"}
	c.post("/v1/embedded/builder-sessions", in).refused(403, "tenant_forbidden")
	in["tenantId"] = "other"
	c.post("/v1/embedded/builder-sessions", in).refused(404, "not_found")
	s.limit(t)
	s.clock.advance(2 * time.Second)
	in["tenantId"] = "acme"
	made := c.post("/v1/embedded/builder-sessions", in).want(201)
	open := (&client{t: t, s: s}).get("/v1/embedded/builders/" + made.str("sessionToken")).want(200)
	require.Equal(t, "https://app.example.com/x", open.body["returnUrl"])
}

// TestBuilderFeatures: the server holds a session to what it was made for.
func TestBuilderFeatures(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e := c.draft(contract())
	at := "/v1/envelopes/" + e.str("id")
	signer, document := e.signer(0)["id"].(string), e.body["documents"].([]any)[0].(object)["id"].(string)
	_, page := c.builder(e, object{"recipients": false, "documents": false, "send": false, "fieldTypes": []string{"signature", "text"}})
	for name, refused := range map[string]*answer{
		"add a signer":      page.post(at+"/signers", object{"name": "Bo", "email": "bo@example.com"}),
		"edit a signer":     page.patch(at+"/signers/"+signer, object{"name": "Bo"}),
		"remove a signer":   page.del(at + "/signers/" + signer),
		"edit a document":   page.patch(at+"/documents/"+document, object{"name": "x.pdf"}),
		"remove a document": page.del(at + "/documents/" + document),
		"prepare":           page.post(at+"/documents/"+document+"/prepare", object{"tags": "detect"}),
		"upload":            page.send(http.MethodPost, at+"/document", "application/pdf", []byte("%PDF-")),
		"edit the envelope": page.patch(at, object{"subject": "x"}),
		"send":              page.post(at+"/send", nil),
	} {
		t.Log(name)
		refused.refused(403, "feature_forbidden")
	}
	box := func(kind string) object {
		return object{"signerId": signer, "type": kind, "page": 1, "x": 10, "y": 10, "w": 100, "h": 30}
	}
	page.post(at+"/fields", box("date")).refused(403, "feature_forbidden")
	page.post(at+"/fields", []object{box("text"), box("date")}).refused(403, "feature_forbidden")
	page.post(at+"/fields", box("nonsense")).refused(400, "validation_error")
	made := page.post(at+"/fields", box("text")).want(201)
	page.patch(at+"/fields/"+made.str("id"), object{"type": "date"}).refused(403, "feature_forbidden")
	require.Len(t, c.get(at).want(200).body["fields"], 2, "what is refused changes nothing")

	// What tags and forms describe is added like any other field.
	tagged := preparable("Sign {{signature;role=signer1}} on {{When_es_:signer1:date}}", "", "")
	plain := c.draftOf(pairOfSigners(), tagged).want(201)
	_, page = c.builder(plain, object{"fieldTypes": []string{"signature"}})
	of := "/v1/envelopes/" + plain.str("id")
	document = plain.document(0)["id"].(string)
	page.post(of+"/documents/"+document+"/prepare", object{"tags": "detect"}).refused(403, "feature_forbidden")
	page.send(http.MethodPost, of+"/document?tags=detect", "application/pdf", tagged).refused(403, "feature_forbidden")
	now := c.get(of).want(200)
	require.Empty(t, now.body["fields"])
	require.Len(t, now.body["documents"], 1)
	_, page = c.builder(plain, object{"fieldTypes": []string{"signature", "date"}})
	require.Len(t, page.post(of+"/documents/"+document+"/prepare", object{"tags": "detect"}).want(200).body["fields"], 2)
	page.send(http.MethodPost, of+"/document?tags=detect", "application/pdf", tagged).want(200)
	require.Len(t, c.get(of).want(200).body["fields"], 4)

	_, sender := c.builder(e, object{"send": true})
	sender.patch(at, object{"subject": "Mine"}).want(200)
	c.patch(at, object{"metadata": object{"order": "7"}}).want(200)
	for _, metadata := range []any{object{"order": "8"}, nil} {
		sender.patch(at, object{"subject": "Mine, too", "metadata": metadata}).refused(403, "feature_forbidden")
	}
	kept := c.get(at).want(200)
	require.Equal(t, object{"order": "7"}, kept.body["metadata"], "it is the application's")
	require.Equal(t, "Mine", kept.str("subject"))
	sent := sender.post(at+"/send", nil).want(200)
	require.NotContains(t, string(sent.raw), "signingUrl", "a page gets no signer's credential")
	require.Empty(t, sent.body["auditLog"])
	require.Contains(t, string(c.get(at).want(200).raw), "builder:", "the trail names the session")
}

// TestBuilderSessionsReachNothingElse tries every call of the contract with the token of a builder session.
func TestBuilderSessionsReachNothingElse(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, other := c.draft(contract()), c.draft(contract())
	_, page := c.builder(e, object{"send": true})
	allowed := 0
	for _, r := range s.api.Routes() {
		method, path, _ := strings.Cut(r, " ")
		if strings.Contains(path, "{token}") || !strings.HasPrefix(path, "/v1/") || path == "/v1/verify" || path == "/v1/console/login" || path == "/v1/console/sign-in" || path == beginPath || path == completePath || path == passkeysPath+"/challenge" {
			continue // these ask for another credential, or none
		}
		with := func(envelope string) *answer {
			to := strings.NewReplacer("{id}", envelope).Replace(path)
			for strings.Contains(to, "{") {
				open, end := strings.Index(to, "{"), strings.Index(to, "}")
				to = to[:open] + uuid.NewString() + to[end+1:]
			}
			return page.call(method, to, nil)
		}
		code := with(other.str("id")).status
		require.Contains(t, []int{401, 404}, code, "%s of another draft", r)
		if !strings.HasPrefix(path, "/v1/envelopes/{id}") {
			require.Equal(t, 401, code, r)
			continue
		}
		if method == http.MethodGet && with(e.str("id")).status != 401 {
			allowed++
		}
	}
	require.Equal(t, 5, allowed, "the draft, its file, its pages with their texts, and the suggestions")
	c.get("/v1/envelopes/" + other.str("id")).want(200)
	(&client{t: t, s: s, token: "builder_x"}).get("/v1/envelopes/"+e.str("id")).refused(401, "unauthorized")
}
