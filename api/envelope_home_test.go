package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestConsoleHome_Counts checks that the home page contains the number of envelopes in each list for the tenants that
// the caller may access.
func TestConsoleHome_Counts(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		c.draft(contract())
		c.sent(contract())
		declined, token := c.sent(contract())
		done, signing := c.sent(contract())
		c.sent(with(contract(), "tenantId", "beta"))
		nobody.get("/v1/signing/" + token).want(200)
		nobody.post("/v1/signing/"+token+"/decline", nil).want(200)
		c.signs(done, signing)
		s.completes(t, done.str("id"), 0)
		counts := func(c *client, query string) object {
			return c.get("/v1/console/home" + query).want(200).body["counts"].(object)
		}
		require.Equal(t, object{"action_needed": 1.0, "waiting": 2.0, "drafts": 1.0, "completed": 1.0}, counts(c, ""))
		require.Equal(t, object{"action_needed": 0.0, "waiting": 1.0, "drafts": 0.0, "completed": 0.0}, counts(c, "?tenantId=beta"))
		require.InDelta(t, 1, counts(s.signIn(t, models.RoleViewer), "")["action_needed"], 0)
		for part, n := range counts(c, "") {
			require.Len(t, rowsOf(c.get("/v1/console/envelopes?inbox="+part).want(200)), int(n.(float64)), part)
		}
		require.Equal(t, []any{"acme", "beta"}, c.get("/v1/console/home").body["tenants"])
		require.Equal(t, declined.str("id"), rowsOf(c.get("/v1/console/envelopes?inbox=action_needed"))[0].(object)["id"])
		c.get("/v1/console/envelopes?inbox=else").rejected(400, "validation_error")
		s.limit(t, "beta")
		s.clock.advance(time.Minute) // makes the cached app expire
		c = s.client(t)
		c.get("/v1/console/home").rejected(400, "validation_error")
		c.get("/v1/console/home?tenantId=acme").rejected(403, "tenant_forbidden")
		require.InDelta(t, 1, counts(c, "?tenantId=beta")["waiting"], 0)
		require.Equal(t, []any{"beta"}, c.get("/v1/console/home?tenantId=beta").body["tenants"])
	})
}
