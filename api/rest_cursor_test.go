package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCursorLists_WalkWhileRowsAreAdded checks that the pages of each list contain every item once and in order, even
// if items are added between two requests.
func TestCursorLists_WalkWhileRowsAreAdded(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		template := bulkTemplate(t, s, c, "acme")
		c.post("/v1/webhooks", object{"url": "https://example.com/hook", "events": []string{"envelope.created"}}).want(http.StatusCreated)
		number := 0
		add := func() {
			number++
			s.clock.advance(time.Second)
			c.post("/v1/envelopes", with(contract(), "subject", fmt.Sprintf("Contract %d", number))).want(http.StatusCreated)
			data := leaseTemplate()
			data["name"], data["externalId"] = fmt.Sprintf("Lease %d", number), fmt.Sprint(number)
			c.post("/v1/templates", data).want(http.StatusCreated)
			rows := []object{bulkRow(fmt.Sprintf("%d a", number), "Ada"), bulkRow(fmt.Sprintf("%d b", number), "Bob"), bulkRow(fmt.Sprintf("%d c", number), "Cyd")}
			c.post("/v1/bulk-sends", bulkRequest(template, rows...)).want(http.StatusAccepted)
		}
		for range 5 {
			add()
		}
		bulk := rowsOf(c.get("/v1/bulk-sends").want(http.StatusOK))
		rows := func(i int) string { return "/v1/bulk-sends/" + bulk[i].(object)["id"].(string) + "/rows" }
		const since = "&createdAfter=2000-01-01T00:00:00Z"
		lists := []struct{ path, kind string }{ // cursors are valid for every list of the same kind
			{"/v1/envelopes?tenantId=acme", "envelopes"},
			{"/v1/envelopes?tenantId=acme&q=contract", "envelopes"},
			{"/v1/envelopes?tenantId=acme" + since, "envelopes by creation"},
			{"/v1/templates?", "templates"},
			{"/v1/templates?tenantId=acme", "templates"},
			{"/v1/templates?q=lease", "templates"},
			{"/v1/bulk-sends?", "bulk sends"},
			{"/v1/bulk-sends?tenantId=acme", "bulk sends"},
			{rows(0) + "?", "rows of the first"},
			{rows(0) + "?status=pending", "rows of the first"},
			{rows(1) + "?", "rows of the second"},
			{"/v1/console/envelopes?", "console"},
			{"/v1/console/envelopes?tenantId=acme&status=draft", "console"},
			{"/v1/console/envelopes?search=contract", "console"},
			{"/v1/console/envelopes?" + since, "console by creation"},
			{"/v1/console/webhook-deliveries?", "deliveries"},
			{"/v1/console/webhook-deliveries?status=pending", "deliveries"},
		}
		ids := func(a *response) (out []any) {
			for _, v := range rowsOf(a) {
				id, ok := v.(object)["id"]
				if !ok {
					id = v.(object)["row"]
				}
				out = append(out, id)
			}
			return out
		}
		cursors := make([]string, len(lists))
		for i, list := range lists {
			want := ids(c.get(list.path + "&pageSize=100").want(http.StatusOK))
			require.GreaterOrEqual(t, len(want), 3, list)
			var got []any
			for cursor := ""; ; {
				page := c.get(list.path + "&pageSize=2" + cursor).want(http.StatusOK)
				got = append(got, ids(page)...)
				next, more := page.body["nextCursor"].(string)
				if !more {
					break
				}
				if cursor == "" {
					cursors[i] = next
					add()
				}
				cursor = "&cursor=" + next
			}
			assert.Equal(t, want, got, list)
		}

		for i, from := range lists {
			for _, list := range lists {
				if a := c.get(list.path + "&cursor=" + cursors[i]); list.kind == from.kind {
					a.want(http.StatusOK)
				} else {
					assert.Contains(t, a.rejected(http.StatusBadRequest, "validation_error").body["errors"], "cursor", "%s in %s", from, list)
				}
			}
			altered := []byte(cursors[i])
			altered[3] ^= 1
			for _, bad := range []string{string(altered), "", "x"} {
				a := c.get(from.path+"&cursor="+bad).rejected(http.StatusBadRequest, "validation_error")
				assert.Contains(t, a.str("message"), "must be the nextCursor of a page of this list")
			}
			if !strings.Contains(from.path, "/rows") { // not for rows, because another app's bulk send is not found
				s.other(t).get(from.path+"&cursor="+cursors[i]).rejected(http.StatusBadRequest, "validation_error")
			}
		}
	})
}
