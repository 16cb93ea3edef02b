package conformance_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// checkBulkSends validates rows without sending them, and sends two rows, one of which fails. It then lists, pauses,
// resumes, retries and cancels bulk sends.
func checkBulkSends(t *testing.T, s *target) {
	t.Helper()
	c, tenant := s.app(), s.contract()["tenantId"].(string)
	data := `{"tenantId": "` + tenant + `", "name": "Many", "roles": [{"role": "tenant", "authMethod": "none"}],
		"fields": [{"role": "tenant", "type": "signature", "page": 1, "x": 72, "y": 300, "w": 160, "h": 40}]}`
	template := c.multipart(t, "/v1/templates", map[string]string{"data": data}, kit.OnePage()).want(t, 201).str("id")
	row := func(id string) object {
		return object{"externalId": id, "signers": []object{{"role": "tenant", "name": "Ada Byron", "email": "ada@example.com"}}}
	}
	taken := uuid.NewString()
	in := object{"templateId": template, "tenantId": tenant, "name": "Leases", "perMinute": 1, "dryRun": true, "rows": []object{row(uuid.NewString()), row(taken)}}
	const path = "/v1/bulk-sends"
	require.EqualValues(t, 2, c.post(t, path, in).want(t, 200).body["total"])
	delete(in, "dryRun")
	made := c.post(t, path, in).want(t, 202)
	at := path + "/" + made.str("id")
	counts := func() object { return c.get(t, at).want(t, 200).body["counts"].(object) }
	until := func(what string, ok func(object) bool) {
		t.Helper()
		var n object
		require.Eventually(t, func() bool { n = counts(); return ok(n) }, time.Minute, 100*time.Millisecond, "%s: %v", what, &n)
	}
	// At one row per minute, the second row is still waiting when it is canceled.
	until("the first is sent", func(n object) bool { return n["sent"] == 1.0 })
	require.Equal(t, "paused", c.post(t, at+"/pause", nil).want(t, 200).str("status"))
	require.Equal(t, "running", c.post(t, at+"/resume", nil).want(t, 200).str("status"))
	c.post(t, at+"/retry", nil).rejected(t, 409, "bulk_send_no_failed_rows")
	require.Equal(t, "cancelled", c.post(t, at+"/cancel", nil).want(t, 200).str("status"))
	require.Equal(t, object{"pending": 0.0, "sent": 1.0, "failed": 0.0, "cancelled": 1.0}, counts())
	rows := c.get(t, at+"/rows").want(t, 200)
	require.Equal(t, []any{"sent", "cancelled"}, []any{rows.item("data", 0)["status"], rows.item("data", 1)["status"]})

	// While the bulk send is paused, another envelope uses the external ID of the last row. The row therefore fails at
	// first, and is sent by a retry.
	delete(in, "perMinute")
	var many []object
	for range 10 {
		many = append(many, row(uuid.NewString()))
	}
	sends := 1
	for pending := 0.0; pending == 0; sends++ { // if all rows were sent before the pause, try again with new rows
		require.LessOrEqual(t, sends, 5, "could not pause a bulk send in time")
		for _, r := range many {
			r["externalId"] = uuid.NewString()
		}
		in["rows"] = many
		at = path + "/" + c.post(t, path, in).want(t, 202).str("id")
		if a := c.post(t, at+"/pause", nil); a.status == 200 {
			pending = counts()["pending"].(float64)
		}
	}
	other := s.contract()
	other["externalId"] = many[9]["externalId"]
	holder := s.create(t, other)
	c.post(t, at+"/resume", nil).want(t, 200)
	until("the last row fails", func(n object) bool { return n["sent"] == 9.0 && n["failed"] == 1.0 })
	failed := c.get(t, at+"/rows?status=failed").want(t, 200)
	require.Equal(t, "external_id_taken", failed.item("data", 0)["error"].(object)["code"])
	c.call(t, http.MethodDelete, "/v1/envelopes/"+holder.str("id"), nil).want(t, 204)
	c.post(t, at+"/retry", nil).want(t, 200)
	until("the row is sent", func(n object) bool { return n["sent"] == 10.0 })

	list := c.pages(t, path+"?pageSize=2&tenantId="+url.QueryEscape(tenant))
	require.Len(t, list, sends)
	require.Equal(t, made.str("id"), list[sends-1]["id"])
	require.Len(t, c.pages(t, at+"/rows?pageSize=3"), 10)
	require.NotEmpty(t, c.pages(t, "/v1/templates?pageSize=1"))
	require.NotEmpty(t, c.pages(t, "/v1/console/envelopes?pageSize=50&createdAfter="+url.QueryEscape(list[sends-1]["createdAt"].(string))))
}
