package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// TestRepeatedFormFields checks that a form can repeat a field to submit a list, as HTML forms and curl -F do.
func TestRepeatedFormFields(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	send := func(fields ...string) *response {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for i := 0; i < len(fields); i += 2 {
			require.NoError(t, w.WriteField(fields[i], fields[i+1]))
		}
		p, err := w.CreateFormFile("file", "contract.pdf")
		require.NoError(t, err)
		_, err = p.Write(kit.OnePage())
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return c.send(http.MethodPost, "/v1/envelopes", w.FormDataContentType(), b.Bytes())
	}
	field := `{"signerId":"1","type":"text","page":1,"x":9,"y":9,"w":90,"h":20}`
	e := send("tenantId", "acme", "signers", `{"name":"A","email":"a@example.com"}`, "signers", `[{"name":"B","email":"b@example.com"}]`,
		"fields", field, "fields", field).want(201)
	require.Len(t, e.body["signers"], 2)
	require.Len(t, e.body["fields"], 2)
	require.Equal(t, "B", e.signer(1)["name"])
	require.Contains(t, send("tenantId", "acme", "tenantId", "other", "signers", `{"name":"A","email":"a@example.com"}`).rejected(400, "validation_error").body["errors"], "tenantId")
	require.Contains(t, send("tenantId", "acme", "signers", `{"name":"A","email":"a@example.com"}`, "signers", `7`).rejected(400, "validation_error").body["errors"], "signers")
	require.Contains(t, send("tenantId", "acme", "signers", `7`).rejected(400, "validation_error").body["errors"], "signers")
}

// TestLargeBodies checks that every endpoint that accepts JSON enforces its size limit.
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
		case strings.HasSuffix(path, "/sign"), strings.HasSuffix(path, "/finished"):
			limit = 90 << 10 // the limit for a signer with one text field
		case strings.HasSuffix(path, "/bulk-sends"): // the limit applies to each value
			c.raw(method, at, bytes.Repeat([]byte(" "), limit+1)).rejected(413, "request_too_large")
			return
		case op.RequestBody.Value.Content["multipart/form-data"] != nil:
			limit = 1 << 20
		}
		padded := func(size int) []byte {
			b, err := json.Marshal(base)
			require.NoError(t, err)
			return slices.Concat([]byte(strings.Repeat(" ", size-len(b))), b)
		}
		c.raw(method, at, padded(limit+1)).rejected(413, "request_too_large")
		c.with("Idempotency-Key", "large").raw(method, at, padded(limit+1)).rejected(413, "request_too_large")
		a := c.raw(method, at, padded(limit))
		require.NotEqual(t, 413, a.status, "%s %s: %s", method, path, a.raw)
		require.NotContains(t, a.str("error"), "json", "%s %s: %s", method, path, a.raw)
	})
	c := s.client(t)
	for name := range map[string]bool{"data": true, "subject": true, "unknown": true} {
		ct, body := multipartBody(t, map[string]string{name: strings.Repeat("x", 1<<20+1)}, kit.OnePage())
		c.send(http.MethodPost, "/v1/envelopes", ct, body).rejected(413, "request_too_large")
	}
	ct, body := multipartBody(t, map[string]string{"a": strings.Repeat("x", 1<<20), "b": strings.Repeat("x", 1<<20)}, kit.OnePage())
	c.send(http.MethodPost, "/v1/envelopes", ct, body).rejected(413, "request_too_large")
}

// TestBadForms applies the mutations of TestBadInput to a multipart body, once in the part data and once as flat
// fields.
func TestBadForms(t *testing.T) {
	t.Parallel()
	doc, err := contractDocument()
	require.NoError(t, err)
	schema := doc.Components.Schemas["EnvelopeRequest"].Value
	flat := doc.Components.Schemas["EnvelopeForm"].Value.Properties
	for name := range schema.Properties {
		switch name {
		case "templateId", "templateVersion", "values", "variables":
			continue // a template includes its own file
		}
		require.Contains(t, flat, name, "every member must have a form field")
	}
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		try := func(m mutation, parts map[string]string) {
			ct, body := multipartBody(t, parts, kit.OnePage())
			a := c.send(http.MethodPost, "/v1/envelopes", ct, body)
			require.Less(t, a.status, 500, "%s at %s: %s", m.name, m.path, a.raw)
			if !m.invalid {
				return
			}
			require.Equal(t, 400, a.status, "%s at %q was accepted: %s", m.name, m.path, a.raw)
			if m.path != "" && a.str("error") != "invalid_json" {
				a.rejected(400, "validation_error")
				require.True(t, names(a.body["errors"].(object), m.path), "%s at %s is not named: %s", m.name, m.path, a.raw)
			}
		}
		for _, m := range mutations(schema, clone(full()), true) {
			body := m.body(clone(full()))
			if len(body) > 1<<20 {
				continue // covered by TestLargeBodies
			}
			try(m, map[string]string{"data": string(body)})
			if parts, same := formOf(body); same {
				try(m, parts)
			}
		}
	})
}

// TestBadParts checks the errors for malformed multipart bodies.
func TestBadParts(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	data, err := json.Marshal(contract())
	require.NoError(t, err)
	type part struct{ name, file, text string }
	pdf := part{"file", "contract.pdf", string(kit.OnePage())}
	post := func(path string, parts ...part) *response {
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
	named := func(a *response, field string) {
		t.Helper()
		require.Contains(t, a.rejected(400, "validation_error").body["errors"], field)
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
	post("/v1/envelopes", envelope, part{"file", "a.pdf", strings.Repeat("x", 1<<20+1)}).rejected(413, "file_too_large")
	documents := "/v1/console/envelopes/" + e.str("id") + "/documents"
	named(post(documents), "file")
	named(post(documents, part{"document", "a.pdf", string(kit.OnePage())}), "file")
	named(post(documents, pdf, pdf), "file")
	post(documents, part{"file", "a.pdf", "no PDF"}).want(400)
	post(documents, part{"file", "../../\u202e.pdf", string(kit.OnePage())}).want(201)
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

// TestManyValues_AreRejected checks that a body with too many values is rejected before it is parsed, both as JSON and
// in a form part.
func TestManyValues_AreRejected(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	at := "/v1/envelopes/" + c.draft(contract()).str("id")
	many := func(n int) []byte { return []byte(`{"reason":"no","unknown":[` + strings.Repeat("0,", n-6) + "0]}") }
	for _, tt := range []struct{ method, path string }{{http.MethodPost, "/v1/envelopes"}, {http.MethodPatch, at}, {http.MethodPost, at + "/void"}, {http.MethodPost, "/v1/webhooks"}} {
		a := c.raw(tt.method, tt.path, many(100_001)).rejected(400, "invalid_json")
		require.Contains(t, a.str("message"), "more than 100000 values and names", tt.path)
	}
	for _, shape := range []string{"[],", `{},`, `"",`, "1,", "null,"} {
		body := []byte(`{"a":[` + strings.Repeat(shape, 100_000) + "0]}")
		require.Contains(t, c.raw(http.MethodPost, "/v1/envelopes", body).rejected(400, "invalid_json").str("message"), "100000", shape)
	}
	ct, body := multipartBody(t, map[string]string{"data": string(many(100_001))}, kit.OnePage())
	require.Contains(t, c.send(http.MethodPost, "/v1/envelopes", ct, body).rejected(400, "invalid_json").str("message"), "100000")
	c.raw(http.MethodPost, at+"/void", many(100_000)).want(200)
}

// TestManyPairs_AreRejected checks the limit on the number of name=value pairs in forms and query strings.
func TestManyPairs_AreRejected(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	form := func(n int) []byte {
		return []byte("grant_type=client_credentials&client_id=" + s.id + "&client_secret=" + s.pass + strings.Repeat("&a=b", n-3))
	}
	nobody := &client{t: t, s: s}
	nobody.send(http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", form(50)).want(200)
	nobody.send(http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", form(51)).rejected(400, "invalid_request")
	query := "/v1/envelopes?tenantId=acme"
	for i := range 49 {
		query += fmt.Sprintf("&a%d=b", i)
	}
	c.get(query).want(200)
	require.Contains(t, c.get(query+"&b=c").rejected(400, "validation_error").body["errors"], "query")
}

// TestPartHeaders_AreBounded checks that the size of a part's headers is limited, even if an idempotency key causes the
// body to be read twice.
func TestPartHeaders_AreBounded(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	body := func(n int) []byte {
		return []byte("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n" + strings.Repeat("A: b\r\n", n/6) + "\r\n" + string(kit.OnePage()) + "\r\n--b--\r\n")
	}
	for i, c := range []*client{s.client(t), s.client(t).with("Idempotency-Key", "headers")} {
		c.send(http.MethodPost, "/v1/envelopes", "multipart/form-data; boundary=b", body(20<<10)).rejected(400, "part_headers_too_large")
		a := c.send(http.MethodPost, "/v1/envelopes", "multipart/form-data; boundary=b", body(2<<10)).rejected(400, "validation_error")
		require.Contains(t, a.body["errors"], "signers", i)
		require.NotContains(t, a.body["errors"], "file", i)
	}
}
