package api_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

func TestEnvelopesByDay(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		start := s.clock.now()
		old := c.draft(contract()).str("id")
		s.clock.advance(72 * time.Hour)
		c = s.client(t)
		fresh := c.draft(contract()).str("id")
		found := func(query string) (ids []string) {
			a := c.get("/v1/console/envelopes?" + query).want(200)
			for _, v := range rowsOf(a) {
				ids = append(ids, v.(object)["id"].(string))
			}
			return ids
		}
		day := func(n int) string { return start.AddDate(0, 0, n).Format(time.RFC3339) }
		require.Equal(t, []string{fresh, old}, found("createdAfter="+day(-1)))
		require.Equal(t, []string{fresh}, found("createdAfter="+day(1)))
		require.Equal(t, []string{old}, found("createdBefore="+day(1)))
		require.Empty(t, found("createdAfter="+day(1)+"&createdBefore="+day(2)))
		require.Equal(t, []string{old}, found("createdBefore="+day(1)+"&search=ada@example.com&tenantId=acme&status=draft"))
		c.post("/v1/envelopes/"+old+"/void", nil).want(200)
		require.Equal(t, []string{old}, found("createdBefore="+day(1)+"&status=voided"))
		c.get("/v1/console/envelopes?createdAfter=yesterday").rejected(400, "validation_error")
		c.get("/v1/console/envelopes?undelivered=perhaps").rejected(400, "validation_error")
	})
}

// TestContacts_NextPageKeepsTheQuery checks that the link to the next page repeats the query parameters.
func TestContacts_NextPageKeepsTheQuery(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.signIn(t, models.RoleAdmin)
	for _, name := range []string{"Ada", "Adam", "Bob"} {
		c.post("/v1/console/contacts", object{"name": name, "email": name + "@example.com"}).want(200)
	}
	next := func(query string) url.Values {
		link := c.get("/v1/console/contacts?" + query).want(200).header.Get("Link")
		if link == "" {
			return nil
		}
		require.True(t, strings.HasSuffix(link, `>; rel="next"`), link)
		u, err := url.Parse(strings.TrimPrefix(strings.TrimSuffix(link, `>; rel="next"`), "<"))
		require.NoError(t, err)
		return u.Query()
	}
	require.Equal(t, url.Values{"page": {"2"}, "pageSize": {"1"}, "search": {"ada"}}, next("search=ada&pageSize=1"))
	require.Nil(t, next("search=ada&pageSize=1&page=2"))
	require.Equal(t, url.Values{"page": {"2"}, "pageSize": {"2"}}, next("pageSize=2"))
	require.Nil(t, next("pageSize=3"))
	for _, bad := range []string{"page=0", "page=1000001", "pageSize=0", "pageSize=1001", "page=x", "page=-1", "page=1.5"} {
		name, _, _ := strings.Cut(bad, "=")
		require.Contains(t, c.get("/v1/console/contacts?"+bad).rejected(400, "validation_error").body["errors"], name, bad)
	}
	for _, good := range []string{"page=1", "page=1000000", "pageSize=1", "pageSize=1000"} {
		c.get("/v1/console/contacts?" + good).want(200)
	}
}

func TestContactsAndUsage(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		one := c.post("/v1/console/contacts", object{"name": "Ada Byron", "email": "Ada@example.com", "phone": "+44 20 7946 0958"}).want(200)
		require.Equal(t, "+442079460958", one.str("phone"))
		two := c.post("/v1/console/contacts", object{"name": "Ada Lovelace", "email": "ada@EXAMPLE.com"}).want(200)
		require.Equal(t, one.str("id"), two.str("id"), "contacts are unique by app and address")
		c.post("/v1/console/contacts", object{"name": "Bob", "email": "bob@example.com"}).want(200)
		c.post("/v1/console/contacts", object{"email": "x"}).rejected(400, "validation_error")
		require.Equal(t, 1, strings.Count(string(c.get("/v1/console/contacts?search=LOVE").want(200).raw), `"appId"`))
		require.Equal(t, 2, strings.Count(string(c.get("/v1/console/contacts").want(200).raw), `"appId"`))
		s.other(t).del("/v1/console/contacts/"+one.str("id")).rejected(404, "not_found")
		c.del("/v1/console/contacts/" + one.str("id")).want(204)

		c.sent(contract())
		u := c.get("/v1/console/usage").want(200)
		require.Equal(t, "enterprise", u.str("plan"))
		require.EqualValues(t, 1, u.body["envelopesUsed"])
		require.Nil(t, u.body["envelopesLimit"])
		now := s.clock.now()
		require.Equal(t, now.Format("2006-01-")+"01", u.str("periodStart"))
		require.Equal(t, time.Date(now.Year(), now.Month()+1, 0, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), u.str("periodEnd"))
	})
}

// TestPhoneNumbers_NormalizedOrRejected checks that a plausible phone number is normalized, and that any other number
// is rejected.
func TestPhoneNumbers_NormalizedOrRejected(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	for text, want := range map[string]string{
		"+44 20 7946 0958": "+442079460958", "+442079460958": "+442079460958", "  +44 (20) 7946-0958 ": "+442079460958",
	} {
		require.Equal(t, want, c.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com", "phone": text}).want(200).str("phone"), text)
	}
	for _, text := range []string{"+1 234 567", "020 7946 0958", "+44", "nobody", "+44 20 7946 0958 7946 0958 7946"} {
		c.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com", "phone": text}).want(400)
	}
	for _, text := range []string{"", "  "} {
		require.Nil(t, c.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com", "phone": text}).want(200).body["phone"], "no number")
	}
}

// TestContacts_KeepTheirPhone checks that a request without a phone number keeps the stored one, and that null deletes
// it.
func TestContacts_KeepTheirPhone(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		save := func(body object) any {
			return c.post("/v1/console/contacts", body).want(200).body["phone"]
		}
		require.Equal(t, "+4915112345678", save(object{"name": "Ada", "email": "ada@example.com", "phone": "+49 151 12345678"}))
		require.Equal(t, "+4915112345678", save(object{"name": "Ada Byron", "email": "ADA@example.com"}))
		require.Equal(t, "+4915112345678", list(c.get("/v1/console/contacts").want(200))[0].(object)["phone"])
		require.Nil(t, save(object{"name": "Ada Byron", "email": "ada@example.com", "phone": nil}))
		require.Nil(t, save(object{"name": "Ada Byron", "email": "ada@example.com"}))
	})
}

// TestContacts_ReportTruncation checks that an incomplete list reports the total and the next page.
func TestContacts_ReportTruncation(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	for _, name := range []string{"Ada", "Ben", "Cleo", "Dan", "Eve"} {
		c.post("/v1/console/contacts", object{"name": name, "email": name + "@example.com"}).want(200)
	}
	all := c.get("/v1/console/contacts").want(200)
	require.Len(t, list(all), 5)
	require.Equal(t, "5", all.header.Get("X-Total-Count"))
	require.Empty(t, all.header.Get("Link"))
	c.post("/v1/console/contacts", object{"name": "Bob", "email": "bob@elsewhere.org"}).want(200) // does not match the search term below
	var names []string
	for path := "/v1/console/contacts?pageSize=2&search=example"; path != ""; {
		a := c.get(path).want(200)
		for _, v := range list(a) {
			names = append(names, v.(object)["name"].(string))
		}
		path = ""
		if link := a.header.Get("Link"); link != "" {
			require.True(t, strings.HasSuffix(link, `>; rel="next"`), link)
			path = strings.TrimPrefix(strings.TrimSuffix(link, `>; rel="next"`), "<https://sign.example.com")
		}
	}
	require.Equal(t, []string{"Ada", "Ben", "Cleo", "Dan", "Eve"}, names)
	c.get("/v1/console/contacts?pageSize=1001").want(400)
}
