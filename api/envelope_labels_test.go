package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/test/kit"
)

// TestLabels_FindEnvelopesAndTemplates checks that labels can be set in every state, and that envelopes and templates
// can be found by label.
func TestLabels_FindEnvelopesAndTemplates(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		found := func(path, label string) (ids []string) {
			for _, row := range rowsOf(c.get(path + "label=" + url.QueryEscape(label)).want(200)) {
				ids = append(ids, row.(object)["id"].(string))
			}
			return ids
		}
		quoted := `Miete "Süd" 100%`
		first, token := c.sent(with(contract(), "labels", []string{"Leases", quoted}))
		second := c.draft(with(contract(), "labels", []string{"Leases"}))
		none := c.draft(contract())
		require.Equal(t, []any{"Leases", quoted}, first.body["labels"])
		require.NotContains(t, none.body, "labels")
		for _, list := range []string{"/v1/envelopes?tenantId=acme&", "/v1/console/envelopes?"} {
			require.Equal(t, []string{second.str("id"), first.str("id")}, found(list, "Leases"), list)
			require.Equal(t, []string{first.str("id")}, found(list, quoted), list)
			require.Equal(t, []string{first.str("id")}, found(list+"status=sent&", "Leases"), list)
			require.Empty(t, found(list, "leases"), list)
		}
		ct, flat := multipartBody(t, map[string]string{"tenantId": "acme", "signers": `[{"name":"A","email":"a@example.com"}]`, "labels": `["flat"]`}, kit.OnePage())
		require.Equal(t, []any{"flat"}, c.send(http.MethodPost, "/v1/envelopes", ct, flat).want(201).body["labels"])

		require.Equal(t, []any{"Leases", quoted}, c.get("/v1/console/envelopes/" + first.str("id")).want(200).body["labels"])

		// Labels can be changed in every state, and the audit trail does not record the change.
		c.signs(first, token)
		s.completes(t, first.str("id"), 0)
		at := "/v1/envelopes/" + first.str("id")
		before := c.get(at).want(200).eventNames()
		after := c.call(http.MethodPatch, at, object{"labels": []string{"Done"}}).want(200)
		require.Equal(t, []any{"Done"}, after.body["labels"])
		require.Equal(t, before, c.get(at).want(200).eventNames())
		require.Equal(t, []string{first.str("id")}, found("/v1/envelopes?tenantId=acme&", "Done"))
		require.NotContains(t, c.call(http.MethodPatch, at, object{"labels": nil}).want(200).body, "labels")
		c.call(http.MethodPatch, at, object{"labels": []string{"x"}, "subject": "y"}).rejected(409, "envelope_not_draft")
		s.signIn(t, models.RoleSupport).call(http.MethodPatch, at, object{"labels": []string{"by support"}}).want(200)
		s.signIn(t, models.RoleViewer).call(http.MethodPatch, at, object{"labels": []string{}}).rejected(403, "role_forbidden")

		many := make([]string, 21)
		for i := range many {
			many[i] = strings.Repeat("x", i+1)
		}
		for _, bad := range []any{many, []string{""}, []string{strings.Repeat("é", 51)}, []string{"a", "a"}, []any{1}, "a"} {
			problems := c.post("/v1/envelopes", with(contract(), "labels", bad)).rejected(400, "validation_error").body["errors"].(object)
			require.Len(t, problems, 1)
			for path := range problems {
				require.True(t, strings.HasPrefix(path, "labels"), path)
			}
		}
		require.Equal(t, object{"labels[1]": []any{"must be a string"}}, c.post("/v1/envelopes", with(contract(), "labels", []any{"a", 1})).rejected(400, "validation_error").body["errors"])
		c.get("/v1/envelopes?tenantId=acme&label="+strings.Repeat("x", 51)).rejected(400, "validation_error")

		// An envelope inherits the labels of its template unless the request contains others.
		lease := c.post("/v1/templates", with(leaseTemplate(), "labels", []string{"Leases", "2026"})).want(201)
		other := c.post("/v1/templates", with(with(leaseTemplate(), "labels", nil), "externalId", "other")).want(201)
		require.Equal(t, []any{"Leases", "2026"}, lease.body["labels"])
		require.Equal(t, []any{}, other.body["labels"])
		require.Equal(t, []string{lease.str("id")}, found("/v1/templates?tenantId=acme&", "2026"))
		require.Equal(t, []string{lease.str("id")}, found("/v1/templates?tenantId=acme&q=lease&", "2026"))
		edited := c.call(http.MethodPatch, "/v1/templates/"+lease.str("id"), object{"labels": []string{"2027"}}).want(200)
		require.Equal(t, []any{"2027"}, edited.body["labels"])
		require.EqualValues(t, lease.body["version"], edited.body["version"], "changing labels does not change the content")

		// Labels can also be set in the flat fields of a form.
		ct, flat = multipartBody(t, map[string]string{"tenantId": "acme", "name": "Lease", "roles": `[{"role":"tenant"}]`, "labels": `["flat"]`}, kit.OnePage())
		flatTemplate := c.send(http.MethodPost, "/v1/templates", ct, flat).want(201)
		require.Equal(t, []any{"flat"}, flatTemplate.body["labels"])
		ct, flat = multipartBody(t, map[string]string{"labels": `["flatter"]`}, kit.OnePage())
		require.Equal(t, []any{"flatter"}, c.send(http.MethodPatch, "/v1/templates/"+flatTemplate.str("id"), ct, flat).want(200).body["labels"])
	})
}
