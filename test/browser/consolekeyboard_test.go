package browser_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// visible requires that the focused element is in the window, uncovered and outlined.
func (b *tab) visible() {
	b.t.Helper()
	b.until(`(() => { const e = document.activeElement, r = e.getBoundingClientRect(); if (e === document.body || !r.width) return false;
		const x = Math.min(Math.max(r.x + r.width / 2, 1), innerWidth - 2), y = Math.min(Math.max(r.y + Math.min(r.height, 30) / 2, 1), innerHeight - 2);
		const top = document.elementFromPoint(x, y), outlined = e.matches("h1, h2, main, dialog") || getComputedStyle(e).outlineStyle !== "none";
		return outlined && r.bottom > 0 && r.top < innerHeight && Boolean(top) && (e.contains(top) || top.contains(e)); })()`)
}

// goes moves the focus to an element with the Tab key, and requires that the focus is visible at every step.
func (b *tab) goes(find string) {
	b.t.Helper()
	b.until("Boolean(" + find + ")")
	for range 150 {
		if eval[bool](b, hasFocus(find)) {
			b.visible()
			return
		}
		b.keys("\t")
		if eval[bool](b, `document.activeElement !== document.body`) { // otherwise, the focus would move to the browser's own controls
			b.visible()
		}
	}
	b.shot("failure")
	require.FailNow(b.t, "Tab does not get to "+find)
}

// presses moves the focus to an element and presses Enter.
func (b *tab) presses(find string) { b.t.Helper(); b.goes(find); b.keys("\r") }

// keepsFocus requires that the focus is somewhere on the page, and visible.
func (b *tab) keepsFocus() {
	b.t.Helper()
	b.until(`document.activeElement && document.activeElement !== document.body`)
	b.visible()
}

// escapes closes the open dialog with Escape, and requires that the focus returns to the element that opened it.
func (b *tab) escapes(opener string) {
	b.t.Helper()
	b.until(dialog + ` !== null && ` + dialog + `.contains(document.activeElement)`)
	b.visible()
	b.keys("\x1b")
	b.until(dialog + ` === null`)
	b.focused(opener)
	b.visible()
}

func sectionButton(scope, label string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].find((x) => x.textContent.trim() === %q && x.checkVisibility())`, scope, label)
}

// TestConsoleHomeByKeyboard checks that rows, selection, bulk actions, filters, saved filters, the workspace and the
// account menu can be operated with the keyboard only.
func TestConsoleHomeByKeyboard(t *testing.T) {
	t.Parallel()
	const workspace = "by-keyboard"
	for i := range 3 {
		svc.createFor(t, workspace, fmt.Sprintf("Keyed %d", i), []object{{"name": "Ada Lovelace", "email": "keyed-ada@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	}
	svc.createFor(t, workspace+"-other", "Keyed elsewhere", []object{{"name": "Ada Lovelace", "email": "keyed-ada@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	b := open(t, device{width: 1280, height: 500})
	consoleUser(b, "keyboard-home", "admin")
	b.until(`[...document.querySelectorAll("select.workspace option")].some((o) => o.value === "by-keyboard")`)
	b.goes(`document.querySelector("select.workspace")`)
	for range 60 {
		if eval[bool](b, `document.querySelector("select.workspace").value === "by-keyboard"`) {
			break
		}
		b.keys(kb.ArrowDown)
	}
	b.until(`document.querySelectorAll(".worklist tbody tr").length === 3`)
	b.keepsFocus()

	// Open and close the account menu.
	summary := `document.querySelector(".account > summary")`
	b.presses(summary)
	b.goes(sectionButton(".account .menu *", "Sign out"))
	b.keys("\x1b")
	b.focused(summary)
	b.presses(summary)
	b.presses(`document.querySelector(".account a[href='#/account']")`)
	b.see("Sessions")
	b.keepsFocus()
	b.presses(`document.querySelector("nav a[href='#/envelopes']")`)
	b.until(`document.querySelectorAll(".worklist tbody tr").length === 3`)

	// Open and close the dialog for a new envelope. When it closes, its button receives the focus again.
	start := sectionButton("button", "New envelope")
	b.presses(start)
	b.goes(`document.querySelector("#newme")`)
	b.keys(" ")
	b.see("keyboard-home@staff.example")
	b.escapes(start)

	// Use the inbox, the search and the filters. Clearing a filter does not collapse the filters.
	b.presses(sectionButton(".inbox button", "Waiting for others3"))
	b.until(`document.querySelector(".inbox [aria-pressed=true]").textContent.startsWith("Waiting")`)
	b.goes(`document.querySelector("#search")`)
	b.write(`document.querySelector("#search")`, "Keyed 1")
	b.until(`document.querySelectorAll(".worklist tbody tr").length === 1`)
	b.presses(`document.querySelector(".more > summary")`)
	b.goes(`document.querySelector("#label")`)
	b.write(`document.querySelector("#label")`, "x")
	b.see("No matches")
	b.keys("\b")
	b.until(`document.querySelectorAll(".worklist tbody tr").length === 1`)
	b.focused(`document.querySelector("#label")`)
	b.visible()

	// Save, apply and delete filters.
	save := sectionButton(".savedfilters button", "Save filters")
	b.presses(save)
	b.escapes(save)
	b.presses(save)
	b.write(`document.querySelector("#filtername")`, "Mine")
	b.keys("\r")
	b.until(dialog + ` === null && document.querySelector(".chip.on") !== null`)
	b.keepsFocus()
	chip := sectionButton(".chip button", "Mine")
	b.presses(chip)
	b.until(`document.querySelectorAll(".worklist tbody tr").length === 3`)
	b.presses(chip)
	b.until(`document.querySelectorAll(".worklist tbody tr").length === 1`)
	b.presses(chip)
	b.presses(`document.querySelector(".chip [aria-label]")`)
	b.until(`document.querySelector(".chip") === null`)
	b.keepsFocus()

	// Select rows, and reach each action for the selection.
	b.goes(`document.querySelector("th.pick input")`)
	b.keys(" ")
	b.see("3 selected")
	for _, label := range []string{"Remind", "Extend", "Void", "Download"} {
		action := sectionButton(".selection > button", label)
		b.presses(action)
		b.escapes(action)
	}
	b.goes(sectionButton(".selection > button", "CSV"))
	b.presses(sectionButton(".selection > button", "Remind"))
	b.presses(inDialog("Remind"))
	b.until(`document.querySelectorAll(".outcomes .done").length === 3`)
	b.keepsFocus()
	b.presses(inDialog("Close"))
	b.until(dialog + ` === null`)
	b.focused(sectionButton(".selection > button", "Remind"))
	b.presses(sectionButton(".selection > button", "Clear"))
	b.until(`document.querySelector(".selection") === null`)
	b.keepsFocus()
	b.goes(rowOf("Keyed 2") + `.querySelector("input")`)
	b.keys(" ")
	b.see("1 selected")
	b.presses(rowOf("Keyed 2") + `.querySelector(".what a")`)
	b.see("Progress")
	b.keepsFocus()
	b.waitUntilStill()
}

// TestBusyListByKeyboard_KeepsTheFocusedRow checks that the focus stays on a row that newer envelopes have moved to the
// next page, until it leaves the list.
func TestBusyListByKeyboard_KeepsTheFocusedRow(t *testing.T) {
	t.Parallel()
	const workspace = "busy-list"
	create := func(subject string) {
		svc.createFor(t, workspace, subject, []object{{"name": "Ada Lovelace", "email": "busy-ada@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	}
	for i := range 20 {
		create(fmt.Sprintf("Busy %d", i))
	}
	svc.createFor(t, workspace+"-other", "Elsewhere", []object{{"name": "Ada Lovelace", "email": "busy-ada@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	b := open(t, desktop)
	consoleUser(b, "busy-list", "sender")
	b.until(`[...document.querySelectorAll("select.workspace option")].some((o) => o.value === "busy-list")`)
	b.choice("select.workspace", workspace)
	b.until(`document.querySelectorAll(".worklist tbody tr").length === 20`)
	oldest := rowOf("Busy 0") + `.querySelector(".what a")`
	b.goes(oldest)
	for i := range 2 {
		create(fmt.Sprintf("Busier %d", i))
	}
	b.until(fmt.Sprintf(`document.querySelector(".worklist tbody tr").innerText.includes(%q)`, "Busier 1"))
	b.focused(oldest)
	require.Equal(t, 21, eval[int](b, `document.querySelectorAll(".worklist tbody tr").length`), "the page, and the row with the focus")
	b.goes(`document.querySelector("#search")`)
	b.until(`document.querySelectorAll(".worklist tbody tr").length === 20`)
}

// TestEnvelopePageByKeyboard checks that every action on an envelope's page can be reached with the keyboard, and that
// the focus is never lost.
func TestEnvelopePageByKeyboard(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Paged by keyboard", []object{
		{"name": "Ada Lovelace", "email": "paged-ada@example.com", "authMethod": "none", "routingOrder": 1}, {"name": "Bob Hill", "email": "paged-bob@example.com", "authMethod": "none", "routingOrder": 2},
	}, []object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 450, "w": 200, "h": 20}, {"signerId": "1", "type": "text", "page": 3, "x": 72, "y": 500, "w": 200, "h": 20}}, threePages())
	b := open(t, device{width: 1280, height: 600})
	consoleUser(b, "keyboard-page", "sender")
	b.visit(svc.base + "/console#/envelopes/" + e.ID)
	b.see("Progress")
	for _, label := range []string{"Save as template", "Add labels", "Change deadline", "Void envelope"} {
		action := sectionButton("main .acts button", label)
		b.presses(action)
		b.escapes(action)
	}
	for _, label := range []string{"Correct email of Ada Lovelace", "Reassign Ada Lovelace", "Correct email of Bob Hill", "Reassign Bob Hill"} {
		b.presses(named(label))
		b.escapes(named(label))
	}
	b.goes(named("Copy link for Ada Lovelace"))
	b.presses(named("Remind Ada Lovelace"))
	b.see("A reminder is on its way to paged-ada@example.com.")
	b.focused(named("Remind Ada Lovelace"))
	b.presses(named("Send a new link to Ada Lovelace"))
	b.see("New link sent. The old link no longer works.")
	b.focused(named("Send a new link to Ada Lovelace"))

	// A thumbnail leads to its page, and the arrow keys scroll.
	b.presses(`document.querySelectorAll(".dthumbs button")[2]`)
	b.until(`document.querySelectorAll(".dthumbs button")[2].getAttribute("aria-current") === "page"`)
	pages := `document.querySelector(".dpages")`
	b.goes(pages)
	at := eval[float64](b, pages+`.scrollTop`)
	b.keys(kb.ArrowUp)
	b.until(fmt.Sprintf(`%s.scrollTop < %f`, pages, at))

	// Use the tabs of the history.
	b.goes(`document.querySelector("#tab-activity")`)
	b.keys(kb.ArrowRight)
	b.focused(`document.querySelector("#tab-technical")`)
	b.see("Envelope ID")
	b.goes(sectionButton("#history button", "Download JSON"))
	b.goes(`document.querySelector("#tab-technical")`)
	b.keys(kb.ArrowLeft)
	b.focused(`document.querySelector("#tab-activity")`)

	// Voiding the envelope removes the buttons.
	void := sectionButton("main .acts button", "Void envelope")
	b.presses(void)
	b.presses(in(dialog, "Void"))
	b.until(`document.querySelector(".head .badge")?.textContent === "voided" && !` + void)
	b.keepsFocus()
	require.Equal(t, "voided", svc.envelope(t, e.ID).Status)
	b.waitUntilStill()
}

// TestSendSheetByKeyboard checks that the send sheet, its dialogs and the preview can be operated with the keyboard
// only, and that moving a recipient keeps the focus.
func TestSendSheetByKeyboard(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Sent by keyboard", []object{
		{"name": "Ada Lovelace", "email": "sheet-ada@example.com", "authMethod": "none", "routingOrder": 1}, {"name": "Bob Hill", "email": "sheet-bob@example.com", "authMethod": "none", "routingOrder": 2},
	}, leaseDocument())
	for i, s := range e.Signers {
		svc.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/fields", object{"signerId": s.ID, "type": "signature", "page": 1, "x": 72, "y": 300 + 80*i, "w": 160, "h": 40}, nil)
	}
	b := open(t, device{width: 1280, height: 700})
	consoleUser(b, "keyboard-sheet", "sender")
	b.visit(svc.base + "/console#/build/" + e.ID)
	b.until(`document.querySelector(".bpaint img") !== null`)
	sheet := sectionButton(".builder button", "Send …")
	b.presses(sheet)
	b.escapes(sheet)
	b.presses(sheet)
	b.focused(`document.querySelector("#ssubject")`)
	for _, label := range []string{"Add recipient", "Add copy"} {
		b.presses(in(dialog, label))
		b.until(`document.querySelector("#rname") !== null`)
		b.keys("\x1b")
		b.until(`document.querySelector("#rname") === null`)
		b.focused(in(dialog, label))
	}
	edit := `document.querySelector("dialog[open] [aria-label='Edit Bob Hill']")`
	b.presses(edit)
	b.until(`document.querySelector("#rname") !== null`)
	b.keys("\x1b")
	b.until(`document.querySelector("#rname") === null`)
	b.focused(edit)
	earlier := `document.querySelector("dialog[open] [aria-label='Move Bob Hill earlier']")`
	for _, order := range []string{"1 1", "1 2"} { // first into the other recipient's step, then to a separate, earlier step
		b.presses(earlier)
		b.until(fmt.Sprintf(`[...document.querySelectorAll(".bsheet .bstepno")].map((x) => x.textContent).join(" ") === %q`, order))
		b.focused(earlier)
		b.visible()
	}
	b.until(`document.querySelector(".bsheet li strong").textContent === "Bob Hill"`)
	preview := in(dialog, "Preview")
	b.presses(preview)
	b.until(`document.querySelector("iframe.bsigning") !== null`)
	b.until(`[...document.querySelectorAll("dialog[open]")].at(-1).contains(document.activeElement)`)
	b.keys("\x1b")
	b.until(`document.querySelector("iframe.bsigning") === null`)
	b.focused(preview)
	b.goes(`document.querySelector("#smessage")`)
	b.write(`document.querySelector("#smessage")`, "By keyboard")
	b.goes(`document.querySelector("#sreminders")`)
	b.presses(in(dialog, "Send to 2 people"))
	b.see("Activity")
	require.Equal(t, "sent", svc.envelope(t, e.ID).Status)
	b.keepsFocus()
	b.waitUntilStill()
}
