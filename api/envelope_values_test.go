package api_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestWebhookValues checks that values are sent only to endpoints that include them, until the inclusion is removed or
// the envelope is purged.
func TestWebhookValues(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		events := []string{"envelope.sent", "signer.signed", "envelope.completed"}
		const secret = "entered in confidence"
		plain := c.post("/v1/webhooks", object{"url": "https://example.com/plain", "events": events}).want(201)
		require.NotContains(t, plain.body, "include", "clients that do not use values must not receive them")
		asked := c.post("/v1/webhooks", object{"url": "https://example.com/asked", "events": events, "include": []string{"values", "values"}}).want(201)
		require.Equal(t, []any{"values"}, asked.body["include"], "each once")
		at := "/v1/webhooks/" + asked.str("id")
		require.Equal(t, asked.body, c.get(at).want(200).body)
		require.Equal(t, []any{"values"}, list(c.get("/v1/console/webhooks").want(200))[1].(object)["include"])
		for _, bad := range []any{[]string{"pictures"}, []any{1}, "values", make([]string, 11)} {
			require.Contains(t, fmt.Sprint(c.patch(at, object{"include": bad}).rejected(400, "validation_error").body["errors"]), "include")
			c.post("/v1/webhooks", object{"url": "https://example.com/bad", "events": events, "include": bad}).rejected(400, "validation_error")
		}
		require.Equal(t, []any{"values"}, c.patch(at, object{"url": "https://example.com/other"}).want(200).body["include"], "an absent member keeps its value")

		e, token := c.sent(twoSignerRequest())
		sign := func(token, text string) {
			link, i := "/v1/signing/"+token, 0
			if token == tokenOf(e.signer(1)["signingUrl"]) {
				i = 1
			}
			nobody.get(link).want(200)
			nobody.post(link+"/consent", nil).want(200)
			nobody.post(link+"/sign", object{"fields": []object{{"fieldId": e.field(i)["id"], "textValue": text}}}).want(200)
		}
		sign(token, secret)
		shown := c.get("/v1/envelopes/" + e.str("id") + "/values").want(200)
		delivered := func(hook *response, event string) (out []object) {
			t.Helper()
			for _, d := range c.get("/v1/console/webhook-deliveries?event=" + event + "&webhookId=" + hook.str("id")).want(200).body["data"].([]any) {
				id := d.(object)["id"].(string)
				job, err := s.store.DeliveryJob(t.Context(), uuid.MustParse(id))
				require.NoError(t, err)
				require.Nil(t, job.Event.ValuesBody)
				var body object
				require.NoError(t, json.Unmarshal(job.Event.Body, &body))
				require.Equal(t, event, body["event"])
				showNotice(t, body)
				out = append(out, body["data"].(object))
				require.NotContains(t, payloadOf(c, id)["data"], "values", "the console must not show values")
			}
			return out
		}
		first := delivered(asked, "signer.signed")
		require.Len(t, first, 1)
		require.Equal(t, shown.body, first[0]["values"], "the same values as in GET …/values, with null for unsigned fields")
		require.Contains(t, fmt.Sprint(first[0]["values"]), secret)
		require.Contains(t, fmt.Sprint(first[0]["values"]), "<nil>")
		require.NotContains(t, delivered(asked, "envelope.sent")[0], "values", "the event must contain no values")
		require.NotContains(t, delivered(plain, "signer.signed")[0], "values")

		sign(tokenOf(e.signer(1)["signingUrl"]), "second")
		s.completes(t, e.str("id"), 1)
		shown = c.get("/v1/envelopes/" + e.str("id") + "/values").want(200)
		require.NotContains(t, fmt.Sprint(shown.body), "<nil>")
		require.Equal(t, shown.body, delivered(asked, "signer.signed")[0]["values"])
		require.Equal(t, shown.body, delivered(asked, "envelope.completed")[0]["values"])
		require.NotContains(t, delivered(plain, "envelope.completed")[0], "values")
		require.NotContains(t, string(c.get("/v1/events").want(200).raw), secret, "GET /v1/events must not return values")
		require.Equal(t, 3, s.valuesAtRest(t, secret), "two signatures and the completion")

		require.NotContains(t, c.patch(at, object{"include": nil}).want(200).body, "include")
		require.NotContains(t, delivered(asked, "envelope.completed")[0], "values", "a pending delivery no longer includes the values")
		c.patch(at, object{"include": []string{"values"}}).want(200)
		require.Contains(t, delivered(asked, "envelope.completed")[0], "values")
		s.clock.advance(48 * time.Hour)
		c = s.client(t)
		_, err := s.store.Change(t.Context(), s.app.ID, uuid.MustParse(e.str("id")), func(e *models.Envelope) error { return e.Purge(s.act("system")) })
		require.NoError(t, err)
		require.Zero(t, s.valuesAtRest(t, secret), "the values were purged with the documents")
		for _, name := range []string{"signer.signed", "envelope.completed"} {
			for _, d := range c.get("/v1/console/webhook-deliveries?event=" + name + "&webhookId=" + asked.str("id")).want(200).body["data"].([]any) {
				at := "/v1/console/webhook-deliveries/" + d.(object)["id"].(string)
				require.Nil(t, c.get(at).want(200).body["payload"])
				c.post(at+"/resend", nil).rejected(410, "payload_purged")
			}
		}
		for name, value := range c.get("/v1/envelopes/" + e.str("id") + "/values").want(200).body {
			require.Nil(t, value, name)
		}
		for _, f := range c.get("/v1/envelopes/" + e.str("id")).want(200).body["fields"].([]any) {
			require.Nil(t, f.(object)["value"])
		}
	})
}

// showNotice validates a webhook body against the contract, and records the members that it contains.
func showNotice(t *testing.T, body object) {
	t.Helper()
	schema := &openapi3.SchemaRef{Value: schemaNamed("Notice")}
	require.NoError(t, schema.Value.VisitJSON(body, openapi3.EnableJSONSchema2020()))
	coverageOf.mu.Lock()
	defer coverageOf.mu.Unlock()
	coverageOf.walk("Notice", schema, body)
}

// valuesAtRest returns the number of stored webhook bodies that contain values. It checks that none of them can be read
// without the key.
func (s *service) valuesAtRest(t *testing.T, secret string) (n int) {
	t.Helper()
	driver, address := "sqlite", strings.TrimPrefix(s.url, "sqlite://")+"?_pragma=busy_timeout(10000)"
	if strings.HasPrefix(s.url, "postgres") {
		driver, address = "pgx", s.url
	}
	db, err := sql.Open(driver, address)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.QueryContext(t.Context(), "SELECT values_body FROM webhook_events WHERE values_body IS NOT NULL")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for ; rows.Next(); n++ {
		var body []byte
		require.NoError(t, rows.Scan(&body))
		require.False(t, bytes.Contains(body, []byte(secret)))
	}
	require.NoError(t, rows.Err())
	return n
}
