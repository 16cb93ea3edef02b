package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/internal/testkit"
	"countersign/models"
)

// TestContactsKeepTheirPhone: a request that does not mention the phone number
// does not erase it; null does.
func TestContactsKeepTheirPhone(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		save := func(body object) any {
			return c.post("/v1/console/contacts", body).want(200).body["phone"]
		}
		require.Equal(t, "+4915112345678", save(object{"name": "Ada", "email": "ada@example.com", "phone": "+49 151 12345678"}))
		require.Equal(t, "+4915112345678", save(object{"name": "Ada Byron", "email": "ADA@example.com"}))
		require.Equal(t, "+4915112345678", list(c.get("/v1/console/contacts").want(200))[0].(object)["phone"])
		require.Nil(t, save(object{"name": "Ada Byron", "email": "ada@example.com", "phone": nil}))
		require.Nil(t, save(object{"name": "Ada Byron", "email": "ada@example.com"}))
	})
}

// TestContactsArePaged: what a list leaves out is told.
func TestContactsArePaged(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	for _, name := range []string{"Ada", "Ben", "Cleo", "Dan", "Eve"} {
		c.post("/v1/console/contacts", object{"name": name, "email": name + "@example.com"}).want(200)
	}
	all := c.get("/v1/console/contacts").want(200)
	require.Len(t, list(all), 5)
	require.Equal(t, "5", all.header.Get("X-Total-Count"))
	require.Empty(t, all.header.Get("Link"))
	c.post("/v1/console/contacts", object{"name": "Bob", "email": "bob@elsewhere.org"}).want(200) // matches no search below
	var names []string
	for path := "/v1/console/contacts?pageSize=2&search=example"; path != ""; {
		a := c.get(path).want(200)
		for _, v := range list(a) {
			names = append(names, v.(object)["name"].(string))
		}
		path = ""
		if link := a.header.Get("Link"); link != "" {
			require.True(t, strings.HasSuffix(link, `>; rel="next"`), link)
			path = strings.TrimPrefix(strings.TrimSuffix(link, `>; rel="next"`), "<https://sign.example.com")
		}
	}
	require.Equal(t, []string{"Ada", "Ben", "Cleo", "Dan", "Eve"}, names)
	c.get("/v1/console/contacts?pageSize=1001").want(400)
}

// TestRepeatedFormFields: HTML forms and curl -F repeat a field for a list.
func TestRepeatedFormFields(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	send := func(fields ...string) *answer {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for i := 0; i < len(fields); i += 2 {
			require.NoError(t, w.WriteField(fields[i], fields[i+1]))
		}
		p, err := w.CreateFormFile("file", "contract.pdf")
		require.NoError(t, err)
		_, err = p.Write(testkit.OnePage())
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
	require.Contains(t, send("tenantId", "acme", "tenantId", "other", "signers", `{"name":"A","email":"a@example.com"}`).refused(400, "validation_error").body["errors"], "tenantId")
	require.Contains(t, send("tenantId", "acme", "signers", `{"name":"A","email":"a@example.com"}`, "signers", `7`).refused(400, "validation_error").body["errors"], "signers")
	require.Contains(t, send("tenantId", "acme", "signers", `7`).refused(400, "validation_error").body["errors"], "signers")
}

// TestInvisibleCharacters: people paste them without knowing, and others use
// them to make one name look like another. The joiners that Persian and emoji
// need stay.
func TestInvisibleCharacters(t *testing.T) {
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
	require.Contains(t, c.post("/v1/envelopes", data).refused(400, "validation_error").body["errors"], "signers[0].name", "a name of nothing")
	for _, of := range []object{{"tenantId": "ac\u200bme"}, {"signers": []object{{"name": "Ada", "email": "a\u200bda@example.com"}}}} {
		bad := contract()
		for k, v := range of {
			bad[k] = v
		}
		c.post("/v1/envelopes", bad).refused(400, "validation_error") // what identifies is not changed silently
	}
	require.Equal(t, "Ada", c.post("/v1/console/contacts", object{"name": "A\u200bda", "email": "ada@example.com"}).want(200).str("name"))
}

// TestDeclineTellsWhy: the reason is in both webhooks.
func TestDeclineTellsWhy(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"envelope.declined", "signer.declined"}}).want(201)
		e, token := c.sent(contract())
		(&client{t: t, s: s}).post("/v1/signing/"+token+"/decline", object{"reason": "Clause 4 is wrong."}).want(200)
		deliveries := c.get("/v1/console/webhook-deliveries").want(200).body["data"].([]any)
		require.Len(t, deliveries, 2)
		for _, d := range deliveries {
			job, err := s.store.DeliveryJob(t.Context(), uuid.MustParse(d.(object)["id"].(string)))
			require.NoError(t, err)
			require.Contains(t, string(job.Event.Body), `"reason":"Clause 4 is wrong."`, d.(object)["event"])
		}
		require.Equal(t, "declined", c.get("/v1/envelopes/" + e.str("id")).body["status"])
	})
}

// TestWebhooksKeepTheOldClientSecret: endpoints without a secret of their own keep the old
// signature until the overlap ends, with the new one beside it.
func TestWebhooksKeepTheOldClientSecret(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"envelope.created"}}).want(201)
		c.draft(contract())
		id := uuid.MustParse(c.get("/v1/console/webhook-deliveries").want(200).body["data"].([]any)[0].(object)["id"].(string))
		secrets := func() (out []string) {
			job, err := s.store.DeliveryJob(t.Context(), id)
			require.NoError(t, err)
			for _, b := range job.Secrets {
				out = append(out, string(b))
			}
			return out
		}
		require.Equal(t, []string{s.pass}, secrets())
		s.clock.advance(time.Second)
		fresh, err := s.store.AddSecret(t.Context(), s.app.ID, 24*time.Hour)
		require.NoError(t, err)
		require.Equal(t, []string{fresh, s.pass}, secrets(), "the newest first; the oldest signs X-Service-Signature")
		s.clock.advance(25 * time.Hour)
		require.Equal(t, []string{fresh}, secrets())
	})
}

// TestMailSettings: a tenant chooses the language of its mails, where answers
// go, and who learns of what went wrong.
func TestMailSettings(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		put := func(v object) *answer {
			b, err := json.Marshal(v)
			require.NoError(t, err)
			return c.send(http.MethodPut, "/v1/console/settings?tenantId=acme", "application/json", b)
		}
		require.Equal(t, "en", c.get("/v1/console/settings?tenantId=acme").want(200).body["effective"].(object)["language"])
		chosen := object{"language": "ja", "replyTo": "office@acme.example", "notifyEmail": "ops@acme.example", "senderName": "Acme"}
		own := put(chosen).want(200).body["own"].(object)
		for k, v := range chosen {
			require.Equal(t, v, own[k], k)
		}
		for k, v := range map[string]any{"language": "tlh", "replyTo": "nobody", "notifyEmail": "a\u200bb@example.com"} {
			require.Contains(t, put(object{k: v}).refused(400, "validation_error").body["errors"], k)
		}
		data := contract()
		data["signers"] = []object{{"name": "Ada", "email": "ada@example.com"}}
		_, token := c.sent(data)
		(&client{t: t, s: s}).post("/v1/signing/"+token+"/otp/request", nil).want(200)
		mail := s.mails.mails[len(s.mails.mails)-1]
		require.Contains(t, mail.Subject, "確認コード")
		require.Equal(t, "Acme", mail.FromName)
		require.Equal(t, "office@acme.example", mail.ReplyTo)
	})
}

// TestPrivateNamesAreNoEndpoints: neither at the registration nor later does an
// endpoint get the name of a cloud's metadata service, or another private one.
func TestPrivateNamesAreNoEndpoints(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.AllowPrivateHooks = false })
	c, admin := s.client(t), s.signIn(t, models.RoleAdmin)
	events := []string{"envelope.sent"}
	good := c.post("/v1/webhooks", object{"url": "https://hooks.example.com/a", "events": events}).want(201)
	for _, name := range []string{"metadata.google.internal", "METADATA.GOOGLE.INTERNAL.", "metadata", "printer.local", "intranet.corp"} {
		hook := object{"url": "https://" + name + "/x", "events": events}
		require.Contains(t, c.post("/v1/webhooks", hook).refused(400, "validation_error").body["errors"], "url", name)
		require.Contains(t, admin.post("/v1/console/webhooks", hook).refused(400, "validation_error").body["errors"], "url", name)
		a := admin.call(http.MethodPatch, "/v1/console/webhooks/"+good.str("id"), object{"url": hook["url"]})
		require.Contains(t, a.refused(400, "validation_error").body["errors"], "url", name)
	}
}

// TestFailuresAreLogged: what is refused is no error of ours, what fails is.
func TestFailuresAreLogged(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var log bytes.Buffer
	s := onSQLite(t, func(cfg *api.Config) { cfg.Log = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil)) })
	c := s.client(t)
	c.post("/v1/embedded/builder-sessions", object{}).refused(400, "validation_error")
	mu.Lock()
	require.NotContains(t, log.String(), "level=ERROR")
	mu.Unlock()
	require.NoError(t, s.store.Close())
	c.get("/v1/webhooks").want(500)
	mu.Lock()
	require.Contains(t, log.String(), "level=ERROR")
	mu.Unlock()
}

// lockedWriter is a writer for several at a time.
type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (l lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
