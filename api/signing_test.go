package api_test

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestDecline_WebhooksHaveTheReason checks that the bodies of both webhook events contain the reason.
func TestDecline_WebhooksHaveTheReason(t *testing.T) {
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

// TestSign_DecodesOnlyAllowedPictures checks that no image is decoded for a closed link, for another signer's fields,
// or for fields that do not accept images.
func TestSign_DecodesOnlyAllowedPictures(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	heavy := heavyPicture(t)
	begin := time.Now()
	one, err := base64.StdEncoding.DecodeString(heavy)
	require.NoError(t, err)
	_, err = png.Decode(bytes.NewReader(one))
	require.NoError(t, err)
	bound := max(5*time.Since(begin), 500*time.Millisecond) // for a request with 40 images

	fields := func(id any) []object {
		out := []object{}
		for range 40 {
			f := object{"fieldId": id, "signatureImageBase64": heavy}
			out = append(out, f)
		}
		return out
	}
	e, token := c.sent(contract())
	at := "/v1/signing/" + token
	quickly := func(what string, status int, body object) {
		t.Helper()
		begin := time.Now()
		nobody.post(at+"/sign", body).want(status)
		require.Less(t, time.Since(begin), bound, what)
	}
	quickly("before consent", 401, object{"fields": fields(e.field(0)["id"])})
	nobody.post(at+"/consent", nil).want(200)
	quickly("others' fields", 413, object{"fields": fields(uuid.NewString())})
	quickly("a text field", 413, object{"fields": fields(e.field(0)["id"])})
	c.post("/v1/envelopes/"+e.str("id")+"/void", nil).want(200)
	quickly("a voided link", 401, object{"fields": fields(e.field(0)["id"])})
}

// TestConsent_RecordsTheDisclosure checks that the event contains the version and language of the displayed text.
func TestConsent_RecordsTheDisclosure(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	for tag, language := range map[string]string{"": "en", "de": "de", "pt-BR": "pt", "AR": "ar", "xx": "en", "../en": "en"} {
		e, token := c.sent(contract())
		at := "/v1/signing/" + token
		shown := c.get(at + "?language=" + tag).want(200).body["consent"].(object)
		require.Equal(t, language, shown["language"])
		want := new(models.Signer).Disclosure(language)
		require.Equal(t, want.Text, shown["text"])
		c.post(at+"/consent", object{"version": "2000-01-en"}).rejected(400, "validation_error")
		c.post(at+"/consent", object{"version": shown["version"]}).want(200)
		log := c.get("/v1/envelopes/" + e.str("id")).want(200).body["auditLog"].([]any)
		detail := log[len(log)-1].(object)["detail"].(object)
		require.Equal(t, object{"signerId": e.signer(0)["id"], "version": want.Version, "language": language, "textSha256": want.Hash()}, detail)
	}
}
