package browser_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// connected enables or disables the network of a tab.
func (b *tab) connected(now bool) {
	b.t.Helper()
	call(b, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: !now, DownloadThroughput: -1, UploadThroughput: -1})
	call(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{
		{URLPattern: "", DownloadThroughput: -1, UploadThroughput: -1, Offline: !now},
	}})
}

// reloads reloads the page, and confirms that the page may be left.
func (b *tab) reloads() {
	b.t.Helper()
	call(b, page.Reload, page.ReloadParams{})
}

// confirmLeaving confirms every dialog that asks whether to leave the page.
func (b *tab) confirmLeaving() {
	b.t.Helper()
	call(b, page.Enable, page.EnableParams{})
	require.NoError(b.t, chromedp.Listen(b.ctx, func(event any) {
		if _, ok := event.(*page.EventJavascriptDialogOpening); ok {
			go func() { // not called in the listener itself, because the listener would wait for itself
				_, _ = chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (cdp.Empty, error) {
					return cdp.Call(ctx, t, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
				})
			}()
		}
	}))
}

// shortDelays makes the page's delays of one second or more fifty times shorter, and adds up the original delays in
// window.waited.
const shortDelays = `{
	const before = window.setTimeout;
	window.waited = 0;
	window.setTimeout = (f, ms, ...more) => { if (ms >= 1000) window.waited += ms; return before(f, ms >= 1000 ? ms / 50 : ms, ...more); };
}`

// TestBuilderWithoutNetwork checks that no changes are lost during a network outage of one minute, even if the page is
// reloaded during that time.
func TestBuilderWithoutNetwork(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Without a network", twoPeople(), leaseDocument())
	b := open(t, desktop)
	b.confirmLeaving()
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: shortDelays})
	b.builds(e, nil)
	b.button("Signature")
	b.press(1, 200, 300)
	b.saved()
	b.connected(false)
	b.button("Text")
	b.press(1, 200, 400)
	b.drags(b.onPage(1, 200, 300), b.onPage(1, 250, 340))
	b.until(`document.querySelector(".bstate.offline")?.textContent.startsWith("Offline: your work is stored in this tab")`)
	b.until(`window.waited >= 60000`) // the page has been retrying for one minute
	require.Len(t, svc.fields(t, e.ID), 1)
	b.checked("builder-offline")
	b.connected(true)
	b.saved()
	fields := svc.fields(t, e.ID)
	require.Len(t, fields, 2)
	require.InDelta(t, 170, fields[0].X, 6, "the field was moved in the meantime")

	// Without a connection, reloading fails. The page is reloaded successfully after the connection has been restored.
	b.connected(false)
	b.button("Initials")
	b.press(1, 200, 500)
	b.until(`document.querySelector(".bstate.offline") !== null`)
	require.False(t, eval[bool](b, `Object.values(sessionStorage).some((kept) => kept.includes(location.pathname.split("/").at(-1)))`), "the token must not be stored")
	// The network emulation ends when the page is left. Without this override, the page's last attempt would therefore
	// succeed.
	eval[bool](b, `(window.fetch = () => Promise.reject(new TypeError("no network")), true)`)
	b.reloads()
	b.until(`location.protocol === "chrome-error:"`)
	require.Len(t, svc.fields(t, e.ID), 2)
	b.connected(true)
	b.reloads()
	b.see("your unsaved work was restored")
	b.saved()
	b.checked("builder-restored")
	fields = svc.fields(t, e.ID)
	require.Len(t, fields, 3)
	require.Equal(t, "initial", fields[2].Type)
	require.InDelta(t, 170, fields[2].X, 1.5)
	require.Zero(t, eval[int](b, `Object.keys(sessionStorage).filter((name) => name.startsWith("countersign.draft.")).length`), "saved changes must be removed from the storage")
	eval[bool](b, `window.before = true`)
	b.reloads()
	b.until(`!window.before && document.querySelectorAll(".bfield").length === 3`)
	require.False(t, eval[bool](b, `document.body.innerText.includes("unsaved work")`))
	b.waitUntilStill()
}

// TestBuilderWithoutStorage checks that, if the browser stores no data for frames from another site, the page warns
// that changes exist only on the page.
func TestBuilderWithoutStorage(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Without storage", twoPeople(), leaseDocument())
	b := open(t, desktop)
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `Object.defineProperty(window, "sessionStorage", { get() { throw new DOMException("denied", "SecurityError"); } });`})
	b.builds(e, nil)
	b.connected(false)
	b.button("Signature")
	b.press(1, 200, 300)
	b.until(`document.querySelector(".bstate.offline")?.textContent.includes("keep this page open")`)
	b.connected(true)
	b.saved()
	require.Len(t, svc.fields(t, e.ID), 1)
	b.waitUntilStill()
}

// TestBuilder_LostResponse checks that, after a lost response, fields that were saved are neither saved again nor
// attributed to another user.
func TestBuilder_LostResponse(t *testing.T) {
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

// TestBuilderInTwoTabs checks that the tab that saves later shows the changes saved by the other tab, and that the user
// can choose between the versions.
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
	second.see("Somebody else changed this draft in the meantime.")
	second.see("changed: text_1 on page 1 (position)")
	second.ignoreConflictErrors()
	second.checked("builder-two-tabs")
	require.Equal(t, moved, svc.fields(t, e.ID)[0], "no version is overwritten before the user chooses")
	second.button("Keep my version")
	second.saved()
	mine := svc.fields(t, e.ID)
	require.Len(t, mine, 1)
	require.Equal(t, "Place of delivery", mine[0].Label)
	require.InDelta(t, 120, mine[0].X, 1.5)

	first.button("Signature")
	first.press(1, 200, 650)
	first.see("changed: Place of delivery on page 1 (position, label)")
	first.button("Use their version")
	first.saved()
	require.Equal(t, mine, svc.fields(t, e.ID))
	first.button("Undo") // restores the changes of this user
	first.saved()
	require.Len(t, svc.fields(t, e.ID), 2)
}

// delays holds the page's requests that have the given method and path suffix, until window.release is called.
func (b *tab) delays(method, end string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(() => { const before = window.fetch; window.held = 0;
		const gate = new Promise((open) => { window.release = () => { open(); return true; }; });
		window.fetch = async (...a) => { if (a[1]?.method === %q && new URL(a[0], location.href).pathname.endsWith(%q)) { window.held++; await gate; } return before(...a); }; return true; })()`, method, end))
}

// TestBuilder_KeepsEditsMadeDuringAnUpload checks that the page keeps edits that are made during an upload, and edits
// that the service rejects.
func TestBuilder_KeepsEditsMadeDuringAnUpload(t *testing.T) {
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
	b.until(`document.querySelector(".bstate").textContent.includes("1 field")`) // all changes except the rejected one are saved
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
	b.until(`document.querySelectorAll(".bdocuments > li").length === 3 && document.querySelector(".badd").textContent === "Add a document"`)
	const down, up = `document.querySelector('[aria-label="Move lease.pdf down"]')`, `document.querySelector('[aria-label="Move second.pdf up"]')`
	b.until(down + ` !== null && ` + up + ` !== null`)
	eval[bool](b, `(`+down+`.click(), `+up+`.click(), true)`)
	b.saved()
	b.eventually("both are moved", func() bool {
		var names []string
		for _, d := range svc.people(t, e.ID).Documents {
			names = append(names, d.Name)
		}
		return slices.Equal(names, []string{"annex.pdf", "second.pdf", "lease.pdf"})
	})
	require.NotContains(t, b.text(), "in the meantime.")
	b.ignoreConsoleErrors("400")
	b.waitUntilStill()
}

// TestTemplate_KeepsEditsMadeDuringAnUpload checks that an upload to a template loses neither the uploaded document nor
// text that is edited in the meantime.
func TestTemplate_KeepsEditsMadeDuringAnUpload(t *testing.T) {
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
	b.click(inDialog("Remove document and its fields"))
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

// dropResponseAfter waits for a call with the given method to a URL whose path contains the given string. It then drops
// the response to the next GET request for the draft.
func (b *tab) dropResponseAfter(method, part string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(() => { const before = window.fetch; let [after, lost] = [false, false]; window.lost = 0;
		window.fetch = async (...a) => { const path = new URL(a[0], location.href).pathname;
			if (after && !lost && (a[1]?.method ?? "GET") === "GET" && /^\/v1\/envelopes\/[^/]+$/.test(path)) { lost = true; window.lost++; throw new TypeError("lost"); }
			const answer = await before(...a); if (a[1]?.method === %q && path.includes(%q)) after = true; return answer; }; return true; })()`, method, part))
}

// TestBuilder_ActionsAreNotRepeated checks that an action on recipients or documents is neither reported as failed nor
// repeated if its result cannot be read.
func TestBuilder_ActionsAreNotRepeated(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Done once", twoPeople()[:1], leaseDocument())
	b := open(t, desktop)
	b.builds(e, nil)
	b.dropResponseAfter("POST", "/signers")
	b.button("Add")
	b.fill("#rname", "Grace Hopper")
	b.fill("#remail", "grace@example.com")
	b.choice("#rauth", "none")
	b.click(inDialog("Add"))
	b.until(`window.lost === 1`)
	b.until(`document.querySelector("dialog[open]") === null && document.querySelector(".brecipient.on strong")?.textContent === "Grace Hopper"`)
	b.saved()
	require.Len(t, svc.people(t, e.ID).Signers, 2)

	// Removing the recipient also removes the recipient's field, and undo restores both.
	b.button("Signature")
	b.press(1, 200, 300)
	b.saved()
	require.Len(t, svc.fields(t, e.ID), 1)
	b.dropResponseAfter("DELETE", "/signers/")
	b.click(`document.querySelector('[aria-label="Edit Grace Hopper"]')`)
	b.click(inDialog("Remove, including fields"))
	b.until(`window.lost === 1 && document.querySelectorAll(".brecipient").length === 1 && ` + fmt.Sprintf(placedFields, 0))
	b.saved()
	b.dropResponseAfter("POST", "/signers")
	b.button("Undo")
	b.until(`window.lost === 1 && document.querySelectorAll(".brecipient").length === 2 && ` + fmt.Sprintf(placedFields, 1))
	b.saved()
	back := svc.fields(t, e.ID)
	require.Len(t, back, 1)
	require.Equal(t, find(svc.people(t, e.ID), "Grace Hopper"), back[0].SignerID)

	// The upload succeeds, but the request that sets the name fails.
	eval[bool](b, `(() => { const before = window.fetch; window.lost = 0;
		window.fetch = async (...a) => { if (a[1]?.method === "PATCH" && a[0].includes("/documents/") && !window.lost++) throw new TypeError("lost"); return before(...a); }; return true; })()`)
	b.choose(`.badd input`, "annex.pdf", leaseDocument())
	b.until(`window.lost === 1 && document.querySelectorAll(".bdocuments > li").length === 2 && document.querySelector(".badd").textContent === "Add a document"`)
	require.Equal(t, 0, eval[int](b, `document.querySelectorAll(".notice.bad").length`))
	b.button("Undo")
	b.until(`document.querySelectorAll(".bdocuments > li").length === 1`)
	b.saved()
	require.Len(t, svc.people(t, e.ID).Documents, 1)
	b.waitUntilStill()
}

// TestBuilder_SendWithLostResponse checks that an envelope is reported as sent, both to the sender and to the embedding
// application, even if the response to the send request was lost.
func TestBuilder_SendWithLostResponse(t *testing.T) {
	t.Parallel()
	draft := func() envelope {
		e := svc.draft(t, "Sent without an answer", twoPeople()[:1], leaseDocument())
		svc.json(t, "POST", "/v1/envelopes/"+e.ID+"/fields", object{"signerId": e.Signers[0].ID, "type": "signature", "page": 1, "x": 72, "y": 300, "w": 160, "h": 40}, nil)
		return e
	}
	embedded := func(e envelope) *tab {
		var address string
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprint(w, `<!doctype html><title>Shop</title><iframe src="`+address+`" style="width:1200px;height:800px"></iframe><script>
				window.told = []; addEventListener("message", (m) => { if (m.data.event.startsWith("service.builder.") && m.data.event !== "service.builder.resize") told.push(m.data.event.slice(16) + (m.data.code ? " " + m.data.code : "")); });</script>`)
		}))
		t.Cleanup(h.Close)
		origin := strings.Replace(h.URL, "127.0.0.1", "localhost", 1)
		var made struct{ EmbedURL string }
		svc.json(t, http.MethodPost, "/v1/embedded/builder-sessions", object{"tenantId": "harbour", "envelopeId": e.ID, "allowedOrigin": origin, "features": object{"send": true}}, &made)
		address = made.EmbedURL
		b := open(t, desktop)
		b.visit(origin)
		b.until(`told.includes("ready")`)
		return b
	}

	// The connection is interrupted, so both the response and the next requests are lost.
	e := draft()
	b := embedded(e)
	_, err := inFrame[bool](b, `(() => { const before = window.fetch; window.lost = 0;
		window.fetch = async (...a) => { if (window.lost === 1) { window.lost++; throw new TypeError("lost"); }
			const answer = await before(...a); if (a[0].endsWith("/send") && !window.lost++) throw new TypeError("lost"); return answer; }; return true; })()`)
	require.NoError(t, err)
	b.frameButton("Send …")
	b.frameButton("Send to 1 person")
	b.framed("The service can't be reached, so the envelope may or may not have been sent.")
	require.Equal(t, "sent", svc.envelope(t, e.ID).Status)
	b.frameButton("Send to 1 person")
	b.framed("Recipients of step 1 have been invited.")
	b.until(`told.includes("sent")`)
	require.Empty(t, eval[[]string](b, `told.filter((m) => m.startsWith("error"))`))

	// The application has sent the envelope in the meantime.
	e = draft()
	b = embedded(e)
	svc.json(t, "POST", "/v1/envelopes/"+e.ID+"/send", object{}, nil)
	b.frameButton("Initials")
	// The button places the field in the visible part of the page.
	_, err = inFrame[bool](b, `(document.querySelector(".notice .bare").click(), true)`)
	require.NoError(t, err)
	b.framed("This envelope was sent in the meantime.")
	b.until(`told.includes("error session_over")`)
	require.NotContains(t, eval[[]string](b, `told`), "sent")

	// In the console, only the response is lost.
	e = draft()
	c := open(t, desktop)
	consoleUser(c, "sends-unanswered", "sender")
	c.visit(svc.base + "/console#/build/" + e.ID)
	c.until(`document.querySelector(".bpaint img") !== null`)
	c.dropResponse("/send")
	c.button("Send …")
	c.button("Send to 1 person")
	c.see("Activity")
	require.Equal(t, "sent", svc.envelope(t, e.ID).Status)
	c.waitUntilStill()
}
