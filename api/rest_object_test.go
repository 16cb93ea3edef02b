package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// operation returns a valid request that tests can modify. Each call creates all objects that the request needs.
type operation func(*testing.T, *service) (c *client, path string, body object)

// operations returns an operation for every endpoint that accepts a JSON body. The list of fields is taken from the
// contract.
func operations() map[string]operation {
	envelope := func(suffix string, body object) operation {
		return func(t *testing.T, s *service) (*client, string, object) {
			c := s.client(t)
			e := c.post("/v1/envelopes", object{"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com"}}}).want(201)
			if _, ok := body["signerId"]; ok {
				body = clone(body)
				body["signerId"] = e.signer(0)["id"]
			}
			return c, "/v1/envelopes/" + e.str("id") + suffix, body
		}
	}
	part := func(list string, body object) operation {
		return func(t *testing.T, s *service) (*client, string, object) {
			c := s.client(t)
			e := c.draft(contract())
			return c, "/v1/envelopes/" + e.str("id") + "/" + list + "/" + e.body[list].([]any)[0].(object)["id"].(string), body
		}
	}
	sentPart := func(suffix string, body object) operation {
		return func(t *testing.T, s *service) (*client, string, object) {
			c := s.client(t)
			e, _ := c.sent(contract())
			return c, "/v1/envelopes/" + e.str("id") + "/signers/" + e.signer(0)["id"].(string) + suffix, body
		}
	}
	fixed := func(path string, body object) operation {
		return func(t *testing.T, s *service) (*client, string, object) { return s.client(t), path, body }
	}
	signer := func(suffix string, body object) operation {
		return func(t *testing.T, s *service) (*client, string, object) {
			c := s.client(t)
			e, token := c.sent(contract())
			at := "/v1/signing/" + token
			c.get(at).want(200)
			b := clone(body)
			if suffix == "/delegate" {
				data := contract()
				data["signers"] = []object{{"name": "Ada", "email": "ada@example.com", "authMethod": "none", "allowDelegation": true}}
				_, token = c.sent(data)
				at = "/v1/signing/" + token
			}
			switch suffix {
			case "/sign":
				c.post(at+"/consent", nil).want(200)
				b["fields"] = []any{object{"fieldId": e.field(0)["id"], "textValue": "yes"}}
			case "/finished":
				c.post(at+"/consent", nil).want(200)
				b["fields"] = []any{object{"fieldId": e.field(0)["id"], "textValue": "yes"}}
				at += "/documents/" + e.document(0)["id"].(string) + "/pages/1"
			case "/fit":
				b["fields"] = []any{object{"fieldId": e.field(0)["id"], "textValue": "yes"}}
			case "/page-view":
				b["documentId"] = e.body["documents"].([]any)[0].(object)["id"]
			}
			return &client{t: t, s: s}, at + suffix, b
		}
	}
	hook := func(suffix string, body object) operation {
		return func(t *testing.T, s *service) (*client, string, object) {
			c := s.client(t)
			h := c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"envelope.sent"}}).want(201)
			return c, "/v1/console/webhooks/" + h.str("id") + suffix, body
		}
	}
	own := func(path string, body object) operation {
		return func(t *testing.T, s *service) (*client, string, object) {
			c := s.person(t, models.RoleViewer)
			if path == "/totp/confirm" {
				c.post("/v1/console/totp", object{"password": password}).want(201)
			}
			return c, "/v1/console" + path, body
		}
	}
	admin := func(path string, body object) operation {
		return func(t *testing.T, s *service) (*client, string, object) {
			return s.person(t, models.RoleAdmin), "/v1/console" + path, body
		}
	}
	user := func(suffix string, body object) operation {
		return func(t *testing.T, s *service) (*client, string, object) {
			u, err := s.store.CreateUser(t.Context(), s.app.ID, uuid.NewString()+"@example.com", "N", password, models.RoleViewer)
			require.NoError(t, err)
			return s.client(t), "/v1/console/users/" + u.ID.String() + suffix, body
		}
	}
	document := func(suffix string, body object) operation {
		return func(t *testing.T, s *service) (*client, string, object) {
			c := s.client(t)
			e := c.draft(contract())
			return c, "/v1/envelopes/" + e.str("id") + "/documents/" + e.document(0)["id"].(string) + suffix, body
		}
	}
	return map[string]operation{
		"POST /v1/templates": fixed("/v1/templates", leaseTemplate()),
		"PATCH /v1/templates/{id}": func(t *testing.T, s *service) (*client, string, object) {
			c := s.client(t)
			body := leaseTemplate()
			delete(body, "tenantId")
			return c, "/v1/templates/" + c.template(leaseTemplate()).str("id"), body
		},
		"POST /v1/envelopes/{id}/documents/{documentId}/prepare": document("/prepare", object{"tags": "detect", "form": "import", "formRole": "signer1", "activeContent": "remove"}),
		"PATCH /v1/envelopes/{id}":                               envelope("", object{"subject": "S", "message": "M", "expiresInDays": 3, "reminderHours": 4, "metadata": object{"a": "b"}}),
		"POST /v1/envelopes/{id}/signers/{signerId}/replace": sentPart("/replace", object{
			"name": "B", "email": "b@example.com", "phone": "+442079460958", "authMethod": "none", "reason": "left",
		}),
		"POST /v1/envelopes/{id}/duplicate":                       envelope("/duplicate", object{"createdBy": "sender@example.com"}),
		"POST /v1/envelopes/{id}/signers/{signerId}/signing-link": sentPart("/signing-link", object{"rotate": true}),
		"POST /v1/envelopes/{id}/copies": func(t *testing.T, s *service) (*client, string, object) {
			c := s.client(t)
			e, token := c.sent(contract())
			c.signs(e, token)
			s.completes(t, e.str("id"), 0)
			return c, "/v1/envelopes/" + e.str("id") + "/copies", object{"email": "ada@example.com"}
		},
		"POST /v1/signing/{token}/delegate": signer("/delegate", object{"name": "B", "email": "b@example.com", "phone": "+442079460958", "authMethod": "none", "reason": "left"}),
		"PATCH /v1/webhooks/{id}": func(t *testing.T, s *service) (*client, string, object) {
			c, path, body := hook("", object{"url": "https://example.com/h2", "events": []any{"envelope.sent"}, "active": true, "secret": "long enough", "overlapHours": 1})(t, s)
			return c, strings.Replace(path, "/console", "", 1), body
		},
		"PATCH /v1/envelopes/{id}/signers/{signerId}": part("signers", object{
			"name": "B", "email": "b@example.com", "phone": "+442079460958", "routingOrder": 2, "authMethod": "none", "allowDelegation": true,
		}),
		"PATCH /v1/envelopes/{id}/fields/{fieldId}": part("fields", object{
			"signerId": "0", "type": "text", "page": 1, "x": 1, "y": 1, "w": 9, "h": 9, "required": true, "origin": "top-left",
		}),
		"PATCH /v1/envelopes/{id}/documents/{documentId}": part("documents", object{"name": "N", "document_order": 1}),
		"POST /v1/bulk-sends": func(t *testing.T, s *service) (*client, string, object) {
			c := s.client(t)
			row := bulkRow(uuid.NewString(), "Ada")
			signers := row["signers"].([]object)
			row["signers"] = []any{object{
				"role": "tenant", "name": "Ada", "email": "ada@example.com", "phone": "+442079460958", "routingOrder": 1, "authMethod": "none", "allowDelegation": true, "language": "de",
				"notify": true, "kind": "signer",
			}, signers[1]}
			return c, "/v1/bulk-sends", object{
				"templateId": bulkTemplate(t, s, c, "acme"), "templateVersion": 1, "tenantId": "acme", "name": "N", "createdBy": "me", "perMinute": 5, "dryRun": false,
				"rows": []any{row},
			}
		},
		"POST /v1/envelopes":                  fixed("/v1/envelopes", full()),
		"POST /v1/envelopes/{id}/send":        envelope("/send", object{"message": "Please"}),
		"POST /v1/envelopes/{id}/void":        envelope("/void", object{"reason": "typo"}),
		"POST /v1/envelopes/{id}/signers":     envelope("/signers", object{"name": "B", "email": "b@example.com", "phone": "+442079460958", "routingOrder": 2, "authMethod": "none"}),
		"POST /v1/envelopes/{id}/fields":      envelope("/fields", object{"signerId": "0", "type": "text", "page": 1, "x": 1, "y": 1, "w": 9, "h": 9, "required": true, "origin": "top-left"}),
		"POST /v1/webhooks":                   fixed("/v1/webhooks", object{"url": "https://example.com/h", "events": []any{"envelope.sent"}, "secret": "long enough"}),
		"POST /v1/console/login":              fixed("/v1/console/login", object{"email": "a@example.com", "password": password, "code": "000000"}),
		"POST /v1/console/passkeys/challenge": fixed("/v1/console/passkeys/challenge", object{"email": "a@example.com", "password": password}),
		"PUT /v1/console/me/notifications": own("/me/notifications", object{
			"frequency": "daily", "timeZone": "UTC", "language": "de",
			"events": object{"completed": true, "declined": true, "expired": true, "bounced": true, "sealingProblem": true, "opened": true, "signed": true},
		}),
		"POST /v1/console/passkeys/begin": own("/passkeys/begin", object{"password": password, "code": "000000"}),
		"POST /v1/console/passkeys":       own("/passkeys", object{"ceremony": "x", "name": "Key", "credential": object{}}),
		"POST /v1/console/passkeys/{id}/remove": func(t *testing.T, s *service) (*client, string, object) {
			c := s.person(t, models.RoleViewer)
			a := c.registers(newAuthenticator(t), "Key", object{"password": password}).want(201)
			return c, passkeysPath + "/" + a.body["passkey"].(object)["id"].(string) + "/remove", object{"password": password, "code": "000000"}
		},
		"POST /v1/console/provider/begin":      fixed("/v1/console/provider/begin", object{"again": true, "otherAccount": true}),
		"POST /v1/console/provider/complete":   fixed("/v1/console/provider/complete", object{"code": "x", "state": "y", "iss": "https://login.example.com"}),
		"POST /v1/console/provider/connect":    own("/provider/connect", object{"password": password, "code": "000000"}),
		"POST /v1/console/sessions/end":        own("/sessions/end", object{"password": password, "code": "000000", "sessionId": uuid.NewString()}),
		"POST /v1/console/password":            own("/password", object{"password": password, "code": "000000", "newPassword": "another long one"}),
		"POST /v1/console/totp":                own("/totp", object{"password": password, "code": "000000"}),
		"POST /v1/console/totp/confirm":        own("/totp/confirm", object{"code": "000000"}),
		"POST /v1/console/totp/recovery-codes": own("/totp/recovery-codes", object{"password": password, "code": "000000"}),
		"POST /v1/console/totp/remove":         own("/totp/remove", object{"password": password, "code": "000000"}),
		"POST /v1/console/users": func(t *testing.T, s *service) (*client, string, object) {
			return s.client(t), "/v1/console/users", object{"email": uuid.NewString() + "@example.com", "name": "N", "password": password, "role": "viewer"}
		},
		"PATCH /v1/console/users/{id}":         user("", object{"name": "N", "role": "viewer"}),
		"POST /v1/console/users/{id}/password": user("/password", object{"newPassword": "another long one"}),
		"PATCH /v1/console/app":                fixed("/v1/console/app", object{"name": "N", "contact": "ops@example.com"}),
		"POST /v1/console/client-secrets":      admin("/client-secrets", object{"password": password, "code": "000000", "overlapHours": 1}),
		"POST /v1/console/client-secrets/{id}/end": func(t *testing.T, s *service) (*client, string, object) {
			c := s.person(t, models.RoleAdmin)
			c.post("/v1/console/client-secrets", object{"password": password}).want(201)
			old := list(c.get("/v1/console/client-secrets").want(200))[1].(object)
			return c, "/v1/console/client-secrets/" + old["id"].(string) + "/end", object{"password": password, "code": "000000"}
		},
		"POST /v1/console/webhooks":       fixed("/v1/console/webhooks", object{"url": "https://example.com/h", "events": []any{"envelope.sent"}, "secret": "long enough"}),
		"PATCH /v1/console/webhooks/{id}": hook("", object{"url": "https://example.com/h2", "events": []any{"envelope.sent"}}),
		"POST /v1/console/envelopes/{id}/void": func(t *testing.T, s *service) (*client, string, object) {
			c, path, body := envelope("/void", object{"reason": "typo"})(t, s)
			return c, strings.Replace(path, "/v1/", "/v1/console/", 1), body
		},
		"POST /v1/console/contacts": fixed("/v1/console/contacts", object{"name": "B", "email": "b@example.com", "phone": "+442079460958"}),
		"PUT /v1/console/settings":  fixed("/v1/console/settings?tenantId=bad", object{"defaultExpiryDays": 1, "reminderIntervalHours": 1, "retentionDays": 1, "fieldOrigin": "top-left", "senderName": "S"}),
		"PUT /v1/tenants/{tenantId}/branding": fixed("/v1/tenants/bad/branding", object{
			"logo": testLogo, "primaryColor": "#0f5570", "senderName": "S", "replyTo": "a@example.com", "footer": "Acme Ltd", "supportUrl": "https://example.com/help",
		}),
		"POST /v1/console/webhooks/{id}/secret": hook("/secret", object{"secret": "long enough", "overlapHours": 1}),
		"POST /v1/console/webhooks/{id}/resend": hook("/resend", object{"since": "2026-11-21T07:00:00Z"}),
		"POST /v1/embedded/signing-sessions": func(t *testing.T, s *service) (*client, string, object) {
			c := s.client(t)
			e, _ := c.sent(contract())
			return c, "/v1/embedded/signing-sessions", object{
				"tenantId": "acme", "envelopeId": e.str("id"), "signerId": e.signer(0)["id"], "allowedOrigin": "https://app.example.com",
				"expiresInMinutes": 5, "returnUrl": "https://app.example.com/done", "theme": object{"primaryColor": "#fff", "borderRadius": "4px"},
			}
		},
		"POST /v1/embedded/builder-sessions": func(t *testing.T, s *service) (*client, string, object) {
			c := s.client(t)
			return c, "/v1/embedded/builder-sessions", object{
				"tenantId": "acme", "envelopeId": c.draft(contract()).str("id"), "allowedOrigin": "https://app.example.com",
				"expiresInMinutes": 5, "returnUrl": "https://app.example.com/done", "theme": object{"primaryColor": "#fff", "borderRadius": "4px"},
				"features": object{"recipients": true, "documents": false, "send": true, "fieldTypes": []string{"signature"}},
			}
		},
		"POST /v1/signing/{token}/otp/verify": signer("/otp/verify", object{"code": "000000", "bind": true}),
		"POST /v1/signing/{token}/consent":    signer("/consent", object{"version": "2026-11-en"}),
		"POST /v1/signing/{token}/sign":       signer("/sign", object{"fields": []any{}, "fontLabel": "Script", "shown": strings.Repeat("0", 64)}),
		"POST /v1/signing/{token}/decline":    signer("/decline", object{"reason": "no"}),
		"POST /v1/signing/{token}/page-view":  signer("/page-view", object{"page": 1, "dwellMs": 5}),
		"POST /v1/signing/{token}/fit":        signer("/fit", object{}),

		"POST /v1/signing/{token}/documents/{docId}/pages/{page}/finished": signer("/finished", object{"fields": []any{}, "fontLabel": "Script", "shown": strings.Repeat("0", 64)}),
	}
}

// full returns an envelope request that contains all members.
func full() object {
	return object{
		"tenantId": "acme", "subject": "S", "createdBy": "me", "expiresInDays": 3, "origin": "top-left",
		"externalId": uuid.NewString(), "metadata": object{"a": "b"}, "message": "M", "reminderHours": 5,
		"signers": []any{object{"name": "A", "email": "a@example.com", "phone": "+442079460958", "routingOrder": 1, "authMethod": "email_otp", "allowDelegation": true}},
		"fields":  []any{object{"signerId": "0", "type": "text", "page": 1, "x": 1, "y": 1, "w": 9, "h": 9, "required": true, "origin": "top-left"}},
	}
}

func clone(o object) object {
	b, _ := json.Marshal(o)
	var out object
	_ = json.Unmarshal(b, &out)
	return out
}

type mutation struct {
	name, path string // path is the field's path in the errors
	body       func(object) []byte
	invalid    bool // whether the contract forbids the mutated value
}

// TestBadInput tries invalid values for every field of every request in the contract. It checks that the response is
// never a 500, and that every rejection names the field.
func TestBadInput(t *testing.T) {
	t.Parallel()
	doc, err := contractDocument()
	require.NoError(t, err)
	eachDatabase(t, func(t *testing.T, s *service) {
		known := operations()
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				name := method + " " + path
				if op.RequestBody == nil || op.RequestBody.Value.Content["application/json"] == nil {
					continue
				}
				ready := known[name]
				require.NotNil(t, ready, "%s requires an entry in operations", name)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					schema := plain(op.RequestBody.Value.Content["application/json"].Schema.Value)
					c, at, base := ready(t, s)
					for _, m := range mutations(schema, clone(base), op.RequestBody.Value.Required) {
						// A rejected request changes nothing. After an accepted request, the next one needs new objects.
						if taken := tryMutation(t, c, method, at, clone(base), m); taken {
							c, at, base = ready(t, s)
						}
					}
				})
			}
		}
	})
}

func tryMutation(t *testing.T, c *client, method, path string, body object, m mutation) (taken bool) {
	t.Helper()
	if strings.HasSuffix(path, "/login") {
		c.s.clock.advance(15 * time.Second) // attempts are limited
	}
	if strings.Contains(path, "/client-secrets") {
		c.s.clock.advance(4 * time.Second) // wrong passwords are counted
	}
	a := c.raw(method, path, m.body(body))
	require.Less(t, a.status, 500, "%s at %s: %s", m.name, m.path, a.raw)
	require.NotEqual(t, "token_expired", a.str("error"), "the test took too long to be meaningful")
	if !m.invalid {
		return a.status < 400
	}
	require.GreaterOrEqual(t, a.status, 400, "%s at %q was accepted: %s", m.name, m.path, a.raw)
	require.Contains(t, []int{400, 401, 413}, a.status, "%s at %s: %s", m.name, m.path, a.raw)
	if a.status == 400 && m.path != "" && a.str("error") != "invalid_json" {
		require.Equal(t, "validation_error", a.str("error"), "%s at %s: %s", m.name, m.path, a.raw)
		require.True(t, names(a.body["errors"].(object), m.path), "%s at %s is not named: %s", m.name, m.path, a.raw)
	}
	return false
}

// names reports whether the errors name the field, its parent, or one of its children.
func names(errors object, path string) bool {
	for p := range errors {
		if p == path || strings.HasPrefix(path, p+".") || strings.HasPrefix(path, p+"[") || strings.HasPrefix(p, path+"[") || strings.HasPrefix(p, path+".") {
			return true
		}
	}
	return false
}

// raw sends a body that need not be valid JSON.
func (c *client) raw(method, path string, body []byte) *response {
	c.t.Helper()
	return c.send(method, path, "application/json", body)
}

func mutations(schema *openapi3.Schema, base object, required bool) []mutation {
	text := func(s string) func(object) []byte { return func(object) []byte { return []byte(s) } }
	out := []mutation{
		{name: "array", body: text(`[]`), invalid: true},
		{name: "text", body: text(`"x"`), invalid: true},
		{name: "null", body: text(`null`), invalid: required},
		{name: "broken", body: text(`{"a":`), invalid: true},
		{name: "two values", body: text(`{} {}`), invalid: true},
		{name: "not UTF-8", body: text("{\"a\":\"\xff\"}"), invalid: true},
		{name: "deep", body: text(strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33)), invalid: true},
		{name: "very deep", body: text(strings.Repeat(`[`, 500_000)), invalid: true},
		{name: "nothing", body: text(``), invalid: required},
		{name: "empty object", body: text(`{}`), invalid: len(schema.Required) > 0},
	}
	return append(out, fieldMutations(schema, base, "", nil)...)
}

// fieldMutations returns mutations for each member of an object.
func fieldMutations(schema *openapi3.Schema, base object, prefix string, at []any) []mutation {
	var out []mutation
	for name, ref := range schema.Properties {
		path, keys := prefix+name, append(slices.Clone(at), name)
		field := plain(ref.Value)
		value := base[name]
		if slices.Contains(schema.Required, name) {
			out = append(out, mutation{name: "missing", path: path, invalid: true, body: func(o object) []byte { return edited(o, keys, nil, true) }})
		}
		for what, v := range invalidValues(field) {
			out = append(out, mutation{
				name: what, path: path, body: func(o object) []byte { return edited(o, keys, v, false) }, invalid: ref.Value.VisitJSON(asJSON(v), openapi3.EnableJSONSchema2020()) != nil,
			})
		}
		out = append(out, mutation{
			name: "invalid UTF-8", path: path, invalid: true,
			body: func(o object) []byte {
				return []byte(strings.Replace(string(edited(o, keys, "@@", false)), "@@", "\xc3\x28", 1))
			},
		})
		switch v := value.(type) {
		case object:
			out = append(out, fieldMutations(field, v, path+".", keys)...)
		case []any:
			if item := plain(field.Items.Value); len(v) > 0 && item.Type.Is("object") {
				out = append(out, fieldMutations(item, v[0].(object), path+"[0].", append(keys, 0))...)
			} else if len(v) > 0 {
				for what, w := range invalidValues(item) {
					out = append(out, mutation{
						name: what, path: path + "[0]", body: func(o object) []byte { return edited(o, append(slices.Clone(keys), 0), w, false) },
						invalid: item.VisitJSON(asJSON(w), openapi3.EnableJSONSchema2020()) != nil,
					})
				}
			}
		}
	}
	return out
}

// plain returns the schema without the alternative null.
func plain(s *openapi3.Schema) *openapi3.Schema {
	for _, alt := range s.OneOf {
		if alt.Value.Type == nil || !alt.Value.Type.Is("null") {
			return alt.Value
		}
	}
	return s
}

// invalidValues returns values of every type, and boundary values for the schema.
func invalidValues(s *openapi3.Schema) map[string]any {
	out := map[string]any{
		"null": nil, "boolean": true, "number": 7.5, "huge number": 1e300, "negative": -1, "zero": 0, "text": "\u00fcnknown value", "empty text": "", "blank": "   ",
		"array": []any{}, "array of null": []any{nil}, "object": object{}, "NUL": "a\x00b", "control": "a\x1bb", "line break": "a\r\nBcc: x@example.com", "override": "a\u202eb",
		"long text": strings.Repeat("x", 70_000), "emoji": strings.Repeat("\U0001f600", 300),
	}
	if s.MaxLength != nil {
		out["one too long"] = strings.Repeat("x", int(*s.MaxLength)+1)
	}
	if s.MaxItems != nil {
		out["too many"] = make([]any, *s.MaxItems+1)
	}
	if s.Max != nil {
		out["above"] = *s.Max + 1
	}
	if s.Min != nil {
		out["below"] = *s.Min - 1
	}
	return out
}

func asJSON(v any) any {
	b, _ := json.Marshal(v)
	var out any
	_ = json.Unmarshal(b, &out)
	return out
}

// edited returns the JSON of the body, with the value at the path keys replaced by v or removed.
func edited(o object, keys []any, v any, remove bool) []byte {
	var at any = o
	for _, k := range keys[:len(keys)-1] {
		switch k := k.(type) {
		case string:
			at = at.(object)[k]
		case int:
			at = at.([]any)[k]
		}
	}
	switch k := keys[len(keys)-1].(type) {
	case string:
		if remove {
			delete(at.(object), k)
		} else {
			at.(object)[k] = v
		}
	case int:
		at.([]any)[k] = v
	}
	b, _ := json.Marshal(o)
	return b
}

// TestTexts_AreOneLine checks that strings used in emails and file names cannot contain line breaks.
func TestTexts_AreOneLine(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	for field, edit := range map[string]func(object, string){
		"subject":          func(o object, v string) { o["subject"] = v },
		"signers[0].name":  func(o object, v string) { o["signers"] = []object{{"name": v, "email": "a@example.com"}} },
		"signers[0].email": func(o object, v string) { o["signers"] = []object{{"name": "A", "email": v}} },
		"createdBy":        func(o object, v string) { o["createdBy"] = v },
		"tenantId":         func(o object, v string) { o["tenantId"] = v },
	} {
		for _, v := range []string{"a\r\nBcc: evil@example.com", "a\nb", "a\rb", "a\x00b", "a\u2028b", "a@example.com\r\n"} {
			o := object{"tenantId": "t", "signers": []object{{"name": "A", "email": "a@example.com"}}}
			edit(o, v)
			a := c.post("/v1/envelopes", o)
			if field == "signers[0].email" && strings.TrimSpace(v) == "a@example.com" {
				continue // surrounding white space is removed from an address
			}
			require.Contains(t, a.rejected(400, "validation_error").body["errors"], field, "%q", v)
		}
	}
	// RFC 6266: every name is sent in ASCII, and also in UTF-8 if it contains other characters.
	for subject, want := range map[string]string{
		"Vertrag":      `attachment; filename=Vertrag.pdf`,
		"Mietverträge": `attachment; filename=Mietvertr_ge.pdf; filename*=utf-8''Mietvertr%C3%A4ge.pdf`,
		"契約書":          `attachment; filename=___.pdf; filename*=utf-8''%E5%A5%91%E7%B4%84%E6%9B%B8.pdf`,
		`a"b\c/../d`:   `attachment; filename=a_b_c_.._d.pdf`,
		"50% off;x":    `attachment; filename="50% off;x.pdf"`,
	} {
		data := contract()
		data["subject"] = subject
		e := c.draft(data)
		require.Equal(t, want, c.get("/v1/envelopes/"+e.str("id")+"/document").want(200).header.Get("Content-Disposition"), "%q", subject)
	}
}

// TestTexts_InvisibleCharacters checks that invisible characters, which are pasted by accident or used to imitate
// names, are removed or rejected. The joiners that Persian text and emoji require remain.
func TestTexts_InvisibleCharacters(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	data := contract()
	data["subject"] = "Con\u200btract\u2060 \U000e0041\ufeff👩\u200d💻"
	data["signers"] = []object{{"name": "نمی\u200cدانم A\u00add\u200ea\u3164", "email": "ada@example.com", "authMethod": "none"}}
	e, token := c.sent(data)
	require.Equal(t, "Contract 👩\u200d💻", e.str("subject"))
	require.Equal(t, "نمی\u200cدانم Ada", e.signer(0)["name"])
	declined := (&client{t: t, s: s}).post("/v1/signing/"+token+"/decline", object{"reason": "no\u200b!"}).want(200)
	require.Equal(t, "declined", declined.str("status"))

	data["signers"] = []object{{"name": "\u200b\ufeff", "email": "ada@example.com"}}
	require.Contains(t, c.post("/v1/envelopes", data).rejected(400, "validation_error").body["errors"], "signers[0].name", "a name of nothing")
	for _, of := range []object{{"tenantId": "ac\u200bme"}, {"signers": []object{{"name": "Ada", "email": "a\u200bda@example.com"}}}} {
		bad := contract()
		for k, v := range of {
			bad[k] = v
		}
		c.post("/v1/envelopes", bad).rejected(400, "validation_error") // identifiers are rejected rather than changed silently
	}
	require.Equal(t, "Ada", c.post("/v1/console/contacts", object{"name": "A\u200bda", "email": "ada@example.com"}).want(200).str("name"))
}
