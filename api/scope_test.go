package api_test

import (
	"encoding/base64"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/credential"
	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// TestATenantsLimitHoldsWithEveryFilter: whatever else is asked for.
func TestATenantsLimitHoldsWithEveryFilter(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		var foreign *answer
		for _, tenant := range []string{"globex", "acme", "globex", "initech"} {
			data := contract()
			data["tenantId"] = tenant
			e, _ := c.sent(data)
			if tenant == "globex" {
				foreign = e
			}
			_, err := s.store.BeginMail(t.Context(), models.Mail{ID: "mail-" + e.str("id"), EnvelopeID: id(e), SignerID: uuid.MustParse(e.signer(0)["id"].(string)), Kind: models.MailInvitation})
			require.NoError(t, err)
			require.NoError(t, s.store.MailFailed(t.Context(), "mail-"+e.str("id"), "no such mailbox"))
		}
		s.limit(t, "acme")
		s.clock.advance(time.Second) // a change of an app holds after a second
		person := s.person(t, models.RoleAdmin)
		day := url.QueryEscape(s.clock.now().Add(-24 * time.Hour).Format(time.RFC3339))
		next := url.QueryEscape(s.clock.now().Add(24 * time.Hour).Format(time.RFC3339))
		filters := []string{"", "&search=contract", "&search=ada", "&search=ada@example.com", "&search=example.com", "&status=sent", "&undelivered=true", "&createdAfter=" + day, "&createdBefore=" + next}
		for _, caller := range []*client{c, person} {
			for _, one := range filters {
				for _, two := range filters {
					if one == two && one != "" || strings.HasPrefix(one, "&search") && strings.HasPrefix(two, "&search") {
						continue
					}
					at := "/v1/console/envelopes?tenantId=acme" + one + two
					a := caller.get(at).want(200)
					require.EqualValues(t, 1, a.body["total"], at)
					require.Len(t, a.body["data"], 1, at)
					require.Equal(t, "acme", a.body["data"].([]any)[0].(object)["tenantId"], at)
					caller.get("/v1/console/envelopes?tenantId=globex"+one+two).refused(403, "tenant_forbidden")
					caller.get("/v1/console/envelopes?page=1"+one+two).refused(400, "validation_error")
				}
			}
			require.EqualValues(t, 0, caller.get("/v1/console/envelopes?tenantId=acme&search=" + foreign.str("id")).want(200).body["total"])
			for _, path := range []string{"", "/document"} {
				caller.get("/v1/console/envelopes/"+foreign.str("id")+path).refused(404, "not_found")
			}
			caller.get("/v1/envelopes/"+foreign.str("id")+"/progress").refused(404, "not_found")
			caller.post("/v1/console/envelopes/"+foreign.str("id")+"/void", nil).refused(404, "not_found")
			caller.post("/v1/console/envelopes/"+foreign.str("id")+"/signers/"+foreign.signer(0)["id"].(string)+"/resend", nil).refused(404, "not_found")
		}
		for _, status := range []string{"", "&status=sent"} {
			require.EqualValues(t, 1, c.get("/v1/envelopes?tenantId=acme" + status).want(200).body["total"])
			c.get("/v1/envelopes?tenantId=globex"+status).refused(403, "tenant_forbidden")
		}
		c.get("/v1/envelopes/"+foreign.str("id")).refused(404, "not_found")
	})
}

// TestDeliveriesOfOtherTenants: an app that was restricted to some tenants neither sees nor resends deliveries of others, and its
// endpoints are told of nothing new that happens there.
func TestDeliveriesOfOtherTenants(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/hook", "events": []string{"envelope.sent", "envelope.voided", "signer.signed"}, "include": []string{"values"}}).want(201)
		sent := func(tenant string) *answer {
			data := contract()
			data["tenantId"] = tenant
			e, _ := c.sent(data)
			return e
		}
		own, foreign, pending := sent("acme"), sent("globex"), sent("globex")
		ping := c.post("/v1/webhooks/"+hook.str("id")+"/test", nil).want(202)
		all, _, err := s.store.Deliveries(t.Context(), store.DeliveryFilter{App: s.app.ID, Page: 1, Size: 100})
		require.NoError(t, err)
		require.Len(t, all, 4)
		byEnvelope := make(map[uuid.UUID]string)
		for _, d := range all {
			byEnvelope[d.EnvelopeID] = d.ID.String()
			if d.EnvelopeID == id(pending) {
				continue
			}
			_, err := s.store.RecordAttempt(t.Context(), models.DeliveryAttempt{DeliveryID: d.ID, At: s.clock.now(), Status: 500}, models.DeliveryOutcome{WebhookID: d.WebhookID, Last: true})
			require.NoError(t, err)
		}

		s.limit(t, "acme", "initech")
		s.clock.advance(time.Second) // a change of an app holds after a second
		since := object{"since": s.clock.now().Add(-time.Hour).Format(time.RFC3339)}
		for _, caller := range []*client{c, s.person(t, models.RoleAdmin)} {
			list := caller.get("/v1/console/webhook-deliveries").want(200)
			require.EqualValues(t, 2, list.body["total"])
			require.Len(t, rowsOf(list), 2)
			require.NotContains(t, string(list.raw), foreign.str("id"))
			for _, filter := range []string{"envelopeId=" + foreign.str("id"), "status=pending"} {
				require.Empty(t, rowsOf(caller.get("/v1/console/webhook-deliveries?"+filter).want(200)), filter)
			}
			require.Len(t, rowsOf(caller.get("/v1/console/webhook-deliveries?envelopeId="+own.str("id")).want(200)), 1)
			for _, delivery := range []string{byEnvelope[id(own)], ping.str("id")} {
				caller.get("/v1/console/webhook-deliveries/" + delivery).want(200)
			}
			for _, e := range []*answer{foreign, pending} {
				caller.get("/v1/console/webhook-deliveries/"+byEnvelope[id(e)]).refused(404, "not_found")
				caller.post("/v1/console/webhook-deliveries/"+byEnvelope[id(e)]+"/resend", nil).refused(404, "not_found")
			}
		}
		again := c.post("/v1/console/webhooks/"+hook.str("id")+"/resend", since).want(202)
		require.EqualValues(t, 2, again.body["resent"])
		require.EqualValues(t, 0, again.body["remaining"])
		_, err = s.store.DeliveryJob(t.Context(), uuid.MustParse(byEnvelope[id(pending)]))
		require.NoError(t, err, "what was on its way goes on")

		for _, e := range []*answer{own, foreign} {
			_, err := s.store.Change(t.Context(), s.app.ID, id(e), func(e *models.Envelope) error { return e.Void(s.act("system"), nil) })
			require.NoError(t, err)
		}
		voided, _, err := s.store.Deliveries(t.Context(), store.DeliveryFilter{App: s.app.ID, Event: models.EventEnvelopeVoided, Page: 1, Size: 100})
		require.NoError(t, err)
		require.Len(t, voided, 1)
		require.Equal(t, id(own), voided[0].EnvelopeID)

		s.limit(t) // to none
		s.clock.advance(time.Second)
		require.EqualValues(t, 5, c.get("/v1/console/webhook-deliveries").want(200).body["total"])
		require.Contains(t, string(c.get("/v1/events?event=envelope.voided").want(200).raw), foreign.str("id"), "what it was not told it can read")
	})
}

// TestASavedSignatureStaysInItsApp: the same person, tenant and proof at another
// app are offered nothing.
func TestASavedSignatureStaysInItsApp(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		data := contract()
		data["signers"] = []object{{"name": "Ada", "email": "ada@example.com"}}
		data["fields"] = []object{{"signerId": "0", "type": "signature", "page": 1, "x": 1, "y": 1, "w": 90, "h": 30}}
		nobody := &client{t: t, s: s}
		open := func(c *client) (*client, string) {
			_, token := c.sent(data)
			return nobody.binds("/v1/signing/" + token), "/v1/signing/" + token
		}
		own, foreign := s.client(t), s.other(t)
		signer, at := open(own)
		field := signer.get(at).want(200).body["fields"].([]any)[0].(object)["id"]
		signer.post(at+"/consent", nil).want(200)
		signer.post(at+"/sign", object{"fields": []object{{"fieldId": field, "signatureImageBase64": base64.StdEncoding.EncodeToString(testkit.Signature())}}}).want(200)
		signer, at = open(foreign)
		require.Nil(t, signer.get(at).want(200).body["savedSignatureB64"])
		signer, at = open(own)
		require.NotNil(t, signer.get(at).want(200).body["savedSignatureB64"])
		require.Nil(t, nobody.get(at).want(200).body["savedSignatureB64"], "who has not confirmed")
	})
}

// TestASignerIsGivenTheirOwnFields: and may fill no others.
func TestASignerIsGivenTheirOwnFields(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	data := contract()
	data["signers"] = []object{{"name": "Ada", "email": "ada@example.com", "authMethod": "none"}, {"name": "Grace", "email": "grace@example.com", "authMethod": "none"}}
	field := func(signer string, y int) object {
		return object{"signerId": signer, "type": "text", "page": 1, "x": 50, "y": y, "w": 100, "h": 20}
	}
	data["fields"] = []object{field("0", 50), field("1", 100), field("0", 150)}
	e, token := c.sent(data)
	at := "/v1/signing/" + token
	var got []any
	for _, f := range c.get(at).want(200).body["fields"].([]any) {
		got = append(got, f.(object)["id"])
	}
	require.Equal(t, []any{e.field(0)["id"], e.field(2)["id"]}, got)
	c.post(at+"/sign", object{"fields": []object{entry(e, 0, "a"), entry(e, 2, "b")}}).refused(401, "consent_required")
	c.post(at+"/consent", nil).want(200)
	refused := c.post(at+"/sign", object{"fields": []object{entry(e, 0, "a"), entry(e, 1, "hers"), entry(e, 2, "b")}}).refused(400, "validation_error")
	require.Len(t, refused.body["errors"], 1)
	require.Contains(t, refused.body["errors"], "fields[1].fieldId")
	c.post(at+"/sign", object{"fields": []object{entry(e, 0, "a"), entry(e, 2, "b")}}).want(200)
}

// TestAReceiptIsForASignature: before it, and for who declined, there is none.
func TestAReceiptIsForASignature(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	receipt := func(e *answer) string {
		token, err := s.cfg.Tokens.IssueReceipt(signerLinkOf(s, e))
		require.NoError(t, err)
		return "/v1/receipts/" + token
	}
	e, token := c.sent(contract())
	nobody.get(receipt(e)).refused(401, "receipt_invalid")
	nobody.get("/v1/signing/" + token).want(200)
	nobody.get(receipt(e)).refused(401, "receipt_invalid")
	early := receipt(e)
	c.signs(e, token)
	nobody.get(early).want(200)

	e, token = c.sent(contract())
	nobody.post("/v1/signing/"+token+"/decline", nil).want(200)
	nobody.get(receipt(e)).refused(401, "receipt_invalid")
}

// TestDownloadsAreNamedForEveryClient: whatever the subject has in it, the header
// is one that can be read, and the name is one that can be saved under.
func TestDownloadsAreNamedForEveryClient(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	for subject, want := range map[string]string{
		`Say "hi"; filename="evil.exe"`: `Say _hi_; filename=_evil.exe_.pdf`, `C:\x\..\y`: `C__x_.._y.pdf`, `100% "done" ünïcode 契約 👩‍⚖️`: `100% _done_ ünïcode 契約 👩‍⚖️.pdf`,
		`a%22b`: `a%22b.pdf`, `x'y(z)`: `x'y(z).pdf`,
	} {
		data := contract()
		data["subject"] = subject
		e := c.draft(data)
		header := c.get("/v1/envelopes/" + e.str("id") + "/document").want(200).header.Get("Content-Disposition")
		_, params, err := mime.ParseMediaType(header)
		require.NoError(t, err, header)
		require.Equal(t, want, params["filename"], header)
		for _, r := range header {
			require.True(t, r >= ' ' && r <= '~', header)
		}
		plain, _, _ := strings.Cut(header, "; filename*=") // for clients that know no other form
		_, params, err = mime.ParseMediaType(plain)
		require.NoError(t, err, header)
		require.Len(t, params["filename"], utf8.RuneCountInString(want), header)
	}
}

// TestAKeyIsOfOneQuery: the same body with another query is another request.
func TestAKeyIsOfOneQuery(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t).with("Idempotency-Key", "k")
	hook := object{"url": "https://example.com/a", "events": []string{"envelope.sent"}}
	first := c.post("/v1/webhooks", hook).want(201)
	c.post("/v1/webhooks?x=1", hook).refused(422, "idempotency_key_reused")
	require.Equal(t, first.raw, c.post("/v1/webhooks", hook).want(201).raw)
}

// TestTooEarlyIsNotKept: who was told to wait and has waited is served, under the same key.
func TestTooEarlyIsNotKept(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		e, _ := s.client(t).sent(twoSigners())
		at, nobody := s.link(t, e, 0)+"/otp/request", &client{t: t, s: s}
		for range models.OTPRequestLimit {
			nobody.post(at, nil).want(200)
		}
		s.mails.mu.Lock()
		require.Contains(t, s.mails.mails[len(s.mails.mails)-1].Text, "10 minutes", "how long a code is good")
		s.mails.mu.Unlock()
		keyed := nobody.with("Idempotency-Key", "k")
		require.NotEmpty(t, keyed.post(at, nil).refused(http.StatusTooManyRequests, "otp_rate_limited").header.Get("Retry-After"))
		s.clock.advance(models.OTPRequestWindow)
		done := keyed.post(at, nil).want(200)
		require.Empty(t, done.header.Get("Idempotency-Replayed"))
		require.Equal(t, "true", keyed.post(at, nil).want(200).header.Get("Idempotency-Replayed"))
	})
}

// TestResendingSinceATime: what failed before it stays as it is.
func TestResendingSinceATime(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/hook", "events": []string{"envelope.sent"}}).want(201).str("id")
		other := c.post("/v1/webhooks", object{"url": "https://example.com/other", "events": []string{"envelope.sent"}}).want(201).str("id")
		ping := func(hook string) string {
			d := c.post("/v1/console/webhooks/"+hook+"/ping", nil).want(202).str("id")
			require.NoError(t, s.store.AbandonDelivery(t.Context(), uuid.MustParse(d), 0))
			return d
		}
		status := func(d string) string { return c.get("/v1/console/webhook-deliveries/" + d).want(200).str("status") }
		old := ping(hook)
		s.clock.advance(10 * time.Minute)
		since := object{"since": s.clock.now().Format(time.RFC3339)}
		s.clock.advance(time.Minute)
		late, elsewhere := ping(hook), ping(other)
		a := c.post("/v1/console/webhooks/"+hook+"/resend", since).want(202)
		require.EqualValues(t, 1, a.body["resent"])
		require.EqualValues(t, 0, a.body["remaining"])
		require.Equal(t, "failed", status(old))
		require.Equal(t, "pending", status(late))
		require.Equal(t, "failed", status(elsewhere))
	})
}

// signerLinkOf is the link of an envelope's first signer.
func signerLinkOf(s *service, e *answer) credential.SigningLink {
	return credential.SigningLink{App: s.app.ID, Link: models.Link{EnvelopeID: id(e), SignerID: uuid.MustParse(e.signer(0)["id"].(string))}}
}
