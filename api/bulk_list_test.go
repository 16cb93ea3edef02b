package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"countersign/models"
)

// TestBulkSends_AreListed checks that an app can list only its own bulk sends, newest first and with counts.
func TestBulkSends_AreListed(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		const at = "/v1/bulk-sends"
		assert.JSONEq(t, `{"data": [], "nextCursor": null}`, string(c.get(at).want(http.StatusOK).raw))
		template, umbrella := bulkTemplate(t, s, c, "acme"), bulkTemplate(t, s, c, "umbrella")
		first := c.post(at, bulkRequest(template, bulkRow("a", "Ada"), bulkRow("b", "Bob"))).want(http.StatusAccepted).str("id")
		s.clock.advance(time.Second)
		elsewhere := bulkRequest(umbrella, bulkRow("c", "Cyd"))
		elsewhere["tenantId"] = "umbrella"
		second := c.post(at, elsewhere).want(http.StatusAccepted).str("id")
		s.clock.advance(time.Second)
		third := c.post(at, bulkRequest(template, bulkRow("d", "Dan"))).want(http.StatusAccepted).str("id")
		c.post(at+"/"+first+"/cancel", nil).want(http.StatusOK)

		ids := func(c *client, query string) []string {
			t.Helper()
			got := c.get(at + query).want(http.StatusOK)
			out := []string{}
			for _, b := range got.body["data"].([]any) {
				out = append(out, b.(object)["id"].(string))
				assert.Equal(t, c.get(at+"/"+b.(object)["id"].(string)).body, b, "the list contains the same view as the response for a single bulk send")
			}
			return out
		}
		assert.Equal(t, []string{third, second, first}, ids(c, ""))
		assert.Equal(t, []string{third, first}, ids(c, "?tenantId=acme"))
		assert.Equal(t, []string{first}, ids(c, "?tenantId=acme&pageSize=1&cursor="+c.get(at+"?tenantId=acme&pageSize=1").want(http.StatusOK).str("nextCursor")))
		assert.Empty(t, ids(c, "?tenantId=nobody"))
		assert.Empty(t, ids(s.other(t), ""))
		assert.Equal(t, []string{third, second, first}, ids(s.signIn(t, models.RoleViewer), ""))
		for query, name := range map[string]string{"?tenantId=": "tenantId", "?cursor=x": "cursor", "?pageSize=101": "pageSize"} {
			assert.Contains(t, c.get(at+query).rejected(http.StatusBadRequest, "validation_error").body["errors"], name)
		}

		s.limit(t, "umbrella")
		s.clock.advance(time.Minute) // makes the cached app expire
		limited := s.client(t)
		assert.Contains(t, limited.get(at).rejected(http.StatusBadRequest, "validation_error").body["errors"], "tenantId")
		limited.get(at+"?tenantId=acme").rejected(http.StatusForbidden, "tenant_forbidden")
		assert.Equal(t, []string{second}, ids(limited, "?tenantId=umbrella"))
	})
}
