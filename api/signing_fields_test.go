package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLaterFields_AreShownUntilSigned checks that the context contains the positions of other signers' fields until
// those signers have signed.
func TestLaterFields_AreShownUntilSigned(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		data := contract()
		data["signers"] = []object{
			{"name": "Ada", "email": "ada@example.com", "authMethod": "none", "routingOrder": 1},
			{"name": "Bob Hill", "email": "bob@example.com", "authMethod": "none", "routingOrder": 2},
		}
		data["fields"] = []object{
			{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 100, "w": 150, "h": 18},
			{"signerId": "1", "type": "stamp", "page": 1, "x": 10, "y": 200, "w": 560, "h": 400},
		}
		e, token := c.sent(data)
		at := "/v1/signing/" + token
		later := nobody.get(at).want(200).body["later"].([]any)
		require.Len(t, later, 1)
		field := later[0].(object)
		require.Equal(t, []any{e.field(1)["id"], "Bob Hill", "stamp", 560.0}, []any{field["fieldId"], field["signerName"], field["type"], field["w"]})
		nobody.post(at+"/consent", nil).want(200)
		nobody.post(at+"/sign", object{"fields": []object{{"fieldId": e.field(0)["id"], "textValue": "yes"}}}).want(200)
		link := c.post("/v1/envelopes/"+e.str("id")+"/signers/"+e.signer(1)["id"].(string)+"/signing-link", nil).want(200).str("signingUrl")
		require.NotContains(t, nobody.get("/v1/signing/"+link[len("https://sign.example.com/sign/"):]).want(200).body, "later")
	})
}
