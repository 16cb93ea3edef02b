package api_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// pathReplacer returns a replacer that replaces the parameters in the contract's paths with the IDs of existing
// objects. A request then has only the fault that the test introduces.
func pathReplacer(t *testing.T, s *service) *strings.Replacer {
	t.Helper()
	c := s.client(t)
	hook := c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"envelope.sent"}}).want(201)
	e, token := c.sent(contract())
	delivery := c.get("/v1/console/webhook-deliveries").want(200).body["data"].([]any)[0].(object)
	contact := c.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com"}).want(200)
	secret := list(c.get("/v1/console/client-secrets").want(200))[0].(object)
	user := c.post("/v1/console/users", object{"email": "u@example.com", "name": "U", "password": "a long password", "role": "admin"}).want(201)
	session := c.post("/v1/embedded/signing-sessions", object{
		"tenantId": "acme", "envelopeId": e.str("id"), "signerId": e.signer(0)["id"], "allowedOrigin": "https://app.example.com",
	}).want(201)
	draft := c.draft(contract())
	builder := c.post("/v1/embedded/builder-sessions", object{
		"tenantId": "acme", "envelopeId": draft.str("id"), "allowedOrigin": "https://app.example.com",
	}).want(201)
	doc := e.body["documents"].([]any)[0].(object)
	signed, link := c.sent(contract())
	receipt := c.signs(signed, link)
	template := bulkTemplate(t, s, c, "acme")
	templateDocument := c.get("/v1/templates/" + template).want(200).document(0)["id"].(string)
	bulk := c.post("/v1/bulk-sends", bulkRequest(template, bulkRow("a", "Ada"))).want(202)
	download := s.completes(t, signed.str("id"), 0)
	subscriber, err := s.store.User(t.Context(), uuid.MustParse(user.str("id")))
	require.NoError(t, err)
	unsubscribe, err := s.cfg.Tokens.IssueUnsubscribe(subscriber, s.cfg.Now())
	require.NoError(t, err)
	return strings.NewReplacer(
		"/envelopes/{id}/signers/{signerId}/preview", "/envelopes/"+draft.str("id")+"/signers/"+draft.signer(0)["id"].(string)+"/preview",
		"/unsubscribe/{token}", "/unsubscribe/"+unsubscribe, "/receipts/{token}", "/receipts/"+receipt, "/download/{token}", "/download/"+download,
		"/templates/{id}/documents/{documentId}", "/templates/"+template+"/documents/"+templateDocument, "/pages/{page}", "/pages/1",
		"/templates/{id}", "/templates/"+template, "/bulk-sends/{id}", "/bulk-sends/"+bulk.str("id"), "/envelopes/{id}", "/envelopes/"+e.str("id"), "/webhooks/{id}", "/webhooks/"+hook.str("id"), "/webhook-deliveries/{id}", "/webhook-deliveries/"+delivery["id"].(string),
		"/contacts/{id}", "/contacts/"+contact.str("id"), "/users/{id}", "/users/"+user.str("id"), "/client-secrets/{id}", "/client-secrets/"+secret["id"].(string), "/passkeys/{id}", "/passkeys/"+uuid.NewString(), "/signing-sessions/{id}", "/signing-sessions/"+session.str("sessionId"),
		"{signerId}", e.signer(0)["id"].(string), "{fieldId}", e.field(0)["id"].(string), "{documentId}", doc["id"].(string), "/signing/{token}", "/signing/"+token, "{docId}", doc["id"].(string), "{aid}", doc["id"].(string),
		"/builder-sessions/{id}", "/builder-sessions/"+builder.str("sessionId"), "/builders/{token}", "/builders/"+builder.str("sessionToken"),
		"{tenantId}", "acme", "/sessions/{token}", "/sessions/"+session.str("sessionToken"),
	)
}

// eachOperation calls test for every operation in the contract, with a client that has suitable credentials.
func eachOperation(t *testing.T, s *service, test func(c *client, method, path string, op *openapi3.Operation)) {
	t.Helper()
	doc, err := contractDocument()
	require.NoError(t, err)
	// Use a fixed order in which the signer's requests precede requests that close the envelope.
	paths := slices.SortedFunc(maps.Keys(doc.Paths.Map()), func(a, b string) int { return strings.Compare(b, a) })
	for _, path := range paths {
		operations := doc.Paths.Value(path).Operations()
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			op := operations[method]
			c := &client{t: t, s: s}
			if op.Security != nil && len(*op.Security) > 0 {
				c = s.client(t)
			}
			test(c, method, path, op)
		}
	}
}

// TestBadQueries tries every query parameter in the contract with values that its schema forbids, and with values that
// are never valid.
func TestBadQueries(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		at := pathReplacer(t, s)
		tried := 0
		user := s.person(t, models.RoleAdmin)
		eachOperation(t, s, func(c *client, method, path string, op *openapi3.Operation) {
			if op.Security != nil && len(*op.Security) == 1 && (*op.Security)[0]["console"] != nil { // rejects an app's token
				c = user
			}
			required := url.Values{}
			for _, ref := range op.Parameters {
				if p := ref.Value; p.In == "query" && p.Required {
					required.Set(p.Name, "acme")
				}
			}
			ask := func(query string) *response { return c.call(method, at.Replace(path)+"?"+query, nil) }
			for _, ref := range op.Parameters {
				p := ref.Value
				if p.In != "query" {
					continue
				}
				rejected := func(q string) {
					a := ask(q).rejected(400, "validation_error")
					require.Contains(t, a.body["errors"], p.Name, "%s %s?%q", method, path, q)
					tried++
				}
				with := func(v ...string) string {
					q := url.Values{}
					for name, text := range required {
						q[name] = text
					}
					q[p.Name] = v
					return q.Encode()
				}
				for _, v := range []string{
					"", "x", "0", "-1", "1.5", "1e3", "+7", " 7", "0x7", "99999999999999999999", "1000001", "101", "nope", "Draft", "sealing", "null",
					"acme", "' OR 1=1 --", "%", "a_%\\", strings.ToUpper(uuid.NewString()), uuid.NewString() + "x", "{" + uuid.NewString() + "}",
					strings.Repeat("y", 101), strings.Repeat("y", 201), strings.Repeat("y", 256), strings.Repeat("y", 5000),
				} {
					if allowed(p.Schema.Value, v) {
						a := ask(with(v))
						require.Less(t, a.status, 500, "%s %s %s=%q: %s", method, path, p.Name, v, a.raw)
						if a.status == 400 && method == http.MethodGet {
							require.NotContains(t, a.body["errors"], p.Name, "%s %s %s=%q is allowed: %s", method, path, p.Name, v, a.raw)
						}
					} else {
						rejected(with(v))
					}
				}
				for _, v := range []string{"\x00", "\xff", "\xc3\x28", "a\r\nb", "a\x1bb", "\ufffd"} {
					rejected(with(v))
				}
				rejected(with("1", "1"))
				if p.Required {
					rejected("")
				}
			}
			if len(*op.Security) > 0 || strings.HasPrefix(path, "/v1/signing/") {
				if a := ask("a=%zz"); a.status == http.StatusForbidden && a.str("error") == "user_required" {
					c = s.person(t, models.RoleAdmin)
				}
				require.Contains(t, ask("a=%zz").rejected(400, "validation_error").body["errors"], "query")
				if method == http.MethodGet && slices.ContainsFunc(op.Parameters, func(r *openapi3.ParameterRef) bool { return r.Value.In == "query" }) {
					require.Equal(t, 200, ask(required.Encode()+"&unheard=of").status, "%s: unknown parameters must be ignored", path)
				}
			}
		})
		require.Greater(t, tried, 200)
	})
}

// allowed reports whether a schema allows the text of a query parameter.
func allowed(schema *openapi3.Schema, text string) bool {
	var v any = text
	if schema.Type.Is("integer") {
		n, err := strconv.Atoi(text)
		if err != nil || strconv.Itoa(n) != text {
			return false
		}
		v = float64(n)
	}
	if schema.Format == "uuid" {
		_, err := uuid.Parse(text)
		return err == nil && len(text) == 36
	}
	return schema.VisitJSON(v, openapi3.EnableJSONSchema2020()) == nil
}

// TestBadPaths tries every path parameter with invalid and unknown values.
func TestBadPaths(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	at := pathReplacer(t, s)
	person := s.person(t, models.RoleAdmin)
	eachOperation(t, s, func(c *client, method, path string, op *openapi3.Operation) {
		if isOwn(op) {
			c = person
		}
		for _, ref := range op.Parameters {
			p := ref.Value
			if p.In != "path" || p.Name == "tenantId" { // tenantId is arbitrary text; see TestBranding_RejectsInvalidValues
				continue
			}
			want, bad := 404, []string{"x", "%00", "NOT-A-UUID", strings.Repeat("1", 400), "%ff", "%0d%0a", "{}", uuid.NewString(), uuid.NewString() + "%20"}
			if p.Name == "token" {
				want = 401
				bad = append(bad, "a.b.c", "..%2f..", "..", "eyJhbGciOiJub25lIn0.e30.", strings.Repeat("A", 8000))
			}
			for _, v := range bad {
				parts := strings.Split(path, "/")
				parts[slices.Index(parts, "{"+p.Name+"}")] = strings.ReplaceAll(v, "..", "%2e%2e")
				a := c.call(method, at.Replace(strings.Join(parts, "/")), nil)
				want := want
				if strings.Contains(v, "%2f") {
					want = 404 // the path does not exist
				}
				if _, err := uuid.Parse(v); err == nil && p.Name == "aid" && method == http.MethodDelete {
					want = 401 // the signer has not consented yet
				}
				require.Equal(t, want, a.status, "%s %s with %s=%q: %s", method, path, p.Name, v, a.raw)
			}
		}
	})
}

// counted is a body that counts the bytes read from it.
type counted struct {
	io.Reader

	read int64
}

func (r *counted) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.read += int64(n)
	return n, err
}

// formOf converts a JSON request to flat form fields. A form contains only strings, so it is not always equivalent to
// the request. formOf also reports whether the form is equivalent.
func formOf(body []byte) (parts map[string]string, same bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil, false
	}
	parts = make(map[string]string)
	for name, raw := range members {
		parts[name] = string(raw)
		switch name {
		case "signers", "fields", "expiresInDays":
			continue
		}
		// Use the raw bytes, because a decoder would replace invalid UTF-8.
		text, ok := strings.CutPrefix(string(raw), `"`)
		if !ok {
			return nil, false
		}
		if strings.Contains(text, `\`) {
			if json.Unmarshal(raw, &text) != nil {
				return nil, false
			}
		} else {
			text = strings.TrimSuffix(text, `"`)
		}
		parts[name] = text
	}
	return parts, true
}
