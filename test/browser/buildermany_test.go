package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

const manyFields = 70

var tablet = device{width: 820, height: 1180, touch: true}

// shows scrolls to a page in the builder.
func (b *tab) shows(page int) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(document.querySelectorAll(".bpage")[%d].scrollIntoView({ block: "start", behavior: "instant" }), true)`, page-1))
}

// placed waits until the builder has the given number of fields and the last one has the focus. The page may have to
// scroll.
func (b *tab) placed(count int) {
	b.t.Helper()
	b.until(fmt.Sprintf(`document.querySelectorAll(".bfield").length === %d && document.activeElement?.matches(".bfield.on") && document.querySelector(".bpage.armed") === null`, count))
}

// undoneAndRedone undoes and redoes all changes with the keyboard. It checks that the service stores no fields after
// the undo, and the original fields after the redo.
func (b *tab) undoneAndRedone(id string, steps int) {
	b.t.Helper()
	before := svc.fields(b.t, id)
	eval[bool](b, `(document.querySelector(".bpages").focus({ preventScroll: true }), true)`)
	for range steps {
		b.do(chromedp.KeyEvent("z", chromedp.KeyModifiers(kb.ModifierCtrl)))
	}
	b.until(`document.querySelectorAll(".bfield").length === 0`)
	b.saved()
	require.Empty(b.t, svc.fields(b.t, id), "all changes are undone")
	for range steps {
		b.do(chromedp.KeyEvent("y", chromedp.KeyModifiers(kb.ModifierCtrl)))
	}
	b.until(fmt.Sprintf(`document.querySelectorAll(".bfield").length === %d`, len(before)))
	b.saved()
	after := svc.fields(b.t, id)
	require.Len(b.t, after, len(before))
	at := map[string]placedField{}
	for _, f := range after {
		at[f.Name] = f
	}
	for _, f := range before {
		again := at[f.Name]
		again.ID = f.ID // a redone field has a new ID
		require.Equal(b.t, f, again)
	}
}

// TestBuilderManyByMouse places fields for four signers, one on each page of a 70-page contract, and reloads the
// builder in between. It checks that the entries are sealed at the positions of the fields.
func TestBuilderManyByMouse(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Supply contract", fourPeople("many-mouse"), contract(t, manyFields))
	b := open(t, desktop)
	b.builds(e, nil)
	place := func(from, to int) {
		for i := from; i < to; i++ {
			if i == from || i%(manyFields/4+1) == 0 {
				b.click(fmt.Sprintf(`[...document.querySelectorAll(".bchoose")][%d]`, i/(manyFields/4+1)))
			}
			b.shows(i + 1)
			b.button("Text")
			b.press(i+1, 300+float64(i%5)*20, 560+float64(i%7)*15)
			b.placed(i + 1)
		}
		b.saved()
	}
	place(0, manyFields/2)
	require.Len(t, svc.fields(t, e.ID), manyFields/2)
	b.do(chromedp.Reload())
	b.until(fmt.Sprintf(`document.querySelectorAll(".bfield").length === %d && document.querySelector(".bpaint img") !== null`, manyFields/2))
	place(manyFields/2, manyFields)
	fields := svc.fields(t, e.ID)
	require.Len(t, fields, manyFields)
	people := map[string]int{}
	for i, f := range fields {
		people[f.SignerID]++
		require.Equal(t, i+1, f.Page)
		require.InDelta(t, 300+float64(i%5)*20-80, f.X, 1.5)
		require.InDelta(t, 560+float64(i%7)*15-10, f.Y, 1.5)
	}
	require.Len(t, people, 4)
	b.shot("builder-70")
	svc.signsAsBuilt(t, e.ID)
	b.waitUntilStill()
}

// tabsTo presses Tab, or Shift+Tab if back is set, until the element that an expression returns has the focus.
func (b *tab) tabsTo(find string, back bool) {
	b.t.Helper()
	var options []chromedp.KeyOption
	if back {
		options = append(options, chromedp.KeyModifiers(kb.ModifierShift))
	}
	for range 200 {
		if eval[bool](b, hasFocus(find)) {
			return
		}
		b.do(chromedp.KeyEvent("\t", options...))
	}
	b.shot("failure")
	require.FailNow(b.t, "the keyboard does not get to "+find)
}

// TestBuilderManyByKeyboard places, narrows, moves and duplicates 70 fields for four signers with the keyboard only,
// and undoes and redoes all changes.
func TestBuilderManyByKeyboard(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "By keys", fourPeople("many-keys"), leaseDocument())
	b := open(t, desktop)
	b.builds(e, nil)
	steps := 0
	press := func(key string, times int, modifiers ...kb.Modifier) {
		var options []chromedp.KeyOption
		if len(modifiers) > 0 {
			options = append(options, chromedp.KeyModifiers(modifiers...))
		}
		for range times {
			b.do(chromedp.KeyEvent(key, options...))
		}
	}
	total := 0
	for person, count := range []int{18, 18, 17, 17} {
		b.tabsTo(fmt.Sprintf(`[...document.querySelectorAll(".bchoose")][%d]`, person), person > 0)
		b.keys("\r")
		b.until(fmt.Sprintf(`[...document.querySelectorAll(".bchoose")][%d].ariaChecked === "true"`, person))
		b.tabsTo(buttonOf("Text"), false)
		b.keys("\r")
		b.until(`document.activeElement?.classList.contains("bfield")`)
		press(kb.ArrowLeft, 9, kb.ModifierAlt, kb.ModifierShift) // makes the field 90 points narrower
		press(kb.ArrowUp, 60, kb.ModifierShift)                  // moves it to the top of the page
		press(kb.ArrowLeft, 60, kb.ModifierShift)                // moves it to the left edge
		press(kb.ArrowRight, 3+9*person, kb.ModifierShift)
		press(kb.ArrowDown, 3+person)
		steps += 3 // placing, resizing and moving
		total++
		for range count - 1 {
			press("d", 1, kb.ModifierCtrl)
			total++
			steps++
			b.placed(total)
		}
		b.saved()
	}
	fields := svc.fields(t, e.ID)
	require.Len(t, fields, manyFields)
	first := 0
	for person, count := range []int{18, 18, 17, 17} {
		for i, f := range fields[first : first+count] {
			require.Equal(t, e.Signers[person].ID, f.SignerID)
			require.InDelta(t, 30+90*person, f.X, 0.01)
			require.InDelta(t, float64(3+person+26*i), f.Y, 0.01)
			require.InDelta(t, 70, f.W, 0.01)
		}
		first += count
	}
	b.undoneAndRedone(e.ID, steps)
	svc.signsAsBuilt(t, e.ID)
	b.waitUntilStill()
}

// touches sends the touch events of a finger that moves along the given positions in the window.
func (b *tab) touches(along ...point) {
	b.t.Helper()
	for i, p := range along {
		kind := input.DispatchTouchEventTypeTouchMove
		if i == 0 {
			kind = input.DispatchTouchEventTypeTouchStart
		}
		call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: []*input.TouchPoint{{X: p.X, Y: p.Y}}})
	}
	call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}})
}

// taps taps the center of the element that an expression returns.
func (b *tab) taps(find string) {
	b.t.Helper()
	b.until("Boolean(" + find + ")")
	b.touches(eval[point](b, `(() => { const e = `+find+`; e.scrollIntoView({ block: "nearest", behavior: "instant" }); const r = e.getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }; })()`))
}

// TestBuilderManyByTouch checks that, on a tablet, a finger can place, select, move and resize fields, and that a
// finger that touches no selected field scrolls the page.
func TestBuilderManyByTouch(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "By touch", fourPeople("many-touch"), leaseDocument())
	b := open(t, tablet)
	b.builds(e, nil)
	b.shows(1)
	for i := range manyFields {
		if i%(manyFields/4+1) == 0 {
			b.taps(fmt.Sprintf(`[...document.querySelectorAll(".bchoose")][%d]`, i/(manyFields/4+1)))
		}
		kind := "Initials"
		if i%4 == 0 {
			kind = "Checkbox"
		}
		b.taps(buttonOf(kind))
		b.until(`document.querySelector(".bpage.armed") !== null`)
		// A tap scrolls to the new field. The page must have stopped scrolling before the next position is determined.
		b.shows(1)
		b.touches(b.onPage(1, 60+float64(i%7)*72, 50+float64(i/7)*50))
		b.placed(i + 1)
	}
	b.saved()
	fields := svc.fields(t, e.ID)
	require.Len(t, fields, manyFields)
	steps := manyFields
	for i, f := range fields {
		require.InDelta(t, 60+float64(i%7)*72, f.X+f.W/2, 1.5)
		require.InDelta(t, 50+float64(i/7)*50, f.Y+f.H/2, 1.5)
	}
	small := eval[[]string](b, `[...document.querySelectorAll(".builder :is(button, input:not(label input), select, label.check, .badd)")].filter((e) => e.offsetParent !== null && !e.classList.contains("sr")).map((e) => [e, e.getBoundingClientRect()]).filter(([, r]) => r.width < 24 || r.height < 24).map(([e]) => e.outerHTML.slice(0, 90))`)
	require.Empty(t, small, "controls must be at least 24 pixels wide and high")

	// A finger that moves over an unselected field scrolls the page. A finger on a selected field moves the field.
	const last = manyFields - 1 // at the lower right, with free space beside it
	field := func(i int) string { return fmt.Sprintf(`[...document.querySelectorAll(".bfield")][%d]`, i) }
	b.taps(field(last))
	b.until(field(last) + `.classList.contains("on")`)
	from := b.onPage(1, 492, 500)
	b.touches(from, point{X: from.X + 4, Y: from.Y + 6}, point{X: from.X + 20, Y: from.Y + 30}, point{X: from.X + 30, Y: from.Y + 36})
	b.saved()
	steps++
	moved := svc.fields(t, e.ID)[last]
	require.Greater(t, moved.X, fields[last].X+5)
	require.Greater(t, moved.Y, fields[last].Y+5)
	require.Equal(t, fields[12], svc.fields(t, e.ID)[12])
	handle := eval[point](b, `(() => { const r = document.querySelector(".bhandle.se, .bhandle.e").getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }; })()`)
	b.touches(handle, point{X: handle.X + 5, Y: handle.Y}, point{X: handle.X + 16, Y: handle.Y}, point{X: handle.X + 24, Y: handle.Y})
	b.saved()
	steps++
	require.Greater(t, svc.fields(t, e.ID)[last].W, fields[last].W+5, "a handle resizes the field")

	// Several fields are selected without holding a key, and then aligned.
	b.taps(buttonOf("Select several"))
	for _, i := range []int{12, 19} {
		b.shows(1)
		b.taps(field(i))
	}
	b.until(`document.querySelectorAll(".bfield.on").length === 3`)
	b.accessible()
	b.shot("builder-tablet")
	b.taps(buttonOf("left"))
	b.taps(buttonOf("both"))
	b.saved()
	steps += 2
	after := svc.fields(t, e.ID)
	for _, i := range []int{12, 19} {
		require.InDelta(t, after[last].X, after[i].X, 0.01)
		require.InDelta(t, after[last].W, after[i].W, 0.01)
	}
	b.undoneAndRedone(e.ID, steps)
	svc.signsAsBuilt(t, e.ID)
	b.waitUntilStill()
}
