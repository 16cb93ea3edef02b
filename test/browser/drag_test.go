package browser_test

import (
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// middle returns the center of the element that an expression returns, as a position in the window.
func (b *tab) middle(find string) point {
	b.t.Helper()
	return eval[point](b, `(() => { const e = `+find+`; e.scrollIntoView({ block: "nearest", behavior: "instant" }); const r = e.getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }; })()`)
}

// dragsOnto drags one element onto another with the mouse. The browser itself starts the drag and delivers its data,
// because no other kind of drag works in a headless window.
func (b *tab) dragsOnto(from, to string) {
	b.t.Helper()
	begun := make(chan *input.DragData, 1)
	require.NoError(b.t, chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(*input.EventDragIntercepted); ok {
			begun <- e.Data
		}
	}))
	call(b, input.SetInterceptDrags, input.SetInterceptDragsParams{Enabled: true})
	defer call(b, input.SetInterceptDrags, input.SetInterceptDragsParams{})
	mouse := func(kind input.DispatchMouseEventType, p point) {
		call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: p.X, Y: p.Y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1})
	}
	at := b.middle(from)
	mouse("mousePressed", at)
	mouse("mouseMoved", point{X: at.X + 6, Y: at.Y + 6})
	mouse("mouseMoved", point{X: at.X + 12, Y: at.Y + 12})
	var data *input.DragData
	b.eventually("the drag begins", func() bool {
		select {
		case data = <-begun:
		default:
		}
		return data != nil
	})
	for _, kind := range []input.DispatchDragEventType{"dragEnter", "dragOver", "drop"} {
		p := b.middle(to) // the element may have moved
		call(b, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: p.X, Y: p.Y, Data: data})
	}
	mouse("mouseReleased", b.middle(to))
}
