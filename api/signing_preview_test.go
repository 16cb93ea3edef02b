package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestSigningPreview checks that the preview of a draft shows each recipient the same data as the signing page after
// sending, and cannot be used to sign.
func TestSigningPreview(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		data := contract()
		data["signers"] = []object{
			{"name": "Ada", "email": "ada@example.com", "role": "tenant", "language": "de"},
			{"name": "Bob", "email": "bob@example.com", "authMethod": "none", "routingOrder": 2},
		}
		data["fields"] = []object{
			{"signerId": "0", "type": "text", "page": 1, "x": 50, "y": 50, "w": 100, "h": 20, "name": "city", "defaultValue": "Rome"},
			{"signerId": "1", "type": "signature", "page": 1, "x": 50, "y": 90, "w": 100, "h": 30},
		}
		e := c.draft(data)
		at := "/v1/console/envelopes/" + e.str("id")
		of := func(i int) string { return at + "/signers/" + e.signer(i)["id"].(string) + "/preview" }
		stored := func() *response { return c.get(at).want(200) }
		before := stored()

		reader := s.person(t, models.RoleViewer)
		ada := reader.get(of(0)).want(200)
		require.Equal(t, []any{"Ada", "tenant", "de", true, false, false, nil, nil}, values(ada, "signerName", "role", "language", "requiresOtpVerification", "otpVerified", "consentGiven", "shown", "draftKey"))
		require.Equal(t, "de", ada.body["consent"].(object)["language"])
		require.Equal(t, "fr", reader.get(of(0) + "?language=fr").want(200).body["consent"].(object)["language"])
		require.Len(t, ada.body["fields"], 1)
		require.Equal(t, "Rome", ada.body["fields"].([]any)[0].(object)["defaultValue"])
		require.Equal(t, "Bob", ada.body["later"].([]any)[0].(object)["signerName"])
		bob := c.get(of(1)).want(200)
		require.Equal(t, []any{"Bob", false}, values(bob, "signerName", "requiresOtpVerification"))
		reader.get(of(0)+"?language="+strings.Repeat("x", 101)).rejected(400, "validation_error")

		// Nothing can be changed with the console's token, or by using the preview's path as a link.
		for _, tail := range []string{"", "/sign", "/consent", "/decline", "/delegate", "/otp/request", "/otp/verify", "/page-view", "/attachments"} {
			require.Contains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, c.post(of(0)+tail, object{}).status, tail)
			if tail != "" {
				(&client{t: t, s: s}).post("/v1/signing/preview"+tail, object{}).rejected(401, "signing_link_invalid")
			}
		}
		require.Equal(t, before.raw, stored().raw, "the audit trail and the recipients are unchanged")
		s.mails.mu.Lock()
		require.Empty(t, s.mails.texts)
		s.mails.mu.Unlock()

		// Other callers have no access to the preview.
		foreign := s.other(t)
		foreign.get(of(0)).rejected(404, "not_found")
		(&client{t: t, s: s}).get(of(0)).rejected(401, "unauthorized")
		s.limit(t, "globex")
		s.clock.advance(2 * time.Second) // the cached app has expired
		c.get(of(0)).rejected(404, "not_found")
		s.limit(t)
		s.clock.advance(2 * time.Second)
		c.get(at+"/signers/"+uuid.NewString()+"/preview").rejected(404, "not_found")

		// After sending, the recipient's context matches the preview.
		sent := c.post("/v1/envelopes/"+e.str("id")+"/send", nil).want(200)
		c.get(of(0)).rejected(409, "envelope_not_draft")
		link := sent.signer(0)["signingUrl"].(string)
		opened := (&client{t: t, s: s}).binds("/v1/signing/" + link[strings.LastIndex(link, "/")+1:]).get("/v1/signing/" + link[strings.LastIndex(link, "/")+1:]).want(200)
		for _, member := range []string{"documents", "fields", "later", "consent", "maskedEmail", "senderName", "subject", "message", "filled", "branding"} {
			require.Equal(t, opened.body[member], ada.body[member], member)
		}
	})
}
