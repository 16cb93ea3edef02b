package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShortLink_EqualsToken checks that a short link works in the same way as the token, and that invalid short links
// are rejected.
func TestShortLink_EqualsToken(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		e, _ := c.sent(twoSigners())
		stored, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
		require.NoError(t, err)
		short := s.store.ShortLink(*stored.Signers[0].LinkID)
		require.Len(t, short, 33)
		at := "/v1/signing/" + short
		require.Equal(t, "Ada", nobody.get(at).want(200).str("signerName"))
		bound := nobody.binds(at)
		bound.post(at+"/consent", nil).want(200)
		require.Equal(t, true, bound.get(s.link(t, e, 0)).want(200).body["otpVerified"], "both tokens belong to the same link")
		flipped := map[bool]string{true: "B", false: "A"}[short[32] == 'A']
		for _, bad := range []string{short[:32] + flipped, strings.Repeat("A", 33), s.store.ShortLink(newID()), strings.Repeat("!", 33)} {
			nobody.get("/v1/signing/"+bad).rejected(401, "signing_link_invalid")
		}
		c.post("/v1/console/envelopes/"+e.str("id")+"/signers/"+e.signer(0)["id"].(string)+"/resend", nil).want(202)
		nobody.get(at).rejected(401, "signing_link_invalid")
	})
}
