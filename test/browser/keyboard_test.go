package browser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// signingPage is the signing page, either at the top level of a tab or in an application's frame.
type signingPage struct {
	*tab
	holds func(expression string) bool // evaluates an expression on the page
}

func (b *tab) signing() signingPage {
	return signingPage{b, func(expression string) bool {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		return err == nil && ok
	}}
}

func (b *tab) framedSigning() signingPage {
	return signingPage{b, func(expression string) bool {
		ok, err := inFrame[bool](b, expression)
		return err == nil && ok
	}}
}

func (p signingPage) await(expression string) {
	p.t.Helper()
	p.eventually(expression, func() bool { return p.holds(expression) })
}

// press presses keys once the element that an expression returns has the focus.
func (p signingPage) press(find, keys string) {
	p.t.Helper()
	p.await(hasFocus(find))
	p.keys(keys)
}

func hasFocus(find string) string {
	return `document.activeElement !== document.body && document.activeElement === (` + find + `)`
}

// goTo presses Tab until the element that an expression returns has the focus. The key presses verify that the element
// can be reached, and that no control traps the focus.
func (p signingPage) goTo(find string) {
	p.t.Helper()
	p.await("Boolean(" + find + ")")
	for range 120 {
		if p.holds(hasFocus(find)) {
			return
		}
		p.keys("\t")
	}
	p.shot("failure")
	require.FailNow(p.t, "Tab does not get to "+find)
}

// opens presses Enter on a file input, and selects the file in its dialog.
func (p signingPage) opens(find, name string, content []byte) {
	p.t.Helper()
	path := filepath.Join(p.t.TempDir(), name)
	require.NoError(p.t, os.WriteFile(path, content, 0o600))
	call(p.tab, page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true})
	opened := make(chan cdp.BackendNodeID, 1)
	require.NoError(p.t, chromedp.Listen(p.ctx, func(event any) {
		if e, ok := event.(*page.EventFileChooserOpened); ok {
			select {
			case opened <- e.BackendNodeID:
			default:
			}
		}
	}))
	p.press(find, "\r")
	ctx, cancel := context.WithTimeout(p.ctx, waitTimeout)
	defer cancel()
	select {
	case node := <-opened:
		call(p.tab, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{path}, BackendNodeID: node})
	case <-ctx.Done():
		require.FailNow(p.t, "Enter opens no dialog for a file on "+find)
	}
	call(p.tab, page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{})
}

const (
	chosen    = `document.querySelector(".bar .entry select")`
	fileOf    = `document.querySelector(".bar .entry input[type=file]")`
	pictureOf = `document.querySelector("dialog[open] #picture")`
	bySecond  = `[...document.querySelectorAll(".field.radio")][1]`
	byFirst   = `[...document.querySelectorAll(".field.radio")][0]`
)

func labelled(name, end string) string {
	return fmt.Sprintf(`(%s?.getAttribute("aria-label") ?? "").endsWith(%q)`, field(name), end)
}

// everyKind fills every type of field with the keyboard only, from the consent to the review. It checks the button that
// leads to the next field, the effects of conditions, and the tab order.
func (p signingPage) everyKind() {
	t := p.t
	t.Helper()
	p.goTo(buttonOf("I agree"))
	p.keys("\r")
	p.await(`document.querySelectorAll(".textLayer span").length > 10`)
	p.press(next, "\r") // moves to the first field to fill in
	p.press(entry, "1,234.50\r")
	p.await(labelled("rent", "1234.50"))
	p.press(chosen, "F") // selects the first option with this initial letter
	p.await(chosen + `.value === "First"`)
	p.keys("\r")
	// One option displays a field, and another option hides the field and its text.
	p.press(byFirst, "\t")
	p.press(bySecond, " ")
	p.await(field("cat name") + ` !== undefined`)
	p.goTo(byFirst)
	p.keys(" ")
	p.await(field("cat name") + ` === undefined`)
	p.goTo(bySecond)
	p.keys(" ")
	p.await(field("cat name") + ` !== undefined`)
	p.press(bySecond, "\r")
	p.press(entry, "Charles\r")
	p.press(entry, "AB12CD\r")
	p.goTo(fileOf)
	p.opens(fileOf, "passport.png", paper(true))
	p.await(labelled("passport", "passport.png"))
	// The button skips optional and prefilled fields, which can still be reached with Tab.
	p.goTo(field("mail"))
	p.keys("\r")
	p.await(hasFocus(entry) + ` && (` + entry + `.select(), true)`)
	p.keys("keys@example.org\r")
	p.await(labelled("mail", "keys@example.org"))
	for name, text := range map[string]string{"full name": "", "firm": " and Sons", "job": "Analyst"} {
		p.goTo(field(name))
		p.keys("\r")
		p.press(entry, text+"\r")
	}
	p.await(labelled("firm", "Engines Ltd and Sons"))
	p.await(labelled("job", "Analyst"))
	p.goTo(field("remarks"))
	p.keys("\r")
	p.press(entry, "none so far")
	p.goTo(field("reference")) // Tab leaves an input; a read-only field can receive the focus so that it can be read
	p.goTo(field("seal"))
	p.keys("\r")
	p.goTo(pictureOf)
	p.opens(pictureOf, "stamp.png", paper(true))
	p.goTo(buttonOf("Use this stamp"))
	p.keys("\r")
	p.await(field("seal") + `.classList.contains("filled")`)
	p.goTo(`document.querySelector(".field.signature")`)
	p.keys("\r")
	p.press(typedName, "\r")
	p.await(`document.body.innerText.includes("All fields completed")`)
}

// TestEveryKindByKeyboard fills all types of fields without a pointer, both on the page and in an application's frame.
func TestEveryKindByKeyboard(t *testing.T) {
	t.Parallel()
	t.Run("page", func(t *testing.T) {
		t.Parallel()
		e := kindsEnvelope(t, "kinds-keys@example.com")
		b := open(t, desktop)
		b.visit(e.Signers[0].SigningURL)
		p := b.signing()
		p.everyKind()
		p.goTo(next)
		b.shot("kinds-keys")
		b.readByKeys()
		b.see("Review before you sign")
		b.tabTo("Sign")
		b.keys("\r")
		b.see("You signed")
		b.waitUntilStill()
	})
	t.Run("frame", func(t *testing.T) {
		t.Parallel()
		e, s := kindsEnvelope(t, "kinds-frame-keys@example.com"), newEmbeddingSite(t)
		s.shows(t, e)
		b := open(t, desktop)
		b.visit(s.allowed)
		b.awaitEvent(e, "ready")
		p := b.framedSigning()
		p.everyKind()
		p.goTo(next)
		b.shot("kinds-keys-frame")
		b.reading(func() string {
			left, err := inFrame[string](b, nextPage)
			require.NoError(t, err)
			return left
		}, func() bool {
			if p.holds(`document.querySelector("dialog[open]") !== null`) {
				return true
			}
			p.press(next, "\r")
			return false
		})
		p.goTo(buttonOf("Sign"))
		b.keys("\r")
		b.awaitEvent(e, "completed")
		b.framed("You signed")
	})
}
