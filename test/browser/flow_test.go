package browser_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// fieldOnEachPage returns an envelope with a file of n pages and one field on each page. The types of the fields
// alternate between signature, text, initials, checkbox and date.
func fieldOnEachPage(t *testing.T, email string, n int) envelope {
	t.Helper()
	kinds := []string{"signature", "text", "initial", "checkbox", "date"}
	var leaves []leaf
	var fields []object
	for i := range n {
		leaves = append(leaves, leaf{title: fmt.Sprintf("Clause %d", i+1), lines: []string{"The parties agree to this clause."}})
		w, h := 120, 20
		switch kinds[i%5] {
		case "signature":
			h = 40
		case "checkbox":
			w, h = 12, 12
		}
		fields = append(fields, object{"signerId": "0", "type": kinds[i%5], "page": i + 1, "x": 72 + 40*(i%7), "y": 200 + 50*(i%9), "w": w, "h": h})
	}
	return svc.create(t, "A field on each page", []object{{"name": "Ada Lovelace", "email": email, "authMethod": "none"}}, fields, pdfOf(leaves...))
}

// inView reports whether the current field is on the screen, above the toolbar, and large enough.
const inView = `(() => {
	const r = document.querySelector(".field.active .box").getBoundingClientRect(), bar = document.querySelector(".bar").getBoundingClientRect();
	const k = Number(getComputedStyle(document.querySelector(".pages")).getPropertyValue("--k"));
	return r.top >= 0 && r.bottom <= bar.top && r.left >= 0 && r.right <= innerWidth && k >= 0.95;
})()`

// walkedFields is the number of fields. It is high enough that the pages that were rendered first are erased before the
// last field is reached.
const walkedFields = 30

// TestManyFieldsByKeyboard fills many fields with the keyboard only. It checks that each field takes at most three
// key presses in addition to its text, and that "Next" is one key press away.
func TestManyFieldsByKeyboard(t *testing.T) {
	t.Parallel()
	e := fieldOnEachPage(t, "many-fields-keys@example.com", walkedFields)
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.tabTo("I agree")
	b.keys("\r")
	b.keysOn(next, "\r")
	keys := 0
	press := func(find, key string) {
		keys++
		b.keysOn(find, key)
	}
	for i := range walkedFields {
		before := keys
		field := fmt.Sprintf(`document.querySelectorAll(".sheet")[%d].querySelector(".field")`, i)
		b.until(field + `.classList.contains("active") && ` + inView)
		switch i % 5 {
		case 0, 2:
			press(field, "\r")
			if i < 5 {
				press(typedName, "\r")
			}
		case 1:
			b.write(entry, fmt.Sprintf("clause %d", i+1))
			press(entry, "\r")
		case 3:
			press(field, " ")
			press(field, "\r")
		case 4:
			b.until(field + `.classList.contains("filled")`)
			press(entry, "\r")
		}
		require.LessOrEqual(t, keys-before, 3, "keys of field %d", i+1)
	}
	b.see("All fields completed")
	require.Equal(t, 6*walkedFields/5+2, keys, "two for each checkbox, one for each other field, and the name for signature and initials once")
	b.readByKeys()
	b.see("Review before you sign")
	require.Zero(t, eval[float64](b, `document.querySelector("dialog[open]").scrollTop`), "the review must open at the top")
	require.True(t, eval[bool](b, `(() => { const d = document.querySelector("dialog[open]"), r = document.querySelector("#sign").getBoundingClientRect(); return r.bottom <= innerHeight && d.contains(document.activeElement); })()`))
	b.see(fmt.Sprintf("%d fields, p.", walkedFields/5)) // the repeated signature is listed on one line
	b.tabTo("Sign")
	b.keys("\r")
	b.see("You signed")
	b.waitUntilStill()
}

// TestFocusMovesAtOnce checks that the focus moves during the click, before a frame is rendered, so that even an
// immediate key press reaches the opened input.
func TestFocusMovesAtOnce(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "At once", []object{{"name": "Ada Lovelace", "email": "focus@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.focused(next)
	inTurn := func(find, then string) string {
		t.Helper()
		b.until("Boolean(" + find + ")")
		return eval[string](b, `(async () => { (`+find+`).click(); for (let i = 0; i < 50; i++) await null; return String(`+then+`); })()`)
	}
	require.Equal(t, "typed-name", inTurn(`document.querySelector(".field.signature")`, `document.activeElement.id`))
	b.keys("\x1b")
	b.until(`document.querySelector("dialog") === null`)
	require.Equal(t, "INPUT", inTurn(`document.querySelector(".field.text")`, `document.activeElement.tagName`))
	require.Equal(t, "true", inTurn(`document.querySelector(".field.date")`, `document.querySelector(".field.date").classList.contains("filled")`), "Enter accepts the displayed date")
	require.Equal(t, "H2", inTurn(buttonOf("Decline to sign"), `document.activeElement.tagName`))
	b.waitUntilStill()
}

// TestManyFieldsByTouch fills many fields by touch on a phone. It checks that one tap leads from each field to the
// next, and that the view follows.
func TestManyFieldsByTouch(t *testing.T) {
	t.Parallel()
	e := fieldOnEachPage(t, "many-fields-taps@example.com", walkedFields)
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	taps := 0
	tap := func(text string) {
		taps++
		b.button(text)
	}
	tap("Start")
	for i := range walkedFields {
		field := fmt.Sprintf(`document.querySelectorAll(".sheet")[%d].querySelector(".field")`, i)
		b.until(field + `.classList.contains("active") && ` + inView)
		switch i % 5 {
		case 0:
			tap("Sign here")
			if i == 0 {
				b.button("Use this signature")
			}
		case 1:
			b.write(entry, "words")
			tap("Next field")
		case 2:
			tap("Initials")
			if i == 2 {
				b.button("Use these initials")
			}
		case 3:
			tap("Check the box")
		case 4:
			b.until(field + `.classList.contains("filled")`)
			if i < walkedFields-1 {
				tap("Next field")
			}
		}
	}
	b.see("All fields completed")
	require.Equal(t, walkedFields, taps, "one for each field: none after the last, and one to start")
	b.shot("many-fields-390")
	b.read()
	b.button("Review and sign")
	b.see("Review before you sign")
	b.accessible()
	b.shot("many-fields-review-390")
	b.button("Sign")
	b.see("You signed")
	b.waitUntilStill()
}

// TestTurnedPhone checks that, when a phone is rotated, the field stays visible and legible, and that the rendered
// pages and the button remain.
func TestTurnedPhone(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Turned", []object{{"name": "Ada Lovelace", "email": "turned@example.com", "authMethod": "none"}}, leaseFields()[1:3], leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.button("Start")
	b.until(inView)
	b.size(844, 390)
	b.until(inView)
	b.shot("turned-844")
	b.size(390, 844)
	b.until(inView)
	b.button("Sign here")
	b.button("Draw")
	b.until(`document.querySelector("dialog[open] canvas")?.width > 600`)
	b.draw(`document.querySelector("dialog[open] canvas")`)
	const ink = `(() => {
		const c = document.querySelector("dialog[open] canvas"), copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
		copy.drawImage(c, 0, 0);
		const p = copy.getImageData(0, 0, c.width, c.height).data;
		let [left, right, top, bottom] = [c.width, 0, c.height, 0];
		for (let i = 3; i < p.length; i += 4) if (p[i] > 100) { const x = (i >> 2) % c.width, y = Math.floor((i >> 2) / c.width); left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y); }
		return [left / c.width, right / c.width, top / c.height, bottom / c.height, (right - left) / (bottom - top)];
	})()`
	before := eval[[]float64](b, ink)
	for _, size := range [][2]int64{{844, 390}, {390, 844}} {
		b.size(size[0], size[1])
		b.until(fmt.Sprintf(`innerWidth === %d && Math.abs(document.querySelector("dialog[open] canvas").width - 2 * document.querySelector("dialog[open] canvas").clientWidth) <= 2`, size[0]))
		after := eval[[]float64](b, ink)
		require.InDelta(t, before[4], after[4], 0.25, "the strokes must keep their shape")
		require.Greater(t, after[0], 0.0)
		require.Less(t, after[1], 1.0, "no part may be cut off")
		require.Less(t, after[3], 1.0)
		b.until(`(() => { const r = document.querySelector("dialog[open] .end button:last-child").getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight; })()`)
		b.shot(fmt.Sprintf("draw-turned-%d", size[0]))
	}
	b.button("Use this signature")
	b.until(`document.querySelector(".field.signature img") !== null`)
	b.waitUntilStill()
}

// TestDoubleTapDoesNotSign checks that a double tap on "Review and sign" only opens the review, because its second
// tap hits no button.
func TestDoubleTapDoesNotSign(t *testing.T) {
	t.Parallel()
	fields := []object{{"signerId": "0", "type": "checkbox", "page": 1, "x": 100, "y": 300, "w": 12, "h": 12, "required": false}}
	e := svc.create(t, "Double tap", []object{{"name": "Ada Lovelace", "email": "double@example.com", "authMethod": "none"}}, fields, leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.focused(next)
	b.read()
	b.until("Boolean(" + buttonOf("Review and sign") + ")")
	require.True(t, eval[bool](b, `(async () => {
		document.querySelector("#next").click();
		while (!document.querySelector("dialog[open] #sign")) await null;
		const r = document.querySelector("#sign").getBoundingClientRect();
		return !document.querySelector("dialog").contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2));
	})()`))
	b.button("Sign")
	b.see("You signed")
	b.waitUntilStill()
}

// TestSmallBoxes checks that the target of each small box is at least 24 pixels wide and high, and that no two targets
// overlap.
func TestSmallBoxes(t *testing.T) {
	t.Parallel()
	var fields []object
	for i := range 8 {
		fields = append(fields, object{"signerId": "0", "type": "checkbox", "page": 1, "x": 100 + 22*(i%2), "y": 300 + 16*(i/2), "w": 9, "h": 9})
	}
	e := svc.create(t, "Boxes", []object{{"name": "Ada Lovelace", "email": "boxes@example.com", "authMethod": "none"}}, fields, leaseDocument())
	for _, l := range []device{phone, desktop} {
		b := open(t, l)
		b.visit(e.Signers[0].SigningURL)
		if l.touch {
			b.button("I agree")
		}
		b.see("8 fields left")
		b.button("Start")
		b.until(`document.querySelector(".field.active") !== null`)
		type area struct{ L, T, R, B float64 }
		areas := eval[[]area](b, `[...document.querySelectorAll(".field")].map((f) => { const r = f.getBoundingClientRect(); return { L: r.left, T: r.top, R: r.right, B: r.bottom }; })`)
		require.Len(t, areas, 8)
		for i, a := range areas {
			require.GreaterOrEqual(t, a.R-a.L, 23.9, "width of %d at %d px", i, l.width)
			require.GreaterOrEqual(t, a.B-a.T, 23.9, "height of %d at %d px", i, l.width)
			for _, o := range areas[i+1:] {
				require.False(t, a.L < o.R-0.1 && o.L < a.R-0.1 && a.T < o.B-0.1 && o.T < a.B-0.1, "areas overlap: %v %v", a, o)
			}
		}
		b.accessible()
		b.shot(fmt.Sprintf("boxes-%d", l.width))
	}
}

// TestReadingRule checks that a page counts as read only after all of it has been visible at a sufficient size for some
// time.
func TestReadingRule(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Rule", []object{{"name": "Ada Lovelace", "email": "rule@example.com", "authMethod": "none"}}, leaseFields()[2:3], leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.see("Scroll through every page to continue.")
	b.until(`document.querySelectorAll(".textLayer span").length > 10`)
	b.click(`document.querySelector(".zoom button")`)
	b.see("Zoom in to read this page")
	b.shot("small-390")
	// The page does not count as read, however long it is displayed.
	require.True(t, eval[bool](b, `new Promise((done) => setTimeout(() => done(document.body.innerText.includes("Zoom in to read this page")), 4000))`))
	// From now on, the visible page may count as read at any time.
	b.click(`document.querySelector(".zoom button:last-child")`)
	b.readAll()
	// On a wide screen only the upper half of a page is visible, so the page does not count as read.
	wide := open(t, device{width: 1280, height: 700})
	wide.visit(e.Signers[0].SigningURL)
	wide.until(`document.querySelectorAll(".textLayer span").length > 10`)
	require.True(t, eval[bool](wide, `new Promise((done) => setTimeout(() => done(document.body.innerText.includes("2 pages left to read")), 4000))`))
	wide.readAll()
	b.waitUntilStill()
}

// TestSigningBar_LeavesPagesVisible checks that only the bar covers the pages, and that it leaves more than half of a
// small screen to them. A screen of 320 by 215 pixels is what remains of a desktop at a zoom of 400 %.
func TestSigningBar_LeavesPagesVisible(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Small screens", []object{{"name": "Ada", "email": "covers@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	for _, l := range []device{{width: 320, height: 215}, phone, desktop} {
		b := open(t, l)
		b.visit(e.Signers[0].SigningURL)
		b.until(`document.querySelector(".consent button, #next") !== null`)
		if eval[bool](b, `document.querySelector(".consent button") !== null`) {
			b.click(`document.querySelector(".consent button")`)
		}
		b.until(`document.querySelector(".sheet .paint img") !== null`)
		eval[bool](b, `(document.querySelector(".sheet").scrollIntoView({ block: "start", behavior: "instant" }), true)`)
		covering := eval[string](b, `(() => {
			const sheet = document.querySelector(".sheet").getBoundingClientRect(), bar = document.querySelector(".bar").getBoundingClientRect(), found = new Set();
			for (let x = Math.max(0, sheet.left) + 2; x < Math.min(innerWidth, sheet.right); x += 8)
				for (let y = Math.max(0, sheet.top) + 2; y < Math.min(bar.top, sheet.bottom) - 1; y += 8) {
					const top = document.elementFromPoint(x, y);
					if (!top?.closest(".sheet")) found.add(top?.className);
				}
			return [...found].join();
		})()`)
		require.Empty(t, covering, "%d pixels wide", l.width)
		require.Less(t, eval[float64](b, `document.querySelector(".bar").getBoundingClientRect().height / innerHeight`), 0.45)
		require.True(t, eval[bool](b, `[...document.querySelectorAll(".bar .main button")].every((b) => { const r = b.getBoundingClientRect(); return r.width >= 24 && r.height >= 24 && r.left >= 0 && r.right <= innerWidth && r.bottom <= innerHeight; })`))
		b.waitUntilStill()
	}
}

// TestInitialsAndLongNames_AreLegible checks that the letters of initials do not form a word, and that a long name
// fits in its preview and in its field.
func TestInitialsAndLongNames_AreLegible(t *testing.T) {
	t.Parallel()
	fields := []object{
		{"signerId": "0", "type": "initial", "page": 1, "x": 260, "y": 434, "w": 60, "h": 26}, {"signerId": "1", "type": "signature", "page": 2, "x": 72, "y": 210, "w": 200, "h": 50},
	}
	const long = "Wolfeschlegelsteinhausenbergerdorff von Hohenstaufen-Schwarzenbach zu Guttenberg"
	e := svc.create(t, "Names", []object{{"name": "لطيفة أحمد", "email": "names-a@example.com", "authMethod": "none"}, {"name": long, "email": "names-b@example.com", "authMethod": "none"}}, fields, leaseDocument())
	b := open(t, device{width: 390, height: 844, touch: true, language: "ar"})
	b.visit(e.Signers[0].SigningURL)
	b.click(`document.querySelector(".card button")`)
	b.click(`document.querySelector("#next")`)
	b.until(`document.activeElement?.classList.contains("initial")`)
	b.click(`document.querySelector("#next")`)
	b.until(`document.querySelector("#typed-name")?.value === "ل. أ."`)
	b.shot("initials-ar-390")

	b = open(t, phone)
	b.visit(e.Signers[1].SigningURL)
	b.button("I agree")
	b.button("Start")
	b.button("Sign here")
	b.until(`document.querySelectorAll("dialog[open] .face span").length === 3`)
	require.True(t, eval[bool](b, `[...document.querySelectorAll("dialog[open] .face span")].every((s) => s.scrollWidth <= s.clientWidth + 1)`), "the previews must show the whole name")
	b.shot("long-name-390")
	b.button("Use this signature")
	b.until(`document.querySelector(".field.signature img")?.naturalWidth > 0`)
	require.Less(t, eval[float64](b, `(() => { const i = document.querySelector(".field.signature img"); return i.naturalWidth / i.naturalHeight; })()`), 14.0, "the name is split into two lines")
	b.waitUntilStill()
}
