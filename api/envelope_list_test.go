package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/test/kit"
)

// TestExternalID checks that an external ID is unique among a tenant's envelopes that have not failed, even with
// concurrent requests.
func TestExternalID(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"envelope.sent"}}).want(201)
		data := contract()
		data["externalId"], data["metadata"] = "order 7", object{"k": "v"}
		first := c.draft(data)
		require.Equal(t, "order 7", first.str("externalId"))
		rejected := c.post("/v1/envelopes", data).rejected(409, "external_id_taken")
		require.Equal(t, first.str("id"), rejected.body["details"].(object)["envelopeId"])
		other := clone(data)
		other["tenantId"] = "beta"
		c.post("/v1/envelopes", other).want(201)
		s.other(t).post("/v1/envelopes", data).want(201)
		c.post("/v1/envelopes/"+first.str("id")+"/void", nil).want(200)

		status := make([]int, 6)
		var wg sync.WaitGroup
		for i := range status {
			wg.Go(func() { status[i] = c.post("/v1/envelopes", data).status })
		}
		wg.Wait()
		slices.Sort(status)
		require.Equal(t, []int{201, 409, 409, 409, 409, 409}, status)
		require.Contains(t, c.post("/v1/envelopes", with(data, "externalId", strings.Repeat("x", 201))).rejected(400, "validation_error").body["errors"], "externalId")
		many := object{}
		for i := range 21 {
			many[fmt.Sprint(i)] = "v"
		}
		for _, bad := range []any{many, object{"a": strings.Repeat("x", 501)}, object{strings.Repeat("x", 501): "a"}, object{"a": 1}, object{"": "x"}} {
			require.Contains(t, c.post("/v1/envelopes", with(with(data, "externalId", "x"), "metadata", bad)).rejected(400, "validation_error").body["errors"], "metadata")
		}

		ct, flat := multipartBody(t, map[string]string{
			"tenantId": "acme", "signers": `[{"name":"A","email":"a@example.com"}]`, "externalId": "flat", "metadata": `{"k":"v"}`, "message": "M", "reminderHours": "3",
			"subject": "S", "createdBy": "me", "expiresInDays": "3", "origin": "bottom-left", "documentOptions": `{"activeContent":"refuse"}`,
		}, kit.OnePage())
		made := c.send(http.MethodPost, "/v1/envelopes", ct, flat).want(201)
		require.Equal(t, []any{"S", "me"}, []any{made.body["subject"], made.body["createdBy"]})
		require.Equal(t, []any{"flat", object{"k": "v"}, "M", 3.0}, []any{made.body["externalId"], made.body["metadata"], made.body["message"], made.body["reminderHours"]})
		for _, shown := range []object{c.get("/v1/console/envelopes/" + made.str("id")).want(200).body, c.get("/v1/console/envelopes?search=" + made.str("id")).want(200).body["data"].([]any)[0].(object)} {
			require.Equal(t, []any{"flat", object{"k": "v"}, "M", 3.0}, []any{shown["externalId"], shown["metadata"], shown["message"], shown["reminderHours"]})
		}

		sent, _ := c.sent(with(data, "externalId", "order 8"))
		found := c.get("/v1/console/webhook-deliveries?webhookId=" + hook.str("id")).want(200).body["data"].([]any)
		require.NotEmpty(t, found)
		body := payloadOf(c, found[0].(object)["id"].(string))
		require.Equal(t, sent.str("id"), body["envelopeId"])
		require.Equal(t, "order 8", body["data"].(object)["externalId"])
		require.Equal(t, object{"k": "v"}, body["data"].(object)["metadata"])
	})
}

// TestListEnvelopes_FiltersAndCursors checks each filter, and that paging by cursor is not disturbed by envelopes that
// are added or removed.
func TestListEnvelopes_FiltersAndCursors(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		var ids []string
		for i := range 7 {
			s.clock.advance(time.Second)
			ids = append(ids, c.post("/v1/envelopes", object{
				"tenantId": "acme", "subject": fmt.Sprintf("Deal %d", i), "externalId": fmt.Sprintf("x-%d", i),
				"signers": []object{{"name": fmt.Sprintf("Person %d", i), "email": fmt.Sprintf("p%d@corp%d.example", i, i%2)}},
			}).want(201).str("id"))
		}
		get := func(q string) (found []string, a *response) {
			a = c.get("/v1/envelopes?tenantId=acme" + q).want(200)
			for _, x := range a.body["data"].([]any) {
				found = append(found, x.(object)["id"].(string))
			}
			return found, a
		}
		one := func(q string, want ...string) {
			t.Helper()
			found, a := get(q)
			require.Equal(t, want, found, q)
			require.EqualValues(t, len(want), a.body["total"], q)
			require.Nil(t, a.body["nextCursor"], q)
		}
		one("&externalId=x-3", ids[3])
		one("&q=deal+4", ids[4])
		one("&q=PERSON+2", ids[2])
		one("&signerEmail=p5@corp1.example", ids[5])
		one("&signerEmail=corp1.example", ids[5], ids[3], ids[1])
		one("&externalId=none")
		third := c.get("/v1/envelopes/" + ids[3]).want(200)
		at := url.QueryEscape(third.str("createdAt"))
		one("&createdAfter="+at, ids[6], ids[5], ids[4], ids[3])
		unescaped := c.get("/v1/envelopes?tenantId=acme&createdAfter=2026-01-01T00:00:00+01:00").rejected(400, "validation_error")
		require.Contains(t, unescaped.str("message"), "must be a time such as 2026-11-21T07:00:00Z; encode the + of a time zone as %2B")
		one("&createdBefore="+at, ids[2], ids[1], ids[0])
		s.clock.advance(time.Second)
		since := url.QueryEscape(s.clock.now().Format(time.RFC3339Nano))
		c.patch("/v1/envelopes/"+ids[1], object{"subject": "Changed"}).want(200)
		one("&updatedSince="+since, ids[1])
		one("&sort=updatedAt&updatedSince="+url.QueryEscape(c.get("/v1/envelopes/"+ids[5]).str("updatedAt")), ids[5], ids[6], ids[1])

		for sort, order := range map[string][]string{
			"createdAt": {ids[6], ids[5], ids[4], ids[3], ids[2], ids[1], ids[0]},
			"updatedAt": {ids[0], ids[2], ids[3], ids[4], ids[5], ids[6], ids[1]},
		} {
			for _, filter := range []string{"", "&q=person", "&status=draft"} {
				var all []string
				q := ""
				for n := 0; ; n++ {
					require.Less(t, n, 5)
					found, a := get("&pageSize=3&sort=" + sort + filter + q)
					all = append(all, found...)
					require.EqualValues(t, 7, a.body["total"])
					require.EqualValues(t, 3, a.body["pageSize"])
					next, _ := a.body["nextCursor"].(string)
					if next == "" {
						break
					}
					q = "&cursor=" + next
				}
				require.Equal(t, order, all, "%s %s", sort, filter)
			}
		}
		_, a := get("&pageSize=3")
		cursor := a.str("nextCursor")
		require.Contains(t, c.get("/v1/envelopes?tenantId=acme&page=1&cursor="+cursor).rejected(400, "validation_error").body["errors"], "cursor")
		require.Contains(t, c.get("/v1/envelopes?tenantId=acme&sort=updatedAt&cursor="+cursor).rejected(400, "validation_error").body["errors"], "cursor")
		found, _ := get("&pageSize=3&page=2")
		require.Equal(t, []string{ids[3], ids[2], ids[1]}, found)
		for range 2 { // new envelopes between two pages must not cause omitted or repeated items
			c.post("/v1/envelopes", with(contract(), "tenantId", "acme")).want(201)
		}
		found, _ = get("&pageSize=3&cursor=" + cursor)
		require.Equal(t, []string{ids[3], ids[2], ids[1]}, found)

		// Filter by a period. The cursor may refer to an envelope of another tenant.
		period := "&createdAfter=" + url.QueryEscape(c.get("/v1/envelopes/"+ids[2]).str("createdAt")) + "&createdBefore=" + url.QueryEscape(c.get("/v1/envelopes/"+ids[6]).str("createdAt"))
		found, a = get("&pageSize=2" + period)
		require.Equal(t, []string{ids[5], ids[4]}, found)
		found, last := get("&pageSize=2" + period + "&cursor=" + a.str("nextCursor"))
		require.Equal(t, []string{ids[3], ids[2]}, found)
		require.Nil(t, last.body["nextCursor"])
		for range 2 {
			c.post("/v1/envelopes", with(contract(), "tenantId", "globex")).want(201)
		}
		foreign := c.get("/v1/envelopes?tenantId=globex&pageSize=1&createdAfter=" + at).want(200).str("nextCursor")
		found, _ = get("&pageSize=2" + period + "&cursor=" + foreign)
		require.Equal(t, []string{ids[5], ids[4]}, found)
		for query, other := range map[string]string{period: cursor, "": foreign, "&sort=updatedAt": foreign} {
			require.Contains(t, c.get("/v1/envelopes?tenantId=acme&cursor="+other+query).rejected(400, "validation_error").body["errors"], "cursor", query)
		}
	})
}

// TestListEnvelopes_TenantRestriction checks that a tenant restriction applies in combination with every filter.
func TestListEnvelopes_TenantRestriction(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		var foreign *response
		for _, tenant := range []string{"globex", "acme", "globex", "initech"} {
			data := contract()
			data["tenantId"] = tenant
			e, _ := c.sent(data)
			if tenant == "globex" {
				foreign = e
			}
			_, err := s.store.BeginMail(t.Context(), models.Mail{ID: "mail-" + e.str("id"), EnvelopeID: id(e), SignerID: uuid.MustParse(e.signer(0)["id"].(string)), Kind: models.MailInvitation})
			require.NoError(t, err)
			require.NoError(t, s.store.MailFailed(t.Context(), "mail-"+e.str("id"), "no such mailbox"))
		}
		s.limit(t, "acme")
		s.clock.advance(time.Second) // a change to an app takes effect after a second
		person := s.person(t, models.RoleAdmin)
		day := url.QueryEscape(s.clock.now().Add(-24 * time.Hour).Format(time.RFC3339))
		next := url.QueryEscape(s.clock.now().Add(24 * time.Hour).Format(time.RFC3339))
		filters := []string{"", "&search=contract", "&search=ada", "&search=ada@example.com", "&search=example.com", "&status=sent", "&undelivered=true", "&createdAfter=" + day, "&createdBefore=" + next}
		for _, caller := range []*client{c, person} {
			for _, one := range filters {
				for _, two := range filters {
					if one == two && one != "" || strings.HasPrefix(one, "&search") && strings.HasPrefix(two, "&search") {
						continue
					}
					at := "/v1/console/envelopes?tenantId=acme" + one + two
					a := caller.get(at).want(200)
					require.Len(t, a.body["data"], 1, at)
					require.Equal(t, "acme", a.body["data"].([]any)[0].(object)["tenantId"], at)
					caller.get("/v1/console/envelopes?tenantId=globex"+one+two).rejected(403, "tenant_forbidden")
					caller.get("/v1/console/envelopes?page=1"+one+two).rejected(400, "validation_error")
				}
			}
			require.Empty(t, rowsOf(caller.get("/v1/console/envelopes?tenantId=acme&search="+foreign.str("id")).want(200)))
			for _, path := range []string{"", "/document"} {
				caller.get("/v1/console/envelopes/"+foreign.str("id")+path).rejected(404, "not_found")
			}
			caller.get("/v1/envelopes/"+foreign.str("id")+"/progress").rejected(404, "not_found")
			caller.post("/v1/console/envelopes/"+foreign.str("id")+"/void", nil).rejected(404, "not_found")
			caller.post("/v1/console/envelopes/"+foreign.str("id")+"/signers/"+foreign.signer(0)["id"].(string)+"/resend", nil).rejected(404, "not_found")
		}
		for _, status := range []string{"", "&status=sent"} {
			require.EqualValues(t, 1, c.get("/v1/envelopes?tenantId=acme" + status).want(200).body["total"])
			c.get("/v1/envelopes?tenantId=globex"+status).rejected(403, "tenant_forbidden")
		}
		c.get("/v1/envelopes/"+foreign.str("id")).rejected(404, "not_found")
	})
}
