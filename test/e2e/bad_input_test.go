package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// TestBadInput checks that the API rejects invalid requests with the error codes of the contract and the common error
// body, and that a rejected request changes nothing.
func TestBadInput(t *testing.T) {
	t.Parallel()
	s, _ := dev(t, t.TempDir(), "COUNTERSIGN_RATE_LIMIT=100000")
	c := s.login(t)
	t.Run("token", func(t *testing.T) { t.Parallel(); badTokens(t, s) })
	t.Run("create", func(t *testing.T) { t.Parallel(); badCreates(t, c) })
	t.Run("files", func(t *testing.T) { t.Parallel(); badFiles(t, c) })
	t.Run("states", func(t *testing.T) { t.Parallel(); badStates(t, s, c) })
	t.Run("others", func(t *testing.T) { t.Parallel(); otherApps(t, s, c) })
	t.Run("links", func(t *testing.T) { t.Parallel(); badLinks(t, s, c) })
	t.Run("webhooks", func(t *testing.T) { t.Parallel(); badWebhooks(t, c) })
}

// rejected sends a request, and checks the status and the error code of its response.
func (c *client) rejected(t *testing.T, status int, code, method, path string, body any) object {
	t.Helper()
	out := c.call(t, status, method, path, body)
	require.Equal(t, code, out.str("error"), "%s %s: %v", method, path, out)
	return out
}

func badTokens(t *testing.T, s *service) {
	c := &client{base: s.BaseURL}
	form := func(status int, code, body string) {
		got, b := c.do(t, http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", strings.NewReader(body))
		assert.Equal(t, status, got, "%s", b)
		assert.Contains(t, string(b), `"error":"`+code+`"`)
	}
	form(400, "validation_error", "")
	form(400, "validation_error", "grant_type=password&client_id=a&client_secret=b")
	form(401, "invalid_client", "grant_type=client_credentials&client_id=a&client_secret=b")
	form(401, "invalid_client", "grant_type=client_credentials&client_id="+s.ClientID+"&client_secret=wrong")
	c.rejected(t, 401, "unauthorized", http.MethodGet, "/v1/envelopes?tenantId=a", nil)
	c.token = "no.such.token"
	c.rejected(t, 401, "unauthorized", http.MethodGet, "/v1/envelopes?tenantId=a", nil)

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.BaseURL+"/oauth/token", strings.NewReader("grant_type=client_credentials"))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(s.ClientID, s.ClientSecret)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Equal(t, http.StatusOK, res.StatusCode, "HTTP Basic")
	assert.Equal(t, "no-store", res.Header.Get("Cache-Control"))
}

func badCreates(t *testing.T, c *client) {
	for name, edit := range map[string]func(object){
		"tenantId":                func(o object) { delete(o, "tenantId") },
		"subject":                 func(o object) { o["subject"] = strings.Repeat("x", 256) },
		"signers":                 func(o object) { o["signers"] = []object{} },
		"signers[0].email":        func(o object) { o.list0("signers")["email"] = "not an address" },
		"signers[0].name":         func(o object) { o.list0("signers")["name"] = 7 },
		"signers[0].phone":        func(o object) { o.list0("signers")["authMethod"] = "sms_otp" },
		"signers[0].authMethod":   func(o object) { o.list0("signers")["authMethod"] = "telepathy" },
		"signers[0].routingOrder": func(o object) { o.list0("signers")["routingOrder"] = 0 },
		"expiresInDays":           func(o object) { o["expiresInDays"] = 0 },
		"fields[0].signerId":      func(o object) { o.list0("fields")["signerId"] = "5" },
		"fields[0].type":          func(o object) { o.list0("fields")["type"] = "hologram" },
		"fields[0].page":          func(o object) { o.list0("fields")["page"] = 2 },
		"fields[0].x":             func(o object) { o.list0("fields")["x"] = 900 },
		"fields[0].w":             func(o object) { delete(o.list0("fields"), "w") },
		"fields[0].h":             func(o object) { o.list0("fields")["h"] = "tall" },
		"fields[0].required":      func(o object) { o.list0("fields")["required"] = "yes" },
		"fields[0].documentId":    func(o object) { o.list0("fields")["documentId"] = uuid.NewString() },
		"origin":                  func(o object) { o["origin"] = "centre" },
	} {
		data := object{
			"tenantId": "bad", "subject": "s",
			"signers": []object{{"name": "A", "email": "a@example.com"}},
			"fields":  []object{{"signerId": "0", "type": "text", "page": 1, "x": 1, "y": 1, "w": 10, "h": 10}},
		}
		edit(data)
		out := c.create(t, http.StatusBadRequest, data, kit.OnePage())
		assert.Equal(t, "validation_error", out.str("error"), name)
		assert.Contains(t, out["errors"], name, "%v", out)
	}
	out := c.create(t, http.StatusBadRequest, object{"tenantId": "bad", "signers": []object{{"name": "A", "email": "a@example.com"}}}, nil)
	assert.Contains(t, out["errors"], "file")
	for body, code := range map[string]string{
		`{"tenantId":`: "invalid_json", `[]`: "invalid_json", `{} {}`: "invalid_json", "{\"tenantId\":\"\xff\"}": "invalid_json", `null`: "invalid_json",
		`{}`: "validation_error", ``: "invalid_json",
	} {
		status, b := c.do(t, http.MethodPost, "/v1/envelopes", "application/json", strings.NewReader(body))
		assert.Equal(t, 400, status, "%s", b)
		assert.Contains(t, string(b), code, body)
	}
	status, _ := c.do(t, http.MethodPost, "/v1/envelopes", "multipart/form-data", strings.NewReader("no boundary"))
	assert.Equal(t, 400, status)
	status, _ = c.do(t, http.MethodPost, "/v1/envelopes", "text/plain", strings.NewReader("hello"))
	assert.Equal(t, 400, status)
	list := c.call(t, http.StatusOK, http.MethodGet, "/v1/envelopes?tenantId=bad", nil)
	assert.InDelta(t, 0, list["total"], 0, "rejected requests must not create envelopes")
	for _, q := range []string{"", "?tenantId=a&page=0", "?tenantId=a&pageSize=101", "?tenantId=a&status=sealing", "?tenantId=a&page=x"} {
		c.rejected(t, 400, "validation_error", http.MethodGet, "/v1/envelopes"+q, nil)
	}
}

// list0 returns the first object of the list in the named member. It supports only objects that a test created.
func (o object) list0(name string) object { return o[name].([]object)[0] }

func badFiles(t *testing.T, c *client) {
	// An envelope can also be created with flat form fields, or with JSON followed by the file.
	flat := c.multipart(t, http.StatusCreated, "/v1/envelopes", map[string]string{
		"tenantId": "files", "subject": "Flat", "expiresInDays": "null", "signers": `[{"name":"A","email":"a@example.com"}]`,
		"fields": `[{"signerId":"0","type":"text","page":1,"x":1,"y":1,"w":10,"h":10}]`,
	}, kit.OnePage())
	assert.Nil(t, flat["expiresAt"], "an explicit null means no deadline")
	e := c.call(t, http.StatusCreated, http.MethodPost, "/v1/envelopes", object{
		"tenantId": "files", "subject": "JSON", "createdBy": "someone", "origin": "bottom-left", "signers": []object{{"name": "A", "email": "a@example.com"}},
	})
	at := "/v1/envelopes/" + e.str("id")
	c.rejected(t, 404, "not_found", http.MethodGet, at+"/document", nil)
	c.rejected(t, 400, "validation_error", http.MethodPost, at+"/send", nil)

	locked := encrypted(t)
	for name, f := range map[string]struct {
		body   []byte
		status int
		code   string
	}{
		"empty":      {nil, 400, "not_a_pdf"},
		"text":       {[]byte("hello"), 400, "not_a_pdf"},
		"cut":        {kit.OnePage()[:300], 400, ""},
		"encrypted":  {locked, 400, "pdf_encrypted"},
		"over 25 MB": {append(kit.OnePage(), bytes.Repeat([]byte{'%'}, 25<<20+1-len(kit.OnePage()))...), 413, "file_too_large"},
		"gif":        {[]byte("GIF89a"), 400, "not_a_pdf"},
	} {
		status, b := c.do(t, http.MethodPost, at+"/document", "application/octet-stream", bytes.NewReader(f.body))
		assert.Equal(t, f.status, status, "%s: %s", name, b)
		assert.Contains(t, string(b), f.code, name)
	}
	out := c.create(t, http.StatusRequestEntityTooLarge, object{"tenantId": "files", "signers": []object{{"name": "A", "email": "a@example.com"}}},
		bytes.Repeat([]byte{'%'}, 25<<20+1))
	assert.Equal(t, "file_too_large", out.str("error"))

	status, b := c.do(t, http.MethodPost, at+"/document", "application/octet-stream", bytes.NewReader(kit.OnePage()))
	require.Equal(t, http.StatusOK, status, "%s", b)
	var doc object
	require.NoError(t, json.Unmarshal(b, &doc))
	assert.InDelta(t, 1, doc["pageCount"], 0)
	assert.Len(t, doc.str("sha256"), 64)
	field := object{"signerId": e.list("signers")[0].str("id"), "type": "signature", "page": 1, "x": 1, "y": 1, "w": 10, "h": 10}
	made := c.call(t, http.StatusCreated, http.MethodPost, at+"/fields", field)
	assert.Equal(t, doc.str("documentId"), made.str("documentId"), "without a documentId, the first document is used")
	assert.InDelta(t, 842-1-10, made["y"], 0.001, "the envelope's origin must apply to fields that are added later")
	field["page"] = 9
	out = c.rejected(t, 400, "validation_error", http.MethodPost, at+"/fields", field)
	assert.Contains(t, out["errors"], "page")
	signer := c.call(t, http.StatusCreated, http.MethodPost, at+"/signers", object{"name": "B", "email": "b@example.com"})
	assert.Equal(t, "email_otp", signer.str("authMethod"))
	assert.InDelta(t, 1, signer["routingOrder"], 0)
	status, b = c.do(t, http.MethodGet, at+"/document", "", nil)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, kit.OnePage(), b)
	c.rejected(t, 400, "validation_error", http.MethodGet, at+"/document?kind=draft", nil)
}

// encrypted returns a PDF that cannot be read without a password.
func encrypted(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "out.pdf")
	require.NoError(t, os.WriteFile(in, kit.OnePage(), 0o600))
	b, err := exec.CommandContext(t.Context(), "qpdf", "--encrypt", "user", "owner", "256", "--", in, out).CombinedOutput()
	require.NoError(t, err, "%s", b)
	b, err = os.ReadFile(out)
	require.NoError(t, err)
	return b
}

// sentTo sends an envelope to one signer, and returns the envelope and the signer's token.
func sentTo(t *testing.T, s *service, c *client, email string, edit func(object)) (object, string) {
	t.Helper()
	data := contract()
	data.list0("signers")["email"] = email
	if edit != nil {
		edit(data)
	}
	e := c.create(t, http.StatusCreated, data, kit.OnePage())
	sent := c.call(t, http.StatusOK, http.MethodPost, "/v1/envelopes/"+e.str("id")+"/send", nil)
	url := sent.list("signers")[0].str("signingUrl")
	return sent, strings.TrimPrefix(url, s.BaseURL+"/sign/")
}

func badStates(t *testing.T, s *service, c *client) {
	e, token := sentTo(t, s, c, "states@example.com", nil)
	at := "/v1/envelopes/" + e.str("id")
	for _, req := range []struct {
		path string
		body any
	}{
		{"/send", nil},
		{"/signers", object{"name": "B", "email": "b@example.com"}},
		{"/fields", object{"signerId": e.list("signers")[0].str("id"), "type": "text", "page": 1, "x": 1, "y": 1, "w": 9, "h": 9}},
	} {
		c.rejected(t, 400, "envelope_not_draft", http.MethodPost, at+req.path, req.body)
	}
	status, b := c.do(t, http.MethodPost, at+"/document", "application/octet-stream", bytes.NewReader(kit.OnePage()))
	assert.Equal(t, 400, status, "%s", b)
	c.rejected(t, 409, "envelope_not_completed", http.MethodGet, at+"/document?kind=sealed", nil)
	c.rejected(t, 400, "validation_error", http.MethodPost, at+"/void", object{"reason": strings.Repeat("x", 1001)})
	c.call(t, http.StatusOK, http.MethodPost, at+"/void", nil)
	c.rejected(t, 400, "envelope_terminal", http.MethodPost, at+"/void", nil)
	signer := &client{base: s.BaseURL}
	for _, call := range [][2]string{
		{http.MethodGet, ""},
		{http.MethodPost, "/otp/request"},
		{http.MethodPost, "/consent"},
		{http.MethodPost, "/decline"},
		{http.MethodGet, "/document"},
		{http.MethodGet, "/documents"},
	} {
		signer.rejected(t, 401, "signing_link_closed", call[0], "/v1/signing/"+token+call[1], nil)
	}
	signer.rejected(t, 401, "signing_link_closed", http.MethodPost, "/v1/signing/"+token+"/sign", object{"fields": []object{}})
}

// otherApps checks that every route returns "not found" for another app's objects.
func otherApps(t *testing.T, s *service, c *client) {
	e, _ := sentTo(t, s, c, "others@example.com", nil)
	hook := c.call(t, http.StatusCreated, http.MethodPost, "/v1/webhooks", object{"url": "https://example.com/x", "events": []string{"envelope.sent"}})
	other := &service{BaseURL: s.BaseURL}
	other.newApp(t, nil, "free", "--data-dir", s.dataDir)
	oc := other.login(t)
	id := e.str("id")
	for _, call := range []struct {
		method, path string
		body         any
	}{
		{http.MethodGet, "/v1/envelopes/" + id, nil},
		{http.MethodPost, "/v1/envelopes/" + id + "/send", nil},
		{http.MethodPost, "/v1/envelopes/" + id + "/void", nil},
		{http.MethodGet, "/v1/envelopes/" + id + "/document", nil},
		{http.MethodPost, "/v1/envelopes/" + id + "/signers", object{"name": "B", "email": "b@example.com"}},
		{http.MethodPost, "/v1/envelopes/" + id + "/fields", object{}},
		{http.MethodGet, "/v1/envelopes/" + id + "/progress", nil},
		{http.MethodDelete, "/v1/webhooks/" + hook.str("id"), nil},
		{http.MethodGet, "/v1/envelopes/" + uuid.NewString(), nil},
		{http.MethodGet, "/v1/envelopes/nonsense", nil},
	} {
		oc.rejected(t, 404, "not_found", call.method, call.path, call.body)
	}
	status, _ := oc.do(t, http.MethodPost, "/v1/envelopes/"+id+"/document", "application/octet-stream", bytes.NewReader(kit.OnePage()))
	assert.Equal(t, 404, status)
	// The free plan allows one document per envelope.
	draft := oc.create(t, http.StatusCreated, contract(), kit.OnePage())
	status, b := oc.do(t, http.MethodPost, "/v1/envelopes/"+draft.str("id")+"/document", "application/octet-stream", bytes.NewReader(kit.OnePage()))
	assert.Equal(t, 402, status, "%s", b)
	for i := range 6 {
		want := http.StatusOK
		if i == 5 {
			want = http.StatusPaymentRequired
		}
		d := oc.create(t, http.StatusCreated, contract(), kit.OnePage())
		oc.call(t, want, http.MethodPost, "/v1/envelopes/"+d.str("id")+"/send", nil)
	}
}

func badLinks(t *testing.T, s *service, c *client) {
	signer := &client{base: s.BaseURL}
	e, token := sentTo(t, s, c, "links@example.com", func(o object) { delete(o.list0("signers"), "authMethod") })
	at := "/v1/signing/" + token
	for _, bad := range []string{"nonsense", token[:len(token)-4] + "AAAA", c.token} {
		signer.rejected(t, 401, "signing_link_invalid", http.MethodGet, "/v1/signing/"+bad, nil)
		signer.rejected(t, 401, "signing_link_invalid", http.MethodPost, "/v1/signing/"+bad+"/consent", nil)
	}
	stolen := &client{base: s.BaseURL, token: token}
	stolen.rejected(t, 401, "unauthorized", http.MethodGet, "/v1/envelopes/"+e.str("id"), nil)

	signer.rejected(t, 400, "otp_incorrect", http.MethodPost, at+"/otp/verify", object{"code": "000000"})
	for _, bad := range []any{object{"code": "12345"}, object{"code": 123456}, object{}, object{"code": "1234567"}} {
		signer.rejected(t, 400, "validation_error", http.MethodPost, at+"/otp/verify", bad)
	}
	for i := range 6 {
		if i < 5 {
			signer.call(t, http.StatusOK, http.MethodPost, at+"/otp/request", nil)
			continue
		}
		signer.rejected(t, 429, "otp_rate_limited", http.MethodPost, at+"/otp/request", nil)
	}
	signer.rejected(t, 401, "otp_required", http.MethodPost, at+"/consent", nil)
	signer.rejected(t, 401, "otp_required", http.MethodPost, at+"/sign", object{"fields": []object{}})
	right := s.code(t, "links@example.com")
	wrong := fmt.Sprintf("%06d", (int(right[0]-'0')+1)%10*100000)
	signer.rejected(t, 400, "otp_incorrect", http.MethodPost, at+"/otp/verify", object{"code": wrong})
	signer.call(t, http.StatusOK, http.MethodPost, at+"/otp/verify", object{"code": right})
	signer.rejected(t, 400, "validation_error", http.MethodPost, at+"/page-view", object{"documentId": uuid.NewString(), "page": 1, "dwellMs": 1})
	signer.rejected(t, 400, "validation_error", http.MethodPost, at+"/page-view", object{"documentId": "x", "page": "1", "dwellMs": -1})
	signer.rejected(t, 404, "not_found", http.MethodGet, at+"/documents/"+uuid.NewString(), nil)
	signer.rejected(t, 401, "consent_required", http.MethodPost, at+"/sign", object{"fields": []object{}})
	signer.call(t, http.StatusOK, http.MethodPost, at+"/consent", nil)
	field := e.list("fields")[0].str("id")
	for _, bad := range []any{
		object{},
		object{"fields": 1},
		object{"fields": []object{{"fieldId": uuid.NewString(), "textValue": "x"}}},
		object{"fields": []object{{"fieldId": field}}},
		object{"fields": []object{{"fieldId": field, "textValue": "\u0000"}}},
		object{"fields": []object{{"fieldId": field, "signatureImageBase64": "!!"}}},
		object{"fields": []object{{"fieldId": field, "textValue": "\U000F0000"}}}, // no font contains this character
	} {
		signer.rejected(t, 400, "validation_error", http.MethodPost, at+"/sign", bad)
	}
	got := c.call(t, http.StatusOK, http.MethodGet, "/v1/envelopes/"+e.str("id"), nil)
	assert.Equal(t, "in_progress", got.str("status"), "no rejected request may have a partial effect")
	assert.Equal(t, "sent", got.list("signers")[0].str("status"), "only the context request counts as opening the link")
	signer.call(t, http.StatusOK, http.MethodPost, at+"/decline", object{"reason": "No."})
	signer.rejected(t, 409, "already_signed_or_declined", http.MethodPost, at+"/decline", nil)
	signer.rejected(t, 410, "signing_link_used", http.MethodGet, at, nil)
	got = c.call(t, http.StatusOK, http.MethodGet, "/v1/envelopes/"+e.str("id"), nil)
	assert.Equal(t, "declined", got.str("status"))
}

func badWebhooks(t *testing.T, c *client) {
	for name, body := range map[string]object{
		"url":       {"url": "not a url", "events": []string{"envelope.sent"}},
		"events":    {"url": "https://example.com", "events": []string{}},
		"events[1]": {"url": "https://example.com", "events": []string{"envelope.sent", "envelope.exploded"}},
		"secret":    {"url": "https://example.com", "events": []string{"envelope.sent"}, "secret": strings.Repeat("s", 1000)},
	} {
		out := c.rejected(t, 400, "validation_error", http.MethodPost, "/v1/webhooks", body)
		assert.Contains(t, out["errors"], name)
	}
	c.rejected(t, 404, "not_found", http.MethodDelete, "/v1/webhooks/"+uuid.NewString(), nil)
	c.rejected(t, 404, "not_found", http.MethodGet, "/v1/nowhere", nil)
}
