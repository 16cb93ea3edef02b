package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestRemindSigner_OncePerHour checks that an awaited signer can be reminded once an hour, without receiving a new
// link.
func TestRemindSigner_OncePerHour(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		data := contract()
		data["signers"] = []object{
			{"name": "Ada", "email": "ada@example.com", "authMethod": "none"},
			{"name": "Bob", "email": "bob@example.com", "authMethod": "none", "notify": false},
			{"name": "Cleo", "email": "cleo@example.com", "authMethod": "none", "routingOrder": 2},
		}
		draft := c.draft(data)
		remind := func(e *response, i int) string {
			return "/v1/envelopes/" + e.str("id") + "/signers/" + e.signer(i)["id"].(string) + "/remind"
		}
		c.post(remind(draft, 0), nil).rejected(409, "envelope_draft")
		e, token := c.sent(data)
		keyed := c.with("Idempotency-Key", newID().String())
		first := keyed.post(remind(e, 0), nil).want(202)
		require.Equal(t, e.signer(0)["id"], first.str("id"))
		require.Equal(t, first.body, keyed.post(remind(e, 0), nil).want(202).body, "a repeat")
		require.Equal(t, 1, s.outbox(t, e.str("id"), models.OutboxReinvite))
		again := c.post(remind(e, 0), nil).rejected(429, "reminder_rate_limited")
		require.Equal(t, "3600", again.header.Get("Retry-After"))
		nobody.get("/v1/signing/" + token).want(200) // the link has not changed
		require.Contains(t, c.get("/v1/envelopes/"+e.str("id")).want(200).eventNames(), "reminder.requested")

		c.post(remind(e, 1), nil).rejected(409, "signer_not_notified")
		c.post(remind(e, 2), nil).rejected(409, "signer_not_awaited")
		c.post(strings.Replace(remind(e, 0), e.signer(0)["id"].(string), newID().String(), 1), nil).rejected(404, "not_found")
		s.other(t).post(remind(e, 0), nil).rejected(404, "not_found")
		s.signIn(t, models.RoleViewer).post(remind(e, 0), nil).rejected(403, "role_forbidden")
		c.with("If-Match", `"0"`).post(remind(e, 0), nil).rejected(412, "precondition_failed")

		s.clock.advance(time.Hour)
		s.client(t).post(remind(e, 0), nil).want(202)
		s.client(t).post("/v1/envelopes/"+e.str("id")+"/void", nil).want(200)
		s.clock.advance(time.Hour)
		s.client(t).post(remind(e, 0), nil).rejected(409, "envelope_terminal")
	})
}
