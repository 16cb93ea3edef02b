package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// object is a JSON object as a client without our types sees it.
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

// client calls the API with a bearer token, or without one.
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

// call sends JSON and wants a status; the answer is decoded if it is an object.
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

// create makes an envelope by multipart with a data part.
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

// message is what the inbox shows.
type message struct {
	Kind, Subject, Text, HTML string
	To, Links                 []string
	Attachments               []struct{ Name, URL string }
}

// messages are those to a recipient, newest first.
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

// awaitMail waits for a mail that match accepts.
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

// signingLink waits for the invitation and returns the token of its link.
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

// code waits for the newest one-time code to a mail address or phone.
func (s *service) code(t *testing.T, to string) string {
	t.Helper()
	m := s.awaitMail(t, to, func(m message) bool { return len(m.Links) == 0 && sixDigits.MatchString(m.Text) })
	return sixDigits.FindString(m.Text)
}

// sign goes the whole way of a signer who holds the link.
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
	return c.call(t, http.StatusOK, http.MethodPost, at+"/sign", object{"fields": values(t, ctx)})
}

// values fills every field of a signing context.
func values(t *testing.T, ctx object) []object {
	t.Helper()
	var out []object
	for _, f := range ctx.list("fields") {
		v := object{"fieldId": f.str("id")}
		switch f.str("type") {
		case "signature", "initial":
			v["signatureImageBase64"] = base64.StdEncoding.EncodeToString(signature(t))
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

// signature is a stroke on a transparent ground.
func signature(t *testing.T) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 240, 80))
	for x := 10; x < 230; x++ {
		for y := range 4 {
			img.Set(x, 20+x/6+y, color.NRGBA{R: 20, G: 40, B: 120, A: 255})
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

// onePage is a small PDF made by hand.
func onePage() []byte {
	var b bytes.Buffer
	var at []int
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	text := "BT /F1 24 Tf 72 760 Td (Contract) Tj ET"
	for i, o := range []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(text), text),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	} {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, o := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return b.Bytes()
}
