package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

const recipientsPath = "/v1/console/recipients"

// suggested returns the addresses of the recipients suggested to a user.
func (c *client) suggested(query string) (emails []string) {
	c.t.Helper()
	for _, v := range rowsOf(c.get(recipientsPath + "?" + query).want(200)) {
		emails = append(emails, v.(object)["email"].(string))
	}
	return emails
}

// sentTo sends an envelope to the given people on behalf of a tenant.
func (c *client) sentTo(tenant string, people ...object) *response {
	c.t.Helper()
	data := contract()
	for _, p := range people {
		p["authMethod"] = "none"
	}
	data["tenantId"], data["signers"] = tenant, people
	e, _ := c.sent(data)
	return e
}

// TestSuggestRecipients_LearnsFromSends checks that the suggestions include the recipients of the user's sent envelopes
// until the documents are deleted.
func TestSuggestRecipients_LearnsFromSends(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		sam, eve := s.person(t, models.RoleSender), s.person(t, models.RoleSender)
		own := sam.email()
		draft := sam.draft(contract())
		require.Empty(t, sam.suggested("tenantId=acme&search=ada"), "drafts must be ignored")
		sam.post("/v1/envelopes/"+draft.str("id")+"/send", nil).want(200)
		require.Equal(t, []any{object{"name": "Ada Byron", "email": "ada@example.com", "phone": nil}}, rowsOf(sam.get(recipientsPath+"?tenantId=acme&search=BYR").want(200)))
		require.Equal(t, []string{"ada@example.com"}, sam.suggested("search=EXAMPLE.com"))
		require.Equal(t, []string{"ada@example.com"}, sam.suggested(""))
		require.Empty(t, sam.suggested("search=grace"))
		require.Empty(t, sam.suggested("search=ada&tenantId=other"), "another tenant")
		require.Empty(t, eve.suggested("search=ada"), "another sender")
		s.client(t).sentTo("acme", object{"name": "Ada Application", "email": "application@example.com"})
		require.Empty(t, sam.suggested("search=application"), "envelopes sent by an application must be ignored")

		// Recipients of a later envelope come first, under the name used in that envelope.
		sam.sentTo("acme", object{"name": "Ada Lovelace", "email": "ADA@example.com"}, object{"name": "Ada Zwei", "email": "zwei@example.com", "phone": "+442079460958", "routingOrder": 2}, object{"name": "Me", "email": own, "routingOrder": 3})
		sam.post("/v1/console/contacts", object{"name": "Ada Contact", "email": "saved@example.com"}).want(200)
		sam.post("/v1/console/contacts", object{"name": "Ada Zwei", "email": "Zwei@example.com"}).want(200)
		require.Equal(t, []any{
			object{"name": "Ada Lovelace", "email": "ADA@example.com", "phone": nil},
			object{"name": "Ada Zwei", "email": "zwei@example.com", "phone": "+442079460958"},
			object{"name": "Ada Contact", "email": "saved@example.com", "phone": nil},
		}, rowsOf(sam.get(recipientsPath+"?tenantId=acme&search=ada").want(200)))
		require.NotContains(t, sam.suggested(""), own)
		require.Equal(t, []string{"saved@example.com", "Zwei@example.com"}, eve.suggested("search=ada"), "contacts belong to the app")

		// When an envelope's documents are deleted, its recipients are no longer suggested.
		gone := sam.sentTo("acme", object{"name": "Gone Girl", "email": "gone@example.com"})
		require.Equal(t, []string{"gone@example.com"}, sam.suggested("search=gone"))
		sam.signs(gone, strings.TrimPrefix(s.link(t, gone, 0), "/v1/signing/"))
		s.completes(t, gone.str("id"), 1)
		s.clock.advance(48 * time.Hour)
		_, err := s.store.Change(t.Context(), s.app.ID, id(gone), func(e *models.Envelope) error { return e.Purge(s.act("system")) })
		require.NoError(t, err)
		sam = s.enters(t, object{"email": own, "password": password})
		require.Empty(t, sam.suggested("search=gone"))
		require.NotEmpty(t, sam.suggested("search=lovelace"))
	})
}

// TestSuggestRecipients_IsLimited checks the maximum number of suggestions, and that a restricted client gets only
// suggestions from its own tenants.
func TestSuggestRecipients_IsLimited(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		s.limit(t, "acme", "globex")
		sam := s.person(t, models.RoleSender)
		var people []object
		for i := range 12 {
			people = append(people, object{"name": fmt.Sprintf("Ada %02d", i), "email": fmt.Sprintf("ada%02d@example.com", i), "routingOrder": i + 1})
		}
		sam.sentTo("acme", people...)
		require.Len(t, sam.suggested("tenantId=acme&search=ada"), 10)
		require.Len(t, sam.suggested("tenantId=acme"), 10)
		require.Equal(t, []string{"ada11@example.com"}, sam.suggested("tenantId=acme&search=ada+11"))
		require.Empty(t, sam.suggested("tenantId=globex"))
		for query, member := range map[string]string{"": "tenantId", "tenantId=": "tenantId", "tenantId=acme&search=" + url.QueryEscape("a\x00"): "search"} {
			require.Contains(t, sam.get(recipientsPath+"?"+query).rejected(400, "validation_error").body["errors"], member)
		}
		sam.get(recipientsPath+"?tenantId=initech").rejected(403, "tenant_forbidden")
		s.client(t).get(recipientsPath).rejected(403, "user_required")
	})
}
