package browser_test

import (
	"fmt"
	"math"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// buttonOf returns an expression for an enabled button with the given text, preferably in a dialog.
func buttonOf(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("dialog[open] button, dialog[open] a.button")].concat([...document.querySelectorAll("button, a.button")])
		.find((x) => x.textContent.trim() === %q && !x.disabled && x.ariaDisabled !== "true" && x.offsetParent !== null)`, text)
}

// button waits for a button with the given text, and clicks it.
func (b *tab) button(text string) { b.t.Helper(); b.click(buttonOf(text)) }

// click uses the mouse to click the center of the element that an expression returns.
func (b *tab) click(find string) {
	b.t.Helper()
	b.clickIn(find, b.point, atOrigin)
}

// point evaluates an expression in the window.
func (b *tab) point(expression string) (point, error) {
	return chromedp.Run(b.ctx, chromedp.Evaluate[point](expression, chromedp.EvalAwaitPromise))
}

// atOrigin returns the position of the top-level window, which is the origin.
func atOrigin() point { return point{} }

// doubleClick clicks the element that an expression returns, and clicks it again before the service responds.
func (b *tab) doubleClick(find string) {
	b.t.Helper()
	b.until("Boolean(" + find + ")")
	eval[bool](b, `(async () => { const x = `+find+`; x.click(); await new Promise((done) => setTimeout(done)); x.click(); return true; })()`)
}

// point is a position in a window, in CSS pixels. Ready is set by aim, and Hit is set by clicked.
type point struct {
	X, Y       float64
	Ready, Hit bool
}

// aim returns the center of an element that is neither moving nor covered, and starts to listen for the click.
const aim = `(async (find) => {
	const middle = (e) => { const r = e.getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }; };
	const pause = () => new Promise((done) => setTimeout(done, 60));
	for (const block of ["nearest", "center"]) {
		const e = find();
		if (!e) break;
		e.scrollIntoView({ block, behavior: "instant" });
		const before = middle(e);
		await pause();
		if (find() !== e) break;
		const at = middle(e);
		if (Math.abs(at.X - before.X) + Math.abs(at.Y - before.Y) >= 0.5 || !e.contains(document.elementFromPoint(at.X, at.Y))) continue;
		const aimed = { element: e, hit: false };
		window.aimedAt = aimed;
		e.addEventListener("click", () => { aimed.hit = true; }, { capture: true, once: true });
		return { ...at, Ready: true };
	}
	return {};
})(() => `

// clicked reports whether the click hit the element that aim found. If the click caused the browser to leave the page,
// the result is lost, and the click counts as a hit.
const clicked = `(() => { const hit = window.aimedAt?.hit ?? true; delete window.aimedAt; return { Hit: hit }; })()`

// clickIn clicks in the window or frame in which eval evaluates expressions. Calls to origin return the position of
// that frame in the window. The element may move after it was found, so a click that missed is repeated, but a click
// that hit is not.
func (b *tab) clickIn(find string, eval func(string) (point, error), origin func() point) {
	b.t.Helper()
	b.eventually("a click comes to "+find, func() bool { return b.tryClick(find, eval, origin) })
}

// tryClick is like clickIn, but clicks at most once, and reports whether the click hit the element.
func (b *tab) tryClick(find string, eval func(string) (point, error), origin func() point) bool {
	b.t.Helper()
	at, err := eval(aim + find + ")")
	if err != nil || !at.Ready {
		return false
	}
	o := origin()
	b.do(chromedp.MouseClickXY(o.X+at.X, o.Y+at.Y))
	got, err := eval(clicked)
	if err == nil && !got.Hit {
		b.t.Logf("the page moved during a click on %s, which is repeated", find)
		return false
	}
	return true // an error means that the page was left
}

// keys types text into the element that has the focus.
func (b *tab) keys(text string) { b.t.Helper(); b.do(chromedp.KeyEvent(text)) }

// focused waits until the element that an expression returns has the focus.
func (b *tab) focused(find string) {
	b.t.Helper()
	b.until(`document.activeElement !== document.body && document.activeElement === (` + find + `)`)
}

// keysOn presses keys as soon as the element that an expression returns has the focus.
func (b *tab) keysOn(find, text string) { b.t.Helper(); b.focused(find); b.keys(text) }

// write types into the input that an expression returns, which must already have the focus, and waits until the input
// contains the text.
func (b *tab) write(find, text string) {
	b.t.Helper()
	b.keysOn(find, text)
	b.until(fmt.Sprintf(`(%s)?.value === %q`, find, text))
}

// Elements of the signing page that can receive the focus.
const (
	next      = `document.querySelector("#next")`
	entry     = `document.querySelector(".bar .entry :is(input, textarea)")`
	codeField = `document.querySelector("#code")`
	// typedName matches only while the submit button of the form is enabled.
	typedName = `document.querySelector("dialog[open] form:has(.end button:last-child:enabled) #typed-name")`
)

// choice selects an option of a select element.
func (b *tab) choice(selector, value string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.querySelector(%q) !== null", selector))
	eval[bool](b, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event("input", { bubbles: true })); e.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`, selector, value))
}

// fill replaces the content of an input.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	find := fmt.Sprintf("document.querySelector(%q)", selector)
	b.click(find)
	b.focused(find)
	eval[bool](b, "("+find+".select(), true)")
	b.keys(text)
}

// frameButton clicks a button on the framed page with the mouse.
func (b *tab) frameButton(text string) {
	b.t.Helper()
	b.clickIn(buttonOf(text), func(expression string) (point, error) { return inFrame[point](b, expression) }, func() point {
		return eval[point](b, `(() => { const r = document.querySelector("iframe").getBoundingClientRect(); return { X: r.x, Y: r.y }; })()`)
	})
}

// tabTo presses Tab until the element with the given text has the focus.
func (b *tab) tabTo(text string) {
	b.t.Helper()
	b.until("Boolean(" + buttonOf(text) + ")")
	for range 60 {
		if eval[bool](b, fmt.Sprintf("document.activeElement?.textContent.trim() === %q && document.activeElement.matches('button, a')", text)) {
			return
		}
		b.keys("\t")
	}
	b.shot("failure")
	require.FailNow(b.t, "the keyboard does not get to "+text)
}

// draw draws a scribble on an element with a finger or the mouse.
func (b *tab) draw(find string) {
	b.t.Helper()
	type box struct {
		X float64 `json:"x"`
		Y float64 `json:"y"`
		W float64 `json:"w"`
		H float64 `json:"h"`
	}
	r := eval[box](b, "(() => { const r = "+find+".getBoundingClientRect(); return { x: r.x, y: r.y, w: r.width, h: r.height }; })()")
	at := func(i int) (float64, float64) {
		f := float64(i) / 90
		return r.X + r.W*(0.14+0.7*f+0.05*math.Sin(f*34)), r.Y + r.H*(0.52-0.3*math.Cos(f*34+0.6*math.Sin(f*9))*(1-0.75*f))
	}
	point := func(i int) []*input.TouchPoint {
		x, y := at(i)
		return []*input.TouchPoint{{X: x, Y: y}}
	}
	call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchStart", TouchPoints: point(0)})
	for i := 1; i <= 90; i++ {
		call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchMove", TouchPoints: point(i)})
	}
	call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchEnd", TouchPoints: []*input.TouchPoint{}})
}
