package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gate holds the responses that a page requests, and delivers them one at a time, as a slow network would.
type gate struct {
	*tab

	mu      sync.Mutex
	closed  bool // responses are held
	held    []*fetch.EventRequestPaused
	passed  map[string]bool              // requests that are no longer held, because they have been delivered once
	running map[network.RequestID]string // names of the requests without a complete response
	answers map[string]string            // responses that replace those of the service, by path
}

// gated starts to intercept the requests of a tab. It responds to requests for certain paths itself.
func gated(b *tab, answers map[string]string) *gate {
	b.t.Helper()
	g := &gate{tab: b, passed: map[string]bool{}, running: map[network.RequestID]string{}, answers: answers}
	require.NoError(b.t, chromedp.Listen(b.ctx, g.listen))
	call(b, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	call(b, fetch.Enable, fetch.EnableParams{})
	return g
}

// canMove reports whether the response to a request can change the page after it has been displayed. The document, its
// scripts and styles are required to display anything. The font is not held, because it is loaded only on a fast network.
// After an action, such as an upload, the user waits for the response. A request without an ID is sent while the page is
// being left.
func canMove(e *fetch.EventRequestPaused) bool {
	if e.NetworkID == "" || e.Request.Method != http.MethodGet {
		return false
	}
	switch e.ResourceType {
	case network.ResourceTypeXHR, network.ResourceTypeFetch, network.ResourceTypeImage:
		return true
	default:
		return strings.Contains(e.Request.URL, "/v1/")
	}
}

// requestName returns the method and URL of a request, without tokens.
func requestName(e *fetch.EventRequestPaused) string {
	return e.Request.Method + " " + tokens.ReplaceAllString(strings.TrimPrefix(e.Request.URL, svc.base), "…")
}

var tokens = regexp.MustCompile(`[\w-]+\.[\w-]+\.[\w-]+`)

func (g *gate) listen(event any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch e := event.(type) {
	case *fetch.EventRequestPaused:
		if g.closed && canMove(e) && !g.passed[requestName(e)] {
			g.held = append(g.held, e)
			return
		}
		if e.NetworkID != "" {
			g.running[e.NetworkID] = requestName(e)
		}
		go g.pass(e) // no response is processed until this function returns
	case *network.EventLoadingFinished:
		delete(g.running, e.RequestID)
	case *network.EventLoadingFailed:
		delete(g.running, e.RequestID)
	}
}

// pass sends a request to the service, or responds to it.
func (g *gate) pass(e *fetch.EventRequestPaused) {
	_, err := chromedp.Run(g.ctx, func(ctx context.Context, t *chromedp.Target) (cdp.Empty, error) {
		u, err := url.Parse(e.Request.URL)
		if err != nil {
			return cdp.Empty{}, err
		}
		if body, ok := g.answers[u.Path]; ok {
			return cdp.Call(ctx, t, fetch.FulfillRequest, fetch.FulfillRequestParams{
				RequestID: e.RequestID, ResponseCode: http.StatusOK, ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "application/json"}}, Body: []byte(body),
			})
		}
		return cdp.Call(ctx, t, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
	})
	if err != nil { // the page has cancelled the request
		g.mu.Lock()
		delete(g.running, e.NetworkID)
		g.mu.Unlock()
	}
}

// release delivers the response that has been held longest or, in reverse, the one that was requested last. It returns
// the name of the request, or "" if no response is held.
func (g *gate) release(reverse bool) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.held) == 0 {
		return ""
	}
	i := 0
	if reverse {
		i = len(g.held) - 1
	}
	e := g.held[i]
	g.held = slices.Delete(g.held, i, i+1)
	g.passed[requestName(e)] = true
	g.running[e.NetworkID] = requestName(e)
	go g.pass(e)
	return requestName(e)
}

// rests waits until every response that is not held has been received, and the page no longer changes.
func (g *gate) rests() {
	g.t.Helper()
	idle := func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.running) == 0
	}
	g.eventually("the page is idle", func() bool {
		if !idle() {
			return false
		}
		ok, err := chromedp.Run(g.ctx, chromedp.Evaluate[bool](untilUnchanged, chromedp.EvalAwaitPromise))
		return err == nil && ok && idle()
	})
}

// untilUnchanged resolves when the document has not changed for a moment and has been laid out.
const untilUnchanged = `new Promise((done) => {
	// A dialog that has just been opened ignores clicks for a moment.
	const ignores = () => document.querySelector("dialog[open]")?.style.pointerEvents === "none";
	const end = () => { changes.disconnect(); requestAnimationFrame(() => requestAnimationFrame(() => done(!ignores()))); };
	let timer = setTimeout(end, 120);
	const changes = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(end, 120); });
	changes.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
})`

// moved returns the elements that a user may be about to click, and that are no longer where they were at the previous
// call. The score of a layout-shift entry is not suitable for this, because it depends on the area of the element: if a
// button moves by its own width, the score of the page is below 0.001.
//
// An element may become larger, and it may disappear. But it must not be replaced or covered by another element.
const moved = `(() => {
	const tolerance = 2; // in CSS pixels
	const clickable = "a[href], button, input, select, textarea, summary, label, [role=tab]";
	const name = (e) => e.localName + " " + JSON.stringify((e.ariaLabel || (e.matches("select, input, textarea") ? e.id : e.textContent.trim())).slice(0, 50));
	const boxOf = (e) => { const r = e.getBoundingClientRect(); return { left: r.left, right: r.right, top: r.top, bottom: r.bottom, x: r.left + r.width / 2, y: r.top + r.height / 2 }; };
	const at = (box) => document.elementFromPoint(box.x, box.y);
	const moves = [];
	for (const [e, before] of window.places ?? []) {
		const now = boxOf(e);
		const there = at(before.box);
		const other = there?.closest(clickable);
		if (!e.isConnected || now.right - now.left === 0) {
			if (other && name(other) !== before.name) moves.push(before.name + " was replaced by " + name(other));
			continue;
		}
		const by = Math.max(now.left - before.box.left, before.box.right - now.right, now.top - before.box.top, before.box.bottom - now.bottom);
		if (by > tolerance) moves.push(before.name + " moved by " + Math.round(by) + " px");
		else if (there && !e.contains(there)) moves.push(before.name + " was covered by " + name(there));
	}
	window.places = new Map([...document.querySelectorAll(clickable)].map((e) => [e, { name: name(e), box: boxOf(e) }]).filter(([e, { box }]) => {
		const there = box.right > box.left && at(box);
		return there && e.contains(there);
	}));
	return moves;
})()`

// delivers delivers the held responses one at a time until none is held and an expression is true. It returns the
// elements that each response moved.
func (g *gate) delivers(reverse bool, complete string) (moves []string) {
	g.t.Helper()
	cause := "the script"
	g.eventually("the page is complete: "+complete, func() bool {
		g.rests()
		for _, m := range eval[[]string](g.tab, moved) {
			moves = append(moves, fmt.Sprintf("%s, after %s", m, cause))
		}
		if request := g.release(reverse); request != "" {
			cause = request
			return false
		}
		ok, err := chromedp.Run(g.ctx, chromedp.Evaluate[bool](complete))
		return err == nil && ok
	})
	return moves
}

// loads opens a page as a new document, and holds the responses that it requests.
func (g *gate) loads(address string) {
	g.t.Helper()
	g.mu.Lock()
	g.closed = false
	g.mu.Unlock()
	g.visit("about:blank")
	g.mu.Lock()
	g.closed = true
	// The end of a request is not reported if the page has been left.
	g.held = nil
	clear(g.running)
	clear(g.passed)
	g.mu.Unlock()
	// chromedp.Navigate would wait for the images.
	call(g.tab, page.Navigate, page.NavigateParams{URL: address})
}

// unchangedLists contains responses for the lists that the console reloads regularly, and that other tests would change.
var unchangedLists = map[string]string{
	"/v1/console/problems":           problemsShown,
	"/v1/console/webhooks":           endpointsShown,
	"/v1/console/webhook-deliveries": deliveriesShown,
	"/v1/bulk-sends": `{"data": [{"id": "01990000-0000-7000-8000-000000000001", "tenantId": "moves", "templateId": "01990000-0000-7000-8000-000000000002", "templateVersion": 1, "name": "Leases",
		"status": "completed", "total": 3, "counts": {"pending": 0, "sent": 3, "failed": 0, "cancelled": 0}, "perMinute": null, "createdBy": "", "createdAt": "2026-11-01T10:00:00Z", "completedAt": "2026-11-01T10:01:00Z"}], "nextCursor": null}`,
}

// slowPage is a page that is loaded over a slow network.
type slowPage struct {
	at string
	// shown is an expression that is true when the page is complete.
	shown string
	// then is an action on the complete page that causes further requests.
	then func(b *tab)
	// done is an expression that is true when the results of the action are complete.
	done string
}

// TestPagesDoNotMoveUnderAClick checks that a late response moves nothing that the user may be about to click. Each
// page is loaded twice. Its responses are delivered in the order of the requests, and in the reverse order, and each one
// is held until the page has settled without it.
func TestPagesDoNotMoveUnderAClick(t *testing.T) {
	t.Parallel()
	sent := svc.createFor(t, "moves", "Lease that does not move", []object{
		{"name": "Ada Lovelace", "email": "moves-ada@example.com", "authMethod": "none", "routingOrder": 1},
		{"name": "Bob Hill", "email": "moves-bob@example.com", "authMethod": "none", "routingOrder": 2},
	}, []object{
		{"signerId": "0", "type": "signature", "page": 1, "x": 72, "y": 450, "w": 200, "h": 40}, {"signerId": "1", "type": "text", "page": 3, "x": 72, "y": 500, "w": 200, "h": 20},
	}, threePages())
	unread := svc.invited(t, "moves-ada@example.com")
	agreed := svc.create(t, "Reading that does not move", []object{{"name": "Eve Else", "email": "moves-eve@example.com", "authMethod": "none"}}, leaseFields(), threePages())
	svc.signerPosts(t, signingPath(agreed.Signers[0].SigningURL)+"/consent", object{})
	svc.json(t, http.MethodPost, "/v1/console/contacts", object{"name": "Cora Contact", "email": "moves-cora@example.com"}, nil)
	draft := svc.draft(t, "Draft that does not move", twoPeople(), threePages())
	svc.json(t, http.MethodPost, "/v1/envelopes/"+draft.ID+"/fields", object{"signerId": draft.Signers[0].ID, "type": "signature", "page": 1, "x": 72, "y": 300, "w": 160, "h": 40}, nil)
	template := svc.templateOf(t, "Template that does not move")
	done, sealed := svc.signedByAPI(t, "moves-portal@example.com")
	_, links := svc.mail(t, "moves-portal@example.com", "/download/")
	portal := slices.IndexFunc(links, func(l string) bool { return strings.Contains(l, "/download/") })
	require.GreaterOrEqual(t, portal, 0)

	const row = `document.querySelector("table tbody tr") !== null`
	console := []slowPage{
		{at: "envelopes", shown: `document.querySelectorAll(".worklist tbody tr").length > 0 && /\d/.test(document.querySelector(".inbox").textContent)`},
		{at: "envelopes/" + sent.ID, shown: `document.querySelector(".docview img") !== null && document.querySelector(".reserved")?.textContent !== ""`},
		{at: "envelopes/" + draft.ID, shown: `document.querySelector(".docview") !== null`},
		{at: "envelopes/" + done.ID, shown: `document.querySelector(".docview") !== null`},
		{at: "templates", shown: row},
		{at: "templates/" + template, shown: `document.querySelector(".timeline li") !== null`},
		{at: "contacts", shown: row},
		{at: "settings", shown: `document.querySelector("#senderName") !== null`},
		{at: "application", shown: `document.querySelector("#appname") !== null && ` + row},
		{at: "users", shown: row},
		{at: "problems", shown: row},
		{at: "webhooks", shown: row + ` && document.querySelector("main .card") !== null`},
		{at: "usage", shown: `document.querySelector(".figure") !== null`},
		{at: "bulk", shown: row},
		{at: "bulk/new?template=" + template, shown: `document.querySelector("#btable") !== null`},
		{at: "account", shown: row + ` && document.querySelector("#nzone") !== null`},
		{at: "account/notifications", shown: row + ` && document.activeElement.id === "notifications"`},
		{
			at: "build/" + draft.ID, shown: `document.querySelector(".bpaint img") !== null && document.body.innerText.includes("Add all")`,
			then: func(b *tab) { b.button("Send …") }, done: `document.querySelector("#ssubject") !== null`,
		},
		{
			at: "build/" + draft.ID, shown: `document.querySelector(".bpaint img") !== null`,
			then: func(b *tab) { b.button("Preview") }, done: dialog + ` !== null`,
		},
		{
			at: "build/" + draft.ID, shown: `document.querySelector(".bpaint img") !== null`,
			then: func(b *tab) {
				b.button("Show pages")
				b.until(`document.querySelector(".bthumbs") !== null`)
				eval[bool](b, `(document.querySelector(".bthumbs").scrollIntoView({ block: "center", behavior: "instant" }), true)`)
			},
			done: `document.querySelector(".bthumbs img") !== null`,
		},
		{at: "edit/" + template, shown: `document.querySelector(".bpaint img") !== null`},
	}
	public := []slowPage{
		{at: "/console", shown: `document.querySelector("#password") !== null`},
		{at: signingLink(unread), shown: buttonOf("I agree") + ` !== undefined`},
		{at: signingLink(agreed.Signers[0].SigningURL), shown: `document.querySelector("#next") !== null && document.querySelector(".paint img") !== null`},
		{at: signingLink(done.Signers[0].SigningURL), shown: `document.body.innerText.includes("You signed")`},
		{at: strings.TrimPrefix(links[portal], svc.base), shown: `document.querySelector(".sealedpage img") !== null`},
		{
			at: "/verify", shown: `document.querySelector("#file") !== null`,
			then: func(b *tab) { b.choose("#file", "lease.pdf", sealed) }, done: `document.querySelector(".seen") !== null`,
		},
	}
	for name, d := range map[string]device{"desktop": desktop, "phone": phone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, d)
			g := gated(b, unchangedLists)
			for _, p := range public {
				g.checks(p, svc.base+p.at)
			}
			consoleUser(b, "moves-"+name, "admin")
			b.until(`[...document.querySelectorAll("select.workspace option")].some((o) => o.value === "moves")`)
			b.choice("select.workspace", "moves") // other tests change the list of all envelopes
			for i, p := range console {
				g.checks(p, fmt.Sprintf("%s/console?%d#/%s", svc.base, i, p.at))
			}
			b.waitUntilStill()
		})
	}
}

// checks checks that no response moves the content of a page.
func (g *gate) checks(p slowPage, address string) {
	g.t.Helper()
	for _, reverse := range []bool{false, true} {
		g.loads(address)
		moves := g.delivers(reverse, p.shown)
		if p.then != nil {
			eval[bool](g.tab, `(window.places = undefined, true)`)
			p.then(g.tab)
			moves = append(moves, g.delivers(reverse, p.done)...)
		}
		assert.Empty(g.t, moves, "%s, %d pixels wide, in reverse: %t", tokens.ReplaceAllString(p.at, "…"), g.device.width, reverse)
	}
	g.mu.Lock()
	g.closed = false
	g.mu.Unlock()
}

// signingLink returns the path of a signing page.
func signingLink(link string) string { return strings.TrimPrefix(link, svc.base) }
