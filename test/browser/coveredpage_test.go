package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/page"
)

// TestCoveredPage_IsRemovedUnlessItHasEntries checks that the page behind the sign-in dialog is removed from memory soon
// after the session has ended, but not while a form on it has entries that would be lost.
func TestCoveredPage_IsRemovedUnlessItHasEntries(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	// Shorten delays of minutes by a factor of 100, but not the hour for which a page with entries is retained.
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `{
		const before = window.setTimeout;
		window.setTimeout = (f, ms, ...more) => before(f, ms >= 100_000 && ms <= 600_000 ? ms / 100 : ms, ...more);
	}`})
	consoleUser(b, "covered", "sender")
	end := func() {
		b.t.Helper()
		svc.endsSessions(t, "covered@staff.example")
		eval[bool](b, `(location.hash = location.hash.startsWith("#/templates") ? "#/contacts" : "#/templates", true)`)
	}

	end()
	b.until(`Boolean(` + signIn + `)`)
	b.until(`document.querySelector(".console") === null`)
	b.see("Your session has ended. Sign in again.")
	b.fill("#email", "covered@staff.example")
	b.fill("#password", "a long password")
	b.keys("\r")
	b.signedIn()

	b.visit(svc.base + "/console#/envelopes")
	b.button("New envelope")
	b.fill("#newname", "Grace Hopper")
	svc.endsSessions(t, "covered@staff.example")
	b.keysOn(`document.querySelector("#newname")`, ",") // the page requests suggestions, and thereby learns that the session has ended
	b.until(`Boolean(` + signIn + `)`)
	b.until(`performance.now() > (window.coveredAt ??= performance.now()) + 5000`) // longer than 5 minutes / 100
	b.entersAgain()
	b.until(`document.querySelector("#newname")?.value === "Grace Hopper,"`)
	b.click(inDialog("Cancel"))
	b.until(dialog + ` === null`)
	end()
	b.until(`document.querySelector(".console") === null`)
	b.waitUntilStill()
}
