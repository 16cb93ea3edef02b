package clients_test

import (
	"bytes"
	"errors"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"
)

// signingRejections records the rejections that signers receive in each state of their envelope.
func (r *recorder) signingRejections(completed string) {
	e := r.json(post, "/v1/envelopes", member{"tenantId": "acme", "subject": "Lease for flat 9", "signers": []member{
		{"name": "Ada Lovelace", "email": "ada-states@example.com", "authMethod": "none"},
		{"name": "Charles Babbage", "email": "charles-states@example.com", "authMethod": "none"},
	}})
	id := e["id"].(string)
	at := "/v1/envelopes/" + id
	r.send(post, at+"/document", "application/octet-stream", r.contract(), nil)
	fields := r.json(post, at+"/fields", []member{
		{"signerId": "0", "type": "text", "name": "city", "page": 1, "x": 72, "y": 600, "w": 200, "h": 20},
		{"signerId": "1", "type": "attachment", "name": "passport", "page": 1, "x": 72, "y": 650, "w": 200, "h": 20},
	})["list"].([]any)
	sent := r.json(post, at+"/send", nil)["signers"].([]any)
	link := func(i int) string {
		url := sent[i].(member)["signingUrl"].(string)
		return "/v1/signing/" + url[strings.LastIndexByte(url, '/')+1:]
	}
	session := r.json(post, "/v1/embedded/signing-sessions", member{"tenantId": "acme", "envelopeId": id, "signerId": sent[0].(member)["id"], "allowedOrigin": "https://app.example.com"})["sessionToken"].(string)
	resend := at + "/signers/" + sent[1].(member)["id"].(string) + "/resend"
	_, _, code := r.sent("ada-code@example.com")
	r.as("", func() {
		grace := member{"name": "Grace Hopper", "email": "grace@example.com"}
		city := member{"fields": []member{{"fieldId": fields[0].(member)["id"], "textValue": "London"}}}
		r.rejected("otp_not_required", post, link(0)+"/otp/request", nil)
		r.rejected("delegation_not_allowed", post, link(0)+"/delegate", grace)
		r.json(post, link(0)+"/consent", nil)
		r.rejected("consent_given", post, link(0)+"/consent", nil)
		r.json(post, link(0)+"/sign", city)
		r.rejected("already_signed", post, link(0)+"/sign", city)
		r.rejected("already_signed_or_declined", post, link(0)+"/decline", nil)
		r.rejected("already_signed_or_declined", post, link(0)+"/delegate", grace)
		r.rejected("already_signed", post, link(0)+"/attachments", member{})
		r.rejected("already_signed", del, link(0)+"/attachments/"+id, nil)
		r.rejected("session_completed", get, "/v1/embedded/sessions/"+session, nil)
		r.rejected("validation_error", get, link(1)+"/document?entries=perhaps", nil)
		r.json(post, link(1)+"/consent", nil)
		var large bytes.Buffer
		w := multipart.NewWriter(&large)
		require.NoError(r.t, w.WriteField("fieldId", fields[1].(member)["id"].(string)))
		file, err := w.CreateFormFile("file", "passport.pdf")
		require.NoError(r.t, err)
		_, err = file.Write(make([]byte, 11<<20))
		require.NoError(r.t, errors.Join(err, w.Close()))
		r.rejected("file_too_large", post, link(1)+"/attachments", large.Bytes(), "Content-Type", w.FormDataContentType())
		r.rejected("content_type", post, link(1)+"/attachments", member{"fieldId": fields[1].(member)["id"]})
		r.rejected("otp_incorrect", post, "/v1/signing/"+code+"/otp/verify", member{"code": "000000"})
		r.until("otp_rate_limited", post, "/v1/signing/"+code+"/otp/request", nil)
	})
	r.until("resend_rate_limited", post, resend, nil)
	r.until("copies_rate_limited", post, "/v1/envelopes/"+completed+"/copies", member{"email": "ada-examples@example.com"})
}

// until repeats a request until it is rejected, and records the rejection.
func (r *recorder) until(code, method, to string, body any) {
	r.t.Helper()
	for range 10 {
		kind, content := "", []byte(nil)
		if body != nil {
			kind, content = "application/json", r.marshal(body)
		}
		if res, _ := r.do(method, to, kind, content); res.StatusCode >= http.StatusBadRequest {
			break
		}
	}
	r.rejected(code, method, to, body)
}

// stateRejections records the rejections caused by the state of templates, bulk sends and webhooks.
func (r *recorder) stateRejections(voided, draft string) {
	rows := []member{
		{"externalId": "lease-3001", "signers": []member{{"role": "tenant", "name": "Ada Lovelace", "email": "ada-states@example.com"}}},
		{"externalId": "lease-3002", "signers": []member{{"role": "tenant", "name": "Grace Hopper", "email": "grace-states@example.com"}}},
	}
	template := r.json(post, "/v1/templates", member{"tenantId": "acme", "name": "Lease of 2026", "fromEnvelope": voided})["id"].(string)
	bulk := member{"templateId": template, "tenantId": "acme", "perMinute": 1, "rows": rows}
	slow := "/v1/bulk-sends/" + r.json(post, "/v1/bulk-sends", bulk)["id"].(string)
	r.json(post, slow+"/cancel", nil)
	r.rejected("bulk_send_cancelled", post, slow+"/resume", nil)
	r.rejected("bulk_send_cancelled", post, slow+"/retry", nil)
	r.json(del, "/v1/templates/"+template, nil)
	r.rejected("template_archived", get, "/v1/templates/"+template+"/document", nil)
	r.rejected("template_archived", patch, "/v1/templates/"+template, member{"name": "Lease of 2027"})

	hook := r.json(post, "/v1/webhooks", member{"url": r.sink + "/closed", "events": []string{"envelope.created"}})["id"].(string)
	r.json(post, "/v1/webhooks/"+hook+"/test", nil)
	var delivery string
	require.Eventually(r.t, func() bool {
		list := r.json(get, "/v1/console/webhook-deliveries?webhookId="+hook, nil)["data"].([]any)
		if len(list) > 0 {
			delivery = list[0].(member)["id"].(string)
		}
		return len(list) > 0
	}, time.Minute, 50*time.Millisecond)
	r.json(patch, "/v1/webhooks/"+hook, member{"active": false})
	r.rejected("webhook_inactive", post, "/v1/console/webhook-deliveries/"+delivery+"/resend", nil)
	r.rejected("webhook_inactive", post, "/v1/console/webhooks/"+hook+"/ping", nil)
	r.json(del, "/v1/webhooks/"+hook, nil)
	r.rejected("file_too_large", post, "/v1/envelopes/"+draft+"/document", bytes.Repeat([]byte(" "), 26<<20))
}

// accountRejections records the rejections that console users receive in account operations.
func (r *recorder) accountRejections(draft string) {
	const password, console = "correct horse battery", "/v1/console"
	signIn := func(role string) (id, token string) {
		user := member{"email": role + "-" + uuid.NewString() + "@example.com", "name": "Sam", "password": password, "role": role}
		id = r.json(post, console+"/users", user)["id"].(string)
		return id, r.json(post, console+"/login", member{"email": user["email"], "password": password})["access_token"].(string)
	}
	secrets := r.json(get, console+"/client-secrets", nil)["data"].([]any)
	end := console + "/client-secrets/" + secrets[0].(member)["id"].(string) + "/end"
	r.rejected("user_required", post, end, member{"password": password})
	admin, asAdmin := signIn("admin")
	_, asSupport := signIn("support")
	long := strings.Repeat("k", 256)
	r.rejected("validation_error", post, "/v1/envelopes/"+draft+"/send", nil, "Idempotency-Key", long)
	r.as(asAdmin, func() {
		r.rejected("own_account", patch, console+"/users/"+admin, member{"role": "viewer"})
		r.rejected("passkeys_unavailable", post, console+"/passkeys/begin", member{"password": password})
		r.rejected("passkeys_unavailable", post, console+"/passkeys", member{"ceremony": uuid.NewString(), "name": "Laptop", "credential": member{}})
		r.rejected("secret_newest", post, end, member{"password": password})
		r.rejected("second_factor_none", post, console+"/totp/confirm", member{"code": "000000"})
		r.rejected("second_factor_none", post, console+"/totp/remove", member{"password": password, "code": "000000"})
		secret := r.json(post, console+"/totp", member{"password": password})["secret"].(string)
		code, err := totp.GenerateCode(secret, time.Now())
		require.NoError(r.t, err)
		codes := r.json(post, console+"/totp/confirm", member{"code": code})["recoveryCodes"].([]any)
		r.rejected("second_factor_active", post, console+"/totp", member{"password": password, "code": codes[0]})
		r.rejected("validation_error", post, console+"/logout", nil, "Idempotency-Key", long)
	})
	r.as(asSupport, func() {
		r.rejected("role_forbidden", post, "/v1/envelopes", member{"tenantId": "acme", "signers": []member{{"name": "Ada Lovelace", "email": "ada@example.com"}}})
		r.rejected("role_forbidden", patch, "/v1/envelopes/"+draft, member{"subject": "Lease for flat 8"})
	})
}
