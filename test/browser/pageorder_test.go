package browser_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// partsOfPage returns the parts of an envelope's page in the order of the document, which is also the order for the
// keyboard and for screen readers.
const partsOfPage = `(() => {
	const parts = { progress: ".steps", pages: ".dpages", files: ".ofenvelope .plainlist", history: ".history" };
	const at = Object.entries(parts).map(([name, find]) => ({ name, e: document.querySelector(find) })).filter((p) => p.e);
	return at.sort((a, b) => (a.e.compareDocumentPosition(b.e) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1)).map((p) => p.name);
})()`

// TestEnvelopePageOrder checks the order of an envelope's page. On a phone, the page begins with the progress. On a
// larger screen, the pages are beside the progress. The order on the screen must match the order in the document, also
// after the window is resized.
func TestEnvelopePageOrder(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "In order", []object{{"name": "Ada Lovelace", "email": "in-order@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	svc.invited(t, "in-order@example.com")
	for language, rightToLeft := range map[string]bool{"en": false, "ar": true} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			b := open(t, device{width: 390, height: 844, touch: true, language: language + "-XX"})
			consoleUser(b, "in-order-"+language, "sender")
			b.visit(svc.base + "/console#/envelopes/" + e.ID)
			order := func(want ...string) {
				t.Helper()
				b.until(fmt.Sprintf(`JSON.stringify(%s) === %q`, partsOfPage, jsonOf(t, want)))
			}
			remind := `[...document.querySelectorAll(".steps button")][0]`
			top := func(find string) float64 {
				t.Helper()
				return eval[float64](b, find+`.getBoundingClientRect().top`)
			}
			side := func(find string) float64 {
				t.Helper()
				return eval[float64](b, find+`.getBoundingClientRect().left`)
			}
			progress, pages, files, history := `document.querySelector(".steps")`, `document.querySelector(".dpages")`, `document.querySelector(".ofenvelope .plainlist")`, `document.querySelector(".history")`

			order("progress", "pages", "files", "history")
			b.settled()
			require.Less(t, top(progress), top(pages))
			require.Less(t, top(pages), top(files))
			require.Less(t, top(files), top(history))
			b.until("Boolean(" + remind + ")")
			for range 60 { // from the title, Tab reaches the recipient's actions before the pages
				if eval[bool](b, hasFocus(remind)) {
					break
				}
				b.keys("\t")
				require.False(t, eval[bool](b, `document.querySelector(".dpages").parentElement.contains(document.activeElement)`), "the pages come after the progress")
			}
			b.focused(remind)

			b.size(1280, 860)
			order("pages", "progress", "files", "history")
			b.settled()
			require.Equal(t, rightToLeft, side(progress) < side(pages), "the progress is at the end of the line")
			require.Less(t, top(progress), top(files))
			require.Less(t, top(files), top(history))

			b.size(390, 844)
			order("progress", "pages", "files", "history")
			b.waitUntilStill()
		})
	}
	require.Equal(t, "sent", svc.envelope(t, e.ID).Status)
}
