package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestSecureHeaders checks the security headers of every response, and that Strict-Transport-Security is sent only if
// the service uses https.
func TestSecureHeaders(t *testing.T) {
	t.Parallel()
	for base, sts := range map[string]string{"https://a.b": "max-age=31536000; includeSubDomains", "http://localhost": ""} {
		s := &signingHandler{subject: subject[signingStore]{shared: &shared{baseURL: base}}}
		c, w := request(http.MethodGet, "/", "", "")
		s.secureHeaders(c)
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Content-Security-Policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'", "Strict-Transport-Security": sts,
		} {
			require.Equal(t, want, w.Header().Get(name), name)
		}
		name := s.sessionCookieName(uuid.Nil)
		require.Equal(t, sts != "", strings.HasPrefix(name, "__Secure-"))
		require.NotEqual(t, name, s.sessionCookieName(uuid.New()))
	}
}
