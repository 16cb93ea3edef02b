package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostClicks is the maximum permitted number of clicks for the measured task.
const mostClicks = 18

// countsClicks starts counting the user's clicks on the page. The page must not be reloaded. A click of tab.click that
// missed its element is repeated, so only the click that hit is counted. TestPagesDoNotMoveUnderAClick checks that the
// pages cause no such misses.
func (b *tab) countsClicks() {
	b.t.Helper()
	eval[bool](b, `(window.clicked = 0, addEventListener("click", (e) => {
		const aimed = window.aimedAt?.element;
		if (e.isTrusted && e.detail > 0 && (!aimed || e.composedPath().includes(aimed))) window.clicked++;
	}, true), true)`)
}

// threePages returns a contract with eleven blanks: six for the tenant on the first pages, and five for the landlord
// on the last page.
func threePages() []byte {
	blank := func(labels ...string) (lines []string) {
		for _, l := range labels {
			lines = append(lines, l+": ______________________________", "", "")
		}
		return lines
	}
	return pdfOf(leaf{title: "Lease", lines: blank("Name of the tenant", "Company", "Address")},
		leaf{title: "Tenant", lines: blank("Email", "Date", "Signature of the tenant")},
		leaf{title: "Landlord", lines: blank("Name of the landlord", "Company", "Place", "Date", "Signature of the landlord")})
}

// TestFirstTimeSender counts the clicks in a typical task, which is to prepare and send a contract with three pages,
// two recipients and eleven fields, beginning with the sign-in. Choosing a file or a list entry counts as two clicks.
func TestFirstTimeSender(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	consoleUser(b, "first-time", "sender")
	b.see("Envelopes")
	b.countsClicks()
	lists := 0
	b.button("New envelope")
	b.choose("#newfiles", "Lease of the workshop.pdf", threePages())
	lists += 2
	b.until(`document.querySelector("#newsubject")?.value === "Lease of the workshop"`)
	b.fill("#newname", "Ada Lovelace")
	b.fill("#newemail", "clicks-ada@exmaple.com")
	b.see("Did you mean clicks-ada@example.com?")
	b.checked("console-new-envelope")
	b.button("Did you mean clicks-ada@example.com?")
	b.button("Add recipient")
	b.fill("#newname1", "Bob Hill")
	b.fill("#newemail1", "clicks-bob@example.com")
	b.checked("console-new-envelope-two")
	b.button("Continue")
	b.until(`document.querySelector(".bpaint img") !== null`)
	id := eval[string](b, `location.hash.split("/")[2]`)
	for page := 1; page <= 3; page++ { // scroll through the pages, because blanks are detected only on viewed pages
		b.shows(page)
		// Blanks are detected only on pages that have been displayed.
		b.until(fmt.Sprintf(`document.querySelectorAll(".bpage")[%d].querySelector("[class*=sugg]") !== null`, page-1))
	}
	b.until(`document.body.innerText.includes("Add all (11)")`)
	b.button("Add all (11)")
	b.saved()
	b.button("Select several")
	b.until(`document.querySelectorAll(".bfield").length === 11`)
	fields := svc.fields(t, id)
	require.Len(t, fields, 11)
	third := 0
	for _, f := range fields {
		if f.Page == 3 {
			third++
		}
	}
	require.Equal(t, 5, third)
	b.button("All fields on this page")
	b.until(`document.querySelector("#pwho") !== null`)
	b.choice("#pwho", eval[string](b, `[...document.querySelectorAll("#pwho option")].find((o) => o.textContent === "Bob Hill").value`))
	lists += 2
	b.saved()
	b.button("Send …")
	b.see("Send for signature")
	b.see("clicks-bob@example.com")
	b.checked("console-send-sheet")
	b.button("Send to 2 people")
	b.see("Progress")
	b.see("Lease of the workshop")
	clicks := eval[int](b, `window.clicked`) + lists
	t.Logf("%d clicks", clicks)
	require.LessOrEqual(t, clicks, mostClicks)
	require.Equal(t, "sent", svc.envelope(t, id).Status)
	people := map[string]int{}
	for _, f := range svc.fields(t, id) {
		people[f.SignerID]++
	}
	require.ElementsMatch(t, []int{6, 5}, []int{people[svc.envelope(t, id).Signers[0].ID], people[svc.envelope(t, id).Signers[1].ID]})
	b.checked("console-sent")

	// Next time, entering the name is sufficient, because the workspace of the last envelope is the default.
	require.True(t, eval[bool](b, fmt.Sprintf(`Object.entries(localStorage).some(([k, v]) => k.startsWith("countersign:workspace:") && v.split("\n")[1] === %q)`, svc.read(t, "/v1/envelopes/"+id)["tenantId"])))
	b.visit(svc.base + "/console#/envelopes")
	b.button("New envelope")
	b.fill("#newname", "Bob H")
	b.until(`[...document.querySelectorAll("[role=option]")].some((o) => o.textContent.includes("clicks-bob@example.com"))`)
	b.waitUntilStill()
}

// tapsInto taps a text field and replaces its content.
func (b *tab) tapsInto(selector, text string) {
	b.t.Helper()
	find := fmt.Sprintf("document.querySelector(%q)", selector)
	b.taps(find)
	b.focused(find)
	eval[bool](b, "("+find+".select(), true)")
	b.keys(text)
}

// TestFirstTimeSender_InGermanByTouch counts the taps of the same task on a phone, in German.
func TestFirstTimeSender_InGermanByTouch(t *testing.T) {
	t.Parallel()
	console, builder := textsOf(t, "console.json", "de"), textsOf(t, "builder.json", "de")
	b := open(t, device{width: 390, height: 844, touch: true, language: "de-DE"})
	consoleUser(b, "erstmals", "sender")
	b.see(console["newEnvelope"][0])
	b.countsClicks()
	lists := 0
	saved := func() { b.t.Helper(); b.until(fmt.Sprintf(stateIs, builder["stateSaved"][0])) }
	tap := func(label string) { b.t.Helper(); b.taps(buttonOf(label)) }
	tap(console["newEnvelope"][0])
	b.choose("#newfiles", "Mietvertrag.pdf", threePages())
	lists += 2
	b.until(`document.querySelector("#newsubject")?.value === "Mietvertrag"`)
	b.until(dialog + `.style.pointerEvents === ""`) // for a moment, the dialog ignores a second tap with the same finger
	b.tapsInto("#newname", "Ada Lovelace")
	b.tapsInto("#newemail", "tippt-ada@exmaple.com")
	hint := strings.ReplaceAll(console["didYouMean"][0], "{address}", "tippt-ada@example.com")
	b.see(hint)
	tap(hint)
	tap(console["addRecipient"][0])
	b.tapsInto("#newname1", "Bob Hill")
	b.tapsInto("#newemail1", "tippt-bob@example.com")
	b.checked("console-new-envelope-phone-de")
	tap(console["continue"][0])
	b.until(`document.querySelector(".bpaint img") !== null`)
	id := eval[string](b, `location.hash.split("/")[2]`)
	for page := 1; page <= 3; page++ { // scroll through the pages
		b.shows(page)
		b.until(fmt.Sprintf(`document.querySelectorAll(".bpage")[%d].querySelector("[class*=sugg]") !== null`, page-1))
	}
	all := strings.ReplaceAll(builder["addAll"][0], "{n}", "11")
	b.see(all)
	b.checked("builder-suggestions-phone-de")
	tap(all)
	saved()
	tap(builder["selectSeveral"][0])
	b.until(`document.querySelectorAll(".bfield").length === 11`)
	b.shows(3) // scroll back to the last page
	b.settled()
	tap(builder["selectPage"][0])
	b.until(`document.querySelector("#pwho") !== null`)
	b.choice("#pwho", eval[string](b, `[...document.querySelectorAll("#pwho option")].find((o) => o.textContent === "Bob Hill").value`))
	lists += 2
	saved()
	tap(builder["sendMore"][0])
	b.see(builder["sendTitle"][0])
	b.until(dialog + `.style.pointerEvents === ""`)
	b.checked("builder-send-sheet-phone-de")
	b.taps(`document.querySelector("dialog[open] .row.end button:last-child")`)
	b.see(console["progress"][0])
	clicks := eval[int](b, `window.clicked`) + lists
	t.Logf("%d taps", clicks)
	require.LessOrEqual(t, clicks, mostClicks)
	require.Equal(t, "sent", svc.envelope(t, id).Status)
	people := map[string]int{}
	for _, f := range svc.fields(t, id) {
		people[f.SignerID]++
	}
	require.ElementsMatch(t, []int{6, 5}, []int{people[svc.envelope(t, id).Signers[0].ID], people[svc.envelope(t, id).Signers[1].ID]})
	b.waitUntilStill()
}

// TestSenderSignsToo checks that a sender who also signs can continue from the send dialog to the signing page.
func TestSenderSignsToo(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	consoleUser(b, "signs-too", "sender")
	b.button("New envelope")
	b.choose("#newfiles", "order.pdf", leaseDocument())
	b.fill("#newname", "Ada Lovelace")
	b.fill("#newemail", "signs-ada@example.com")
	b.click(`document.querySelector("#newme")`)
	b.see("signs-too@staff.example")
	b.checked("console-i-sign-too")
	b.button("Continue")
	b.until(`document.querySelector(".bpaint img") !== null`)
	for i, name := range []string{"Ada Lovelace", "Sam Staff"} {
		b.click(fmt.Sprintf(`[...document.querySelectorAll(".bchoose")].find((x) => x.textContent.includes(%q))`, name))
		b.button("Signature")
		b.press(1, 200, float64(300+100*i))
		b.saved()
	}
	b.button("Send …")
	b.until(`[...document.querySelectorAll(".bsheet li strong")].map((x) => x.textContent).join() === "Sam Staff,Ada Lovelace"`)
	b.button("Send to 2 people")
	b.until(`location.pathname.startsWith("/sign/")`)
	b.see("Verify your identity")
	b.waitUntilStill()
}
