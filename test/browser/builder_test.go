package browser_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// placedField is a field as returned by the service.
type placedField struct {
	ID, SignerID, Type, Name, Label string
	Comb                            bool
	Page                            int
	X, Y, W, H                      float64
}

func (s *service) fields(t *testing.T, id string) []placedField {
	t.Helper()
	var e struct{ Fields []placedField }
	require.NoError(t, s.app.call(&e, "envelope", id))
	return e.Fields
}

func (s *service) draft(t *testing.T, subject string, signers []object, file []byte) envelope {
	t.Helper()
	var e envelope
	require.NoError(t, s.app.call(&e, "create", object{"tenantId": "harbour", "subject": subject, "signers": signers}, pdfFile{file}))
	return e
}

// builds opens a new builder session for a draft.
func (b *tab) builds(e envelope, features object) {
	b.t.Helper()
	var made struct{ EmbedURL string }
	svc.json(b.t, http.MethodPost, "/v1/embedded/builder-sessions", object{
		"tenantId": "harbour", "envelopeId": e.ID, "allowedOrigin": "http://localhost:9", "features": features,
	}, &made)
	b.visit(made.EmbedURL)
	b.until(`document.querySelector(".bpaint img") !== null`)
}

// press clicks on a page at a position in points from the page's upper left corner.
func (b *tab) press(page int, x, y float64) {
	b.t.Helper()
	at := b.onPage(page, x, y)
	b.do(chromedp.MouseClickXY(at.X, at.Y))
}

// onPage converts a position on a page to a position in the window.
func (b *tab) onPage(page int, x, y float64) point {
	b.t.Helper()
	b.until(fmt.Sprintf(`Boolean(document.querySelectorAll(".bpage")[%d])`, page-1))
	return eval[point](b, fmt.Sprintf(`(() => { const r = document.querySelectorAll(".bpage")[%d].getBoundingClientRect(); const k = r.width / 595; return { X: r.x + %g * k, Y: r.y + %g * k }; })()`, page-1, x, y))
}

// drags moves the mouse from one position to another while its button is pressed.
func (b *tab) drags(from, to point) {
	b.t.Helper()
	mouse := func(kind input.DispatchMouseEventType, p point) {
		call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: p.X, Y: p.Y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1})
	}
	mouse("mousePressed", from)
	for i := 1; i <= 8; i++ {
		f := float64(i) / 8
		mouse("mouseMoved", point{X: from.X + (to.X-from.X)*f, Y: from.Y + (to.Y-from.Y)*f})
	}
	mouse("mouseReleased", to)
}

// saved waits until the page reports that all changes are saved.
func (b *tab) saved() {
	b.t.Helper()
	b.until(`document.querySelector(".bstate.saved")?.textContent === "Saved"`)
}

func twoPeople() []object {
	return []object{
		{"name": "Ada Lovelace", "email": "ada@example.com", "authMethod": "none", "role": "Tenant"},
		{"name": "Grace Hopper", "email": "grace@example.com", "authMethod": "none", "role": "Landlord", "routingOrder": 2},
	}
}

// TestBuilderByMouse places, moves, resizes, undoes and redoes fields with the mouse, and checks that the service
// stores the fields that the page displays.
func TestBuilderByMouse(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Workshop lease", twoPeople(), leaseDocument())
	b := open(t, desktop)
	b.builds(e, nil)
	b.checked("builder-empty")
	b.button("Signature")
	b.press(1, 200, 300)
	b.saved()
	got := svc.fields(t, e.ID)
	require.Len(t, got, 1)
	require.Equal(t, "signature", got[0].Type)
	require.InDelta(t, 120, got[0].X, 1.5)
	require.InDelta(t, 280, got[0].Y, 1.5)

	b.drags(b.onPage(1, 200, 300), b.onPage(1, 300, 400))
	b.saved()
	moved := svc.fields(t, e.ID)
	require.InDelta(t, 220, moved[0].X, 6, "the field may snap at most to the center of the page")
	require.InDelta(t, 380, moved[0].Y, 6)
	require.Equal(t, got[0].ID, moved[0].ID, "the same field")
	b.drags(b.onPage(1, moved[0].X+moved[0].W, moved[0].Y+moved[0].H), b.onPage(1, moved[0].X+moved[0].W+40, moved[0].Y+moved[0].H+20))
	b.saved()
	sized := svc.fields(t, e.ID)
	require.InDelta(t, moved[0].W+40, sized[0].W, 2)
	require.InDelta(t, moved[0].H+20, sized[0].H, 2)
	b.checked("builder-one")

	b.click(`[...document.querySelectorAll(".brecipient .bchoose")][1]`)
	b.button("Text")
	b.press(1, 200, 600)
	b.saved()
	two := svc.fields(t, e.ID)
	require.Len(t, two, 2)
	require.Equal(t, e.Signers[1].ID, two[1].SignerID)
	for range 4 {
		b.button("Undo")
	}
	b.saved()
	require.Empty(t, svc.fields(t, e.ID), "all changes are undone")
	for range 4 {
		b.button("Redo")
	}
	b.saved()
	again := svc.fields(t, e.ID)
	require.Len(t, again, 2)
	require.InDelta(t, sized[0].W, again[0].W, 0.01)
	require.InDelta(t, moved[0].X, again[0].X, 0.01)
	b.button("Preview")
	b.see("1 of 1 field is shown")
	b.checked("builder-preview")
}

// TestBuilderByKeyboard performs the actions of TestBuilderByMouse with the keyboard only, and a signer signs the
// result.
func TestBuilderByKeyboard(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "By keyboard", twoPeople()[:1], leaseDocument())
	b := open(t, desktop)
	b.builds(e, object{"send": true})
	b.tabTo("Signature")
	b.keys("\r")
	b.focused(`document.querySelector(".bfield")`)
	b.saved()
	first := svc.fields(t, e.ID)
	require.Len(t, first, 1)
	b.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	b.saved()
	moved := svc.fields(t, e.ID)
	require.InDelta(t, first[0].X+1, moved[0].X, 0.01)
	require.InDelta(t, first[0].Y+2, moved[0].Y, 0.01)
	b.keys("\r")
	b.focused(`document.querySelector("#pwho")`)
	b.until(`document.querySelector("[role=status].sr").textContent.includes("Signature was placed on page")`)
	b.tabTo("Delete")
	b.keys("\r")
	b.saved()
	require.Empty(t, svc.fields(t, e.ID))
	b.tabTo("Undo")
	b.keys("\r")
	b.saved()
	require.Len(t, svc.fields(t, e.ID), 1)
	b.tabTo("Send …")
	b.keys("\r")
	b.see("Send for signature")
	b.tabTo("Send to 1 person")
	b.keys("\r")
	b.see("Recipients of step 1 have been invited.")
	require.Equal(t, "sent", svc.envelope(t, e.ID).Status)
}

// TestBuilder_ConcurrentEdits checks that, after concurrent edits, the page that saves later reports the earlier save
// and the differences.
func TestBuilder_ConcurrentEdits(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Two at once", twoPeople()[:1], leaseDocument())
	b := open(t, desktop)
	b.builds(e, nil)
	svc.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/fields", object{"signerId": e.Signers[0].ID, "type": "text", "name": "theirs", "page": 1, "x": 50, "y": 50, "w": 100, "h": 20}, nil)
	b.button("Signature")
	b.press(1, 300, 500)
	b.see("Somebody else changed this draft in the meantime.")
	b.see("added: theirs on page 1")
	b.ignoreConflictErrors()
	b.checked("builder-conflict")
	b.button("Use their version")
	b.saved()
	require.Len(t, svc.fields(t, e.ID), 1)
	b.button("Undo")
	b.saved()
	require.Len(t, svc.fields(t, e.ID), 1, "the user's own version is restored")
	require.Equal(t, "signature", svc.fields(t, e.ID)[0].Type)
}

// ignoreConflictErrors discards the errors that the browser logged for expected rejections.
func (b *tab) ignoreConflictErrors() { b.ignoreConsoleErrors("412") }

// ignoreConsoleErrors discards the console errors that contain the given status.
func (b *tab) ignoreConsoleErrors(status string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.onConsoleError[:0]
	for _, e := range b.onConsoleError {
		if !bytes.Contains([]byte(e), []byte(status)) {
			kept = append(kept, e)
		}
	}
	b.onConsoleError = kept
}

// TestBuilderInConsole checks that a sender can upload a file, prepare it and send it in the console.
func TestBuilderInConsole(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	consoleUser(b, "sender", "sender")
	b.button("New envelope")
	b.choose("#newfiles", "lease.pdf", leaseDocument())
	b.until(`document.querySelector("#newsubject")?.value === "lease"`)
	b.fill("#newname", "Ada Lovelace")
	b.fill("#newemail", "ada@example.com")
	b.button("Continue")
	b.until(`document.querySelector(".bpaint img") !== null`)
	b.button("Add")
	b.fill("#rname", "Grace Hopper")
	b.fill("#remail", "grace@example.com")
	b.choice("#rauth", "none")
	b.click(`[...document.querySelectorAll("dialog[open] button")].find((x) => x.textContent === "Add")`)
	b.until(`document.querySelector(".brecipient.on strong")?.textContent === "Grace Hopper"`)
	b.button("Signature")
	b.press(1, 200, 300)
	b.saved()
	b.button("Send …")
	b.button("Send to 2 people")
	b.see("Activity")
	b.see("sent")
}
