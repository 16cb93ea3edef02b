package api_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

func TestConsoleEndpoints(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		admin, support := s.person(t, models.RoleAdmin), s.person(t, models.RoleSupport)
		in := object{"url": "https://example.com/a", "events": []string{"envelope.sent"}, "secret": "0123456789abcdef"}
		support.post("/v1/console/webhooks", in).rejected(403, "role_forbidden")
		admin.post("/v1/console/webhooks", object{"url": "ftp://example.com", "events": []string{}}).rejected(400, "validation_error")
		admin.post("/v1/console/webhooks", object{"url": "", "events": []string{"envelope.sent"}}).rejected(400, "validation_error")
		hook := admin.post("/v1/console/webhooks", in).want(201)
		require.Equal(t, "secret", hook.str("signedWith"))
		require.NotContains(t, string(hook.raw), "0123456789abcdef")
		at := "/v1/console/webhooks/" + hook.str("id")
		require.Contains(t, string(s.client(t).get("/v1/webhooks").want(200).raw), hook.str("id"), "the webhook belongs to the app itself")

		changed := admin.call(http.MethodPatch, at, object{"url": "https://example.com/b"}).want(200)
		require.Equal(t, "https://example.com/b", changed.str("url"))
		require.Equal(t, []any{"envelope.sent"}, changed.body["events"])
		changed = admin.call(http.MethodPatch, at, object{"events": []string{"envelope.voided", "envelope.sent", "envelope.voided"}}).want(200)
		require.Equal(t, []any{"envelope.voided", "envelope.sent"}, changed.body["events"])
		admin.call(http.MethodPatch, at, object{"events": []string{}}).rejected(400, "validation_error")
		admin.call(http.MethodPatch, at, object{"url": "nonsense"}).rejected(400, "validation_error")
		support.call(http.MethodPatch, at, object{}).rejected(403, "role_forbidden")
		s.other(t).call(http.MethodPatch, at, object{}).rejected(404, "not_found")

		// A delivery contains the subject of its envelope and, until the endpoint is deleted, the endpoint's URL.
		e, _ := s.client(t).sent(contract())
		d := rowsOf(admin.get("/v1/console/webhook-deliveries?envelopeId=" + e.str("id")).want(200))[0].(object)
		require.Equal(t, "https://example.com/b", d["webhookUrl"])
		require.Equal(t, e.str("subject"), d["envelopeSubject"])
		one := admin.get("/v1/console/webhook-deliveries/" + d["id"].(string)).want(200)
		require.Equal(t, "https://example.com/b", one.str("webhookUrl"))
		require.Equal(t, e.str("subject"), one.str("envelopeSubject"))
		support.del(at).rejected(403, "role_forbidden")
		s.other(t).del(at).rejected(404, "not_found")
		admin.del(at).want(204)
		admin.del(at).rejected(404, "not_found")
		one = admin.get("/v1/console/webhook-deliveries/" + d["id"].(string)).want(200)
		require.NotContains(t, one.body, "webhookUrl")
	})
}

// TestEndpoint_NewAddressResetsFailures checks that a change of an endpoint's URL resets its failures.
func TestEndpoint_NewAddressResetsFailures(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		hook, err := s.store.CreateWebhook(t.Context(), s.app.ID, "https://example.com/a", []models.EventName{models.EventEnvelopeSent}, "")
		require.NoError(t, err)
		c := s.client(t)
		c.sent(contract())
		d := rowsOf(c.get("/v1/console/webhook-deliveries").want(200))[0].(object)
		_, err = s.store.RecordAttempt(t.Context(), models.DeliveryAttempt{DeliveryID: uuid.MustParse(d["id"].(string)), At: s.clock.now(), Status: 500}, models.DeliveryOutcome{WebhookID: hook.ID})
		require.NoError(t, err)
		at := "/v1/console/webhooks/" + hook.ID.String()
		failing := func() any { return list(c.get("/v1/console/webhooks").want(200))[0].(object)["failingSince"] }
		require.NotNil(t, failing())
		c.call(http.MethodPatch, at, object{"url": "https://example.com/a", "events": []string{"envelope.sent"}}).want(200)
		require.NotNil(t, failing(), "the address must not change")
		c.call(http.MethodPatch, at, object{"url": "https://example.com/b"}).want(200)
		require.Nil(t, failing())
	})
}
