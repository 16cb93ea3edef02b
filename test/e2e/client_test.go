package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// object is a JSON object, as seen by a client without the service's types.
type object map[string]any

func (o object) str(name string) string { s, _ := o[name].(string); return s }

func (o object) list(name string) []object {
	items, _ := o[name].([]any)
	var out []object
	for _, v := range items {
		m, _ := v.(map[string]any)
		out = append(out, m)
	}
	return out
}

// client calls the API, with a bearer token unless the token is empty.
type client struct {
	base, token string
}

func (s *service) login(t *testing.T) *client {
	t.Helper()
	c := &client{base: s.BaseURL}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {s.ClientID}, "client_secret": {s.ClientSecret}}
	status, body := c.do(t, http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	require.Equal(t, http.StatusOK, status, string(body))
	var tok object
	require.NoError(t, json.Unmarshal(body, &tok))
	require.Equal(t, "Bearer", tok["token_type"])
	require.InDelta(t, 3600, tok["expires_in"], 0)
	c.token = tok.str("access_token")
	s.tokens = append(s.tokens, c.token)
	return c
}

func (c *client) do(t *testing.T, method, path, contentType string, body io.Reader) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.base+path, body)
	require.NoError(t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		require.NotEmpty(t, res.Header.Get(name), "%s of %s %s", name, method, path)
	}
	return res.StatusCode, b
}

// call sends JSON and checks the status of the response. If the response is a JSON object, it is returned.
func (c *client) call(t *testing.T, want int, method, path string, body any) object {
	t.Helper()
	var r io.Reader
	contentType := ""
	if body != nil {
		b, err := json.Marshal(body)
		require.NoError(t, err)
		r, contentType = bytes.NewReader(b), "application/json"
	}
	status, b := c.do(t, method, path, contentType, r)
	require.Equal(t, want, status, "%s %s: %s", method, path, b)
	var out object
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		require.NoError(t, json.Unmarshal(b, &out))
	}
	if want >= 400 {
		require.NotEmpty(t, out.str("error"), "%s", b)
		require.NotEmpty(t, out.str("message"))
		require.InDelta(t, want, out["status"], 0)
		require.Contains(t, out, "errors")
		require.Contains(t, out, "details")
	}
	return out
}

// create creates an envelope with a multipart request that has a data part.
func (c *client) create(t *testing.T, want int, data object, pdf []byte) object {
	t.Helper()
	b, err := json.Marshal(data)
	require.NoError(t, err)
	return c.multipart(t, want, "/v1/envelopes", map[string]string{"data": string(b)}, pdf)
}

func (c *client) multipart(t *testing.T, want int, path string, text map[string]string, pdf []byte) object {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for name, value := range text {
		require.NoError(t, w.WriteField(name, value))
	}
	if pdf != nil {
		part, err := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {`form-data; name="file"; filename="contract.pdf"`}, "Content-Type": {"application/pdf"},
		})
		require.NoError(t, err)
		_, err = part.Write(pdf)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	status, b := c.do(t, http.MethodPost, path, w.FormDataContentType(), &buf)
	require.Equal(t, want, status, "%s", b)
	var out object
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}

type message struct {
	Kind, Subject, Text, HTML string
	To, Links                 []string
	Attachments               []struct{ Name, URL string }
}

// messages returns the messages to a recipient, newest first.
func (s *service) messages(t *testing.T, to string) []message {
	t.Helper()
	c := &http.Client{}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.InboxURL+"/api/messages?to="+url.QueryEscape(to), nil)
	require.NoError(t, err)
	res, err := c.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	var out []message
	require.NoError(t, json.NewDecoder(res.Body).Decode(&out))
	return out
}

// awaitMail waits for a message that satisfies match.
func (s *service) awaitMail(t *testing.T, to string, match func(message) bool) message {
	t.Helper()
	var found message
	eventually(t, "mail to "+to, func() bool {
		for _, m := range s.messages(t, to) {
			if match(m) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// signingLink waits for an invitation, and returns the token in its link.
func (s *service) signingLink(t *testing.T, to string) string {
	t.Helper()
	token := ""
	s.awaitMail(t, to, func(m message) bool {
		for _, l := range m.Links {
			if i := strings.Index(l, "/sign/"); i >= 0 {
				token = l[i+len("/sign/"):]
			}
		}
		return token != ""
	})
	return token
}

var sixDigits = regexp.MustCompile(`\b\d{6}\b`)

// code waits for a message with a one-time code, and returns the newest code for an email address or phone number.
func (s *service) code(t *testing.T, to string) string {
	t.Helper()
	m := s.awaitMail(t, to, func(m message) bool { return len(m.Links) == 0 && sixDigits.MatchString(m.Text) })
	return sixDigits.FindString(m.Text)
}

// sign performs all steps of a signer, using the token of their link.
func (s *service) sign(t *testing.T, token, codeTo string) object {
	t.Helper()
	c := &client{base: s.BaseURL}
	at := "/v1/signing/" + token
	ctx := c.call(t, http.StatusOK, http.MethodGet, at, nil)
	if ctx["requiresOtpVerification"] == true {
		c.call(t, http.StatusUnauthorized, http.MethodPost, at+"/consent", nil)
		masked := c.call(t, http.StatusOK, http.MethodPost, at+"/otp/request", nil)
		require.Contains(t, masked.str("maskedEmail"), "***@")
		ok := c.call(t, http.StatusOK, http.MethodPost, at+"/otp/verify", object{"code": s.code(t, codeTo)})
		require.Equal(t, true, ok["verified"])
	}
	c.call(t, http.StatusUnauthorized, http.MethodPost, at+"/sign", object{"fields": []object{}})
	c.call(t, http.StatusOK, http.MethodPost, at+"/consent", nil)
	c.call(t, http.StatusConflict, http.MethodPost, at+"/consent", nil)
	docs := ctx.list("documents")
	for _, d := range docs {
		status, b := c.do(t, http.MethodGet, at+"/documents/"+d.str("documentId"), "", nil)
		require.Equal(t, http.StatusOK, status)
		require.True(t, bytes.HasPrefix(b, []byte("%PDF")))
		c.call(t, http.StatusNoContent, http.MethodPost, at+"/page-view", object{"documentId": d.str("documentId"), "page": 1, "dwellMs": 1200})
	}
	c.call(t, http.StatusBadRequest, http.MethodPost, at+"/sign", object{"fields": []object{}})
	return c.call(t, http.StatusOK, http.MethodPost, at+"/sign", object{"fields": values(ctx)})
}

// values returns a value for every field of a signing context.
func values(ctx object) []object {
	var out []object
	for _, f := range ctx.list("fields") {
		v := object{"fieldId": f.str("id")}
		switch f.str("type") {
		case "signature", "initial":
			v["signatureImageBase64"] = base64.StdEncoding.EncodeToString(kit.Signature())
		case "date":
			v["textValue"] = "2026-11-21"
		case "checkbox":
			v["textValue"] = "true"
		default:
			v["textValue"] = "Zoë Łukasz"
		}
		out = append(out, v)
	}
	return out
}
