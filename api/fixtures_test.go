package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store/blob"
	"countersign/test/kit"
)

// named returns the item of a list in which the given member has the given value.
func named(t *testing.T, items []any, member string, value any) object {
	t.Helper()
	for _, v := range items {
		if o := v.(object); o[member] == value {
			return o
		}
	}
	require.Failf(t, "not in the list", "%s = %v", member, value)
	return nil
}

// rowsOf returns the items in one page of a list.
func rowsOf(a *response) []any { return a.body["data"].([]any) }

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

func multipartBody(t *testing.T, fields map[string]string, file []byte) (string, []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, k := range slices.Sorted(maps.Keys(fields)) { // always in the same order
		require.NoError(t, w.WriteField(k, fields[k]))
	}
	if file != nil {
		p, err := w.CreateFormFile("file", "contract.pdf")
		require.NoError(t, err)
		_, err = p.Write(file)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return w.FormDataContentType(), b.Bytes()
}

// contract returns a request to create an envelope with one signer and one field.
func contract() object {
	return object{
		"tenantId": "acme", "subject": "Contract",
		"signers": []object{{"name": "Ada Byron", "email": "ada@example.com", "authMethod": "none"}},
		"fields":  []object{{"signerId": "0", "type": "text", "page": 1, "x": 50, "y": 50, "w": 100, "h": 20}},
	}
}

func (c *client) draft(data object) *response {
	c.t.Helper()
	b, err := json.Marshal(data)
	require.NoError(c.t, err)
	ct, body := multipartBody(c.t, map[string]string{"data": string(b)}, kit.OnePage())
	return c.send(http.MethodPost, "/v1/envelopes", ct, body).want(http.StatusCreated)
}

// sent creates and sends an envelope. It returns the envelope and the first signer's token.
func (c *client) sent(data object) (*response, string) {
	c.t.Helper()
	e := c.draft(data)
	out := c.post("/v1/envelopes/"+e.str("id")+"/send", nil).want(http.StatusOK)
	signer := out.body["signers"].([]any)[0].(object)
	return out, strings.TrimPrefix(signer["signingUrl"].(string), "https://sign.example.com/sign/")
}

func (a *response) signer(i int) object { return a.body["signers"].([]any)[i].(object) }

func (a *response) field(i int) object { return a.body["fields"].([]any)[i].(object) }

// signs submits the signature of the signer with the given token. It returns the receipt token.
func (c *client) signs(e *response, token string) (receipt string) {
	c.t.Helper()
	at := "/v1/signing/" + token
	c.get(at).want(http.StatusOK)
	c.post(at+"/consent", nil).want(http.StatusOK)
	return c.post(at+"/sign", object{"fields": []object{{"fieldId": e.field(0)["id"], "textValue": "yes"}}}).want(http.StatusOK).str("receiptToken")
}

// completes finishes the sealing of an envelope, as the worker does. It returns the first signer's download token.
func (s *service) completes(t *testing.T, envelope string, retentionDays int) string {
	t.Helper()
	return s.completesWith(t, envelope, retentionDays, kit.OnePage())
}

// completesWith is like completes, but stores the given content as each sealed file.
func (s *service) completesWith(t *testing.T, envelope string, retentionDays int, content []byte) string {
	t.Helper()
	f, err := s.cfg.Blobs.Temp()
	require.NoError(t, err)
	defer blob.Discard(f)
	_, err = f.Write(content)
	require.NoError(t, err)
	sum := sha256.Sum256(content)
	require.NoError(t, s.cfg.Blobs.Put(t.Context(), f, "envelopes/"+envelope+"/sealed/x.pdf"))
	e, err := s.store.Change(t.Context(), s.app.ID, uuid.MustParse(envelope), func(e *models.Envelope) error {
		var files []models.SealedFile
		for _, d := range e.Originals() {
			files = append(files, models.SealedFile{
				OriginalID: d.ID, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content)), PageCount: 1, BlobKey: "envelopes/" + envelope + "/sealed/x.pdf",
			})
		}
		if err := e.Complete(s.act("system"), files); err != nil {
			return err
		}
		e.SetRetention(retentionDays)
		return nil
	})
	require.NoError(t, err)
	tok, err := s.cfg.Tokens.IssueDownload(e, e.Sealed()[0], e.Signers[0].ID)
	require.NoError(t, err)
	return tok
}

func (s *service) act(actor string) models.ActionContext {
	return models.ActionContext{At: s.clock.now().Truncate(time.Microsecond), Actor: actor, NewID: newID}
}

func form(values ...string) []byte {
	v := url.Values{}
	for i := 0; i < len(values); i += 2 {
		v.Set(values[i], values[i+1])
	}
	return []byte(v.Encode())
}

func values(a *response, names ...string) (out []any) {
	for _, name := range names {
		out = append(out, a.body[name])
	}
	return out
}
