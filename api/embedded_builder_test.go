package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/test/kit"
)

// builder creates a builder session for a draft. It returns the response and a client with the session's token.
func (c *client) builder(e *response, features object) (*response, *client) {
	c.t.Helper()
	in := object{"tenantId": e.str("tenantId"), "envelopeId": e.str("id"), "allowedOrigin": "https://app.example.com", "features": features}
	made := c.post("/v1/embedded/builder-sessions", in).want(201)
	return made, &client{t: c.t, s: c.s, token: made.str("sessionToken")}
}

// TestBuilderSession_PreparesItsDraft checks that a session can only prepare its own draft, until the session ends or
// the draft is sent or deleted.
func TestBuilderSession_PreparesItsDraft(t *testing.T) {
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
		nobody.with("Referer", "https://evil.example.com/").get("/embed/build/"+token).rejected(403, "origin_forbidden")

		// The session can use the operations of its draft, but cannot see the audit trail.
		draft := page.get(at).want(200)
		require.Empty(t, draft.body["auditLog"])
		require.Len(t, draft.body["documents"], 1)
		signer := page.post(at+"/signers", object{"name": "Bo", "email": "bo@example.com", "authMethod": "none"}).want(201)
		field := page.post(at+"/fields", object{"signerId": signer.str("id"), "type": "signature", "page": 1, "x": 10, "y": 10, "w": 100, "h": 30}).want(201)
		page.patch(at+"/fields/"+field.str("id"), object{"x": 20}).want(200)
		document := draft.body["documents"].([]any)[0].(object)["id"].(string)
		page.get(at + "/documents/" + document + "/suggestions").want(200)
		page.patch(at, object{"subject": "Mine"}).rejected(403, "feature_forbidden")
		page.post(at+"/send", nil).rejected(403, "feature_forbidden")
		require.Contains(t, c.get(at).want(200).body["auditLog"].([]any)[0].(object)["actor"], "app:", "the draft was created by the application")

		nobody.get("/v1/embedded/builders/unknown").rejected(401, "session_invalid")
		c.del("/v1/embedded/builder-sessions/" + made.str("sessionId")).want(204)
		c.del("/v1/embedded/builder-sessions/" + made.str("sessionId")).want(204)
		s.other(t).del("/v1/embedded/builder-sessions/"+made.str("sessionId")).rejected(404, "not_found")
		page.get(at).rejected(401, "session_invalid")
		over := nobody.get("/v1/embedded/builders/"+token).rejected(401, "session_invalid")
		require.Equal(t, object{"allowedOrigin": "https://app.example.com", "envelopeId": e.str("id")}, over.body["details"], "the origin to which the frame posts messages")

		made, page = c.builder(e, nil)
		s.clock.advance(31 * time.Minute)
		page.get(at).rejected(401, "session_expired")
		require.NoError(t, kit.RemoveExpired(t.Context(), s.store))
		nobody.get("/v1/embedded/builders/"+made.str("sessionToken")).rejected(401, "session_invalid")

		c = s.client(t) // the previous token has expired
		made, page = c.builder(e, nil)
		c.post(at+"/send", nil).want(200)
		require.Equal(t, object{"status": "sent"}, page.get(at).rejected(401, "session_invalid").body["details"], "so that a page that received no response to its send request detects the result")
		over = nobody.get("/v1/embedded/builders/"+made.str("sessionToken")).rejected(410, "session_completed")
		require.Equal(t, "sent", over.body["details"].(object)["status"])
		c.post("/v1/embedded/builder-sessions", object{"tenantId": "acme", "envelopeId": e.str("id"), "allowedOrigin": "https://app.example.com"}).rejected(409, "envelope_not_draft")
	})
}

// TestBuilderSession_TenantRestriction checks that a client restricted to certain tenants can create sessions only for
// drafts of these tenants.
func TestBuilderSession_TenantRestriction(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e := c.draft(contract())
	s.limit(t, "other")
	s.clock.advance(2 * time.Second) // apps are cached for one second
	in := object{"tenantId": "acme", "envelopeId": e.str("id"), "allowedOrigin": "https://app.example.com", "returnUrl": "https://app.example.com/x"}
	c.post("/v1/embedded/builder-sessions", in).rejected(403, "tenant_forbidden")
	in["tenantId"] = "other"
	c.post("/v1/embedded/builder-sessions", in).rejected(404, "not_found")
	s.limit(t)
	s.clock.advance(2 * time.Second)
	in["tenantId"] = "acme"
	made := c.post("/v1/embedded/builder-sessions", in).want(201)
	open := (&client{t: t, s: s}).get("/v1/embedded/builders/" + made.str("sessionToken")).want(200)
	require.Equal(t, "https://app.example.com/x", open.body["returnUrl"])
}

// TestBuilderSession_FeaturesAreEnforced checks that the server enforces the features of a session.
func TestBuilderSession_FeaturesAreEnforced(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e := c.draft(contract())
	at := "/v1/envelopes/" + e.str("id")
	signer, document := e.signer(0)["id"].(string), e.body["documents"].([]any)[0].(object)["id"].(string)
	_, page := c.builder(e, object{"recipients": false, "documents": false, "send": false, "fieldTypes": []string{"signature", "text"}})
	for name, rejected := range map[string]*response{
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
		rejected.rejected(403, "feature_forbidden")
	}
	box := func(kind string) object {
		return object{"signerId": signer, "type": kind, "page": 1, "x": 10, "y": 10, "w": 100, "h": 30}
	}
	page.post(at+"/fields", box("date")).rejected(403, "feature_forbidden")
	page.post(at+"/fields", []object{box("text"), box("date")}).rejected(403, "feature_forbidden")
	page.post(at+"/fields", box("nonsense")).rejected(400, "validation_error")
	made := page.post(at+"/fields", box("text")).want(201)
	page.patch(at+"/fields/"+made.str("id"), object{"type": "date"}).rejected(403, "feature_forbidden")
	require.Len(t, c.get(at).want(200).body["fields"], 2, "a rejected request changes nothing")

	// The features also apply to fields found in tags and forms.
	tagged := preparable("Sign {{signature;role=signer1}} on {{When_es_:signer1:date}}", "", "")
	plain := c.draftOf(pairOfSigners(), tagged).want(201)
	_, page = c.builder(plain, object{"fieldTypes": []string{"signature"}})
	of := "/v1/envelopes/" + plain.str("id")
	document = plain.document(0)["id"].(string)
	page.post(of+"/documents/"+document+"/prepare", object{"tags": "detect"}).rejected(403, "feature_forbidden")
	page.send(http.MethodPost, of+"/document?tags=detect", "application/pdf", tagged).rejected(403, "feature_forbidden")
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
		sender.patch(at, object{"subject": "Mine, too", "metadata": metadata}).rejected(403, "feature_forbidden")
	}
	kept := c.get(at).want(200)
	require.Equal(t, object{"order": "7"}, kept.body["metadata"], "the draft belongs to the application")
	require.Equal(t, "Mine", kept.str("subject"))
	sent := sender.post(at+"/send", nil).want(200)
	require.NotContains(t, string(sent.raw), "signingUrl", "the page receives no signer's credential")
	require.Empty(t, sent.body["auditLog"])
	require.Contains(t, string(c.get(at).want(200).raw), "builder:", "the audit trail must name the session")
}

// TestBuilderSession_HasNoOtherAccess tries every operation in the contract with the token of a builder session.
func TestBuilderSession_HasNoOtherAccess(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, other := c.draft(contract()), c.draft(contract())
	_, page := c.builder(e, object{"send": true})
	allowed := 0
	for _, r := range s.api.Routes() {
		method, path, _ := strings.Cut(r, " ")
		if strings.Contains(path, "{token}") || !strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/v1/verify") || path == "/v1/console/login" || path == "/v1/console/sign-in" || path == beginPath || path == completePath || path == passkeysPath+"/challenge" {
			continue // requires a different credential or none
		}
		with := func(envelope string) *response {
			to := strings.NewReplacer("{id}", envelope).Replace(path)
			for strings.Contains(to, "{") {
				open, end := strings.Index(to, "{"), strings.Index(to, "}")
				to = to[:open] + uuid.NewString() + to[end+1:]
			}
			return page.call(method, to, nil)
		}
		code := with(other.str("id")).status
		require.Contains(t, []int{401, 404}, code, "%s with another draft", r)
		if !strings.HasPrefix(path, "/v1/envelopes/{id}") {
			require.Equal(t, 401, code, r)
			continue
		}
		if method == http.MethodGet && with(e.str("id")).status != 401 {
			allowed++
		}
	}
	require.Equal(t, 6, allowed, "the draft, its file, its pages with their texts and lines, and the suggestions")
	c.get("/v1/envelopes/" + other.str("id")).want(200)
	(&client{t: t, s: s, token: "builder_x"}).get("/v1/envelopes/"+e.str("id")).rejected(401, "unauthorized")
}

// TestTemplateBuilderSession_EditsItsTemplate checks that a session can only edit its own template, and only until the
// session ends or the template is archived.
func TestTemplateBuilderSession_EditsItsTemplate(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		template := c.template(leaseTemplate())
		at := "/v1/templates/" + template.str("id")
		made, page := c.templateBuilder(template, nil)
		nobody := &client{t: t, s: s}
		session := "/v1/embedded/builders/" + made.str("sessionToken")
		open := nobody.get(session).want(200)
		require.Equal(t, template.str("id"), open.str("templateId"))
		require.NotContains(t, open.body, "envelopeId")
		require.Contains(t, nobody.get("/embed/build/"+made.str("sessionToken")).want(200).header.Get("Content-Security-Policy"), "frame-ancestors https://app.example.com")

		seen := page.get(at).want(200)
		page.get(at + "/document").want(200)
		page.get(at + "/documents/" + template.document(0)["id"].(string) + "/suggestions").want(200)
		edit := object{
			"roles":  []object{{"role": "tenant", "authMethod": "none"}, {"role": "guarantor", "authMethod": "none"}},
			"fields": []object{{"role": "guarantor", "type": "signature", "page": 1, "x": 10, "y": 20, "w": 100, "h": 30}},
		}
		next := page.with("If-Match", seen.header.Get("ETag")).patch(at, edit).want(200)
		require.InDelta(t, 2, next.body["version"], 0)
		require.True(t, strings.HasPrefix(next.body["versions"].([]any)[0].(object)["createdBy"].(string), "builder:"), "the version must name the session")
		page.with("If-Match", seen.header.Get("ETag")).patch(at, edit).rejected(412, "precondition_failed")

		c.del("/v1/embedded/builder-sessions/" + made.str("sessionId")).want(204)
		page.get(at).rejected(401, "session_invalid")
		over := nobody.get(session).rejected(401, "session_invalid")
		require.Equal(t, object{"allowedOrigin": "https://app.example.com", "templateId": template.str("id")}, over.body["details"], "the origin to which the frame posts messages")

		made, page = c.templateBuilder(template, nil)
		s.clock.advance(31 * time.Minute)
		page.get(at).rejected(401, "session_expired")
		require.NoError(t, kit.RemoveExpired(t.Context(), s.store))
		nobody.get("/v1/embedded/builders/"+made.str("sessionToken")).rejected(401, "session_invalid")

		c = s.client(t)
		made, page = c.templateBuilder(template, nil)
		c.del(at).want(204)
		page.patch(at, edit).rejected(401, "session_invalid")
		nobody.get("/v1/embedded/builders/"+made.str("sessionToken")).rejected(410, "session_completed")
		c.post("/v1/embedded/builder-sessions", object{"tenantId": "acme", "templateId": template.str("id"), "allowedOrigin": "https://app.example.com"}).rejected(409, "template_archived")
	})
}

// TestTemplateBuilderSession_HasTheTemplatesTenant checks that a session must have the same tenant as its template.
// Null indicates a template for all tenants.
func TestTemplateBuilderSession_HasTheTemplatesTenant(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	own := c.template(leaseTemplate())
	shared := leaseTemplate()
	shared["tenantId"] = nil
	all := c.template(shared)
	in := object{"tenantId": "other", "templateId": own.str("id"), "allowedOrigin": "https://app.example.com"}
	c.post("/v1/embedded/builder-sessions", in).rejected(404, "not_found")
	in["tenantId"], in["templateId"] = "acme", all.str("id")
	c.post("/v1/embedded/builder-sessions", in).rejected(404, "not_found")
	in["tenantId"] = nil
	c.post("/v1/embedded/builder-sessions", in).want(201)
	in["templateId"] = uuid.NewString()
	c.post("/v1/embedded/builder-sessions", in).rejected(404, "not_found")
	in["templateId"], in["envelopeId"] = all.str("id"), uuid.NewString()
	require.Equal(t, []string{"envelopeId"}, c.post("/v1/embedded/builder-sessions", in).rejected(400, "validation_error").faults())
	delete(in, "templateId")
	require.Equal(t, []string{"tenantId"}, c.post("/v1/embedded/builder-sessions", in).rejected(400, "validation_error").faults(), "a draft has a tenant")
	delete(in, "envelopeId")
	in["tenantId"] = "acme"
	require.Equal(t, []string{"envelopeId"}, c.post("/v1/embedded/builder-sessions", in).rejected(400, "validation_error").faults())

	s.limit(t, "acme")
	s.clock.advance(2 * time.Second) // apps are cached for one second
	in["tenantId"], in["templateId"] = nil, all.str("id")
	c.post("/v1/embedded/builder-sessions", in).rejected(403, "tenant_forbidden")
}

// TestTemplateBuilderSession_FeaturesAreEnforced checks that the server enforces the features of a template builder
// session.
func TestTemplateBuilderSession_FeaturesAreEnforced(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	data := leaseTemplate()
	kept := object{"role": "tenant", "type": "date", "name": "from", "page": 1, "x": 50, "y": 150, "w": 100, "h": 20, "required": true}
	data["fields"] = append(data["fields"].([]object), kept)
	template := c.template(data)
	at := "/v1/templates/" + template.str("id")
	_, page := c.templateBuilder(template, object{"recipients": false, "documents": false, "fieldTypes": []string{"signature", "text"}})
	document := template.body["documents"].([]any)[0].(object)["id"]
	for name, edit := range map[string]object{
		"roles": {"roles": []object{{"role": "x"}}}, "documents": {"documents": []object{{"id": document}}}, "name": {"name": "x"}, "subject": {"subject": "x"},
		"message": {"message": nil}, "deadline": {"expiresInDays": 3}, "reminders": {"reminderHours": 3}, "external id": {"externalId": "x"}, "metadata": {"metadata": object{}},
		"by whom": {"createdBy": "x"},
	} {
		t.Log(name)
		page.patch(at, edit).rejected(403, "feature_forbidden")
	}
	page.upload(http.MethodPatch, at, object{}, kit.OnePage()).rejected(403, "feature_forbidden")
	other := object{"role": "tenant", "type": "date", "name": "until", "page": 1, "x": 50, "y": 250, "w": 100, "h": 20}
	text := object{"role": "tenant", "type": "text", "page": 1, "x": 50, "y": 350, "w": 100, "h": 20}
	page.patch(at, object{"fields": []object{kept, other}}).rejected(403, "feature_forbidden")
	moved := object{"role": "tenant", "type": "date", "name": "from", "page": 1, "x": 60, "y": 150, "w": 100, "h": 20, "required": true}
	page.patch(at, object{"fields": []object{moved}}).rejected(403, "feature_forbidden")
	page.patch(at, object{"fields": []object{kept, kept}}).rejected(403, "feature_forbidden")
	require.InDelta(t, 1, c.get(at).want(200).body["version"], 0, "a rejected request creates no version")
	page.patch(at, object{"fields": []object{kept, text}}).want(200)
	page.patch(at, object{"fields": []object{text}}).want(200) // fields that must not be added can still be removed

	_, all := c.templateBuilder(template, object{"send": true})
	all.patch(at, object{"name": "Ours", "subject": "S", "message": "M", "expiresInDays": 3, "reminderHours": 3}).want(200)
	all.patch(at, object{"externalId": "x"}).rejected(403, "feature_forbidden")
	all.upload(http.MethodPatch, at, object{"documents": []object{{"id": document}}}, kit.OnePage()).want(200)
}

// TestTemplateBuilderSession_HasNoOtherAccess tries every operation in the contract with the token of a template
// builder session.
func TestTemplateBuilderSession_HasNoOtherAccess(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, template, other := c.draft(contract()), c.template(leaseTemplate()), c.template(leaseTemplate())
	_, page := c.templateBuilder(template, object{"send": true})
	allowed := []string{}
	for _, r := range s.api.Routes() {
		method, path, _ := strings.Cut(r, " ")
		if strings.Contains(path, "{token}") || !strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/v1/verify") || path == "/v1/console/login" || path == "/v1/console/sign-in" || strings.HasPrefix(path, "/v1/console/provider/") || path == passkeysPath+"/challenge" {
			continue // requires a different credential or none
		}
		with := func(id string) *response {
			to := strings.NewReplacer("{id}", id).Replace(path)
			for strings.Contains(to, "{") {
				open, end := strings.Index(to, "{"), strings.Index(to, "}")
				to = to[:open] + uuid.NewString() + to[end+1:]
			}
			return page.call(method, to, nil)
		}
		require.Contains(t, []int{401, 404}, with(other.str("id")).status, "%s of another template", r)
		require.Equal(t, strings.HasPrefix(path, "/v1/templates/{id}") && method != http.MethodDelete, with(e.str("id")).status == 404, r)
		if with(template.str("id")).status != 401 {
			allowed = append(allowed, r)
		}
	}
	require.ElementsMatch(t, []string{
		"GET /v1/templates/{id}", "GET /v1/templates/{id}/document", "GET /v1/templates/{id}/documents/{documentId}/suggestions",
		"GET /v1/templates/{id}/documents/{documentId}/pages/{page}", "GET /v1/templates/{id}/documents/{documentId}/pages/{page}/text",
		"GET /v1/templates/{id}/documents/{documentId}/pages/{page}/lines", "PATCH /v1/templates/{id}",
	}, allowed)
	_, draft := c.builder(e, nil)
	draft.get("/v1/templates/"+template.str("id")).rejected(401, "unauthorized")
	c.get("/v1/templates/" + template.str("id")).want(200)
}

// TestTemplateDocuments_AreEdited checks that an edit can reorder, rename, remove and add documents.
func TestTemplateDocuments_AreEdited(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		template := c.template(leaseTemplate())
		at := "/v1/templates/" + template.str("id")
		documents := func(a *response) (out []object) {
			for _, d := range a.body["documents"].([]any) {
				out = append(out, d.(object))
			}
			return out
		}
		first := documents(template)[0]["id"]
		ct, form := multipartBody(t, flat(t, object{"documents": []object{{"id": first}}}), kit.OnePage())
		two := c.send(http.MethodPatch, at, ct, form).want(200)
		require.Len(t, documents(two), 2)
		second := documents(two)[1]["id"]
		require.Len(t, two.body["fields"], 2, "the fields stay on the first document")
		turned := c.patch(at, object{"documents": []object{{"id": second, "name": "Annex.pdf"}, {"id": first}}}).want(200)
		require.Equal(t, []any{second, first}, []any{documents(turned)[0]["id"], documents(turned)[1]["id"]})
		require.Equal(t, "Annex.pdf", documents(turned)[0]["name"])
		require.Len(t, turned.body["fields"], 2)
		e := c.post("/v1/envelopes", leaseUse(template)).want(201)
		require.Equal(t, "Annex.pdf", documents(e)[0]["name"])
		require.Equal(t, documents(e)[1]["id"], e.field(0)["documentId"])

		require.Equal(t, []string{"documents[0].id"}, c.patch(at, object{"documents": []object{{"id": uuid.NewString()}}}).rejected(400, "validation_error").faults())
		require.Equal(t, []string{"documents[1].id"}, c.patch(at, object{"documents": []object{{"id": first}, {"id": first}}}).rejected(400, "validation_error").faults())
		require.Equal(t, []string{"documents"}, c.patch(at, object{"documents": nil}).rejected(400, "validation_error").faults())
		require.Equal(t, []string{"documents[0].id"}, c.patch(at, object{"documents": []object{{"name": "x"}}}).rejected(400, "validation_error").faults())

		less := c.patch(at, object{"documents": []object{{"id": second}}}).want(200)
		require.Len(t, documents(less), 1)
		require.Empty(t, less.body["fields"], "deleting a document deletes its fields")
		replaced := c.upload(http.MethodPatch, at, object{}, kit.OnePage()).want(200)
		require.Len(t, documents(replaced), 1, "a file without a list replaces the documents")
		require.NotEqual(t, second, documents(replaced)[0]["id"])
	})
}

// templateBuilder creates a builder session for a template. It returns the response and a client with the session's
// token.
func (c *client) templateBuilder(template *response, features object) (*response, *client) {
	c.t.Helper()
	made := c.post("/v1/embedded/builder-sessions", object{
		"tenantId": template.body["tenantId"], "templateId": template.str("id"), "allowedOrigin": "https://app.example.com", "features": features,
	}).want(201)
	return made, &client{t: c.t, s: c.s, token: made.str("sessionToken")}
}
