package api_test

import (
	"encoding/base64"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/operate/sweep"
)

// TestASuccessorGetsNothingOfTheOneBefore: files that wait, the consent, the code, the
// adopted signature, the key of the draft and embedded sessions end with the person who
// gave them, and both links show it.
func TestASuccessorGetsNothingOfTheOneBefore(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		for _, way := range []string{"replaced", "delegated"} {
			ada, grace := way+"-ada@example.com", way+"-grace@example.com"
			s.adopts(t, c, ada)
			data := attaching()
			data["signers"].([]object)[0] = object{"name": "Ada Byron", "email": ada, "routingOrder": 1, "allowDelegation": true}
			e, old := c.sent(data)
			at, required, signer := "/v1/signing/"+old, e.field(0)["id"], e.signer(0)["id"].(string)
			confirmed := nobody.binds(at)
			before := confirmed.get(at).want(200)
			require.NotNil(t, before.body["savedSignatureB64"])
			confirmed.post(at+"/consent", nil).want(200)
			waiting := make([]string, 0, models.MaxAttachmentsPerField)
			for range models.MaxAttachmentsPerField {
				waiting = append(waiting, confirmed.attach(old, required, "ada's passport.pdf", testkit.OnePage()).want(201).str("attachmentId"))
			}
			session := c.post("/v1/embedded/signing-sessions", object{
				"tenantId": "acme", "envelopeId": e.str("id"), "signerId": signer, "allowedOrigin": "https://app.example.com",
			}).want(201).str("sessionToken")
			embedded := nobody.get("/v1/embedded/sessions/" + session).want(200).str("signingToken")

			if way == "replaced" {
				c.post("/v1/envelopes/"+e.str("id")+"/signers/"+signer+"/replace", object{"name": "Grace", "email": grace}).want(200)
			} else {
				confirmed.post(at+"/delegate", object{"name": "Grace", "email": grace}).want(204)
			}

			for token, code := range map[string]string{old: "signing_link_invalid", embedded: "session_invalid"} {
				link := "/v1/signing/" + token
				for _, path := range []string{"", "/document", "/attachments/" + waiting[0]} {
					confirmed.get(link+path).refused(401, code)
				}
				confirmed.del(link+"/attachments/"+waiting[0]).refused(401, code)
				confirmed.attach(token, required, "late.pdf", testkit.OnePage()).refused(401, code)
				confirmed.post(link+"/sign", object{"fields": []object{{"fieldId": required, "attachmentId": waiting[0]}}}).refused(401, code)
			}
			nobody.get("/v1/embedded/sessions/"+session).refused(401, "session_invalid")

			fresh := s.linkOf(t, e.str("id"), 0)
			link := "/v1/signing/" + fresh
			require.Equal(t, []any{"Grace", false, false}, values(confirmed.get(link).want(200), "signerName", "otpVerified", "consentGiven"), "the confirmation of the one before")
			successor := nobody.binds(link)
			now := successor.get(link).want(200)
			require.Equal(t, []any{true, false, nil, nil}, values(now, "otpVerified", "consentGiven", "savedSignatureB64", "attachments"))
			require.Empty(t, now.body["filled"])
			require.NotEqual(t, before.str("draftKey"), now.str("draftKey"), "what was typed and not sent cannot be read")
			require.NotContains(t, string(now.raw), "Ada")
			require.NotContains(t, string(now.raw), "passport")
			for _, id := range waiting {
				successor.get(link+"/attachments/"+id).refused(404, "not_found")
				successor.del(link+"/attachments/"+id).refused(401, "consent_required")
				c.get("/v1/envelopes/"+e.str("id")+"/attachments/"+id).refused(404, "not_found")
			}
			successor.post(link+"/sign", object{"fields": []object{{"fieldId": required, "attachmentId": waiting[0]}}}).refused(401, "consent_required")
			successor.post(link+"/consent", nil).want(200)
			successor.del(link+"/attachments/"+waiting[1]).refused(404, "not_found")
			sign := func(id string) *answer {
				return successor.post(link+"/sign", object{"fields": []object{{"fieldId": required, "attachmentId": id}}})
			}
			require.Contains(t, sign(waiting[0]).refused(400, "validation_error").body["errors"], "fields[0].attachmentId")

			// The files of the one before count for no bound, and are gone with the next sweep.
			own := successor.attach(fresh, required, "grace.pdf", testkit.OnePage()).want(201).str("attachmentId")
			require.Len(t, successor.get(link).want(200).body["attachments"], 1)
			_, err := sweep.Unused(t.Context(), s.store, s.cfg.Blobs, s.clock.now())
			require.NoError(t, err)
			prefix := "envelopes/" + e.str("id") + "/attachments/"
			kept, err := s.cfg.Blobs.List(t.Context(), prefix)
			require.NoError(t, err)
			require.Equal(t, []string{prefix + own}, kept)
			sign(waiting[0]).refused(400, "validation_error")
			sign(own).want(200)
			known, err := s.store.Attachments(t.Context(), uuid.MustParse(e.str("id")))
			require.NoError(t, err)
			require.Len(t, known, 1)
			require.True(t, known[0].Used)
		}
	})
}

// values are some members of an answer.
func values(a *answer, names ...string) (out []any) {
	for _, name := range names {
		out = append(out, a.body[name])
	}
	return out
}

// adopts has somebody sign with a picture, which the service remembers.
func (s *service) adopts(t *testing.T, c *client, email string) {
	t.Helper()
	data := contract()
	data["signers"] = []object{{"name": "Ada Byron", "email": email}}
	data["fields"] = []object{{"signerId": "0", "type": "signature", "page": 1, "x": 1, "y": 1, "w": 90, "h": 30}}
	e, token := c.sent(data)
	at := "/v1/signing/" + token
	signer := (&client{t: t, s: s}).binds(at)
	signer.post(at+"/consent", nil).want(200)
	signer.post(at+"/sign", object{"fields": []object{
		{"fieldId": e.field(0)["id"], "signatureImageBase64": base64.StdEncoding.EncodeToString(testkit.Signature())},
	}}).want(200)
}
