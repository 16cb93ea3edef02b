package api_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// testLogo is a small PNG, encoded in base64.
var testLogo = base64.StdEncoding.EncodeToString(pngOf(image.Rect(0, 0, 12, 6)))

func pngOf(r image.Rectangle) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, solidImage(r)); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func solidImage(r image.Rectangle) *image.NRGBA {
	img := image.NewNRGBA(r)
	for x := range r.Dx() {
		for y := range r.Dy() {
			img.SetNRGBA(x, y, color.NRGBA{R: 200, G: uint8(x), B: 40, A: 255})
		}
	}
	return img
}

// TestBranding checks that signing pages and emails use a tenant's branding, and that other tenants are unaffected.
func TestBranding(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		const at = "/v1/tenants/acme/branding"
		nothing := object{"tenantId": "acme", "logo": nil, "primaryColor": nil, "senderName": nil, "replyTo": nil, "footer": nil, "supportUrl": nil}
		require.Equal(t, nothing, c.get(at).want(200).body)
		_, plain := c.sent(contract())
		nobody := &client{t: t, s: s}
		require.NotContains(t, nobody.get("/v1/signing/"+plain).want(200).body, "branding")
		nobody.get("/v1/signing/"+plain+"/logo").rejected(404, "not_found")

		chosen := object{
			"primaryColor": "#7a1f3d", "senderName": "Acme Legal", "replyTo": "legal@acme.example", "footer": "Acme Ltd\n1 High Street", "supportUrl": "https://acme.example/help",
		}
		all := object{"logo": testLogo}
		for k, v := range chosen {
			all[k] = v
		}
		got := c.call(http.MethodPut, at, all).want(200).body
		for k, v := range chosen {
			require.Equal(t, v, got[k], k)
		}
		logo, err := base64.StdEncoding.DecodeString(got["logo"].(string))
		require.NoError(t, err)
		size, err := png.DecodeConfig(bytes.NewReader(logo))
		require.NoError(t, err)
		require.Equal(t, []int{12, 6}, []int{size.Width, size.Height})
		own := c.get("/v1/console/settings?tenantId=acme").want(200).body["own"].(object)
		require.Equal(t, "Acme Legal", own["senderName"], "both calls change the same setting")
		require.Equal(t, "legal@acme.example", own["replyTo"])

		_, token := c.sent(contract())
		link := "/v1/signing/" + token
		for _, path := range []string{link, link + "/outcome"} {
			shown := nobody.get(path).want(200).body["branding"].(object)
			require.Equal(t, chosen["primaryColor"], shown["primaryColor"])
			require.Equal(t, chosen["footer"], shown["footer"])
			require.Equal(t, chosen["supportUrl"], shown["supportUrl"])
			require.Len(t, shown["logo"], 64)
		}
		a := nobody.get(link + "/logo").want(200)
		require.Equal(t, "image/png", a.header.Get("Content-Type"))
		require.Equal(t, logo, a.raw)
		nobody.get("/v1/signing/nobody/logo").rejected(401, "signing_link_invalid")

		data := contract()
		data["tenantId"] = "other"
		_, token = c.sent(data)
		require.NotContains(t, nobody.get("/v1/signing/"+token).want(200).body, "branding")
		require.Nil(t, c.get("/v1/tenants/other/branding").want(200).body["logo"])

		got = c.call(http.MethodPut, at, object{"footer": nil, "primaryColor": "#0F5570"}).want(200).body
		require.Equal(t, []any{nil, "#0F5570", "Acme Legal"}, []any{got["footer"], got["primaryColor"], got["senderName"]})
		require.NotNil(t, got["logo"])
		c.call(http.MethodPut, "/v1/console/settings?tenantId=acme", object{"language": "de"}).want(200)
		require.Equal(t, got, c.get(at).want(200).body, "other settings do not change the branding")
		c.call(http.MethodPut, at, object{"logo": nil}).want(200)
		nobody.get(link+"/logo").rejected(404, "not_found")
		c.call(http.MethodDelete, at, nil).want(204)
		require.Equal(t, nothing, c.get(at).want(200).body)
		require.NotContains(t, nobody.get(link).want(200).body, "branding")
		require.Equal(t, "de", c.get("/v1/console/settings?tenantId=acme").want(200).body["own"].(object)["language"])
	})
}

// TestBranding_RejectsInvalidValues checks that the response lists every problem and that nothing is changed.
func TestBranding_RejectsInvalidValues(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	const at = "/v1/tenants/acme/branding"
	rejection := func(name string, v any) string {
		t.Helper()
		a := c.call(http.MethodPut, at, object{name: v, "senderName": "Kept?"}).rejected(400, "validation_error")
		problems, ok := a.body["errors"].(object)[name].([]any)
		require.True(t, ok, "%s: %s", name, a.raw)
		return problems[0].(string)
	}
	for colour, want := range map[string]string{
		"#ffcc00": "1.51:1", "#777777": "4.47:1", "#ffffff": "1.00:1", "red": "#rrggbb", "#fff": "#rrggbb", "#0f5570;": "#rrggbb", "": "#rrggbb",
	} {
		require.Contains(t, rejection("primaryColor", colour), want, colour)
	}
	c.call(http.MethodPut, "/v1/tenants/colours/branding", object{"primaryColor": "#767676"}).want(200)
	for _, u := range []string{"http://acme.example", "https://", "javascript:alert(1)", "https://a:b@acme.example/", "//acme.example", "https://acme.example/" + strings.Repeat("x", 500), "https://acme.example/\u200b"} {
		require.Contains(t, rejection("supportUrl", u), "https://", u)
	}
	require.Contains(t, rejection("footer", "a\u0000b"), "U+0000")
	require.Contains(t, rejection("footer", "\u202ea"), "U+202E")
	rejection("footer", strings.Repeat("x", 501))
	rejection("footer", " ")
	rejection("replyTo", "nobody")
	noise := image.NewNRGBA(image.Rect(0, 0, 500, 500))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(rand.Uint32())
	}
	var large, photo bytes.Buffer
	require.NoError(t, png.Encode(&large, noise))
	require.Greater(t, large.Len(), models.MaxLogo)
	b64 := base64.StdEncoding.EncodeToString
	require.Contains(t, rejection("logo", "!"), "base64")
	require.Contains(t, rejection("logo", ""), "not a complete PNG or JPEG")
	require.Contains(t, rejection("logo", b64([]byte("<svg/>"))), "not a complete PNG or JPEG")
	require.Contains(t, rejection("logo", b64(pngOf(image.Rect(0, 0, 9, 9))[:60])), "not a complete PNG or JPEG")
	require.Contains(t, rejection("logo", b64(large.Bytes()[:models.MaxLogo+1])), "at most 524288 bytes")
	require.Contains(t, rejection("logo", b64(large.Bytes()[:models.MaxLogo])), "not a complete PNG or JPEG", "the logo must be examined")
	require.Contains(t, rejection("logo", b64(pngOf(image.Rect(0, 0, 9000, 1)))), "9000 × 1 pixels")
	require.Contains(t, rejection("logo", b64(emptyPNG(t))), "transparent")
	require.Contains(t, rejection("logo", 7), "string")
	require.Nil(t, c.get(at).want(200).body["senderName"])
	for _, tenant := range []string{"%00", "%ff", "%0d%0a", strings.Repeat("1", 256), "%20"} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			a := c.call(method, "/v1/tenants/"+tenant+"/branding", object{}).rejected(400, "validation_error")
			require.Contains(t, a.body["errors"], "tenantId", tenant)
		}
	}

	require.NoError(t, jpeg.Encode(&photo, solidImage(image.Rect(0, 0, 1440, 100)), nil))
	got := c.call(http.MethodPut, at, object{"logo": b64(photo.Bytes())}).want(200).body
	kept, err := base64.StdEncoding.DecodeString(got["logo"].(string))
	require.NoError(t, err)
	size, err := png.DecodeConfig(bytes.NewReader(kept))
	require.NoError(t, err)
	require.Equal(t, []int{720, 50}, []int{size.Width, size.Height}, "the response is the logo as a PNG")
}

func emptyPNG(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 4, 4))))
	return b.Bytes()
}

// TestBranding_Permissions checks who can read and change a tenant's branding.
func TestBranding_Permissions(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		const at = "/v1/tenants/acme/branding"
		for _, role := range []models.Role{models.RoleViewer, models.RoleSupport, models.RoleSender} {
			c := s.person(t, role)
			c.get(at).want(200)
			c.call(http.MethodPut, at, object{"footer": "x"}).rejected(403, "role_forbidden")
			c.call(http.MethodDelete, at, nil).rejected(403, "role_forbidden")
		}
		s.person(t, models.RoleAdmin).call(http.MethodPut, at, object{"footer": "Ours"}).want(200)
		(&client{t: t, s: s}).get(at).rejected(401, "unauthorized")
		limited := s.other(t, "only")
		limited.get(at).rejected(403, "tenant_forbidden")
		limited.call(http.MethodPut, at, object{"footer": "theirs"}).rejected(403, "tenant_forbidden")
		limited.call(http.MethodDelete, at, nil).rejected(403, "tenant_forbidden")
		limited.call(http.MethodPut, "/v1/tenants/only/branding", object{"footer": "theirs"}).want(200)
		require.Equal(t, "Ours", s.client(t).get(at).want(200).body["footer"])
	})
}
