package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
)

// places are what the paths of the contract stand for: one thing of each kind,
// so that what is wrong with a request is what the test made wrong.
func places(t *testing.T, s *service) *strings.Replacer {
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
	builder := c.post("/v1/embedded/builder-sessions", object{
		"tenantId": "acme", "envelopeId": c.draft(contract()).str("id"), "allowedOrigin": "https://app.example.com",
	}).want(201)
	doc := e.body["documents"].([]any)[0].(object)
	signed, link := c.sent(contract())
	receipt := c.signs(signed, link)
	template := bulkTemplate(t, s, c, "acme")
	bulk := c.post("/v1/bulk-sends", bulkRequest(template, bulkRow("a", "Ada"))).want(202)
	download := s.completes(t, signed.str("id"), 0)
	return strings.NewReplacer(
		"/receipts/{token}", "/receipts/"+receipt, "/download/{token}", "/download/"+download,
		"/templates/{id}", "/templates/"+template, "/bulk-sends/{id}", "/bulk-sends/"+bulk.str("id"), "/envelopes/{id}", "/envelopes/"+e.str("id"), "/webhooks/{id}", "/webhooks/"+hook.str("id"), "/webhook-deliveries/{id}", "/webhook-deliveries/"+delivery["id"].(string),
		"/contacts/{id}", "/contacts/"+contact.str("id"), "/users/{id}", "/users/"+user.str("id"), "/client-secrets/{id}", "/client-secrets/"+secret["id"].(string), "/passkeys/{id}", "/passkeys/"+uuid.NewString(), "/signing-sessions/{id}", "/signing-sessions/"+session.str("sessionId"),
		"{signerId}", e.signer(0)["id"].(string), "{fieldId}", e.field(0)["id"].(string), "{documentId}", doc["id"].(string), "/signing/{token}", "/signing/"+token, "{docId}", doc["id"].(string), "{aid}", doc["id"].(string),
		"/builder-sessions/{id}", "/builder-sessions/"+builder.str("sessionId"), "/builders/{token}", "/builders/"+builder.str("sessionToken"),
		"{tenantId}", "acme", "/sessions/{token}", "/sessions/"+session.str("sessionToken"),
	)
}

// eachOperation calls test for every operation of the contract, and what it
// takes its credential from.
func eachOperation(t *testing.T, s *service, test func(c *client, method, path string, op *openapi3.Operation)) {
	t.Helper()
	doc, err := contractDocument()
	require.NoError(t, err)
	// Always in the same order, and the signer's own before what ends the envelope.
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

// TestBadQueries tries every query parameter of the contract with what its
// schema forbids, and with what may stand in no parameter at all.
func TestBadQueries(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		at := places(t, s)
		tried := 0
		eachOperation(t, s, func(c *client, method, path string, op *openapi3.Operation) {
			required := url.Values{}
			for _, ref := range op.Parameters {
				if p := ref.Value; p.In == "query" && p.Required {
					required.Set(p.Name, "acme")
				}
			}
			ask := func(query string) *answer { return c.call(method, at.Replace(path)+"?"+query, nil) }
			for _, ref := range op.Parameters {
				p := ref.Value
				if p.In != "query" {
					continue
				}
				refused := func(q string) {
					a := ask(q).refused(400, "validation_error")
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
						refused(with(v))
					}
				}
				for _, v := range []string{"\x00", "\xff", "\xc3\x28", "a\r\nb", "a\x1bb", "\ufffd"} {
					refused(with(v))
				}
				refused(with("1", "1"))
				if p.Required {
					refused("")
				}
			}
			if len(*op.Security) > 0 || strings.HasPrefix(path, "/v1/signing/") {
				if a := ask("a=%zz"); a.status == http.StatusForbidden && a.str("error") == "user_required" {
					c = s.person(t, models.RoleAdmin)
				}
				require.Contains(t, ask("a=%zz").refused(400, "validation_error").body["errors"], "query")
				if method == http.MethodGet && slices.ContainsFunc(op.Parameters, func(r *openapi3.ParameterRef) bool { return r.Value.In == "query" }) {
					require.Equal(t, 200, ask(required.Encode()+"&unheard=of").status, "what is not known is ignored")
				}
			}
		})
		require.Greater(t, tried, 200)
	})
}

// allowed reports whether a schema allows a query parameter's text.
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

// TestBadPaths tries every path parameter with what names nothing.
func TestBadPaths(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	at := places(t, s)
	person := s.person(t, models.RoleAdmin)
	eachOperation(t, s, func(c *client, method, path string, op *openapi3.Operation) {
		if isOwn(op) {
			c = person
		}
		for _, ref := range op.Parameters {
			p := ref.Value
			if p.In != "path" || p.Name == "tenantId" { // a name of the app's own, see TestBadBranding
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
					want = 404 // no such path
				}
				if _, err := uuid.Parse(v); err == nil && p.Name == "aid" && method == http.MethodDelete {
					want = 401 // the signer has not agreed to sign yet
				}
				require.Equal(t, want, a.status, "%s %s with %s=%q: %s", method, path, p.Name, v, a.raw)
			}
		}
	})
}

// TestBadIdempotencyKeys: wherever the contract has the header.
func TestBadIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	at := places(t, s)
	tried := 0
	eachOperation(t, s, func(c *client, method, path string, op *openapi3.Operation) {
		if !slices.ContainsFunc(op.Parameters, func(r *openapi3.ParameterRef) bool { return r.Value.Name == "Idempotency-Key" }) {
			return
		}
		if a := c.call(method, at.Replace(path), nil); a.status == http.StatusForbidden && a.str("error") == "user_required" {
			c = s.person(t, models.RoleAdmin)
		}
		for _, key := range []string{strings.Repeat("k", 256), "schlüssel", "a\tb", "\xff"} {
			a := c.with("Idempotency-Key", key).call(method, at.Replace(path), nil).refused(400, "validation_error")
			require.Contains(t, a.body["errors"], "Idempotency-Key", "%s %s", method, path)
			tried++
		}
	})
	require.Greater(t, tried, 80)
}

// TestLargeBodies: a body has its limit on every endpoint that takes JSON, in a
// part of a multipart body too; and what is smaller is read.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	known := operations()
	eachOperation(t, s, func(_ *client, method, path string, op *openapi3.Operation) {
		if op.RequestBody == nil || op.RequestBody.Value.Content["application/json"] == nil {
			return
		}
		c, at, base := known[method+" "+path](t, s)
		limit := int(s.api.MaxBody(method + " " + path))
		switch {
		case strings.HasSuffix(path, "/sign"):
			limit = 90 << 10 // of a signer with one field of text
		case strings.HasSuffix(path, "/bulk-sends"): // its values have a limit each
			c.raw(method, at, bytes.Repeat([]byte(" "), limit+1)).refused(413, "request_too_large")
			return
		case op.RequestBody.Value.Content["multipart/form-data"] != nil:
			limit = 1 << 20
		}
		padded := func(size int) []byte {
			b, err := json.Marshal(base)
			require.NoError(t, err)
			return slices.Concat([]byte(strings.Repeat(" ", size-len(b))), b)
		}
		c.raw(method, at, padded(limit+1)).refused(413, "request_too_large")
		c.with("Idempotency-Key", "large").raw(method, at, padded(limit+1)).refused(413, "request_too_large")
		a := c.raw(method, at, padded(limit))
		require.NotEqual(t, 413, a.status, "%s %s: %s", method, path, a.raw)
		require.NotContains(t, a.str("error"), "json", "%s %s: %s", method, path, a.raw)
	})
	c := s.client(t)
	for name := range map[string]bool{"data": true, "subject": true, "unknown": true} {
		ct, body := multipartBody(t, map[string]string{name: strings.Repeat("x", 1<<20+1)}, testkit.OnePage())
		c.send(http.MethodPost, "/v1/envelopes", ct, body).refused(413, "request_too_large")
	}
	ct, body := multipartBody(t, map[string]string{"a": strings.Repeat("x", 1<<20), "b": strings.Repeat("x", 1<<20)}, testkit.OnePage())
	c.send(http.MethodPost, "/v1/envelopes", ct, body).refused(413, "request_too_large")
}

// counted is a body that knows how much of it was read.
type counted struct {
	io.Reader

	read int64
}

func (r *counted) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.read += int64(n)
	return n, err
}

// TestAKeyHasNoMoreReadThanTheRouteTakes: what a request with an Idempotency-Key brings is kept on the disk before anything of it is looked at.
func TestAKeyHasNoMoreReadThanTheRouteTakes(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, viewer, nobody := s.client(t), s.person(t, models.RoleViewer), &client{t: t, s: s}
	draft := c.draft(contract())
	sent, token := c.sent(contract())
	c.post("/v1/envelopes/"+sent.str("id")+"/void", nil).want(200) // its link is of no use
	link, at := "/v1/signing/"+token, "/v1/envelopes/"+draft.str("id")
	const mb = 1 << 20
	for _, tt := range []struct {
		c                 *client
		path, contentType string
		limit             int64
		code              string
	}{
		{nobody, link + "/otp/request", "", 64 << 10, "request_too_large"},
		{nobody, link + "/consent", "application/json", 64 << 10, "request_too_large"},
		{nobody, link + "/page-view", "application/json", 64 << 10, "request_too_large"},
		{nobody, link + "/fit", "application/json", 64 << 10, "request_too_large"},
		{nobody, link + "/decline", "application/json", 64 << 10, "request_too_large"},
		{nobody, link + "/sign", "application/json", 12 * mb, "request_too_large"},
		{nobody, link + "/attachments", "multipart/form-data; boundary=x", 11 * mb, "file_too_large"},
		{nobody, "/oauth/token", "application/x-www-form-urlencoded", 8 << 10, "request_too_large"},
		{viewer, "/v1/console/password", "application/json", 64 << 10, "request_too_large"},
		{viewer, "/v1/console/logout", "", 64 << 10, "request_too_large"},
		{c, "/v1/webhooks", "application/json", mb, "request_too_large"},
		{c, at + "/send", "application/json", mb, "request_too_large"},
		{c, at + "/document", "application/pdf", 2 * mb, "file_too_large"},
		{c, "/v1/console" + strings.TrimPrefix(at, "/v1") + "/documents", "multipart/form-data; boundary=x", 2 * mb, "file_too_large"},
		{c, "/v1/envelopes", "multipart/form-data; boundary=x", 2 * mb, "file_too_large"},
		{c, "/v1/templates", "multipart/form-data; boundary=x", 2 * mb, "file_too_large"},
		{c, "/v1/envelopes", "application/json", 2 * mb, "request_too_large"},
		{c, "/v1/bulk-sends", "application/json", 32 * mb, "request_too_large"},
	} {
		body := &counted{Reader: strings.NewReader(strings.Repeat("x", 40*mb))}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tt.path, body)
		req.Header.Set("Content-Type", tt.contentType)
		req.Header.Set("Idempotency-Key", "k")
		if tt.c.token != "" {
			req.Header.Set("Authorization", "Bearer "+tt.c.token)
		}
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, req)
		require.Equal(t, 413, w.Code, "%s: %s", tt.path, w.Body)
		require.Contains(t, w.Body.String(), tt.code, tt.path)
		require.LessOrEqual(t, body.read, tt.limit+64<<10, tt.path)
	}
}

// TestBadForms does with the parts of a multipart body what TestBadInput does
// with the members of JSON: once in the part data, once as flat fields.
func TestBadForms(t *testing.T) {
	t.Parallel()
	doc, err := contractDocument()
	require.NoError(t, err)
	schema := doc.Components.Schemas["EnvelopeRequest"].Value
	flat := doc.Components.Schemas["EnvelopeForm"].Value.Properties
	for name := range schema.Properties {
		switch name {
		case "templateId", "templateVersion", "values", "variables":
			continue // a template brings its file
		}
		require.Contains(t, flat, name, "every member has its form field")
	}
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		try := func(m mutation, parts map[string]string) {
			ct, body := multipartBody(t, parts, testkit.OnePage())
			a := c.send(http.MethodPost, "/v1/envelopes", ct, body)
			require.Less(t, a.status, 500, "%s at %s: %s", m.name, m.path, a.raw)
			if !m.invalid {
				return
			}
			require.Equal(t, 400, a.status, "%s at %q was taken: %s", m.name, m.path, a.raw)
			if m.path != "" && a.str("error") != "invalid_json" {
				a.refused(400, "validation_error")
				require.True(t, names(a.body["errors"].(object), m.path), "%s at %s is not named: %s", m.name, m.path, a.raw)
			}
		}
		for _, m := range mutations(schema, clone(full()), true) {
			body := m.body(clone(full()))
			if len(body) > 1<<20 {
				continue // see TestLargeBodies
			}
			try(m, map[string]string{"data": string(body)})
			if parts, same := formOf(body); same {
				try(m, parts)
			}
		}
	})
}

// formOf writes a request as flat form fields. It is not the same request where
// a text became something else: a form has no other type.
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
		// The bytes themselves: a decoder would mend what is no UTF-8.
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

// TestBadParts: what is wrong with the multipart body itself.
func TestBadParts(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	data, err := json.Marshal(contract())
	require.NoError(t, err)
	type part struct{ name, file, text string }
	pdf := part{"file", "contract.pdf", string(testkit.OnePage())}
	post := func(path string, parts ...part) *answer {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for _, p := range parts {
			create := w.CreateFormField
			if p.file != "" {
				create = func(name string) (io.Writer, error) { return w.CreateFormFile(name, p.file) }
			}
			out, err := create(p.name)
			require.NoError(t, err)
			_, err = out.Write([]byte(p.text))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		return c.send(http.MethodPost, path, w.FormDataContentType(), b.Bytes())
	}
	named := func(a *answer, field string) {
		t.Helper()
		require.Contains(t, a.refused(400, "validation_error").body["errors"], field)
	}
	envelope := part{"data", "", string(data)}
	e := post("/v1/envelopes", envelope, pdf).want(201)
	post("/v1/envelopes", pdf, envelope).want(201)
	post("/v1/envelopes", part{"data", "data.json", string(data)}, pdf).want(201)
	post("/v1/envelopes", envelope, pdf, part{"unknown", "", "\xff"}).want(201)
	named(post("/v1/envelopes", envelope), "file")
	named(post("/v1/envelopes", envelope, pdf, pdf), "file")
	named(post("/v1/envelopes", envelope, envelope, pdf), "data")
	named(post("/v1/envelopes", part{"tenantId", "", "a"}, part{"tenantId", "", "b"}, pdf), "tenantId")
	post("/v1/envelopes", slices.Repeat([]part{{"x", "", ""}}, 21)...).want(400)
	post("/v1/envelopes", envelope, part{"file", "a.pdf", ""}).want(400)
	post("/v1/envelopes", envelope, part{"file", "a.pdf", "no PDF"}).want(400)
	post("/v1/envelopes", envelope, part{"file", "a.pdf", strings.Repeat("x", 1<<20+1)}).refused(413, "file_too_large")
	documents := "/v1/console/envelopes/" + e.str("id") + "/documents"
	named(post(documents), "file")
	named(post(documents, part{"document", "a.pdf", string(testkit.OnePage())}), "file")
	named(post(documents, pdf, pdf), "file")
	post(documents, part{"file", "a.pdf", "no PDF"}).want(400)
	post(documents, part{"file", "../../\u202e.pdf", string(testkit.OnePage())}).want(201)
	named(post("/v1/verify"), "file")
	for name, broken := range map[string][]byte{"no boundary in it": []byte("x"), "cut": []byte("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n%PDF")} {
		for _, path := range []string{"/v1/envelopes", documents} {
			a := c.send(http.MethodPost, path, "multipart/form-data; boundary=b", broken)
			require.Equal(t, 400, a.status, "%s at %s: %s", name, path, a.raw)
		}
	}
	for _, path := range []string{"/v1/envelopes", documents, "/v1/verify"} {
		c.send(http.MethodPost, path, "multipart/form-data", []byte("x")).want(400)
	}
}

// TestManyValues: a body with more values than the limit is refused before it is parsed, in a part of a form too.
func TestManyValues(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	at := "/v1/envelopes/" + c.draft(contract()).str("id")
	many := func(n int) []byte { return []byte(`{"reason":"no","unknown":[` + strings.Repeat("0,", n-6) + "0]}") }
	for _, tt := range []struct{ method, path string }{{http.MethodPost, "/v1/envelopes"}, {http.MethodPatch, at}, {http.MethodPost, at + "/void"}, {http.MethodPost, "/v1/webhooks"}} {
		a := c.raw(tt.method, tt.path, many(100_001)).refused(400, "invalid_json")
		require.Contains(t, a.str("message"), "more than 100000 values and names", tt.path)
	}
	for _, shape := range []string{"[],", `{},`, `"",`, "1,", "null,"} {
		body := []byte(`{"a":[` + strings.Repeat(shape, 100_000) + "0]}")
		require.Contains(t, c.raw(http.MethodPost, "/v1/envelopes", body).refused(400, "invalid_json").str("message"), "100000", shape)
	}
	ct, body := multipartBody(t, map[string]string{"data": string(many(100_001))}, testkit.OnePage())
	require.Contains(t, c.send(http.MethodPost, "/v1/envelopes", ct, body).refused(400, "invalid_json").str("message"), "100000")
	c.raw(http.MethodPost, at+"/void", many(100_000)).want(200)
}

// TestManyPairs: forms and query strings have a bounded number of pairs.
func TestManyPairs(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	form := func(n int) []byte {
		return []byte("grant_type=client_credentials&client_id=" + s.id + "&client_secret=" + s.pass + strings.Repeat("&a=b", n-3))
	}
	nobody := &client{t: t, s: s}
	nobody.send(http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", form(50)).want(200)
	nobody.send(http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", form(51)).refused(400, "invalid_request")
	query := "/v1/envelopes?tenantId=acme"
	for i := range 49 {
		query += fmt.Sprintf("&a%d=b", i)
	}
	c.get(query).want(200)
	require.Contains(t, c.get(query+"&b=c").refused(400, "validation_error").body["errors"], "query")
}

// TestHeadersOfAPart are bounded, whatever the part holds, also where a key has the body read twice.
func TestHeadersOfAPart(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	body := func(n int) []byte {
		return []byte("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n" + strings.Repeat("A: b\r\n", n/6) + "\r\n" + string(testkit.OnePage()) + "\r\n--b--\r\n")
	}
	for i, c := range []*client{s.client(t), s.client(t).with("Idempotency-Key", "headers")} {
		c.send(http.MethodPost, "/v1/envelopes", "multipart/form-data; boundary=b", body(20<<10)).refused(400, "part_headers_too_large")
		a := c.send(http.MethodPost, "/v1/envelopes", "multipart/form-data; boundary=b", body(2<<10)).refused(400, "validation_error")
		require.Contains(t, a.body["errors"], "signers", i)
		require.NotContains(t, a.body["errors"], "file", i)
	}
}
