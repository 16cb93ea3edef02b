package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReference checks that the API reference loads data from this service only, follows the color scheme, and fits on
// a phone screen. Calls to tab.waitUntilStill report requests to other hosts and violations of the content security
// policy.
func TestReference(t *testing.T) {
	t.Parallel()
	for _, l := range []device{desktop, {width: 390, height: 844, touch: true, dark: true}} {
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

// TestReferenceLanguages_EachIsShown checks that every operation has samples in four languages, and that the selected
// language stays selected.
func TestReferenceLanguages_EachIsShown(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	b.visit(svc.base + "/docs")
	b.see("Durable electronic signatures")
	section := ""
	show := func(operation string) {
		b.until(fmt.Sprintf(`Boolean(document.querySelector("a[href='#api/tag/%s']"))`, strings.SplitN(operation, "/", 2)[0]))
		eval[bool](b, fmt.Sprintf(`(location.hash = "api/tag/%s", true)`, operation))
		section = fmt.Sprintf(`document.getElementById("api/tag/%s")`, operation)
		b.until(section + `?.querySelector(".request-card") != null`)
	}
	picker := func() string { return section + `?.querySelector(".request-card [data-testid=client-picker]")` }
	const options = `[...document.querySelectorAll("[role=option]")]`
	names := options + `.map((o) => o.textContent.trim())`
	choose := func(name string) {
		b.until(fmt.Sprintf(`%s.includes(%q)`, names, name))
		// The list may extend below the window.
		eval[bool](b, fmt.Sprintf(`(%s.find((o) => o.textContent.trim() === %q).click(), true)`, options, name))
	}
	code := func(text string) {
		b.until(fmt.Sprintf(`%s.querySelector(".request-card").innerText.includes(%q)`, section, text))
	}

	show("envelopes/POST/v1/envelopes")
	for _, l := range [][2]string{{"curl", "--form file=@contract.pdf"}, {"JavaScript", "openAsBlob"}, {"Go", "multipart.NewWriter"}, {"Python", "urllib.request"}} {
		b.click(picker())
		b.until(names + `.length > 0`)
		require.Equal(t, []string{"curl", "JavaScript", "Go", "Python"}, eval[[]string](b, names))
		choose(l[0])
		code(l[1])
	}
	show("access-tokens/POST/oauth/token") // the samples of this operation are generated
	code("requests.post(")
	for _, l := range [][2]string{{"Curl", "curl "}, {"Fetch", "fetch("}, {"NewRequest", "http.NewRequest("}, {"Requests", "requests.post("}} {
		b.click(picker())
		b.until(names + `.length > 0`)
		require.ElementsMatch(t, []string{"Curl", "Fetch", "NewRequest", "Requests"}, eval[[]string](b, names))
		choose(l[0])
		code(l[1])
	}
}

// TestReferencePolicy checks that the reference allows inline styles, which it needs, and that no other page does.
func TestReferencePolicy(t *testing.T) {
	t.Parallel()
	for path, inline := range map[string]bool{"/docs": true, "/verify": false} {
		res, err := http.Get(svc.base + path) //nolint:noctx // stops when the service stops
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
