package api_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/internal/testkit"
	"countersign/models"
)

// part is one part of a multipart body.
type part struct{ name, file, kind, content string }

func partsBody(t *testing.T, boundary string, parts ...part) (contentType string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	require.NoError(t, w.SetBoundary(boundary))
	for _, p := range parts {
		disposition := `form-data; name="` + p.name + `"`
		if p.file != "" {
			disposition += `; filename="` + p.file + `"`
		}
		h := textproto.MIMEHeader{"Content-Disposition": {disposition}}
		if p.kind != "" {
			h.Set("Content-Type", p.kind)
		}
		to, err := w.CreatePart(h)
		require.NoError(t, err)
		_, err = to.Write([]byte(p.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return w.FormDataContentType(), b.Bytes()
}

// TestSameRequests: a request is the same if it says the same, in whatever boundary; and
// another if one part, its name, its file's name, its type or its content differs.
func TestSameRequests(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t).with("Idempotency-Key", "one")
	data := part{"data", "", "application/json", `{"tenantId":"acme","signers":[{"name":"A","email":"a@example.com"}]}`}
	file := part{"file", "a.pdf", "application/pdf", string(testkit.OnePage())}
	send := func(boundary string, parts ...part) *answer {
		ct, body := partsBody(t, boundary, parts...)
		return c.send(http.MethodPost, "/v1/envelopes", ct, body)
	}
	made := send("first", data, file).want(201)
	require.Equal(t, made.raw, send("second", data, file).want(201).raw)
	with := func(p part, change func(*part)) part {
		change(&p)
		return p
	}
	for name, parts := range map[string][]part{
		"another order":     {file, data},
		"a part more":       {data, file, {"subject", "", "", "x"}},
		"a part less":       {data},
		"another content":   {data, with(file, func(p *part) { p.content += "\n" })},
		"another type":      {data, with(file, func(p *part) { p.kind = "application/octet-stream" })},
		"another file name": {data, with(file, func(p *part) { p.file = "b.pdf" })},
		"another name":      {with(data, func(p *part) { p.name = "dates" }), file},
		"another data":      {with(data, func(p *part) { p.content += " " }), file},
	} {
		require.Equal(t, "idempotency_key_reused", send("first", parts...).refused(422, "idempotency_key_reused").str("error"), name)
	}
	ct, body := partsBody(t, "first", data, file)
	c.send(http.MethodPost, "/v1/envelopes?x=1", ct, body).refused(422, "idempotency_key_reused")
	c.send(http.MethodPost, "/v1/envelopes", "application/json", body).refused(422, "idempotency_key_reused")
	c.send(http.MethodPost, "/v1/envelopes", strings.Replace(ct, "first", "second", 1), body).refused(422, "idempotency_key_reused")
}

// TestBodiesAreBounded also where a key makes them wait.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.UploadLimit = 64 << 10 })
	large := bytes.Repeat([]byte("x"), 8<<20)
	for _, key := range []string{"", "k"} {
		c := s.client(t)
		if key != "" {
			c = c.with("Idempotency-Key", key)
		}
		ct, body := partsBody(t, "b", part{"file", "a.pdf", "application/pdf", string(large)})
		c.send(http.MethodPost, "/v1/envelopes", ct, body).want(413)
		require.Equal(t, "acme", c.post("/v1/envelopes", object{"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com"}}}).want(201).str("tenantId"))
	}
}

// TestPagesOfContacts: the link to the next page asks for the same.
func TestPagesOfContacts(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.signIn(t, models.RoleAdmin)
	for _, name := range []string{"Ada", "Adam", "Bob"} {
		c.post("/v1/console/contacts", object{"name": name, "email": name + "@example.com"}).want(200)
	}
	next := func(query string) url.Values {
		link := c.get("/v1/console/contacts?" + query).want(200).header.Get("Link")
		if link == "" {
			return nil
		}
		require.True(t, strings.HasSuffix(link, `>; rel="next"`), link)
		u, err := url.Parse(strings.TrimPrefix(strings.TrimSuffix(link, `>; rel="next"`), "<"))
		require.NoError(t, err)
		return u.Query()
	}
	require.Equal(t, url.Values{"page": {"2"}, "pageSize": {"1"}, "search": {"ada"}}, next("search=ada&pageSize=1"))
	require.Nil(t, next("search=ada&pageSize=1&page=2"))
	require.Equal(t, url.Values{"page": {"2"}, "pageSize": {"2"}}, next("pageSize=2"))
	require.Nil(t, next("pageSize=3"))
	for _, bad := range []string{"page=0", "page=1000001", "pageSize=0", "pageSize=1001", "page=x", "page=-1", "page=1.5"} {
		name, _, _ := strings.Cut(bad, "=")
		require.Contains(t, c.get("/v1/console/contacts?"+bad).refused(400, "validation_error").body["errors"], name, bad)
	}
	for _, good := range []string{"page=1", "page=1000000", "pageSize=1", "pageSize=1000"} {
		c.get("/v1/console/contacts?" + good).want(200)
	}
}

// TestWhichDocument: a document of an envelope is given by its own id or its original's, and as what is asked for.
func TestWhichDocument(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, token := c.sent(contract())
	at := "/v1/envelopes/" + e.str("id") + "/document"
	original := e.document(0)["id"].(string)
	c.get(at+"?kind=sealed").refused(409, "envelope_not_completed")
	c.get(at + "?documentId=" + original).want(200)
	c.get(at+"?documentId="+e.str("id")).refused(404, "not_found")
	require.Contains(t, c.get(at+"?kind=other").refused(400, "validation_error").body["errors"], "kind")
	require.Contains(t, c.get(at+"?documentId=1").refused(400, "validation_error").body["errors"], "documentId")
	c.signs(e, token)
	s.completes(t, e.str("id"), 0)
	done := c.get("/v1/envelopes/" + e.str("id")).want(200)
	sealed := named(t, done.body["documents"].([]any), "kind", "sealed")["id"].(string)
	for _, query := range []string{"?kind=sealed", "?kind=sealed&documentId=" + original, "?kind=sealed&documentId=" + sealed, "?documentId=" + sealed} {
		c.get(at + query).want(200)
	}
	c.get(at+"?kind=original&documentId="+sealed).refused(404, "not_found")
	c.get(at+"?kind=sealed&documentId="+e.str("id")).refused(404, "not_found")
	nobody := &client{t: t, s: s}
	_, token = c.sent(contract())
	link := "/v1/signing/" + token
	nobody.get(link).want(200)
	for query, status := range map[string]int{"": 200, "?entries=false": 200, "?entries=true": 200, "?entries=": 400, "?entries=1": 400} {
		require.Equal(t, status, nobody.get(link+"/document"+query).status, query)
	}
}
