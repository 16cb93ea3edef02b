package browser_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConsolePager checks that a user can move through the pages of a list and back. After a reload, a single button
// leads to the first page.
func TestConsolePager(t *testing.T) {
	t.Parallel()
	for i := range 21 {
		svc.json(t, http.MethodPost, "/v1/envelopes", object{
			"tenantId": "harbour", "subject": fmt.Sprintf("Berth no %02d", i), "signers": []object{{"name": "Ada Lovelace", "email": "pager@example.com"}},
		}, nil)
	}
	b := open(t, desktop)
	consoleUser(b, "pager", "sender")
	b.visit(svc.base + "/console#/envelopes?search=pager@example.com")
	b.see("Berth no 20")
	require.NotContains(t, b.text(), "Berth no 00")
	disabled := func(label string) bool {
		return eval[bool](b, fmt.Sprintf(`[...document.querySelectorAll(".pager button")].find((n) => n.textContent === %q).disabled`, label))
	}
	require.True(t, disabled("Newer"))
	b.checked("console-pager")
	b.button("Older")
	b.see("Berth no 00")
	require.True(t, disabled("Older"))
	b.button("Newer")
	b.see("Berth no 20")
	b.button("Older")
	b.see("Berth no 00")
	b.reloads()
	b.see("Berth no 00")
	b.button("First page")
	b.see("Berth no 20")
	require.NotContains(t, eval[string](b, `location.hash`), "cursor")
	b.button("Older")
	b.see("Berth no 00")
	b.fill("#search", "no such envelope") // a filter starts at the first page
	b.see("No matches.")
	require.NotContains(t, eval[string](b, `location.hash`), "cursor")
	b.waitUntilStill()
}
