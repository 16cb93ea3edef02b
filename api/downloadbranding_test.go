package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBrandingOfThePortal: whoever has a download link sees the sender's look and logo;
// without a choice the answer is as it always was, and without a valid link there is no logo. The page that says that the document was deleted has it, too.
func TestBrandingOfThePortal(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		e, token := c.sent(contract())
		c.signs(e, token)
		link := "/v1/download/" + s.completes(t, e.str("id"), 30)
		require.NotContains(t, nobody.get(link).want(200).body, "branding")
		nobody.get(link+"/logo").refused(404, "not_found")

		const at = "/v1/tenants/acme/branding"
		c.call(http.MethodPut, at, object{"primaryColor": "#7a1f3d", "footer": "Acme Ltd"}).want(200)
		shown := nobody.get(link).want(200).body["branding"].(object)
		require.Equal(t, object{"primaryColor": "#7a1f3d", "footer": "Acme Ltd", "supportUrl": nil, "logo": nil}, shown)
		nobody.get(link+"/logo").refused(404, "not_found")
		c.call(http.MethodPut, at, object{"logo": testLogo}).want(200)
		require.Len(t, nobody.get(link).want(200).body["branding"].(object)["logo"], 64)
		a := nobody.get(link + "/logo").want(200)
		require.Equal(t, "image/png", a.header.Get("Content-Type"))
		require.NotEmpty(t, a.raw)
		nobody.get("/v1/download/nobody/logo").refused(401, "download_link_invalid")
		nobody.get("/v1/download/"+token+"/logo").refused(401, "download_link_invalid")
		s.clock.advance(31 * 24 * time.Hour)
		gone := nobody.get(link).refused(410, "document_purged").body["details"].(object)
		require.Equal(t, []any{"#7a1f3d", "Acme Ltd"}, []any{gone["branding"].(object)["primaryColor"], gone["branding"].(object)["footer"]}, "the page that says so looks as the sender's do")
		require.Equal(t, a.raw, nobody.get(link+"/logo").want(200).raw)
		c = s.client(t)
		c.call(http.MethodDelete, at, nil).want(204)
		require.Nil(t, nobody.get(link).refused(410, "document_purged").body["details"])
	})
}
