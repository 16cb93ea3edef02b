package browser_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReference: the API reference loads from this service only, follows the color scheme, and fits a phone.
// tab.waitUntilStill reports requests to other hosts and violations of the policy.
func TestReference(t *testing.T) {
	t.Parallel()
	for _, l := range []look{desktop, {width: 390, height: 844, touch: true, dark: true}} {
		t.Run(fmt.Sprint(l.width), func(t *testing.T) {
			t.Parallel()
			b := open(t, l)
			b.visit(svc.base + "/docs")
			b.see("Durable electronic signatures")
			b.until(fmt.Sprintf(`document.body.classList.contains("dark-mode") === %t`, l.dark))
			require.LessOrEqual(t, eval[int](b, `document.documentElement.scrollWidth`), int(l.width), "the page is wider than the screen")
			b.waitUntilStill()
		})
	}
}

// The reference needs inline styles; no other page allows them.
func TestReferencePolicy(t *testing.T) {
	t.Parallel()
	for path, inline := range map[string]bool{"/docs": true, "/verify": false} {
		res, err := http.Get(svc.base + path) //nolint:noctx // ends with the service
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		policy := res.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "connect-src 'self'; ")
		require.NotContains(t, policy, "script-src 'self' 'unsafe-inline'")
		if inline {
			require.Contains(t, policy, "style-src 'self' 'unsafe-inline'")
		} else {
			require.NotContains(t, policy, "unsafe-inline")
		}
	}
}
