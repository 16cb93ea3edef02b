package api_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func id(e *response) uuid.UUID { return uuid.MustParse(e.str("id")) }

// TestOutcome_OfLinks checks that the holder of a link can get the outcome, and that the receipt is returned again only
// after a signature.
func TestOutcome_OfLinks(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		nobody, stranger := (&client{t: t, s: s}).with("User-Agent", "browser"), (&client{t: t, s: s}).with("User-Agent", "stranger")
		e, _ := c.sent(twoSigners())
		ada := s.link(t, e, 0)
		open := nobody.get(ada + "/outcome").want(200)
		require.Nil(t, open.body["contact"])
		c.call("PUT", "/v1/console/settings?tenantId=acme", object{"replyTo": "ask@acme.example"}).want(200)
		require.Equal(t, "ask@acme.example", nobody.get(ada).want(200).body["contact"])
		require.Equal(t, "ask@acme.example", nobody.get(ada + "/outcome").want(200).body["contact"])
		require.Equal(t, "open", open.str("outcome"))
		require.Nil(t, open.body["at"])
		require.EqualValues(t, 3, open.body["awaiting"])
		signer := nobody.binds(ada)
		signer.post(ada+"/consent", nil).want(200)
		signer.post(ada+"/sign", object{"fields": []object{}}).want(200)

		for _, c := range []*client{nobody, stranger} {
			a := c.get(ada + "/outcome").want(200)
			require.Equal(t, "signed", a.str("outcome"))
			require.NotNil(t, a.body["at"])
			require.Equal(t, "Contract", a.str("subject"))
			require.Equal(t, "Acme", a.str("senderName"))
			require.Len(t, a.body["documents"], 1)
			require.EqualValues(t, 2, a.body["awaiting"])
			require.Empty(t, a.body["awaitingNames"], "other signers are not shown to a client with only the link")
			require.Nil(t, a.body["receiptToken"])
		}
		a := signer.get(ada + "/outcome").want(200)
		require.Equal(t, []any{"Grace", "Hedy"}, a.body["awaitingNames"])
		receipt := nobody.get("/v1/receipts/" + a.str("receiptToken")).want(200)
		require.Equal(t, "in_progress", receipt.str("envelopeStatus"))

		// If another signer declines, the first signer's outcome remains "signed", and the third signer can no longer sign.
		grace, hedy := s.link(t, e, 1), s.link(t, e, 2)
		nobody.post(grace+"/decline", nil).want(200)
		require.Equal(t, "declined", nobody.get(grace+"/outcome").want(200).str("outcome"))
		a = nobody.get(hedy + "/outcome").want(200)
		require.Equal(t, "closed", a.str("outcome"))
		require.Equal(t, true, a.body["declinedByOther"])
		require.Equal(t, "declined", a.str("envelopeStatus"))
		require.EqualValues(t, 0, a.body["awaiting"])
		require.Equal(t, "signed", nobody.get(ada+"/outcome").want(200).str("outcome"))

		s.clock.advance(25 * time.Hour)
		require.Nil(t, signer.get(ada + "/outcome").want(200).body["receiptToken"], "the session has ended")
		c = s.client(t)

		// Without a code, the client that signed is recognized for half an hour.
		plain, token := c.sent(contract())
		at := "/v1/signing/" + token
		nobody.signs(plain, token)
		require.NotNil(t, nobody.get(at + "/outcome").want(200).body["receiptToken"])
		require.Nil(t, stranger.get(at + "/outcome").want(200).body["receiptToken"])
		s.clock.advance(31 * time.Minute)
		require.Nil(t, nobody.get(at + "/outcome").want(200).body["receiptToken"])

		// Check the link of a voided envelope, a link that was replaced by a new one, and an expired link.
		c = s.client(t)
		voided, token := c.sent(contract())
		c.post("/v1/envelopes/"+voided.str("id")+"/void", nil).want(200)
		a = nobody.get("/v1/signing/" + token + "/outcome").want(200)
		require.Equal(t, "closed voided", a.str("outcome")+" "+a.str("envelopeStatus"))
		renewed, token := c.sent(contract())
		c.post("/v1/console/envelopes/"+renewed.str("id")+"/signers/"+renewed.signer(0)["id"].(string)+"/resend", nil).want(202)
		nobody.get("/v1/signing/"+token+"/outcome").rejected(401, "signing_link_invalid")
		days := contract()
		days["expiresInDays"] = 2
		_, token = c.sent(days)
		s.clock.advance(72 * time.Hour)
		nobody.get("/v1/signing/"+token).rejected(401, "signing_link_expired")
		a = nobody.get("/v1/signing/" + token + "/outcome").want(200)
		require.Equal(t, "closed", a.str("outcome"))
		require.NotNil(t, a.body["at"])
		s.clock.advance(56 * 24 * time.Hour)
		nobody.get("/v1/signing/" + token + "/outcome").want(200)
		s.clock.advance(2 * 24 * time.Hour)
		nobody.get("/v1/signing/"+token+"/outcome").rejected(401, "signing_link_expired")
		nobody.get("/v1/signing/x/outcome").rejected(401, "signing_link_invalid")
	})
}
