package conformance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// TestInterface checks that a service implements its interface.
func TestInterface(t *testing.T) {
	t.Parallel()
	targets(t, func(t *testing.T, s *target) {
		t.Helper()
		for name, test := range map[string]func(*testing.T, *target){
			"token": checkTokens, "create": checkCreation, "list": checkLists, "states": checkStates, "signing": checkSigning, "decline": checkDeclines, "codes": checkCodes,
			"documents": checkDocuments, "portal": checkPortal, "webhooks": checkWebhooks, "events": checkEvents, "drafts": checkDrafts, "templates": checkTemplates, "bulk": checkBulkSends, "branding": checkBranding, "corrections": checkCorrections, "attachments": checkAttachments, "fields": checkFields, "console": checkConsole, "embedded": checkEmbedded, "idempotency": checkIdempotency,
			"errors": checkErrorShapes, "verify": checkVerification, "pages": checkPages,
		} {
			t.Run(name, func(t *testing.T) { test(t, s) }) // sequential, so that a small deployment can also pass
		}
		if missing := s.complete(); s.InboxURL == "" || s.sinkHost == "" {
			t.Logf("not tested without INBOX_URL and SINK_HOST: %q", missing)
		} else {
			require.Empty(t, missing, "every operation in the contract must be called")
		}
	})
}

// contract returns the data of an envelope with one field and one signer who needs no code.
func (s *target) contract() object {
	return object{
		"tenantId": s.tenant, "subject": "Conformance", "expiresInDays": 5,
		"signers": []object{{"name": "Ada Lovelace", "email": "ada@example.com", "authMethod": "none"}},
		"fields":  []object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 300, "w": 160, "h": 50}},
	}
}

func (s *target) create(t *testing.T, data object) *answer {
	t.Helper()
	b, err := json.Marshal(data)
	require.NoError(t, err)
	return s.app().multipart(t, "/v1/envelopes", map[string]string{"data": string(b)}, kit.OnePage()).want(t, 201)
}

// sent creates and sends an envelope, and returns the signers' tokens.
func (s *target) sent(t *testing.T, data object) (*answer, []string) {
	t.Helper()
	e := s.create(t, data)
	e = s.app().post(t, "/v1/envelopes/"+e.str("id")+"/send", object{"message": "Please sign."}).want(t, 200)
	var tokens []string
	for _, v := range e.body["signers"].([]any) {
		if link, ok := v.(object)["signingUrl"].(string); ok {
			tokens = append(tokens, link[strings.LastIndex(link, "/")+1:])
		}
	}
	return e, tokens
}

// signs fills in a signer's text fields and signs. It returns the hash of the finished page.
func (s *target) signs(t *testing.T, token string) (finished string) {
	t.Helper()
	nobody, at := &client{s: s}, "/v1/signing/"+token
	ctx := nobody.get(t, at).want(t, 200)
	nobody.post(t, at+"/consent", nil).want(t, 200)
	var values []object
	for _, f := range ctx.body["fields"].([]any) {
		values = append(values, object{"fieldId": f.(object)["id"], "textValue": "yes"})
	}
	page := nobody.post(t, at+"/documents/"+ctx.item("documents", 0)["documentId"].(string)+"/pages/1/finished", object{"fields": values}).want(t, 200)
	require.Equal(t, "image/png", page.header.Get("Content-Type"))
	nobody.post(t, at+"/sign", object{"fields": values}).want(t, 200)
	return page.header.Get("X-Appearance-SHA256")
}

const waitTimeout = time.Minute

// completed waits until the envelope is completed, and returns it.
func (s *target) completed(t *testing.T, id string) *answer {
	t.Helper()
	var e *answer
	require.Eventually(t, func() bool {
		e = s.app().get(t, "/v1/envelopes/"+id)
		return e.str("status") == "completed"
	}, waitTimeout, 100*time.Millisecond)
	return e
}

func checkTokens(t *testing.T, s *target) {
	nobody := &client{s: s}
	for form, status := range map[string]int{
		"": 400, "grant_type=password&client_id=a&client_secret=b": 400, "grant_type=client_credentials&client_id=a&client_secret=b": 401,
	} {
		nobody.send(t, http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", []byte(form)).want(t, status)
	}
	nobody.get(t, "/v1/envelopes?tenantId=x").rejected(t, 401, "unauthorized")
	(&client{s: s, token: "x"}).get(t, "/v1/envelopes?tenantId=x").rejected(t, 401, "unauthorized")
}

func checkCreation(t *testing.T, s *target) {
	c := s.app()
	flat := c.multipart(t, "/v1/envelopes", map[string]string{
		"tenantId": s.tenant, "subject": "Flat", "expiresInDays": "null", "signers": `[{"name":"A","email":"a@example.com"}]`,
	}, kit.OnePage()).want(t, 201)
	require.Nil(t, flat.body["expiresAt"])
	require.Equal(t, "draft", flat.str("status"))
	require.Equal(t, "email_otp", flat.item("signers", 0)["authMethod"])

	e := c.post(t, "/v1/envelopes", object{"tenantId": s.tenant, "subject": "JSON", "createdBy": "me", "signers": []object{{"name": "A", "email": "a@example.com"}}}).want(t, 201)
	at := "/v1/envelopes/" + e.str("id")
	doc := c.send(t, http.MethodPost, at+"/document", "application/octet-stream", kit.OnePage()).want(t, 200)
	sum := sha256.Sum256(kit.OnePage())
	require.Equal(t, hex.EncodeToString(sum[:]), doc.str("sha256"))
	signer := c.post(t, at+"/signers", object{"name": "B", "email": "b@example.com", "routingOrder": 2}).want(t, 201)
	field := c.post(t, at+"/fields", object{
		"documentId": doc.str("documentId"), "signerId": signer.str("id"), "type": "signature", "page": 1, "x": 10, "y": 20, "w": 100, "h": 40,
	}).want(t, 201)
	require.Equal(t, true, field.body["required"])
	c.post(t, at+"/fields", object{"signerId": signer.str("id"), "type": "date", "page": 1, "x": 10, "y": 80, "w": 100, "h": 40, "origin": "bottom-left"}).want(t, 201)
	c.post(t, at+"/fields", object{"signerId": signer.str("id"), "type": "date", "page": 2, "x": 10, "y": 80, "w": 100, "h": 40}).rejected(t, 400, "validation_error")
	showsPages(t, c, at+"/documents/"+doc.str("documentId"))
	got := c.get(t, at+"/document").want(t, 200)
	require.Equal(t, kit.OnePage(), got.raw)
	c.get(t, at+"/document?kind=sealed").want(t, 409)
	c.post(t, "/v1/envelopes", object{"tenantId": s.tenant, "signers": []object{}}).rejected(t, 400, "validation_error")
	c.send(t, http.MethodPost, at+"/document", "application/octet-stream", make([]byte, 25<<20+1)).rejected(t, 413, "file_too_large")
	c.get(t, "/v1/envelopes/"+uuid.NewString()).rejected(t, 404, "not_found")
}

func checkLists(t *testing.T, s *target) {
	c, tenant := s.app(), s.tenant+"-list"
	var ids []string
	for range 3 {
		e := c.post(t, "/v1/envelopes", object{"tenantId": tenant, "signers": []object{{"name": "A", "email": "a@example.com"}}}).want(t, 201)
		ids = append(ids, e.str("id"))
	}
	q := "/v1/envelopes?tenantId=" + url.QueryEscape(tenant)
	first := c.get(t, q+"&pageSize=2").want(t, 200)
	require.EqualValues(t, 3, first.body["total"])
	require.EqualValues(t, 1, first.body["page"])
	require.EqualValues(t, 2, first.body["pageSize"])
	require.Equal(t, ids[2], first.item("data", 0)["id"], "newest first")
	require.Equal(t, ids[0], c.get(t, q+"&pageSize=2&page=2").want(t, 200).item("data", 0)["id"])
	require.EqualValues(t, 0, c.get(t, q+"&status=completed").want(t, 200).body["total"])
	for _, bad := range []string{"&page=0", "&pageSize=101", "&status=nope"} {
		c.get(t, q+bad).rejected(t, 400, "validation_error")
	}
	c.get(t, "/v1/envelopes").rejected(t, 400, "validation_error")
}

func checkStates(t *testing.T, s *target) {
	c := s.app()
	e, links := s.sent(t, s.contract())
	require.Equal(t, "sent", e.str("status"))
	at := "/v1/envelopes/" + e.str("id")
	require.NotContains(t, c.get(t, at).want(t, 200).item("signers", 0), "signingUrl", "the link must be returned only once")
	c.post(t, at+"/send", nil).rejected(t, 400, "envelope_not_draft")
	c.post(t, at+"/signers", object{"name": "B", "email": "b@example.com"}).rejected(t, 400, "envelope_not_draft")
	nobody := &client{s: s}
	nobody.get(t, "/v1/signing/"+links[0]).want(t, 200)
	require.Equal(t, "in_progress", c.get(t, at).str("status"))
	voided := c.post(t, at+"/void", object{"reason": "typo"}).want(t, 200)
	require.Equal(t, "voided", voided.str("status"))
	require.NotNil(t, voided.body["voidedAt"])
	c.post(t, at+"/void", nil).rejected(t, 400, "envelope_terminal")
	nobody.get(t, "/v1/signing/"+links[0]).want(t, 401)
	empty := c.post(t, "/v1/envelopes", object{"tenantId": s.tenant, "signers": []object{{"name": "A", "email": "a@example.com"}}}).want(t, 201)
	c.post(t, "/v1/envelopes/"+empty.str("id")+"/send", nil).rejected(t, 400, "validation_error")
}

// checkSigning signs an envelope with two routing groups, and waits for the sealed document.
func checkSigning(t *testing.T, s *target) {
	data := s.contract()
	data["signers"] = []object{
		{"name": "Ada", "email": "ada@example.com", "authMethod": "none"},
		{"name": "Bob", "email": "bob@example.com", "authMethod": "none", "routingOrder": 2},
	}
	data["fields"] = []object{
		{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 300, "w": 160, "h": 50},
		{"signerId": "bob@example.com", "type": "text", "page": 1, "x": 72, "y": 400, "w": 160, "h": 50},
		{"signerId": "0", "type": "signature", "page": 1, "x": 72, "y": 500, "w": 160, "h": 50, "required": false},
	}
	e, links := s.sent(t, data)
	require.Len(t, links, 1, "the second group must not have links yet")
	require.Equal(t, "pending", e.item("signers", 1)["status"])
	nobody, at := &client{s: s}, "/v1/signing/"+links[0]
	ctx := nobody.get(t, at).want(t, 200)
	require.Equal(t, false, ctx.body["requiresOtpVerification"])
	require.Len(t, ctx.body["fields"], 2)
	docs := nobody.get(t, at+"/documents").want(t, 200)
	doc := docs.list[0].(object)["documentId"].(string)
	require.Equal(t, kit.OnePage(), nobody.get(t, at+"/documents/"+doc).want(t, 200).raw)
	require.Equal(t, kit.OnePage(), nobody.get(t, at+"/document").want(t, 200).raw)
	showsPages(t, nobody, at+"/documents/"+doc)
	nobody.post(t, at+"/page-view", object{"documentId": doc, "page": 1, "dwellMs": 1200}).want(t, 204)
	nobody.post(t, at+"/sign", object{"fields": []object{}}).want(t, 401) // consent is missing
	nobody.post(t, at+"/consent", nil).want(t, 200)
	nobody.post(t, at+"/consent", nil).want(t, 409)
	nobody.post(t, at+"/sign", object{"fields": []object{}}).want(t, 400) // a required field is missing
	field := ctx.item("fields", 0)["id"]
	require.Empty(t, nobody.post(t, at+"/fit", object{"fields": []object{{"fieldId": field, "textValue": "yes"}}}).want(t, 200).body["misfits"])
	require.Equal(t, "open", nobody.get(t, at+"/outcome").want(t, 200).str("outcome"))
	done := nobody.post(t, at+"/sign", object{"fields": []object{
		{"fieldId": field, "textValue": "yes"},
		{"fieldId": ctx.item("fields", 1)["id"], "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature())},
	}}).want(t, 200)
	require.Equal(t, "signed", nobody.get(t, at+"/outcome").want(t, 200).str("outcome"))
	require.Equal(t, "signed", done.str("status"))
	nobody.post(t, at+"/sign", object{"fields": []object{{"fieldId": field, "textValue": "yes"}}}).want(t, 409)
	nobody.get(t, at).want(t, 410)
	receipt := nobody.get(t, "/v1/receipts/"+done.str("receiptToken")).want(t, 200)
	require.Equal(t, e.str("id"), receipt.str("envelopeId"))
	require.Empty(t, receipt.body["documents"], "no document may be sealed yet")
	if s.InboxURL == "" {
		return
	}
	bob := s.mailedLink(t, "bob@example.com", "/sign/")
	shown := nobody.get(t, "/v1/signing/"+bob).want(t, 200)
	require.Len(t, shown.body["filled"], 2, "the second signer must see the first signer's entries")
	require.Equal(t, shown.body["shown"], nobody.get(t, "/v1/signing/"+bob+"/shown").want(t, 200).body["shown"])
	for i := range 2 {
		if picture, ok := shown.item("filled", i)["picture"].(string); ok {
			nobody.get(t, "/v1/signing/"+bob+"/pictures/"+picture).want(t, 200)
		}
	}
	finished := s.signs(t, bob)
	full := s.completed(t, e.str("id"))
	require.NotNil(t, full.body["completedAt"])
	var sealed object
	for _, v := range full.body["documents"].([]any) {
		if v.(object)["kind"] == "sealed" {
			sealed = v.(object)
		}
	}
	require.Equal(t, sealed["sha256"], full.str("documentHashFinal"))
	page := s.app().get(t, "/v1/envelopes/"+e.str("id")+"/documents/"+sealed["id"].(string)+"/pages/1").want(t, 200)
	require.Equal(t, finished, page.header.Get("X-Appearance-SHA256"), "the page must be sealed as it was shown to the last signer before signing")
	file := s.app().get(t, "/v1/envelopes/"+e.str("id")+"/document?kind=sealed").want(t, 200)
	sum := sha256.Sum256(file.raw)
	require.Equal(t, sealed["sha256"], hex.EncodeToString(sum[:]))
	report := nobody.send(t, http.MethodPost, "/v1/verify", "application/pdf", file.raw).want(t, 200)
	require.Equal(t, "valid", report.str("verdict"), "a service must trust its own seals: %s", report.raw)
	require.Equal(t, finished, report.body["record"].(object)["appearance"].(object)["finished"].([]any)[0].(object)["sha256"])
	seen := nobody.send(t, http.MethodPost, "/v1/verify/pages/1", "application/pdf", file.raw).want(t, 200)
	require.NotEmpty(t, seen.header.Get("X-Appearance-SHA256"))
	for _, f := range report.body["findings"].([]any) {
		require.NotContains(t, []string{"failed", "untrusted"}, f.(object)["status"], "%s", report.raw)
	}
	for _, at := range []int{len(kit.OnePage()) / 2, len(file.raw) - 5000, len(file.raw) - 1} {
		changed := slices.Clone(file.raw)
		changed[at] ^= 1
		require.Equal(t, "broken", nobody.send(t, http.MethodPost, "/v1/verify", "application/pdf", changed).want(t, 200).str("verdict"), "byte %d", at)
	}
	require.Equal(t, e.str("id"), report.str("envelopeId"))
	var names []string
	for _, v := range full.body["auditLog"].([]any) {
		names = append(names, v.(object)["event"].(string))
	}
	for _, want := range []string{
		"envelope.created", "document.added", "signer.added", "field.added", "envelope.sent", "invitation.sent", "signer.viewed", "consent.given",
		"page_viewed", "signer.signed", "document.sealed", "envelope.completed",
	} {
		require.Contains(t, names, want)
	}
	s.app().post(t, "/v1/envelopes/"+e.str("id")+"/void", nil).want(t, 400)
}

func checkDeclines(t *testing.T, s *target) {
	e, links := s.sent(t, s.contract())
	nobody, at := &client{s: s}, "/v1/signing/"+links[0]
	require.Equal(t, "declined", nobody.post(t, at+"/decline", object{"reason": "no"}).want(t, 200).str("envelopeStatus"))
	nobody.post(t, at+"/decline", nil).want(t, 409)
	nobody.get(t, at).want(t, 410)
	require.Equal(t, "declined", s.app().get(t, "/v1/envelopes/"+e.str("id")).str("status"))
}

func checkCodes(t *testing.T, s *target) {
	if s.InboxURL == "" {
		return
	}
	to := "code-" + uuid.NewString() + "@example.com"
	data := s.contract()
	data["signers"] = []object{{"name": "Cleo", "email": to}}
	_, links := s.sent(t, data)
	nobody, at := &client{s: s}, "/v1/signing/"+links[0]
	require.Equal(t, true, nobody.get(t, at).want(t, 200).body["requiresOtpVerification"])
	nobody.post(t, at+"/consent", nil).want(t, 401)
	require.Contains(t, nobody.post(t, at+"/otp/request", nil).want(t, 200).str("maskedEmail"), "***@example.com")
	nobody.post(t, at+"/otp/verify", object{"code": "12345"}).want(t, 400)
	code := ""
	require.Eventually(t, func() bool {
		for _, m := range s.mails(t, to) {
			if c := regexp.MustCompile(`\b\d{6}\b`).FindString(m.Text); c != "" {
				code = c
				return true
			}
		}
		return false
	}, waitTimeout, 50*time.Millisecond)
	wrong := "000000"
	if code == wrong {
		wrong = "111111"
	}
	nobody.post(t, at+"/otp/verify", object{"code": wrong}).want(t, 400)
	require.Equal(t, true, nobody.post(t, at+"/otp/verify", object{"code": code}).want(t, 200).body["verified"])
	nobody.post(t, at+"/consent", nil).want(t, 200)
	for range 4 {
		nobody.post(t, at+"/otp/request", nil).want(t, 200)
	}
	require.NotEmpty(t, nobody.post(t, at+"/otp/request", nil).want(t, 429).header.Get("Retry-After"))
}

func checkDocuments(t *testing.T, s *target) {
	e := s.create(t, s.contract())
	second := s.app().multipart(t, "/v1/console/envelopes/"+e.str("id")+"/documents", nil, kit.OnePage()).want(t, 201)
	require.EqualValues(t, 2, second.body["document_order"])
	full := s.app().get(t, "/v1/envelopes/"+e.str("id")).want(t, 200)
	one := full.item("documents", 0)["sha256"].(string)
	sum := sha256.Sum256([]byte(one + second.str("sha256")))
	require.Equal(t, hex.EncodeToString(sum[:]), full.str("documentHashOriginal"))
	got := s.app().get(t, "/v1/envelopes/"+e.str("id")+"/document?documentId="+second.str("id")).want(t, 200)
	require.Equal(t, kit.OnePage(), got.raw)
}

func checkPortal(t *testing.T, s *target) {
	nobody := &client{s: s}
	nobody.get(t, "/v1/download/x").want(t, 401)
	nobody.get(t, "/v1/download/x/document").want(t, 401)
	if s.InboxURL == "" || s.sinkHost != "127.0.0.1" {
		return // the attachment limit depends on the deployment
	}
	to := "portal-" + uuid.NewString() + "@example.com"
	data := s.contract()
	data["signers"] = []object{{"name": "Pia", "email": to, "authMethod": "none"}}
	e, links := s.sent(t, data)
	s.signs(t, links[0])
	s.completed(t, e.str("id"))
	at := "/v1/download/" + s.mailedLink(t, to, "/download/")
	require.Equal(t, true, nobody.get(t, at).want(t, 200).body["available"])
	require.NotEmpty(t, nobody.get(t, at+"/pages/2/text").want(t, 200).body["words"], "pages of the certificate")
	require.Equal(t, "image/png", nobody.get(t, at+"/pages/1").want(t, 200).header.Get("Content-Type"))
	require.Equal(t, "%PDF", string(nobody.get(t, at+"/document").want(t, 200).raw[:4]))
	log := s.app().get(t, "/v1/envelopes/"+e.str("id")).body["auditLog"].([]any)
	require.Equal(t, "document.downloaded", log[len(log)-1].(object)["event"])
}

func checkWebhooks(t *testing.T, s *target) {
	c := s.app()
	for _, bad := range []object{
		{"events": []string{"envelope.sent"}},
		{"url": "https://example.com", "events": []string{}},
		{"url": "https://example.com", "events": []string{"x"}},
		{"url": "ftp://example.com", "events": []string{"envelope.sent"}},
	} {
		c.post(t, "/v1/webhooks", bad).rejected(t, 400, "validation_error")
	}
	if s.sinkHost == "" {
		hook := c.post(t, "/v1/webhooks", object{"url": "https://example.com/hook", "events": []string{"signer.otp_failed"}}).want(t, 201)
		c.call(t, http.MethodDelete, "/v1/webhooks/"+hook.str("id"), nil).want(t, 204)
		return
	}
	type post struct {
		header http.Header
		body   []byte
	}
	var mu sync.Mutex
	var got []post
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	require.NoError(t, err)
	sink := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, post{r.Header, b})
	}))
	require.NoError(t, sink.Listener.Close())
	sink.Listener = listener
	sink.Start()
	t.Cleanup(sink.Close)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	events := []string{"envelope.created", "envelope.sent", "envelope.voided", "signer.viewed"}
	hook := c.post(t, "/v1/webhooks", object{"url": "http://" + net.JoinHostPort(s.sinkHost, port), "events": events, "secret": "conformance secret"}).want(t, 201)
	require.NotContains(t, string(hook.raw), "conformance secret")
	e, links := s.sent(t, s.contract())
	(&client{s: s}).get(t, "/v1/signing/"+links[0]).want(t, 200)
	c.post(t, "/v1/envelopes/"+e.str("id")+"/void", nil).want(t, 200)
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(got) >= len(events) }, waitTimeout, 50*time.Millisecond)
	seen := map[string]object{}
	mu.Lock()
	for _, p := range got {
		m := hmac.New(sha256.New, []byte("conformance secret"))
		m.Write(p.body)
		require.Equal(t, "sha256="+hex.EncodeToString(m.Sum(nil)), p.header.Get("X-Service-Signature"))
		for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
			require.NotEmpty(t, p.header.Get(name))
		}
		var o object
		require.NoError(t, json.Unmarshal(p.body, &o))
		require.Equal(t, o["id"], p.header.Get("Webhook-Id"))
		require.Equal(t, o["envelopeId"], o["data"].(object)["envelopeId"], "nested and flat form fields in one request")
		seen[o["event"].(string)] = o
	}
	mu.Unlock()
	for _, name := range events {
		require.Contains(t, seen, name)
	}
	id := hook.str("id")
	c.post(t, "/v1/console/webhooks/"+id+"/ping", nil).want(t, 202)
	var delivered object
	require.Eventually(t, func() bool {
		list := c.get(t, "/v1/console/webhook-deliveries?status=delivered&webhookId="+id)
		if list.body["total"].(float64) < 5 {
			return false
		}
		delivered = list.item("data", 0)
		return true
	}, waitTimeout, 100*time.Millisecond)
	one := c.get(t, "/v1/console/webhook-deliveries/"+delivered["id"].(string)).want(t, 200)
	require.EqualValues(t, 200, one.item("attemptLog", 0)["status"])
	again := c.post(t, "/v1/console/webhook-deliveries/"+delivered["id"].(string)+"/resend", nil).want(t, 202)
	require.Equal(t, one.str("eventId"), again.str("eventId"))
	require.Eventually(t, func() bool {
		return len(c.get(t, "/v1/console/webhook-deliveries/"+delivered["id"].(string)).body["attemptLog"].([]any)) == 2
	}, waitTimeout, 100*time.Millisecond)
	require.Contains(t, string(c.get(t, "/v1/webhooks").want(t, 200).raw), id)
	at := "/v1/console/webhooks/" + id
	require.Equal(t, false, c.post(t, at+"/pause", nil).want(t, 200).body["active"])
	c.post(t, at+"/ping", nil).rejected(t, 409, "webhook_inactive")
	require.Equal(t, true, c.post(t, at+"/resume", nil).want(t, 200).body["active"])
	rotated := c.post(t, at+"/secret", object{"secret": nil, "overlapHours": 1}).want(t, 200)
	require.Equal(t, "client_secret", rotated.str("signedWith"))
	require.NotNil(t, rotated.body["previousSecretUntil"])
	require.Contains(t, string(c.get(t, "/v1/console/webhooks").want(t, 200).raw), id)
	made := "/v1/console/webhooks/" + c.post(t, "/v1/console/webhooks", object{"url": "https://example.com/a", "events": []string{"envelope.sent"}}).want(t, 201).str("id")
	require.Equal(t, "https://example.com/b", c.call(t, http.MethodPatch, made, object{"url": "https://example.com/b"}).want(t, 200).str("url"))
	c.call(t, http.MethodDelete, made, nil).want(t, 204)
	require.EqualValues(t, 0, c.post(t, at+"/resend", object{"since": "2026-01-01T00:00:00Z"}).want(t, 202).body["resent"], "nothing failed")
	c.call(t, http.MethodDelete, "/v1/webhooks/"+id, nil).want(t, 204)
	c.call(t, http.MethodDelete, "/v1/webhooks/"+id, nil).rejected(t, 404, "not_found")
}

func checkConsole(t *testing.T, s *target) {
	c := s.app()
	email := uuid.NewString() + "@example.com"
	one := c.post(t, "/v1/console/contacts", object{"name": "Zoë", "email": email}).want(t, 200)
	two := c.post(t, "/v1/console/contacts", object{"name": "Zoë Q", "email": strings.ToUpper(email)}).want(t, 200)
	require.Equal(t, one.str("id"), two.str("id"))
	require.Len(t, c.get(t, "/v1/console/contacts?search="+strings.ToUpper(email[:20])).want(t, 200).list, 1)
	c.call(t, http.MethodDelete, "/v1/console/contacts/"+one.str("id"), nil).want(t, 204)
	usage := c.get(t, "/v1/console/usage").want(t, 200)
	require.Contains(t, []string{"pro", "enterprise"}, usage.str("plan"), "the suite requires several documents per envelope")
	e, _ := s.sent(t, s.contract())
	at := "/v1/console/envelopes/" + e.str("id")
	require.Eventually(t, func() bool {
		progress := c.get(t, "/v1/envelopes/"+e.str("id")+"/progress")
		return progress.str("step") == "waiting" && progress.str("answeredBy") == "workflow"
	}, waitTimeout, 100*time.Millisecond)
	c.get(t, at).want(t, 200)
	c.get(t, "/v1/console/home?tenantId="+url.QueryEscape(s.tenant)).want(t, 200)
	require.NotContains(t, string(c.get(t, "/v1/console/problems").want(t, 200).raw), e.str("id"), "no delivery has failed")
	c.post(t, at+"/restart", nil).rejected(t, 409, "workflow_running")
	require.Len(t, c.pages(t, "/v1/console/envelopes?tenantId="+s.tenant+"&search="+url.QueryEscape(e.str("id"))), 1)
	tenant := url.QueryEscape(s.tenant + "-settings")
	set := c.call(t, http.MethodPut, "/v1/console/settings?tenantId="+tenant, object{"defaultExpiryDays": 9}).want(t, 200)
	require.EqualValues(t, 9, set.body["effective"].(object)["defaultExpiryDays"])
	require.Equal(t, set.body["effective"], c.get(t, "/v1/console/settings?tenantId="+tenant).want(t, 200).body["effective"])
	require.Equal(t, kit.OnePage(), c.get(t, at+"/document").want(t, 200).raw)
	require.Nil(t, c.get(t, "/v1/console/me").want(t, 200).body["user"], "the token belongs to the app itself")
	password := "conformance " + uuid.NewString()[:8]
	user := c.post(t, "/v1/console/users", object{"email": email, "name": "Zoë", "password": password, "role": "viewer"}).want(t, 201)
	login := (&client{s: s}).post(t, "/v1/console/login", object{"email": email, "password": password}).want(t, 200)
	viewer := &client{s: s, token: login.str("access_token")}
	checkProvider(t, s, viewer, password)
	checkPasskeys(t, s, viewer, email, password)
	password = checkAccount(t, s, c, viewer, email, password)
	login = (&client{s: s}).post(t, "/v1/console/login", object{"email": email, "password": password}).want(t, 200)
	viewer = &client{s: s, token: login.str("access_token")}
	require.Equal(t, user.str("id"), viewer.get(t, "/v1/console/me").want(t, 200).body["user"].(object)["id"])
	require.Contains(t, string(c.get(t, "/v1/console/users").want(t, 200).raw), user.str("id"))
	if login.body["mustEnrol"] == true { // the deployment requires the second factor that was removed
		viewer.get(t, at).rejected(t, 403, "second_factor_required")
	} else {
		viewer.get(t, at).want(t, 200)
		viewer.post(t, at+"/void", nil).rejected(t, 403, "role_forbidden")
	}
	viewer.get(t, "/v1/webhooks").want(t, 401)
	checkAdministration(t, s, c, user.str("id"), email)
	c.call(t, http.MethodDelete, "/v1/console/users/"+user.str("id"), nil).want(t, 204)
	signer := e.item("signers", 0)["id"].(string)
	c.post(t, at+"/signers/"+signer+"/resend", nil).want(t, 202)
	require.Equal(t, "voided", c.post(t, at+"/void", object{"reason": "done"}).want(t, 200).str("status"))
}

// checkProvider checks the responses that do not require a person to sign in through the provider. A deployment may
// have no provider.
func checkProvider(t *testing.T, s *target, viewer *client, password string) {
	t.Helper()
	nobody := &client{s: s}
	answer := object{"code": "made up", "state": "made up"}
	if nobody.get(t, "/v1/console/sign-in").want(t, 200).body["provider"] == nil {
		nobody.post(t, "/v1/console/provider/begin", object{}).rejected(t, 404, "not_found")
		nobody.post(t, "/v1/console/provider/complete", answer).rejected(t, 404, "not_found")
		viewer.post(t, "/v1/console/provider/connect", object{"password": password}).rejected(t, 404, "not_found")
		return
	}
	nobody.post(t, "/v1/console/provider/begin", object{}).want(t, 200)
	nobody.post(t, "/v1/console/provider/complete", answer).rejected(t, 401, "sign_in_expired")
}

// checkPasskeys checks the responses that do not require an authenticator.
func checkPasskeys(t *testing.T, s *target, viewer *client, email, password string) {
	t.Helper()
	nobody := &client{s: s}
	const at = "/v1/console/passkeys"
	require.Empty(t, viewer.get(t, at).want(t, 200).list)
	nobody.post(t, at+"/challenge", object{"email": email, "password": password}).rejected(t, 409, "passkey_none")
	if nobody.get(t, "/v1/console/sign-in").want(t, 200).body["passkeys"] == true {
		require.NotEmpty(t, viewer.post(t, at+"/begin", object{"password": password}).want(t, 200).str("ceremony"))
	} else {
		viewer.post(t, at+"/begin", object{"password": password}).rejected(t, 409, "passkeys_unavailable")
	}
	viewer.post(t, at+"/"+uuid.NewString()+"/remove", object{"password": password}).rejected(t, 404, "not_found")
}

// checkAdministration performs an administrator's operations on users and the app. It replaces the app's secret only if
// the suite has started the service, because the secret in the suite's configuration would otherwise become invalid.
func checkAdministration(t *testing.T, s *target, c *client, user, email string) {
	t.Helper()
	const at = "/v1/console"
	require.Equal(t, "admin", c.call(t, http.MethodPatch, at+"/users/"+user, object{"role": "admin"}).want(t, 200).str("role"))
	password := "administers " + uuid.NewString()[:8]
	c.post(t, at+"/users/"+user+"/password", object{"newPassword": password}).want(t, 204)
	name := c.get(t, at+"/app").want(t, 200).str("name")
	require.Equal(t, name, c.call(t, http.MethodPatch, at+"/app", object{"name": name}).want(t, 200).str("name"))
	require.NotEmpty(t, c.get(t, at+"/client-secrets").want(t, 200).list)
	login := (&client{s: s}).post(t, at+"/login", object{"email": email, "password": password}).want(t, 200)
	admin := &client{s: s, token: login.str("access_token")}
	checkNotifications(t, s, admin, email)
	if os.Getenv("BASE_URL") != "" {
		return
	}
	before := admin.get(t, at+"/client-secrets").want(t, 200).list[0].(object)["id"].(string)
	s.ClientSecret = admin.post(t, at+"/client-secrets", object{"password": password, "overlapHours": 1}).want(t, 201).str("clientSecret")
	admin.post(t, at+"/client-secrets/"+before+"/end", object{"password": password}).want(t, 204)
}

// checkNotifications sends an envelope as a console user and declines it. The user receives a notification by email,
// and unsubscribes with the link in it.
func checkNotifications(t *testing.T, s *target, user *client, email string) {
	t.Helper()
	const at = "/v1/console/me/notifications"
	require.Equal(t, email, user.get(t, at).want(t, 200).str("email"))
	require.Equal(t, "immediate", user.call(t, http.MethodPut, at, object{"frequency": "immediate"}).want(t, 200).str("frequency"))
	if s.InboxURL == "" {
		return
	}
	b, err := json.Marshal(s.contract())
	require.NoError(t, err)
	e := user.multipart(t, "/v1/envelopes", map[string]string{"data": string(b)}, kit.OnePage()).want(t, 201)
	link := user.post(t, "/v1/envelopes/"+e.str("id")+"/send", nil).want(t, 200).item("signers", 0)["signingUrl"].(string)
	to := e.item("signers", 0)
	suggested := user.get(t, "/v1/console/recipients?tenantId="+url.QueryEscape(s.tenant)+"&search="+url.QueryEscape(to["email"].(string))).want(t, 200)
	require.Equal(t, []any{map[string]any{"name": to["name"], "email": to["email"], "phone": to["phone"]}}, suggested.list)
	nobody := &client{s: s}
	nobody.post(t, "/v1/signing/"+link[strings.LastIndex(link, "/")+1:]+"/decline", nil).want(t, 200)
	token := s.mailedLink(t, email, "/unsubscribe/")
	nobody.get(t, "/unsubscribe/"+token).want(t, 200)
	require.Equal(t, "immediate", user.get(t, at).want(t, 200).str("frequency"), "opening the page changes nothing")
	nobody.send(t, http.MethodPost, "/unsubscribe/"+token, "application/x-www-form-urlencoded", []byte("List-Unsubscribe=One-Click")).want(t, 204)
	require.Equal(t, "never", user.get(t, at).want(t, 200).str("frequency"))
}

// checkAccount performs all operations of a console user on their own account, and returns its final password.
func checkAccount(t *testing.T, s *target, app, user *client, email, password string) (fresh string) {
	t.Helper()
	const at = "/v1/console"
	id := user.get(t, at+"/me").want(t, 200).body["user"].(object)["id"].(string)
	require.Equal(t, false, user.get(t, at+"/totp").want(t, 200).body["active"])
	secret := user.post(t, at+"/totp", object{"password": password}).want(t, 201).str("secret")
	code, err := totp.GenerateCode(secret, time.Now())
	require.NoError(t, err)
	codes := user.post(t, at+"/totp/confirm", object{"code": code}).want(t, 200).body["recoveryCodes"].([]any)
	codes = user.post(t, at+"/totp/recovery-codes", object{"password": password, "code": codes[0]}).want(t, 200).body["recoveryCodes"].([]any)
	nobody := &client{s: s}
	nobody.post(t, at+"/login", object{"email": email, "password": password}).rejected(t, 401, "code_required")
	other := &client{s: s, token: nobody.post(t, at+"/login", object{"email": email, "password": password, "code": codes[1]}).want(t, 200).str("access_token")}
	require.Contains(t, string(user.get(t, at+"/sessions").want(t, 200).raw), `"current":true`)
	user.post(t, at+"/sessions/end", object{"password": password, "code": codes[2]}).want(t, 204)
	other.get(t, at+"/me").want(t, 401)
	fresh = "once more " + password
	user.post(t, at+"/password", object{"password": password, "newPassword": fresh, "code": codes[3]}).want(t, 204)
	user.post(t, at+"/totp/remove", object{"password": fresh, "code": codes[4]}).want(t, 204)
	user.post(t, at+"/logout", nil).want(t, 204)
	user.get(t, at+"/me").want(t, 401)
	app.call(t, http.MethodDelete, at+"/users/"+id+"/totp", nil).want(t, 204)
	app.call(t, http.MethodDelete, at+"/users/"+id+"/sessions", nil).want(t, 204)
	return fresh
}

func checkEmbedded(t *testing.T, s *target) {
	c, nobody := s.app(), &client{s: s}
	e, _ := s.sent(t, s.contract())
	in := object{
		"tenantId": s.tenant, "envelopeId": e.str("id"), "signerId": e.item("signers", 0)["id"], "allowedOrigin": "https://app.example.com",
		"theme": object{"primaryColor": "#1a56db", "other": true},
	}
	session := c.post(t, "/v1/embedded/signing-sessions", in).want(t, 201)
	page := nobody.get(t, "/embed/"+session.str("sessionToken")).want(t, 200)
	require.Contains(t, page.header.Get("Content-Security-Policy"), "frame-ancestors https://app.example.com")
	open := nobody.get(t, "/v1/embedded/sessions/"+session.str("sessionToken")).want(t, 200)
	s.signs(t, open.str("signingToken"))
	nobody.get(t, "/v1/embedded/sessions/"+session.str("sessionToken")).rejected(t, 410, "session_completed")
	c.post(t, "/v1/embedded/signing-sessions", in).want(t, 409)
	e, _ = s.sent(t, s.contract())
	in["envelopeId"], in["signerId"] = e.str("id"), e.item("signers", 0)["id"]
	revoked := c.post(t, "/v1/embedded/signing-sessions", in).want(t, 201)
	c.call(t, http.MethodDelete, "/v1/embedded/signing-sessions/"+revoked.str("sessionId"), nil).want(t, 204)
	nobody.get(t, "/v1/embedded/sessions/"+revoked.str("sessionToken")).rejected(t, 401, "session_invalid")
	in["allowedOrigin"] = "http://app.example.com"
	c.post(t, "/v1/embedded/signing-sessions", in).rejected(t, 400, "validation_error")
	checkBuilder(t, s)
}

// checkBuilder prepares a draft in the same way as the page of a builder session.
func checkBuilder(t *testing.T, s *target) {
	t.Helper()
	c, nobody := s.app(), &client{s: s}
	e := s.create(t, s.contract())
	in := object{"tenantId": e.str("tenantId"), "envelopeId": e.str("id"), "allowedOrigin": "https://app.example.com"}
	session := c.post(t, "/v1/embedded/builder-sessions", in).want(t, 201)
	open := nobody.get(t, "/v1/embedded/builders/"+session.str("sessionToken")).want(t, 200)
	require.Equal(t, e.str("id"), open.str("envelopeId"))
	c.call(t, http.MethodDelete, "/v1/embedded/builder-sessions/"+session.str("sessionId"), nil).want(t, 204)
	nobody.get(t, "/v1/embedded/builders/"+session.str("sessionToken")).rejected(t, 401, "session_invalid")
}

func checkIdempotency(t *testing.T, s *target) {
	c := s.app()
	c.key = uuid.NewString()
	body := object{"tenantId": s.tenant, "signers": []object{{"name": "A", "email": "a@example.com"}}}
	first := c.post(t, "/v1/envelopes", body).want(t, 201)
	again := c.post(t, "/v1/envelopes", body).want(t, 201)
	require.Equal(t, first.raw, again.raw)
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	body["subject"] = "other"
	c.post(t, "/v1/envelopes", body).rejected(t, 422, "idempotency_key_reused")
}

func checkErrorShapes(t *testing.T, s *target) {
	c := s.app()
	a := c.post(t, "/v1/envelopes", object{"tenantId": 7, "signers": []object{{"name": "A", "email": "nobody"}}}).rejected(t, 400, "validation_error")
	errors := a.body["errors"].(object)
	require.Contains(t, errors, "tenantId")
	require.Contains(t, errors, "signers[0].email")
	require.Contains(t, a.header.Get("Content-Type"), "application/json")
	c.head = map[string]string{"Accept": "application/problem+json"}
	require.Contains(t, c.get(t, "/v1/nothing").want(t, 404).header.Get("Content-Type"), "application/problem+json")
}

func checkVerification(t *testing.T, s *target) {
	nobody := &client{s: s}
	require.Equal(t, "not_sealed", nobody.send(t, http.MethodPost, "/v1/verify", "application/pdf", kit.OnePage()).want(t, 200).str("verdict"))
	nobody.send(t, http.MethodPost, "/v1/verify", "text/plain", []byte("x")).want(t, 400)
}

// showsPages retrieves the first page of a document as an image and as text. If the caller can place fields, it also
// retrieves the lines on the page.
func showsPages(t *testing.T, c *client, document string) {
	t.Helper()
	picture := c.get(t, document+"/pages/1").want(t, 200)
	require.Equal(t, "image/png", picture.header.Get("Content-Type"))
	require.NotEmpty(t, picture.header.Get("X-Appearance-SHA256"))
	require.NotEmpty(t, c.get(t, document+"/pages/1/text").want(t, 200).body["words"])
	if !strings.HasPrefix(document, "/v1/signing/") { // signers cannot place fields
		require.Contains(t, c.get(t, document+"/pages/1/lines").want(t, 200).body, "horizontal")
	}
}

func checkPages(t *testing.T, s *target) {
	nobody := &client{s: s}
	for _, path := range []string{"/docs", "/sign/x", "/download/x", "/verify"} {
		a := nobody.get(t, path).want(t, 200)
		require.Contains(t, a.header.Get("Content-Type"), "text/html", path)
		require.Contains(t, a.header.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
		require.Equal(t, "no-referrer", a.header.Get("Referrer-Policy"), path)
	}
	require.NotEmpty(t, nobody.get(t, "/.well-known/jwks.json").want(t, 200).body["keys"])
	require.Equal(t, "ok", nobody.get(t, "/healthz").want(t, 200).str("status"))
	require.Equal(t, "ok", nobody.get(t, "/readyz").want(t, 200).str("database"))
}

type mail struct {
	Text  string   `json:"text"`
	Links []string `json:"links"`
}

// mails returns the emails to an address, newest first.
func (s *target) mails(t *testing.T, to string) []mail {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.InboxURL+"/api/messages?to="+url.QueryEscape(to), nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var out []mail
	require.NoError(t, json.NewDecoder(res.Body).Decode(&out))
	return out
}

// mailedLink waits for an email to an address, and returns the token of its newest link of the given kind.
func (s *target) mailedLink(t *testing.T, to, kind string) string {
	t.Helper()
	token := ""
	require.Eventually(t, func() bool {
		for _, m := range s.mails(t, to) {
			for _, link := range m.Links {
				if _, after, ok := strings.Cut(link, kind); ok {
					token = after
					return true
				}
			}
		}
		return false
	}, waitTimeout, 50*time.Millisecond)
	return token
}
