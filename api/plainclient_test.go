package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClientOfTheInterface: a client that was written for the interface alone,
// and never heard of sessions and of what others entered, goes its whole way.
func TestClientOfTheInterface(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, signer := s.client(t), &client{t: t, s: s} // which keeps no cookie, and sends no header of its own
		data := twoSigners()
		data["signers"].([]object)[2]["routingOrder"] = 3
		rich := c.create(everyKind()).want(201) // other envelopes of the application use more
		c.post("/v1/envelopes/"+rich.str("id")+"/send", nil).want(200)
		e, _ := c.sent(data)
		for i := range 3 {
			at := s.link(t, e, i)
			ctx := signer.get(at).want(200)
			for name, want := range map[string]any{
				"envelopeId": e.str("id"), "signerId": e.signer(i)["id"], "signerName": e.signer(i)["name"], "signerEmail": e.signer(i)["email"],
				"requiresOtpVerification": true, "otpVerified": false, "savedSignatureB64": nil, "savedSignatureFontLabel": nil,
			} {
				require.Equal(t, want, ctx.body[name], name)
			}
			for _, f := range ctx.body["fields"].([]any) {
				for _, name := range []string{"id", "type", "page", "x", "y", "w", "h", "required"} {
					require.Contains(t, f, name)
				}
			}
			require.Equal(t, "application/pdf", signer.get(at+"/document").want(200).header.Get("Content-Type"), "before the code")
			docs := signer.get(at + "/documents").want(200)
			require.Contains(t, string(docs.raw), `"pageCount":1,"order":1`)
			signer.post(at+"/consent", nil).want(401)
			code := signer.code(at)
			signer.post(at+"/otp/verify", object{"code": "------"}).want(400)
			verified := signer.post(at+"/otp/verify", object{"code": code}).want(200)
			require.JSONEq(t, `{"verified": true}`, string(verified.raw))
			require.Equal(t, true, signer.get(at).want(200).body["otpVerified"])
			signer.post(at+"/consent", nil).want(200)
			signer.post(at+"/consent", nil).want(409)
			fields := []object{}
			for _, f := range ctx.body["fields"].([]any) {
				if f := f.(object); f["type"] == "text" {
					fields = append(fields, object{"fieldId": f["id"], "textValue": "yes", "signatureImageBase64": nil})
				}
			}
			signer.post(at+"/sign", object{"fields": fields, "fontLabel": nil}).want(200)
			signer.post(at+"/sign", object{"fields": fields}).want(409)
			signer.get(at).want(410)
			signer.get(at + "/document").want(401)
		}
		require.Equal(t, "in_progress", c.get("/v1/envelopes/"+e.str("id")).want(200).str("status"), "being sealed")

		statuses := []any{"pending", "sent", "viewed", "signed", "declined"}
		listed := c.get("/v1/envelopes?tenantId=acme").want(200).body["data"].([]any)
		require.Len(t, listed, 2)
		for _, v := range listed {
			v := v.(object)
			for _, signer := range v["signers"].([]any) {
				signer := signer.(object)
				require.Contains(t, statuses, signer["status"])
				require.Contains(t, []any{"email_otp", "sms_otp", "none"}, signer["authMethod"])
				require.NotEqual(t, "copy", signer["kind"], "whoever waits until all have signed never waits for them")
				if v["id"] == e.str("id") {
					for _, name := range []string{"kind", "role", "language", "notify", "host", "witnessFor"} {
						require.NotContains(t, signer, name)
					}
				}
			}
			if v["id"] == e.str("id") {
				require.NotContains(t, v, "copies")
			}
		}

		other, _ := c.sent(twoSigners())
		at := s.link(t, other, 0)
		signer.post(at+"/decline", object{"reason": nil}).want(200) // without a code
		signer.post(at+"/decline", nil).want(409)
		require.Equal(t, "declined", c.get("/v1/envelopes/"+other.str("id")).want(200).str("status"))
	})
}
