package api_test

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// TestSavedSignature_RequiresCode checks that a saved signature is offered only after a code is confirmed, if the
// signer receives codes by text message.
func TestSavedSignature_RequiresCode(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		data := contract()
		data["signers"] = []object{{"name": "Ada", "email": "ada@example.com", "phone": "+442079460958", "authMethod": "sms_otp"}}
		data["fields"] = []object{{"signerId": "0", "type": "signature", "page": 1, "x": 1, "y": 1, "w": 90, "h": 30}}
		verified := func() (*response, string) {
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
			require.Equal(t, kit.OnePage(), nobody.get(at+"/documents/"+doc).want(200).raw)
			return e, at
		}
		e, at := verified()
		nobody.post(at+"/consent", nil).want(200)
		nobody.post(at+"/sign", object{"fontLabel": "Script", "fields": []object{{
			"fieldId": e.field(0)["id"], "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature()),
		}}}).want(200)
		_, at = verified()
		again := nobody.get(at).want(200)
		require.NotEmpty(t, again.str("savedSignatureB64"))
		require.Equal(t, "Script", again.str("savedSignatureFontLabel"))
	})
}

// TestSavedSignature_StaysInItsApp checks that a saved signature is not offered in another app, even for the same
// person, tenant and verification method.
func TestSavedSignature_StaysInItsApp(t *testing.T) {
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
		signer.post(at+"/sign", object{"fields": []object{{"fieldId": field, "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature())}}}).want(200)
		signer, at = open(foreign)
		require.Nil(t, signer.get(at).want(200).body["savedSignatureB64"])
		signer, at = open(own)
		require.NotNil(t, signer.get(at).want(200).body["savedSignatureB64"])
		require.Nil(t, nobody.get(at).want(200).body["savedSignatureB64"], "the client has not confirmed a code")
	})
}

// TestSigner_FillsOnlyOwnFields checks that the context contains only the signer's own fields, and that values for
// other fields are rejected.
func TestSigner_FillsOnlyOwnFields(t *testing.T) {
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
	c.post(at+"/sign", object{"fields": []object{entry(e, 0, "a"), entry(e, 2, "b")}}).rejected(401, "consent_required")
	c.post(at+"/consent", nil).want(200)
	rejected := c.post(at+"/sign", object{"fields": []object{entry(e, 0, "a"), entry(e, 1, "hers"), entry(e, 2, "b")}}).rejected(400, "validation_error")
	require.Len(t, rejected.body["errors"], 1)
	require.Contains(t, rejected.body["errors"], "fields[1].fieldId")
	c.post(at+"/sign", object{"fields": []object{entry(e, 0, "a"), entry(e, 2, "b")}}).want(200)
}

// TestSavedSignature_SameTenantAndVerification checks that a saved signature is offered only in the same tenant and
// with the same verification method.
func TestSavedSignature_SameTenantAndVerification(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		envelope := func(tenant, method string) string {
			data := contract()
			data["tenantId"] = tenant
			data["signers"] = []object{{"name": "Ada", "email": "ada@example.com", "phone": "+442079460958", "authMethod": method}}
			data["fields"] = []object{{"signerId": "0", "type": "signature", "page": 1, "x": 1, "y": 1, "w": 90, "h": 30}}
			e, _ := c.sent(data)
			return s.link(t, e, 0)
		}
		confirmed := func(at, method string) *client {
			nobody.post(at+"/otp/request", nil).want(200)
			s.mails.mu.Lock()
			text := s.mails.texts
			if method == "email_otp" {
				text = []string{s.mails.mails[len(s.mails.mails)-1].Text}
			}
			code := regexp.MustCompile(`\b\d{6}\b`).FindString(text[len(text)-1])
			s.mails.mu.Unlock()
			return nobody.with("X-Signer-Session", nobody.post(at+"/otp/verify", object{"code": code, "bind": true}).want(200).str("sessionToken"))
		}
		at := envelope("acme", "sms_otp")
		signer := confirmed(at, "sms_otp")
		field := signer.get(at).want(200).body["fields"].([]any)[0].(object)["id"]
		signer.post(at+"/consent", nil).want(200)
		signer.post(at+"/sign", object{"fields": []object{{"fieldId": field, "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature())}}}).want(200)
		for _, to := range []struct {
			tenant, method string
			offered        bool
		}{{"acme", "sms_otp", true}, {"globex", "sms_otp", false}, {"acme", "email_otp", false}} {
			at := envelope(to.tenant, to.method)
			ctx := confirmed(at, to.method).get(at).want(200)
			require.Equal(t, to.offered, ctx.body["savedSignatureB64"] != nil, "%+v", to)
			require.Nil(t, nobody.get(at).want(200).body["savedSignatureB64"], "with only the link")
		}
	})
}
