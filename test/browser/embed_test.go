package browser_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/require"
)

// embeddingSite is a page of an application that embeds a session with the loader and records its events. The localhost
// origin is allowed, and the 127.0.0.1 origin is not.
type embeddingSite struct {
	allowed, foreign string
	embedURL         string // URL of the embedded session
	options          string // options of the loader
}

func newEmbeddingSite(t *testing.T) *embeddingSite {
	t.Helper()
	s := &embeddingSite{}
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, `<!doctype html><title>Shop</title><script src="`+svc.base+`/embed.js"></script><h1>Shop</h1><div id="box" style="height:760px"></div><script>
			window.told = [];
			const on = (m) => told.push(m);
			Countersign.open({ container: "#box", url: "`+s.embedURL+`", `+s.options+` onReady: on, onViewed: on, onConsentAccepted: on, onSignatureApplied: on, onCompleted: on, onDeclined: on, onHandedOver: on, onDelegated: on, onError: on, onResize: on });
		</script>`)
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // the test's own server
	require.NoError(t, err)
	h.Listener = l
	h.Start()
	t.Cleanup(h.Close)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	s.allowed, s.foreign = "http://localhost:"+port, "http://127.0.0.1:"+port
	return s
}

// shows creates a session for the envelope's first signer, and embeds it in the page.
func (s *embeddingSite) shows(t *testing.T, e envelope) (session string) {
	t.Helper()
	var made struct{ SessionID, EmbedURL string }
	svc.json(t, http.MethodPost, "/v1/embedded/signing-sessions", object{
		"tenantId": "harbour", "envelopeId": e.ID, "signerId": e.Signers[0].ID, "allowedOrigin": s.allowed,
		"returnUrl": "https://shop.example/done", "theme": object{"primaryColor": "#b3261e", "borderRadius": "2px"},
	}, &made)
	s.embedURL = made.EmbedURL
	return made.SessionID
}

func (b *tab) awaitEvent(e envelope, event string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`told.some((m) => m.event === "service.signer.%s" && m.envelopeId === %q && m.signerId === %q)`, event, e.ID, e.Signers[0].ID))
}

// accessibleInFrame runs axe on the framed page with the application's colors.
func (b *tab) accessibleInFrame() {
	b.t.Helper()
	_, err := inFrame[bool](b, axeScript(b.t))
	require.NoError(b.t, err)
	for _, dark := range []bool{false, true} {
		b.scheme(dark)
		b.settled()
		found, err := inFrame[[]string](b, `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")))`)
		require.NoError(b.t, err)
		require.Empty(b.t, found)
	}
	b.scheme(b.device.dark)
}

func embedded(t *testing.T, email string, fields []object) envelope {
	t.Helper()
	return svc.create(t, "Embedded lease", []object{{"name": "Ada Lovelace", "email": email, "authMethod": "none"}}, fields, leaseDocument())
}

// TestEmbed checks that a signer can sign in a frame with the requested theme, and that the application receives the
// events in order.
func TestEmbed(t *testing.T) {
	t.Parallel()
	e, s := embedded(t, "embed@example.com", leaseFields()[:2]), newEmbeddingSite(t)
	s.shows(t, e)
	b := open(t, desktop)
	b.visit(s.allowed)
	b.awaitEvent(e, "ready")
	b.awaitEvent(e, "viewed")
	b.awaitEvent(e, "resize")
	b.framed("Sign electronically")
	colour, err := inFrame[string](b, `getComputedStyle([...document.querySelectorAll("button")].find((x) => x.textContent === "I agree")).backgroundColor`)
	require.NoError(t, err)
	require.Equal(t, "rgb(179, 38, 30)", colour)
	b.accessibleInFrame()
	b.pictures("embed-consent")
	b.frameButton("I agree")
	b.awaitEvent(e, "consentAccepted")
	b.frameButton("Start")
	b.frameButton("Initials")
	b.frameButton("Use these initials")
	b.awaitEvent(e, "signatureApplied")
	b.frameButton("Sign here")
	b.accessibleInFrame()
	b.pictures("embed-adopt")
	b.frameButton("Use this signature")
	b.framed("All fields completed")
	b.readInFrame()
	b.pictures("embed-filled")
	b.frameButton("Review and sign")
	b.frameButton("Sign")
	b.awaitEvent(e, "completed")
	b.framed("Your sealed copy is ready")
	b.accessibleInFrame()
	b.pictures("embed-done")
	require.Equal(t, "https://shop.example/done", eval[string](b, `told.find((m) => m.event === "service.signer.completed").returnUrl`))
	require.True(t, eval[bool](b, `told.filter((m) => m.event === "service.signer.resize").every((m) => m.height > 0)`))
	require.True(t, eval[bool](b, `told.filter((m) => m.event === "service.signer.signatureApplied").every((m) => m.fieldId)`))
	require.Equal(t, []string{"ready", "viewed", "consentAccepted", "signatureApplied", "completed"},
		eval[[]string](b, `[...new Set(told.map((m) => m.event.replace("service.signer.", "")))].filter((n) => n !== "resize")`))
}

// readInFrame reads the unread pages of the document in the frame.
func (b *tab) readInFrame() {
	b.t.Helper()
	b.reading(func() string {
		left, err := inFrame[string](b, nextPage)
		require.NoError(b.t, err)
		return left
	}, func() bool {
		ok, err := inFrame[bool](b, clickNextPage)
		return err == nil && ok
	})
}

// TestEmbedDecline checks that declining is reported, and that a frame can grow with its content.
func TestEmbedDecline(t *testing.T) {
	t.Parallel()
	e, s := embedded(t, "embed-decline@example.com", leaseFields()[:1]), newEmbeddingSite(t)
	s.shows(t, e)
	s.options = "autoHeight: true,"
	b := open(t, phone)
	b.visit(s.allowed)
	b.awaitEvent(e, "ready")
	b.framed("Sign electronically")
	const grown = `document.querySelector("iframe").clientHeight === Math.max(560, told.findLast((m) => m.event === "service.signer.resize")?.height)`
	b.until(grown)
	b.frameButton("Decline to sign")
	b.frameButton("Decline")
	b.awaitEvent(e, "declined")
	b.framed("You declined")
	b.until(grown)
}

// TestEmbedHandOver checks that the application is notified when the device is handed over for in-person signing, and
// when the signer delegates.
func TestEmbedHandOver(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Embedded lease", []object{{
		"name": "Ines", "email": "embed-ines@example.com", "authMethod": "none", "kind": "in_person", "allowDelegation": true,
		"host": object{"name": "Hugo", "email": "embed-hugo@example.com"},
	}}, leaseFields()[:1], leaseDocument())
	s := newEmbeddingSite(t)
	s.shows(t, e)
	b := open(t, phone)
	b.visit(s.allowed)
	b.awaitEvent(e, "ready")
	b.framed("Hand this device to")
	require.False(t, eval[bool](b, `told.some((m) => m.event === "service.signer.handedOver")`), "the signer has not received the device yet")
	b.frameButton("I'm \u2068Ines\u2069: continue")
	b.awaitEvent(e, "handedOver")
	b.framed("Sign electronically")
	b.frameButton("Assign to someone else")
	b.framed("Your link will stop working")
	for id, text := range map[string]string{"delegate-name": "Grace Hopper", "delegate-email": "embed-grace@example.com"} {
		_, err := inFrame[bool](b, fmt.Sprintf(`((e) => { e.value = %q; return e.dispatchEvent(new Event("input", { bubbles: true })); })(document.getElementById(%q))`, text, id))
		require.NoError(t, err)
	}
	b.frameButton("Send invitation")
	b.awaitEvent(e, "delegated")
	b.framed("Reassigned")
	require.Equal(t, []string{"ready", "handedOver", "viewed", "delegated"}, eval[[]string](b, `told.map((m) => m.event.replace("service.signer.", "")).filter((n) => n !== "resize")`))
	require.Equal(t, "https://shop.example/done", eval[string](b, `told.find((m) => m.event === "service.signer.delegated").returnUrl`))
	b.waitUntilStill()
}

// TestEmbedRevoked checks that revoking a session ends the signing. The frame displays a message, and the application
// is notified.
func TestEmbedRevoked(t *testing.T) {
	t.Parallel()
	e, s := embedded(t, "embed-revoked@example.com", leaseFields()[:1]), newEmbeddingSite(t)
	session := s.shows(t, e)
	b := open(t, desktop)
	b.visit(s.allowed)
	b.awaitEvent(e, "ready")
	svc.json(t, http.MethodDelete, "/v1/embedded/signing-sessions/"+session, nil, nil)
	b.frameButton("I agree")
	b.awaitEvent(e, "error")
	require.Equal(t, "session_invalid", eval[string](b, `told.find((m) => m.event === "service.signer.error").code`))
	b.framed("Invalid link")
	b.pictures("embed-revoked")
	// If an ended session is opened again, its application is notified as well.
	b.visit(s.allowed)
	b.awaitEvent(e, "error")
	b.framed("Invalid link")
	require.Equal(t, "session_invalid", eval[string](b, `told.find((m) => m.event === "service.signer.error").code`))
	b.awaitEvent(e, "resize")
}

// TestEmbedLongFile checks that a frame that grows displays a long file from its top, with the toolbar visible.
func TestEmbedLongFile(t *testing.T) {
	t.Parallel()
	e, s := fieldOnEachPage(t, "embed-long@example.com", 70), newEmbeddingSite(t)
	s.shows(t, e)
	s.options = "autoHeight: true,"
	for _, l := range []device{phone, desktop} {
		b := open(t, l)
		b.visit(s.allowed)
		b.awaitEvent(e, "ready")
		if l.touch {
			b.frameButton("I agree")
		}
		b.framed("70 fields left")
		b.framed("70 pages left to read")
		b.until(fmt.Sprintf(`document.querySelector("iframe").clientHeight <= Math.max(560, %d)`, l.height))
		type place struct{ Scrolled, Sheet, Next, Frame float64 }
		b.eventually("the first page is at the top, and the toolbar is visible", func() bool {
			p, err := inFrame[place](b, `({ Scrolled: scrollY, Sheet: document.querySelector(".sheet").getBoundingClientRect().top, Next: document.querySelector("#next").getBoundingClientRect().bottom, Frame: innerHeight })`)
			return err == nil && p.Scrolled == 0 && p.Sheet >= 0 && p.Sheet < 350 && p.Next <= p.Frame
		})
		top := eval[float64](b, `document.querySelector("iframe").getBoundingClientRect().top`)
		require.GreaterOrEqual(t, top, -1.0, "the top of the frame must be visible")
		b.shot(fmt.Sprintf("embed-long-%d", l.width))
		b.waitUntilStill()
	}
}

// TestEmbedUnknownToken checks that a token without a session results in status 404, with a page that explains the
// problem.
func TestEmbedUnknownToken(t *testing.T) {
	t.Parallel()
	status, err := svc.do(http.MethodGet, svc.base+"/embed/nonsense", "", nil, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusNotFound, status)
	b := open(t, phone)
	b.visit(svc.base + "/embed/nonsense")
	b.see("Invalid link")
	b.accessible()
	b.waitUntilStill()
}

// TestEmbedOnAForeignOrigin checks that, on an origin that is not allowed, the frame remains blank and sends no
// messages.
func TestEmbedOnAForeignOrigin(t *testing.T) {
	t.Parallel()
	e, s := embedded(t, "embed-foreign@example.com", leaseFields()[:1]), newEmbeddingSite(t)
	s.shows(t, e)
	b := open(t, desktop)
	b.visit(s.foreign)
	b.until(`document.querySelector("iframe") !== null`)
	// The browser has replaced the frame with its own error page, so no page of this service runs in it.
	b.eventually("the browser blocks the frame", func() bool {
		tree := call(b, page.GetFrameTree, cdp.Empty{}).FrameTree
		return len(tree.ChildFrames) == 1 && tree.ChildFrames[0].Frame.URL == "chrome-error://chromewebdata/"
	})
	b.mu.Lock()
	require.Empty(t, b.frame, "a page of the service must not run in the frame")
	b.mu.Unlock()
	require.Zero(t, eval[int](b, "told.length"))
	b.shot("embed-foreign")
	// The same session works on the allowed origin, which proves that the origin was the reason for the rejection.
	a := open(t, desktop)
	a.visit(s.allowed)
	a.awaitEvent(e, "ready")
	require.Zero(t, eval[int](b, "told.length"))
	// Outside a frame, the address of a nonexistent session displays an error page.
	b.visit(svc.base + "/embed/nonsense")
	b.see("Invalid link")
}
