package browser_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// TestBuilderSnaps checks that a field snaps to the lines of the page while it is moved or resized, and that the page
// highlights these lines.
func TestBuilderSnaps(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Lines", twoPeople(), taxForm(t))
	b := open(t, desktop)
	b.builds(e, nil)
	b.until(`document.querySelectorAll(".bsuggestion").length > 0`)
	// The lines of the box for the family name are 1.5 points outside the suggestion.
	box := eval[rect](b, `(() => { const s = document.querySelector('.bsuggestion[title$="Family name"]'), k = document.querySelector(".bpage").getBoundingClientRect().width / 595;
		const at = (name) => parseFloat(s.style[name]) / k; return { X: at("left") - 1.5, Y: at("top") - 1.5, W: at("width") + 3, H: at("height") + 3 }; })()`)
	b.button("Text")
	b.press(1, 300, 600)
	b.saved()
	mouse := func(kind input.DispatchMouseEventType, x, y float64, modifiers int64) {
		p := b.onPage(1, x, y)
		call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: p.X, Y: p.Y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1, Modifiers: modifiers})
	}
	// Drag the field by its center, which is 80 and 10 points from its left and upper edges, until both edges are
	// within three points of the lines of the box.
	x, y := box.X+80+3, box.Y+10+3
	mouse("mousePressed", 300, 600, 0)
	mouse("mouseMoved", 290, 500, 0)
	mouse("mouseMoved", x, y, 0)
	b.until(`document.querySelectorAll(".bguide.v").length > 0 && document.querySelectorAll(".bguide.h").length > 0`)
	b.pictures("builder-guides")
	mouse("mouseReleased", x, y, 0)
	b.saved()
	f := svc.fields(t, e.ID)[0]
	require.InDelta(t, box.X, f.X, 0.3, "the left edge is on the line")
	require.InDelta(t, box.Y, f.Y, 0.3, "the upper edge is on the line")
	// Drag the right edge close to the right line of the box.
	mouse("mousePressed", f.X+f.W, f.Y+f.H/2, 0)
	mouse("mouseMoved", f.X+f.W+10, f.Y+f.H/2, 0)
	mouse("mouseMoved", box.X+box.W-3, f.Y+f.H/2, 0)
	b.until(`document.querySelectorAll(".bguide.v").length > 0`)
	mouse("mouseReleased", box.X+box.W-3, f.Y+f.H/2, 0)
	b.saved()
	require.InDelta(t, box.W, svc.fields(t, e.ID)[0].W, 0.6)
	b.waitUntilStill()
}

// TestBuilderSelectsSeveral checks that several fields can be selected with the mouse, the keyboard and a button, and
// changed together.
func TestBuilderSelectsSeveral(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Several", twoPeople(), leaseDocument())
	places := []object{}
	for i, at := range []rect{{50, 100, 100, 20}, {120, 190, 80, 30}, {230, 220, 60, 20}} {
		places = append(places, object{"signerId": e.Signers[0].ID, "type": "text", "name": []string{"a", "b", "c"}[i], "page": 1, "x": at.X, "y": at.Y, "w": at.W, "h": at.H})
	}
	svc.json(t, "POST", "/v1/envelopes/"+e.ID+"/fields", places, nil)
	b := open(t, desktop)
	b.builds(e, nil)
	b.until(`document.querySelectorAll(".bfield").length === 3`)
	selected := func(n int) { b.until(`document.querySelectorAll(".bfield.on").length === ` + strconv.Itoa(n)) }
	b.drags(b.onPage(1, 30, 80), b.onPage(1, 310, 260)) // drag a selection rectangle
	selected(3)
	b.checked("builder-several")
	b.button("left")
	b.button("down")
	b.button("both")
	b.saved()
	got := svc.fields(t, e.ID)
	for _, f := range got {
		require.InDelta(t, 50, f.X, 0.01)
		require.InDelta(t, got[0].W, f.W, 0.01)
		require.InDelta(t, got[0].H, f.H, 0.01)
	}
	// The outer fields stay in place, and the gaps become equal. The heights are 20, 30 and 20 points, between 100 and
	// 240.
	require.InDelta(t, 155, got[1].Y, 0.01)
	b.do(chromedp.KeyEvent(kb.Escape))
	selected(0)

	// With the keyboard, Tab moves between fields and keeps the selection.
	b.tabsTo(`document.querySelectorAll(".bfield")[0]`, false)
	selected(1)
	b.do(chromedp.KeyEvent("\r", chromedp.KeyModifiers(kb.ModifierShift)))
	b.until(`[...document.querySelectorAll("button")].find((x) => x.textContent === "Select several")?.ariaPressed === "true"`)
	b.keys("\t")
	selected(1)
	b.keys("\r")
	selected(2)
	b.do(chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(kb.ModifierShift)))
	b.saved()
	moved := svc.fields(t, e.ID)
	require.InDelta(t, 60, moved[0].X, 0.01)
	require.InDelta(t, 60, moved[1].X, 0.01)
	require.InDelta(t, 50, moved[2].X, 0.01)
	b.do(chromedp.KeyEvent("a", chromedp.KeyModifiers(kb.ModifierCtrl)))
	selected(3)

	// Each click adds or removes a field until Escape or the button ends this mode.
	b.press(1, moved[0].X+20, moved[0].Y+10)
	selected(2)
	b.press(1, moved[0].X+20, moved[0].Y+10)
	selected(3)
	b.button("Duplicate")
	b.saved()
	require.Len(t, svc.fields(t, e.ID), 6)
	b.button("Select several")
	b.press(1, 500, 600)
	selected(0)
	b.press(1, moved[0].X+20, moved[0].Y+10)
	selected(1)
	b.button("Copy to all pages")
	b.saved()
	all := svc.fields(t, e.ID)
	require.Len(t, all, 7)
	require.Equal(t, 2, all[6].Page)
	require.InDelta(t, moved[0].X, all[6].X, 0.01)
	b.button("All fields (7)")
	b.checked("builder-list")
	b.waitUntilStill()
}

// TestBuilderTakesTypedSizes checks that typed positions and sizes take effect once they are complete, and are limited
// by the edges of the page.
func TestBuilderTakesTypedSizes(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Typed", twoPeople(), leaseDocument())
	svc.json(t, "POST", "/v1/envelopes/"+e.ID+"/fields", []object{
		{"signerId": e.Signers[0].ID, "type": "text", "name": "a", "page": 1, "x": 300, "y": 100, "w": 160, "h": 20},
		{"signerId": e.Signers[0].ID, "type": "text", "name": "b", "page": 1, "x": 72, "y": 300, "w": 120, "h": 20},
	}, nil)
	b := open(t, desktop)
	b.builds(e, nil)
	b.press(1, 350, 110)
	b.click(`[...document.querySelectorAll("summary")].find((s) => s.textContent === "Position")`)
	shows := func(box, value string) { b.until(fmt.Sprintf(`document.querySelector(%q)?.value === %q`, box, value)) }
	b.fill("#pw", "200")
	shows("#pw", "200") // not limited while it is being typed
	b.keys("\r")
	b.saved()
	got := svc.fields(t, e.ID)[0]
	require.InDelta(t, 200, got.W, 0.01)
	require.InDelta(t, 300, got.X, 0.01)
	b.fill("#px", "72\t")
	b.saved()
	require.InDelta(t, 72, svc.fields(t, e.ID)[0].X, 0.01)
	eval[bool](b, `(document.querySelector("#pw").select(), document.querySelector("#pw").focus(), true)`)
	b.keys(kb.Backspace + "\t") // an empty input is not a valid width
	shows("#pw", "200")
	b.fill("#pw", "9999\t")
	shows("#pw", "595")
	b.fill("#pw", "9998\t")
	shows("#pw", "595")
	b.saved()

	// A typed value applies to its field, even if another field is clicked next.
	b.press(1, 100, 310)
	shows("#pw", "120")
	b.fill("#pw", "150")
	b.press(1, 350, 110)
	shows("#pw", "595")
	b.saved()
	widths := map[string]float64{}
	for _, f := range svc.fields(t, e.ID) {
		widths[f.Name] = f.W
	}
	require.InDeltaMapValues(t, map[string]float64{"a": 595, "b": 150}, widths, 0.5)

	b.fill("#ppage", "2\t")
	b.saved()
	require.Equal(t, 2, svc.fields(t, e.ID)[0].Page)
	b.fill("#ppage", "7\t")
	shows("#ppage", "2")
	b.waitUntilStill()
}
