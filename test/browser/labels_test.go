package browser_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConsoleLabelsAndDuplicates checks that an envelope can be labeled and found by its labels, that it can be
// duplicated as a draft, and that the draft can be deleted.
func TestConsoleLabelsAndDuplicates(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "To be filed", []object{{"name": "Ada Lovelace", "email": "filed@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	for name, l := range map[string]device{"desktop": desktop, "phone": {width: 390, height: 844, touch: true, dark: true}} {
		b := open(t, l)
		consoleUser(b, "labels-"+name, "sender")
		b.visit(svc.base + "/console#/envelopes/" + e.ID)
		b.see("Activity")
		b.until(`[...document.querySelectorAll("button")].some((x) => / labels$/.test(x.textContent))`)
		b.click(`[...document.querySelectorAll("button")].find((x) => / labels$/.test(x.textContent))`)
		b.fill("#elabels", "Leases "+name+"\r2026, first half\rLeases "+name)
		b.checked("console-labels-" + name)
		b.click(in(dialog, "Save"))
		b.see("Labels saved.")
		b.until(`document.querySelectorAll(".labels li").length === 2`)
		b.checked("console-labeled-" + name)
		b.click(`document.querySelector(".labels a")`)
		b.until(`document.querySelector("#label")?.value === "Leases ` + name + `" && document.querySelectorAll("tbody tr").length === 1`)
		b.checked("console-label-filter-" + name)
		b.click(`document.querySelector("tbody a")`)
		b.see("Activity")
		b.button("Duplicate")
		b.until(`document.querySelector(".bpaint img") !== null`)
		copied := eval[string](b, `location.hash.split("/")[2]`)
		require.NotEqual(t, e.ID, copied)
		b.visit(svc.base + "/console#/envelopes/" + copied)
		b.see("Delete draft")
		b.checked("console-draft-" + name)
		b.button("Delete draft")
		b.see("This can't be undone.")
		b.click(in(dialog, "Delete draft"))
		b.until(`location.hash.startsWith("#/envelopes") && location.hash.split("/").length < 3`)
		b.visit(svc.base + "/console#/envelopes/" + copied)
		b.see("Not found, or not accessible with this credential.")
		b.waitUntilStill()
	}
}
