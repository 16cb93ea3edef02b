package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"
)

const (
	get   = http.MethodGet
	post  = http.MethodPost
	put   = http.MethodPut
	patch = http.MethodPatch
	del   = http.MethodDelete
)

// form sends a request with form values, which are recorded as the example. A value that begins with @ is the name of
// a file.
func (r *recorder) form(method, path string, values ...string) member {
	r.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	example := member{}
	for i := 0; i < len(values); i += 2 {
		name, value := values[i], values[i+1]
		example[name] = value
		if file, ok := strings.CutPrefix(value, "@"); ok {
			p, err := w.CreateFormFile(name, file)
			require.NoError(r.t, err)
			_, err = p.Write(r.contract())
			require.NoError(r.t, err)
			example[name] = file
		} else {
			require.NoError(r.t, w.WriteField(name, value))
		}
	}
	require.NoError(r.t, w.Close())
	return r.send(method, path, w.FormDataContentType(), b.Bytes(), example)
}

func (r *recorder) contract() []byte {
	b, err := os.ReadFile("../../docs/contract.pdf")
	require.NoError(r.t, err)
	return b
}

// as calls do with a different credential.
func (r *recorder) as(token string, do func()) {
	own := r.token
	defer func() { r.token = own }()
	r.token = token
	do()
}

// documents records the calls for documents, forms and files.
func (r *recorder) documents() {
	draft, signer := r.draft("ada-documents@example.com")
	at := "/v1/envelopes/" + draft
	r.json(get, "/v1/console/envelopes/"+draft+"/signers/"+signer+"/preview", nil)
	e := r.json(get, at, nil)
	document := e["documents"].([]any)[0].(member)["id"].(string)
	r.json(get, at+"/documents/"+document+"/pages/1/text", nil)
	r.json(get, at+"/documents/"+document+"/pages/1/lines", nil)
	r.json(post, at+"/documents/"+document+"/prepare", member{"tags": "detect", "form": "import"})
	r.form(post, "/v1/console/envelopes/"+draft+"/documents", "file", "@annex.pdf")
	r.form(post, "/v1/envelopes", "file", "@lease.pdf", "data", `{"tenantId": "acme", "subject": "Lease for flat 7", "signers": [{"name": "Ada Lovelace", "email": "ada@example.com"}], "fields": [{"signerId": 0, "type": "signature", "page": 1, "x": 72, "y": 600, "w": 200, "h": 48}]}`)
	template := r.form(post, "/v1/templates", "file", "@lease.pdf", "data", `{"tenantId": "acme", "name": "Lease with a file", "externalId": "lease", "roles": [{"role": "tenant"}]}`)
	tmpl := "/v1/templates/" + template["id"].(string)
	of := tmpl + "/documents/" + template["documents"].([]any)[0].(member)["id"].(string)
	r.json(get, of+"/suggestions", nil)
	r.json(get, of+"/pages/1/text", nil)
	r.json(get, of+"/pages/1/lines", nil)
	r.form(post, "/v1/templates", "file", "@lease.pdf", "data", `{"tenantId": "acme", "name": "Lease with a file", "externalId": "lease", "roles": [{"role": "tenant"}]}`)
	r.form(patch, tmpl, "file", "@lease.pdf", "data", `{"name": "Lease of 2027"}`)
	r.form(post, "/v1/verify", "file", "@contract.pdf")
}

// signers records the other operations of signers.
func (r *recorder) signers() {
	e := r.json(post, "/v1/envelopes", member{"tenantId": "acme", "subject": "Lease for flat 9", "signers": []member{
		{"name": "Ada Lovelace", "email": "ada-delegate@example.com", "authMethod": "none", "allowDelegation": true},
		{"name": "Charles Babbage", "email": "charles-attach@example.com", "authMethod": "none"},
	}})
	id := e["id"].(string)
	at := "/v1/envelopes/" + id
	r.send(post, at+"/document", "application/octet-stream", r.contract(), nil)
	fields := r.json(post, at+"/fields", []member{
		{"signerId": "0", "type": "text", "name": "city", "page": 1, "x": 72, "y": 600, "w": 200, "h": 20},
		{"signerId": "1", "type": "attachment", "name": "passport", "page": 1, "x": 72, "y": 650, "w": 200, "h": 20},
	})["list"].([]any)
	sent := r.json(post, at+"/send", nil)["signers"].([]any)
	r.audits(id, "invitation.sent", 2)
	token := func(i int) string {
		link := sent[i].(member)["signingUrl"].(string)
		return "/v1/signing/" + link[strings.LastIndexByte(link, '/')+1:]
	}
	signer := sent[1].(member)["id"].(string)
	embedded := r.json(post, "/v1/embedded/signing-sessions", member{"tenantId": "acme", "envelopeId": id, "signerId": signer, "allowedOrigin": "https://app.example.com"})
	r.as("", func() {
		r.json(get, "/v1/embedded/sessions/"+embedded["sessionToken"].(string), nil)
		r.json(get, token(0), nil)
		r.json(post, token(0)+"/fit", member{"fields": []member{{"fieldId": fields[0].(member)["id"], "textValue": "London"}}})
		r.json(post, token(0)+"/delegate", member{"name": "Grace Hopper", "email": "grace@example.com", "reason": "I have left the company."})
		document := r.json(get, token(1), nil)["documents"].([]any)[0].(member)["documentId"].(string)
		r.json(get, token(1)+"/documents/"+document+"/pages/1/text", nil)
		r.json(post, token(1)+"/consent", nil)
		r.form(post, token(1)+"/attachments", "fieldId", fields[1].(member)["id"].(string), "file", "@passport.pdf")
	})
	// Wait until each email is in the audit trail before requesting the next one, because the order of two pending
	// emails depends on the machine.
	r.audits(id, "invitation.sent", 3)
	r.json(post, "/v1/envelopes/"+id+"/signers/"+signer+"/remind", nil)
	r.audits(id, "reminder.sent", 1)
	r.json(post, "/v1/envelopes/"+id+"/signers/"+signer+"/resend", nil)
	r.audits(id, "invitation.sent", 4)
	r.json(post, "/v1/envelopes/"+id+"/duplicate", member{"createdBy": "ada@example.com"})
	r.json(post, "/v1/console/envelopes/"+id+"/signers/"+signer+"/resend", nil)
	r.audits(id, "invitation.sent", 5)
	r.json(get, "/v1/console/home?tenantId=acme", nil)
	r.json(get, "/v1/console/envelopes?tenantId=acme", nil)
	r.json(post, "/v1/console/envelopes/"+id+"/void", member{"reason": "Sent by mistake"})
	draft, _ := r.draft("ada-builder@example.com")
	builder := r.json(post, "/v1/embedded/builder-sessions", member{"tenantId": "acme", "envelopeId": draft, "allowedOrigin": "https://app.example.com"})
	r.as("", func() { r.json(get, "/v1/embedded/builders/"+builder["sessionToken"].(string), nil) })
}

// deliveries records the calls for webhooks and their deliveries.
func (r *recorder) deliveries() {
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/closed" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("Closed for maintenance"))
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	r.t.Cleanup(sink.Close)
	r.sink = sink.URL
	hook := r.json(post, "/v1/webhooks", member{"url": sink.URL + "/deliveries", "events": []string{"envelope.created"}})["id"].(string)
	r.json(post, "/v1/webhooks/"+hook+"/test", nil)
	at := "/v1/console/webhooks/" + hook
	r.json(post, at+"/ping", nil)
	var delivery string
	require.Eventually(r.t, func() bool {
		_, b := r.do(get, "/v1/console/webhook-deliveries?webhookId="+hook, "", nil)
		var page struct{ Data []struct{ ID, Status string } }
		require.NoError(r.t, json.Unmarshal(b, &page))
		delivered := 0
		for _, d := range page.Data {
			if delivery = d.ID; d.Status == "delivered" {
				delivered++
			}
		}
		return delivered == 2
	}, time.Minute, 50*time.Millisecond)
	r.json(get, "/v1/console/webhook-deliveries?webhookId="+hook, nil)
	r.json(patch, at, member{"events": []string{"envelope.created", "envelope.sent"}})
	r.json(post, at+"/secret", member{"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "overlapHours": 24})
	r.json(post, at+"/resend", member{"since": "2026-11-20T09:00:00Z"})
	r.json(get, "/v1/console/webhook-deliveries/"+delivery, nil)
	r.json(post, "/v1/console/webhook-deliveries/"+delivery+"/resend", nil)
	r.json(post, at+"/pause", nil)
	r.json(post, at+"/resume", nil)
	r.problems()
}

// problems records the problems of a separate app whose endpoint responds with 503.
func (r *recorder) problems() {
	own, token := r.s, r.token
	defer func() { r.s, r.token = own, token }()
	r.s = start(r.t)
	r.token = accessToken(r.t, r.s)
	hook := r.json(post, "/v1/webhooks", member{"url": r.sink + "/closed", "events": []string{"envelope.created"}})["id"].(string)
	r.json(post, "/v1/webhooks/"+hook+"/test", nil)
	require.Eventually(r.t, func() bool {
		_, b := r.do(get, "/v1/console/problems", "", nil)
		return bytes.Contains(b, []byte(`"lastAttempt":{`))
	}, time.Minute, 50*time.Millisecond)
	r.json(get, "/v1/console/problems", nil)
}

// bulkSends records the calls for a bulk send that is not completed.
func (r *recorder) bulkSends(template string) {
	rows := []member{
		{"externalId": "lease-2001", "signers": []member{{"role": "tenant", "name": "Ada Lovelace", "email": "ada-slow@example.com"}}, "variables": member{"street": "High Street"}},
		{"externalId": "lease-2002", "signers": []member{{"role": "tenant", "name": "Grace Hopper", "email": "grace-slow@example.com"}}, "variables": member{"street": "Low Street"}},
	}
	r.json(post, "/v1/bulk-sends", member{"templateId": template, "tenantId": "acme", "dryRun": true, "rows": rows})
	table := "externalId,tenant.name,tenant.email,variable.street\nlease-1042,Ada Lovelace,ada@example.com,High Street\n"
	r.send(post, "/v1/bulk-sends?templateId="+template+"&tenantId=acme&dryRun=true", "text/csv", []byte(table), table)
	slow := r.json(post, "/v1/bulk-sends", member{"templateId": template, "tenantId": "acme", "perMinute": 1, "rows": rows})["id"].(string)
	at := "/v1/bulk-sends/" + slow
	r.json(post, at+"/pause", nil)
	r.json(post, at+"/resume", nil)
	r.json(post, at+"/cancel", nil)
}

// account records the calls that a console user makes to sign in and to manage their own account.
func (r *recorder) account() {
	const password, fresh = "correct horse battery", "staple of another battery"
	email := "ada-" + uuid.NewString() + "@example.com"
	user := r.json(post, "/v1/console/users", member{"email": email, "name": "Ada Lovelace", "password": password, "role": "admin"})["id"].(string)
	r.json(patch, "/v1/console/users/"+user, member{"name": "Ada King"})
	signIn := func(more member) string {
		body := member{"email": email, "password": password}
		for name, value := range more {
			body[name] = value
		}
		r.token = ""
		return r.json(post, "/v1/console/login", body)["access_token"].(string)
	}
	own := r.token
	defer func() { r.token = own }()
	r.json(get, "/v1/console/sign-in", nil)
	r.token = signIn(nil)
	const at = "/v1/console"
	r.json(get, at+"/sessions", nil)
	r.json(get, at+"/passkeys", nil)
	r.json(get, at+"/totp", nil)
	r.json(get, at+"/me/notifications", nil)
	r.json(get, at+"/recipients?search=ada&tenantId=acme", nil)
	r.json(put, at+"/me/notifications", member{"events": member{"opened": true}, "frequency": "daily", "timeZone": "Europe/Berlin"})
	secret := r.json(post, at+"/totp", member{"password": password})["secret"].(string)
	code := func() string {
		c, err := totp.GenerateCode(secret, time.Now())
		require.NoError(r.t, err)
		return c
	}
	codes := r.json(post, at+"/totp/confirm", member{"code": code()})["recoveryCodes"].([]any)
	codes = r.json(post, at+"/totp/recovery-codes", member{"password": password, "code": codes[0]})["recoveryCodes"].([]any)
	made := r.json(post, at+"/client-secrets", member{"password": password, "code": codes[0], "overlapHours": 48})
	require.NotEmpty(r.t, made["clientSecret"])
	secrets := r.json(get, at+"/client-secrets", nil)["data"].([]any)
	r.json(post, at+"/client-secrets/"+secrets[1].(member)["id"].(string)+"/end", member{"password": password, "code": codes[1]})
	r.json(post, at+"/sessions/end", member{"password": password, "code": codes[2]})
	r.json(post, at+"/password", member{"password": password, "code": codes[3], "newPassword": fresh})
	r.json(post, at+"/totp/remove", member{"password": fresh, "code": codes[4]})
	r.json(post, at+"/logout", nil)
	r.token = own
	r.json(post, "/v1/console/users/"+user+"/password", member{"newPassword": password})
}

// texts records the responses that are not JSON.
func (r *recorder) texts(envelope, bulk string) {
	r.accept = "text/csv"
	r.json(get, "/v1/envelopes/"+envelope+"/values", nil)
	r.json(get, "/v1/bulk-sends/"+bulk+"/rows", nil)
	r.accept = ""
	_, b := r.do(get, "/v1/events?limit=1", "", nil)
	var page struct{ NextCursor string }
	require.NoError(r.t, json.Unmarshal(b, &page))
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, get, r.s.BaseURL+"/v1/events/stream?cursor="+page.NextCursor+"&event=envelope.sent", nil)
	require.NoError(r.t, err)
	req.Header.Set("Authorization", "Bearer "+r.token)
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(r.t, err)
	defer func() { _ = res.Body.Close() }()
	var text strings.Builder
	one := make([]byte, 1)
	for !strings.Contains(text.String(), "data: ") || !strings.HasSuffix(text.String(), "\n\n") {
		_, err := io.ReadFull(res.Body, one)
		require.NoError(r.t, err)
		text.Write(one)
	}
	r.keep("streamEventsText", text.String())
}
