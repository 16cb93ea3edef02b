package api_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestReplacedCopies: who gets a copy can be replaced until everyone has signed; the chain
// counts persons, and no event of a signer tells of it.
func TestReplacedCopies(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"signer.replaced"}}).want(201)
		data := contract()
		data["signers"] = append(data["signers"].([]object), object{"name": "Cora", "email": "cora@example.com", "kind": "copy"}, object{"name": "Late", "email": "late@example.com", "kind": "copy", "routingOrder": 9})
		e, token := c.sent(data)
		ids := e.copies()
		require.Len(t, ids, 2)
		at := func(i int) string {
			return "/v1/envelopes/" + e.str("id") + "/signers/" + ids[i].(object)["id"].(string) + "/replace"
		}
		in := object{"name": "Dora", "email": "dora@example.com", "reason": "On leave"}
		got := c.post(at(0), in).want(200)
		require.Equal(t, []any{ids[0].(object)["id"], "Dora", "copy", "sent"}, []any{got.str("id"), got.str("name"), got.str("kind"), got.str("status")})
		require.Equal(t, "pending", c.post(at(1), object{"name": "Luna", "email": "luna@example.com"}).want(200).str("status"))
		require.Equal(t, 1, s.outbox(t, e.str("id"), models.OutboxReinvite), "one is told: whose routing order was reached")
		c.post(at(0), object{"name": "Dora", "email": "dora"}).refused(400, "validation_error")

		shown := c.get("/v1/envelopes/" + e.str("id")).want(200)
		dora := shown.copies()[0].(object)
		was := dora["previous"].([]any)[0].(object)
		require.Equal(t, []any{"dora@example.com", "Cora", "cora@example.com", "On leave"}, []any{dora["email"], was["name"], was["email"], was["reason"]})
		persons := []any{}
		for _, ev := range shown.body["auditLog"].([]any) {
			require.NotEqual(t, "signer.replaced", ev.(object)["event"])
			if ev.(object)["event"] == "copy.replaced" {
				detail := ev.(object)["detail"].(object)
				persons = append(persons, detail["person"])
				for _, name := range []string{"Cora", "cora@", "Dora", "dora@", "Luna"} {
					require.NotContains(t, fmt.Sprint(detail), name, "the chain names nobody")
				}
			}
		}
		require.Equal(t, []any{2.0, 2.0}, persons)
		require.Empty(t, c.get("/v1/console/webhook-deliveries?webhookId=" + hook.str("id")).want(200).body["data"])
		require.EqualValues(t, 1, c.get("/v1/envelopes?tenantId=acme&signerEmail=dora@example.com").want(200).body["total"])
		s.signIn(t, models.RoleViewer).post(at(0), in).refused(403, "role_forbidden")
		c.signs(e, token)
		c.post(at(0), in).refused(409, "envelope_sealing")
	})
}
