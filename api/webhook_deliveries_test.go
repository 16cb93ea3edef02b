package api_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
)

func TestConsoleDeliveries(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/hook", "events": []string{"envelope.sent"}, "secret": "first secret"}).want(201)
		c.sent(contract())
		list := c.get("/v1/console/webhook-deliveries?status=pending&event=envelope.sent&webhookId=" + hook.str("id")).want(200)
		require.EqualValues(t, 1, list.body["total"])
		id := list.body["data"].([]any)[0].(object)["id"].(string)
		one := c.get("/v1/console/webhook-deliveries/" + id).want(200)
		require.Equal(t, "envelope.sent", one.body["payload"].(object)["event"])
		c.post("/v1/console/webhook-deliveries/"+id+"/resend", nil).want(202) // a pending delivery is attempted immediately

		run := 1 // the first attempt after a resend
		fail := func(at time.Time, gone bool) string {
			disabled, err := s.store.RecordAttempt(t.Context(), models.DeliveryAttempt{
				DeliveryID: uuid.MustParse(id), At: at, Status: 500, Body: []byte("oops\x00\xff"),
			}, models.DeliveryOutcome{WebhookID: uuid.MustParse(hook.str("id")), Last: true, Gone: gone, Run: run})
			require.NoError(t, err)
			run++
			return disabled
		}
		require.Empty(t, fail(s.clock.now(), false))
		one = c.get("/v1/console/webhook-deliveries/" + id).want(200)
		require.Equal(t, "failed", one.str("status"))
		require.Equal(t, "oops", one.body["attemptLog"].([]any)[0].(object)["body"])
		again := c.post("/v1/console/webhook-deliveries/"+id+"/resend", nil).want(202)
		require.Equal(t, one.str("eventId"), again.str("eventId"))
		require.EqualValues(t, 2, again.body["resends"])
		require.Empty(t, fail(s.clock.now(), false))
		since := object{"since": s.clock.now().Add(-time.Hour).Format(time.RFC3339)}
		require.EqualValues(t, 1, c.post("/v1/console/webhooks/"+hook.str("id")+"/resend", since).want(202).body["resent"])
		require.EqualValues(t, 0, c.post("/v1/console/webhooks/"+hook.str("id")+"/resend", since).want(202).body["resent"], "the delivery is pending")
		c.post("/v1/console/webhooks/"+hook.str("id")+"/resend", object{"since": "yesterday"}).rejected(400, "validation_error")

		ping := c.post("/v1/console/webhooks/"+hook.str("id")+"/ping", nil).want(202)
		require.Nil(t, ping.body["envelopeId"])

		// After five days without success, the endpoint is disabled and its deliveries are no longer pending.
		require.Equal(t, models.DisabledFailing, fail(s.clock.now().Add(models.DisableAfter+time.Hour), false))
		require.EqualValues(t, 0, c.get("/v1/console/webhook-deliveries?status=pending").want(200).body["total"])
		c.post("/v1/console/webhook-deliveries/"+id+"/resend", nil).rejected(409, "webhook_inactive")
		c.post("/v1/console/webhooks/"+hook.str("id")+"/ping", nil).rejected(409, "webhook_inactive")
		c.sent(contract())
		require.EqualValues(t, 0, c.get("/v1/console/webhook-deliveries?status=pending").want(200).body["total"], "the webhook receives no events")
		c.post("/v1/console/webhooks/"+hook.str("id")+"/resume", nil).want(200)
		c.post("/v1/console/webhook-deliveries/"+id+"/resend", nil).want(202)
		require.Equal(t, models.DisabledGone, fail(s.clock.now(), true), "a 410 disables the webhook immediately")

		c.post("/v1/console/webhooks/"+hook.str("id")+"/resume", nil).want(200)
		rotated := c.post("/v1/console/webhooks/"+hook.str("id")+"/secret", object{"secret": "second secret"}).want(200)
		require.NotNil(t, rotated.body["previousSecretUntil"])
		require.NotContains(t, string(rotated.raw), "second secret")
		c.post("/v1/console/webhook-deliveries/"+id+"/resend", nil).want(202)
		job, err := s.store.DeliveryJob(t.Context(), uuid.MustParse(id))
		require.NoError(t, err)
		assert.Equal(t, [][]byte{[]byte("second secret"), []byte("first secret")}, job.Secrets)
		s.clock.advance(25 * time.Hour)
		job, err = s.store.DeliveryJob(t.Context(), uuid.MustParse(id))
		require.NoError(t, err)
		assert.Equal(t, [][]byte{[]byte("second secret")}, job.Secrets, "the overlap has ended")

		c = s.client(t)
		c.del("/v1/webhooks/" + hook.str("id")).want(204)
		_, err = s.store.DeliveryJob(t.Context(), uuid.MustParse(id))
		require.ErrorIs(t, err, models.ErrNotFound, "deleting the webhook ends its deliveries")
	})
}

// TestDeliveries_TenantRestriction checks that a client restricted to certain tenants can neither list nor resend the
// deliveries of other tenants.
func TestDeliveries_TenantRestriction(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/hook", "events": []string{"envelope.sent", "envelope.voided", "signer.signed"}, "include": []string{"values"}}).want(201)
		sent := func(tenant string) *response {
			data := contract()
			data["tenantId"] = tenant
			e, _ := c.sent(data)
			return e
		}
		own, foreign, pending := sent("acme"), sent("globex"), sent("globex")
		ping := c.post("/v1/webhooks/"+hook.str("id")+"/test", nil).want(202)
		all, _, err := s.store.Deliveries(t.Context(), store.DeliveryFilter{App: s.app.ID, Page: 1, Size: 100})
		require.NoError(t, err)
		require.Len(t, all, 4)
		byEnvelope := make(map[uuid.UUID]string)
		for _, d := range all {
			byEnvelope[d.EnvelopeID] = d.ID.String()
			if d.EnvelopeID == id(pending) {
				continue
			}
			_, err := s.store.RecordAttempt(t.Context(), models.DeliveryAttempt{DeliveryID: d.ID, At: s.clock.now(), Status: 500}, models.DeliveryOutcome{WebhookID: d.WebhookID, Last: true})
			require.NoError(t, err)
		}

		s.limit(t, "acme", "initech")
		s.clock.advance(time.Second) // a change to an app takes effect after a second
		since := object{"since": s.clock.now().Add(-time.Hour).Format(time.RFC3339)}
		for _, caller := range []*client{c, s.person(t, models.RoleAdmin)} {
			list := caller.get("/v1/console/webhook-deliveries").want(200)
			require.EqualValues(t, 2, list.body["total"])
			require.Len(t, rowsOf(list), 2)
			require.NotContains(t, string(list.raw), foreign.str("id"))
			for _, filter := range []string{"envelopeId=" + foreign.str("id"), "status=pending"} {
				require.Empty(t, rowsOf(caller.get("/v1/console/webhook-deliveries?"+filter).want(200)), filter)
			}
			require.Len(t, rowsOf(caller.get("/v1/console/webhook-deliveries?envelopeId="+own.str("id")).want(200)), 1)
			for _, delivery := range []string{byEnvelope[id(own)], ping.str("id")} {
				caller.get("/v1/console/webhook-deliveries/" + delivery).want(200)
			}
			for _, e := range []*response{foreign, pending} {
				caller.get("/v1/console/webhook-deliveries/"+byEnvelope[id(e)]).rejected(404, "not_found")
				caller.post("/v1/console/webhook-deliveries/"+byEnvelope[id(e)]+"/resend", nil).rejected(404, "not_found")
			}
		}
		again := c.post("/v1/console/webhooks/"+hook.str("id")+"/resend", since).want(202)
		require.EqualValues(t, 2, again.body["resent"])
		require.EqualValues(t, 0, again.body["remaining"])
		_, err = s.store.DeliveryJob(t.Context(), uuid.MustParse(byEnvelope[id(pending)]))
		require.NoError(t, err, "deliveries in progress continue")

		for _, e := range []*response{own, foreign} {
			_, err := s.store.Change(t.Context(), s.app.ID, id(e), func(e *models.Envelope) error { return e.Void(s.act("system"), nil) })
			require.NoError(t, err)
		}
		voided, _, err := s.store.Deliveries(t.Context(), store.DeliveryFilter{App: s.app.ID, Event: models.EventEnvelopeVoided, Page: 1, Size: 100})
		require.NoError(t, err)
		require.Len(t, voided, 1)
		require.Equal(t, id(own), voided[0].EnvelopeID)

		s.limit(t) // remove the restriction
		s.clock.advance(time.Second)
		require.EqualValues(t, 5, c.get("/v1/console/webhook-deliveries").want(200).body["total"])
		require.Contains(t, string(c.get("/v1/events?event=envelope.voided").want(200).raw), foreign.str("id"), "missed events can be read")
	})
}

// TestResendDeliveries_SinceATime checks that deliveries that failed before the given time are not resent.
func TestResendDeliveries_SinceATime(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/hook", "events": []string{"envelope.sent"}}).want(201).str("id")
		other := c.post("/v1/webhooks", object{"url": "https://example.com/other", "events": []string{"envelope.sent"}}).want(201).str("id")
		ping := func(hook string) string {
			d := c.post("/v1/console/webhooks/"+hook+"/ping", nil).want(202).str("id")
			require.NoError(t, s.store.AbandonDelivery(t.Context(), uuid.MustParse(d), 0))
			return d
		}
		status := func(d string) string { return c.get("/v1/console/webhook-deliveries/" + d).want(200).str("status") }
		old := ping(hook)
		s.clock.advance(10 * time.Minute)
		since := object{"since": s.clock.now().Format(time.RFC3339)}
		s.clock.advance(time.Minute)
		late, elsewhere := ping(hook), ping(other)
		a := c.post("/v1/console/webhooks/"+hook+"/resend", since).want(202)
		require.EqualValues(t, 1, a.body["resent"])
		require.EqualValues(t, 0, a.body["remaining"])
		require.Equal(t, "failed", status(old))
		require.Equal(t, "pending", status(late))
		require.Equal(t, "failed", status(elsewhere))
	})
}
