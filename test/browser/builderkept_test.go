package browser_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// connected takes the network away from a tab, or gives it back.
func (b *tab) connected(now bool) {
	b.t.Helper()
	call(b, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: !now, DownloadThroughput: -1, UploadThroughput: -1})
	call(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{
		{URLPattern: "", DownloadThroughput: -1, UploadThroughput: -1, Offline: !now},
	}})
}

// reloads loads the page again, although it asks whether it may be left.
func (b *tab) reloads() {
	b.t.Helper()
	call(b, page.Reload, page.ReloadParams{})
}

// leavesWithoutAsking lets the tab be left whenever a page asks whether it may be.
func (b *tab) leavesWithoutAsking() {
	b.t.Helper()
	call(b, page.Enable, page.EnableParams{})
	require.NoError(b.t, chromedp.Listen(b.ctx, func(event any) {
		if _, ok := event.(*page.EventJavascriptDialogOpening); ok {
			go func() { // not within the listener: it would wait for itself
				_, _ = chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (cdp.Empty, error) {
					return cdp.Call(ctx, t, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
				})
			}()
		}
	}))
}

// laterSooner makes a page's waits of a second or more fifty times shorter, and counts in window.waited how long they would have been.
const laterSooner = `{
	const before = window.setTimeout;
	window.waited = 0;
	window.setTimeout = (f, ms, ...more) => { if (ms >= 1000) window.waited += ms; return before(f, ms >= 1000 ? ms / 50 : ms, ...more); };
}`

// TestBuilderWithoutNetwork: a minute without a connection loses nothing, nor does loading the page again meanwhile.
func TestBuilderWithoutNetwork(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Without a network", twoPeople(), leaseDocument())
	b := open(t, desktop)
	b.leavesWithoutAsking()
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: laterSooner})
	b.builds(e, nil)
	b.button("Signature")
	b.press(1, 200, 300)
	b.saved()
	b.connected(false)
	b.button("Text")
	b.press(1, 200, 400)
	b.drags(b.onPage(1, 200, 300), b.onPage(1, 250, 340))
	b.until(`document.querySelector(".bstate.offline")?.textContent.startsWith("No connection: your work is kept here")`)
	b.until(`window.waited >= 60000`) // it has tried for a minute
	require.Len(t, svc.fields(t, e.ID), 1)
	b.checked("builder-offline")
	b.connected(true)
	b.saved()
	fields := svc.fields(t, e.ID)
	require.Len(t, fields, 2)
	require.InDelta(t, 170, fields[0].X, 6, "it was moved meanwhile")

	// Without a connection the page is loaded again: the browser has none to show. Later it is loaded once more.
	b.connected(false)
	b.button("Initials")
	b.press(1, 200, 500)
	b.until(`document.querySelector(".bstate.offline") !== null`)
	require.False(t, eval[bool](b, `Object.values(sessionStorage).some((kept) => kept.includes(location.pathname.split("/").at(-1)))`), "the token is not kept")
	// The emulation ends with the page that is left, whose last attempt would get through.
	eval[bool](b, `(window.fetch = () => Promise.reject(new TypeError("no network")), true)`)
	b.reloads()
	b.until(`location.protocol === "chrome-error:"`)
	require.Len(t, svc.fields(t, e.ID), 2)
	b.connected(true)
	b.reloads()
	b.see("Work that had not been saved before is back")
	b.saved()
	b.checked("builder-restored")
	fields = svc.fields(t, e.ID)
	require.Len(t, fields, 3)
	require.Equal(t, "initial", fields[2].Type)
	require.InDelta(t, 170, fields[2].X, 1.5)
	require.Zero(t, eval[int](b, `Object.keys(sessionStorage).filter((name) => name.startsWith("countersign.draft.")).length`), "what is saved is not kept any longer")
	eval[bool](b, `window.before = true`)
	b.reloads()
	b.until(`!window.before && document.querySelectorAll(".bfield").length === 3`)
	require.False(t, eval[bool](b, `document.body.innerText.includes("had not been saved")`))
	b.waitUntilStill()
}

// TestBuilderWithoutStorage: where a browser stores nothing for a frame of another site, the page says that the work is in it alone.
func TestBuilderWithoutStorage(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Without storage", twoPeople(), leaseDocument())
	b := open(t, desktop)
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `Object.defineProperty(window, "sessionStorage", { get() { throw new DOMException("denied", "SecurityError"); } });`})
	b.builds(e, nil)
	b.connected(false)
	b.button("Signature")
	b.press(1, 200, 300)
	b.until(`document.querySelector(".bstate.offline")?.textContent.includes("in this page alone, so leave it open")`)
	b.connected(true)
	b.saved()
	require.Len(t, svc.fields(t, e.ID), 1)
	b.waitUntilStill()
}

// TestBuilderLosesAnAnswer: what was saved although the answer did not come is neither saved twice nor taken for somebody else's.
func TestBuilderLosesAnAnswer(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "A lost answer", twoPeople(), leaseDocument())
	b := open(t, desktop)
	b.builds(e, nil)
	for _, method := range []string{"POST", "PATCH", "DELETE"} {
		eval[bool](b, `(() => { const before = window.fetch; window.lost = 0;
			window.fetch = async (...a) => { const answer = await before(...a); if (a[1]?.method === "`+method+`" && !window.lost++) throw new TypeError("lost"); return answer; }; return true; })()`)
		switch method {
		case "POST":
			b.button("Signature")
			b.press(1, 200, 300)
		case "PATCH":
			b.drags(b.onPage(1, 200, 300), b.onPage(1, 300, 400))
		default:
			b.button("Delete")
		}
		b.until(`window.lost > 0`)
		b.saved()
		fields := svc.fields(t, e.ID)
		require.Len(t, fields, map[string]int{"POST": 1, "PATCH": 1}[method], method)
		if method == "PATCH" {
			require.InDelta(t, 220, fields[0].X, 6)
		}
		require.Equal(t, 0, eval[int](b, `document.querySelectorAll("[role=alertdialog]").length`))
	}
	b.waitUntilStill()
}

// TestBuilderInTwoTabs: the later save is told what the earlier one changed, and the person chooses.
func TestBuilderInTwoTabs(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Two tabs", twoPeople(), leaseDocument())
	first, second := open(t, desktop), open(t, desktop)
	first.builds(e, nil)
	first.button("Text")
	first.press(1, 200, 300)
	first.saved()
	second.builds(e, nil)
	first.drags(first.onPage(1, 200, 300), first.onPage(1, 300, 500))
	first.saved()
	moved := svc.fields(t, e.ID)[0]
	second.click(`document.querySelector(".bfield")`)
	second.fill("#plabel", "Place of delivery")
	second.see("Somebody else changed this draft meanwhile.")
	second.see("changed: text_1 on page 1 (place)")
	second.forgetRefusals()
	second.checked("builder-two-tabs")
	require.Equal(t, moved, svc.fields(t, e.ID)[0], "nothing is overwritten before it is chosen")
	second.button("Keep mine")
	second.saved()
	mine := svc.fields(t, e.ID)
	require.Len(t, mine, 1)
	require.Equal(t, "Place of delivery", mine[0].Label)
	require.InDelta(t, 120, mine[0].X, 1.5)

	first.button("Signature")
	first.press(1, 200, 650)
	first.see("changed: Place of delivery on page 1 (place, label)")
	first.button("Take theirs")
	first.saved()
	require.Equal(t, mine, svc.fields(t, e.ID))
	first.button("Undo") // what was mine is back
	first.saved()
	require.Len(t, svc.fields(t, e.ID), 2)
}

// delays holds calls of a method to addresses that end so, until release is called in the page; then they are made.
func (b *tab) delays(method, end string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(() => { const before = window.fetch; window.held = 0;
		const gate = new Promise((open) => { window.release = () => { open(); return true; }; });
		window.fetch = async (...a) => { if (a[1]?.method === %q && new URL(a[0], location.href).pathname.endsWith(%q)) { window.held++; await gate; } return before(...a); }; return true; })()`, method, end))
}

// TestBuilderKeepsWhatIsEditedMeanwhile: while a document is on its way, fields are edited, added and removed, and nothing of it is lost; what was refused
// stays as well. Two presses that follow each other fast are done one after the other.
func TestBuilderKeepsWhatIsEditedMeanwhile(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Edited meanwhile", twoPeople()[:1], leaseDocument())
	places := []object{}
	for i, name := range []string{"a", "b", "c"} {
		places = append(places, object{"signerId": e.Signers[0].ID, "type": "text", "name": name, "page": 1, "x": 100, "y": 100 + 100*i, "w": 160, "h": 20})
	}
	svc.json(t, "POST", "/v1/envelopes/"+e.ID+"/fields", places, nil)
	b := open(t, desktop)
	b.builds(e, nil)
	b.press(1, 120, 310)
	b.fill("#pname", "not a name!")
	b.until(`document.querySelector(".bfield.wrong") !== null`)
	b.delays("POST", "/document")
	b.choose(`.badd input`, "annex.pdf", leaseDocument())
	b.until(`window.held === 1`)
	b.press(1, 120, 110)
	b.fill("#plabel", "Typed meanwhile")
	b.press(1, 120, 210)
	b.keys(kb.Delete)
	b.button("Signature")
	b.press(1, 200, 500)
	b.until(fmt.Sprintf(placedFields, 3))
	b.until(`window.release()`)
	b.until(`document.querySelectorAll(".bdocuments > li").length === 2`)
	b.until(`document.querySelector(".bstate").textContent.includes("1 field")`) // but for the refused one all is saved
	require.True(t, eval[bool](b, fmt.Sprintf(placedFields, 3)))
	b.press(1, 120, 310)
	b.until(`document.querySelector("#pname")?.value === "not a name!"`)
	b.fill("#pname", "c")
	b.saved()
	got := map[string]placedField{}
	for _, f := range svc.fields(t, e.ID) {
		got[cmp.Or(f.Label, f.Type)] = f
	}
	require.Len(t, got, 3)
	require.Contains(t, got, "Typed meanwhile")
	require.Contains(t, got, "signature")

	b.choose(`.badd input`, "second.pdf", leaseDocument())
	b.until(`document.querySelectorAll(".bdocuments > li").length === 3 && document.querySelector(".badd").textContent === "Add a PDF"`)
	eval[bool](b, `(() => { document.querySelector('[aria-label="lease.pdf: further down"]').click(); document.querySelector('[aria-label="second.pdf: further up"]').click(); return true; })()`)
	b.saved()
	b.eventually("both are moved", func() bool {
		var names []string
		for _, d := range svc.people(t, e.ID).Documents {
			names = append(names, d.Name)
		}
		return slices.Equal(names, []string{"annex.pdf", "second.pdf", "lease.pdf"})
	})
	require.NotContains(t, b.text(), "meanwhile.")
	b.forgetRefused("400")
	b.waitUntilStill()
}

// TestTemplateKeepsWhatIsEditedMeanwhile: while a document is on its way to a template, the texts are edited; both are there afterwards, and a document
// that is removed and comes back is the same one.
func TestTemplateKeepsWhatIsEditedMeanwhile(t *testing.T) {
	t.Parallel()
	id := svc.templateOf(t, "Edited meanwhile, too")
	b := open(t, desktop)
	b.buildsTemplate(id, nil)
	b.delays("PATCH", "/v1/templates/"+id)
	three := pdfOf(leaf{title: "One"}, leaf{title: "Two"}, leaf{title: "Three"})
	b.choose(`.badd input`, "three.pdf", three)
	b.until(`window.held === 1`)
	b.button("Text")
	b.press(1, 300, 550)
	b.until(fmt.Sprintf(placedFields, 3))
	b.until(`window.release()`)
	b.until(`document.querySelectorAll(".bdocuments > li").length === 2`)
	b.until(fmt.Sprintf(stateIs, "Not saved yet"))
	b.button("Save")
	b.saved()
	got := svc.savedTemplate(t, id)
	require.Len(t, got.Documents, 2)
	require.Len(t, got.Fields, 3)
	b.click(`document.querySelector('[aria-label="Edit lease.pdf"]')`)
	b.click(inDialog("Remove, with its fields"))
	b.until(`document.querySelectorAll(".bdocuments > li").length === 1`)
	b.button("Save")
	b.saved()
	b.button("Undo")
	b.until(`document.querySelectorAll(".bdocuments > li").length === 2`)
	b.button("Save")
	b.saved()
	pages := map[string]int{}
	for _, d := range svc.savedTemplate(t, id).Documents {
		pages[d.Name] = d.PageCount
	}
	require.Equal(t, map[string]int{"lease.pdf": 2, "three.pdf": 3}, pages)
	b.waitUntilStill()
}
