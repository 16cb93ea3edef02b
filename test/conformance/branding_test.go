package conformance_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// checkBranding sets the branding of the tenant, checks that signers see it, and resets it.
func checkBranding(t *testing.T, s *target) {
	c, nobody := s.app(), &client{s: s}
	at := "/v1/tenants/" + s.tenant + "/branding"
	c.get(t, at).want(t, 200)
	logo := base64.StdEncoding.EncodeToString(kit.Signature())
	look := c.call(t, http.MethodPut, at, object{"logo": logo, "primaryColor": "#7a1f3d", "footer": "1 High Street"}).want(t, 200)
	require.Equal(t, "#7a1f3d", look.str("primaryColor"))
	c.call(t, http.MethodPut, at, object{"primaryColor": "#eeeeee"}).rejected(t, 400, "validation_error")
	_, tokens := s.sent(t, s.contract())
	require.Equal(t, "#7a1f3d", nobody.get(t, "/v1/signing/"+tokens[0]).want(t, 200).body["branding"].(object)["primaryColor"])
	require.Equal(t, "image/png", nobody.get(t, "/v1/signing/"+tokens[0]+"/logo").want(t, 200).header.Get("Content-Type"))
	if s.InboxURL != "" && s.sinkHost == "127.0.0.1" { // otherwise, the email may contain the sealed file instead of a link
		to := "branding-" + uuid.NewString() + "@example.com"
		data := s.contract()
		data["signers"] = []object{{"name": "Pia", "email": to, "authMethod": "none"}}
		e, links := s.sent(t, data)
		s.signs(t, links[0])
		s.completed(t, e.str("id"))
		portal := "/v1/download/" + s.mailedLink(t, to, "/download/")
		require.Equal(t, "#7a1f3d", nobody.get(t, portal).want(t, 200).body["branding"].(object)["primaryColor"])
		require.Equal(t, "image/png", nobody.get(t, portal+"/logo").want(t, 200).header.Get("Content-Type"))
	}
	c.call(t, http.MethodDelete, at, nil).want(t, 204)
	require.Nil(t, c.get(t, at).want(t, 200).body["primaryColor"])
	require.NotContains(t, nobody.get(t, "/v1/signing/"+tokens[0]).want(t, 200).body, "branding")
}
