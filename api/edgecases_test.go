package api_test

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
)

// TestSavedSignatureIsOffered: a signer with a code by text message, whose
// signature is offered again once the next code is verified, and not before.
func TestSavedSignatureIsOffered(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		data := contract()
		data["signers"] = []object{{"name": "Ada", "email": "ada@example.com", "phone": "+442079460958", "authMethod": "sms_otp"}}
		data["fields"] = []object{{"signerId": "0", "type": "signature", "page": 1, "x": 1, "y": 1, "w": 90, "h": 30}}
		verified := func() (*answer, string) {
			e := c.draft(data)
			e = c.post("/v1/envelopes/"+e.str("id")+"/send", object{"message": "Please sign."}).want(200)
			at := "/v1/signing/" + strings.TrimPrefix(e.signer(0)["signingUrl"].(string), "https://sign.example.com/sign/")
			ctx := nobody.get(at).want(200)
			require.Equal(t, "Please sign.", ctx.str("message"))
			require.Regexp(t, `^\*+58$`, ctx.str("maskedPhone"))
			require.Nil(t, ctx.body["savedSignatureB64"], "before the code is verified")
			require.Regexp(t, `\*`, nobody.post(at+"/otp/request", nil).want(200).str("maskedPhone"))
			s.mails.mu.Lock()
			code := regexp.MustCompile(`\d{6}`).FindString(s.mails.texts[len(s.mails.texts)-1])
			s.mails.mu.Unlock()
			require.Equal(t, true, nobody.post(at+"/otp/verify", object{"code": code}).want(200).body["verified"])
			doc := ctx.body["documents"].([]any)[0].(object)["documentId"].(string)
			require.Equal(t, testkit.OnePage(), nobody.get(at+"/documents/"+doc).want(200).raw)
			return e, at
		}
		e, at := verified()
		nobody.post(at+"/consent", nil).want(200)
		nobody.post(at+"/sign", object{"fontLabel": "Script", "fields": []object{{
			"fieldId": e.field(0)["id"], "signatureImageBase64": base64.StdEncoding.EncodeToString(testkit.Signature()),
		}}}).want(200)
		_, at = verified()
		again := nobody.get(at).want(200)
		require.NotEmpty(t, again.str("savedSignatureB64"))
		require.Equal(t, "Script", again.str("savedSignatureFontLabel"))
	})
}

// TestWhatTheConsoleTells: how an envelope ended, its mails, its deliveries and
// the state of the endpoint that they went to.
func TestWhatTheConsoleTells(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{
			"envelope.completed", "envelope.voided", "signer.declined", "signer.signed",
		}, "secret": "long enough"}).want(201)
		settle := func(event string, o models.DeliveryOutcome, status int) *answer {
			list := c.get("/v1/console/webhook-deliveries?status=pending&event=" + event).want(200)
			id := list.body["data"].([]any)[0].(object)["id"].(string)
			o.WebhookID = uuid.MustParse(hook.str("id"))
			_, err := s.store.RecordAttempt(t.Context(), models.DeliveryAttempt{
				DeliveryID: uuid.MustParse(id), At: s.clock.now(), Status: status, LatencyMS: 12, Body: []byte("thanks"),
			}, o)
			require.NoError(t, err)
			return c.get("/v1/console/webhook-deliveries/" + id).want(200)
		}
		notice := func(a *answer) object { return a.body["payload"].(object)["data"].(object) }

		voided := c.draft(contract())
		c.post("/v1/envelopes/"+voided.str("id")+"/void", object{"reason": "typo"}).want(200)
		require.NotNil(t, c.get("/v1/console/envelopes/" + voided.str("id")).want(200).body["voidedAt"])
		told := settle("envelope.voided", models.DeliveryOutcome{Delivered: true}, 200)
		require.NotNil(t, told.body["deliveredAt"])
		require.Equal(t, "typo", notice(told)["reason"])
		require.NotNil(t, c.get("/v1/console/webhook-deliveries?status=delivered").want(200).body["data"].([]any)[0].(object)["deliveredAt"])
		require.NotNil(t, notice(told)["voidedAt"])

		declined, link := c.sent(contract())
		c.post("/v1/signing/"+link+"/decline", object{"reason": "no"}).want(200)
		told = settle("signer.declined", models.DeliveryOutcome{Last: true}, 500)
		require.NotNil(t, told.body["failedAt"])
		require.Equal(t, declined.signer(0)["id"], notice(told)["signer"].(object)["id"])

		done, link := c.sent(contract())
		c.signs(done, link)
		s.completes(t, done.str("id"), 0)
		told = settle("envelope.completed", models.DeliveryOutcome{Last: true, Gone: true}, 410)
		require.NotNil(t, notice(told)["completedAt"])
		require.NotNil(t, notice(told)["documentHashFinal"])
		require.Equal(t, notice(told)["completedAt"], told.body["payload"].(object)["completedAt"], "nested and flat")
		require.NotNil(t, notice(told)["signers"].([]any)[0].(object)["signedAt"])
		list := c.get("/v1/console/webhooks").want(200)
		require.Contains(t, string(list.raw), `"disabledReason":"gone"`)
		at := "/v1/console/webhooks/" + hook.str("id")
		require.Equal(t, true, c.post(at+"/resume", nil).want(200).body["active"])
		ping := c.post(at+"/ping", nil).want(202)
		payload := c.get("/v1/console/webhook-deliveries/" + ping.str("id")).want(200).body["payload"].(object)
		require.Equal(t, "ping", payload["event"])
		require.Equal(t, hook.str("id"), payload["data"].(object)["webhookId"])
		require.Equal(t, false, c.post(at+"/pause", nil).want(200).body["active"])

		id, signer := uuid.MustParse(done.str("id")), uuid.MustParse(done.signer(0)["id"].(string))
		for name, note := range map[string]func(string) error{
			"sent": func(id string) error { return s.store.MailSent(t.Context(), id) },
			"lost": func(id string) error { return s.store.MailFailed(t.Context(), id, "mailbox unavailable") },
		} {
			_, err := s.store.BeginMail(t.Context(), models.Mail{ID: name, EnvelopeID: id, SignerID: signer, Kind: models.MailInvitation})
			require.NoError(t, err)
			require.NoError(t, note(name))
		}
		full := c.get("/v1/console/envelopes/" + done.str("id")).want(200)
		require.Len(t, full.body["mails"], 2)
		require.Contains(t, string(full.raw), "mailbox unavailable")
		require.NotNil(t, full.body["documentHashFinal"])
		c.get("/v1/envelopes/" + done.str("id") + "/progress").want(200)

		e := c.draft(contract())
		doc := e.body["documents"].([]any)[0].(object)["id"]
		f := c.post("/v1/envelopes/"+e.str("id")+"/fields", object{
			"documentId": doc, "signerId": e.signer(0)["id"], "type": "date", "page": 1, "x": 1, "y": 1, "w": 9, "h": 9,
		}).want(201)
		require.Equal(t, doc, f.body["documentId"])
		(&client{t: t, s: s}).get("/readyz").want(200)
		(&client{t: t, s: s}).call(http.MethodGet, "/healthz", nil).want(200)
	})
}
