package browser_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inWindow returns an expression that is true if an element is completely in the window.
func inWindow(element string) string {
	return fmt.Sprintf(`(() => { const r = (%s)?.getBoundingClientRect(); return r !== undefined && r.height > 0 && r.top >= 0 && r.bottom <= innerHeight; })()`, element)
}

// TestConsentOnAPhone checks that the request, the beginning of the disclosure, and the button are visible without
// scrolling.
func TestConsentOnAPhone(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Workshop lease, 14 Quay Street", []object{{"name": "Ada", "email": "consent@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	for _, size := range [][2]int64{{390, 844}, {360, 640}} {
		b := open(t, device{width: size[0], height: size[1], touch: true})
		b.visit(e.Signers[0].SigningURL)
		b.see("Sign electronically")
		b.until(inWindow(`document.querySelector("h1")`) + "&&" + inWindow(buttonOf("I agree")) + `&& document.querySelector(".legal p").getBoundingClientRect().top < document.querySelector(".ending").getBoundingClientRect().top - 20`)
		b.accessible()
		b.shot(fmt.Sprintf("consent-%d", size[0]))
		// The button does not cover the end of the disclosure.
		eval[bool](b, `(scrollTo(0, document.body.scrollHeight), true)`)
		b.until(`document.querySelector(".legal p:last-of-type").getBoundingClientRect().bottom < document.querySelector(".ending").getBoundingClientRect().top`)
		b.waitUntilStill()
	}
}

// TestDrawingSurvivesTabs checks that a drawing is kept when another tab of the dialog is opened.
func TestDrawingSurvivesTabs(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Drawn", []object{{"name": "Ada Lovelace", "email": "drawn@example.com", "authMethod": "none"}}, leaseFields()[:1], leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.button("Start")
	b.click(`document.querySelector("#next")`)
	b.button("Draw")
	b.until(`document.querySelector("dialog[open] canvas")?.width > 600`)
	b.draw(`document.querySelector("dialog[open] canvas")`)
	ink := `(() => { const c = document.querySelector("dialog[open] canvas"), copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
		copy.drawImage(c, 0, 0); return copy.getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v > 0).length; })()`
	drawn := eval[int](b, ink)
	require.Greater(t, drawn, 100)
	b.button("Type")
	b.until(`document.querySelector("#typed-name").checkVisibility()`)
	eval[bool](b, `(() => { const i = document.querySelector("#typed-name"); i.value = "A. Lovelace"; i.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
	b.button("Draw")
	b.until(`document.querySelector("dialog[open] canvas").checkVisibility()`)
	require.Equal(t, drawn, eval[int](b, ink))
	require.False(t, eval[bool](b, `document.querySelector("dialog[open] form .row.end button:last-child").disabled`), "the button must be enabled")
	b.accessible()
	b.button("Type")
	b.until(`document.querySelector("#typed-name").value === "A. Lovelace"`)
	b.waitUntilStill()
}

// TestReviewLeadsToFields checks that each row of the review has a button that leads to its field.
func TestReviewLeadsToFields(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Reviewed", []object{{"name": "Ada", "email": "reviewed@example.com", "authMethod": "none"}},
		[]object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 450, "w": 200, "h": 20, "label": "Deposit"}, {"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 500, "w": 200, "h": 20, "label": "Key"}}, leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.button("Start")
	b.write(entry, "100")
	b.button("Next field")
	b.write(entry, "7")
	b.read()
	b.button("Review and sign")
	b.see("Review before you sign")
	b.accessible()
	b.click(`document.querySelector('dialog[open] [aria-label^="Change: Deposit"]')`)
	b.until(`document.querySelector("dialog[open]") === null && document.activeElement?.value === "100"`)
	b.waitUntilStill()
}

// TestFinishedPages checks that the review displays the pages as they will be sealed, and that the audit trail records
// that they were displayed.
func TestFinishedPages(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Finished", []object{{"name": "Ada", "email": "finished@example.com", "authMethod": "none"}},
		[]object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 450, "w": 200, "h": 20, "label": "Deposit"}}, leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.button("Start")
	b.write(entry, "1,250.00")
	b.read()
	b.button("Review and sign")
	b.see("Preview of the sealed pages with your entries:")
	eval[bool](b, `(document.querySelector(".finishedpage").scrollIntoView(), true)`)
	b.until(`document.querySelector('dialog[open] .finishedpage img[alt="Page 1 of 2"]')?.naturalWidth > 0`)
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll(".finishedpage").length`), "the other page has no fields")
	b.accessible()
	b.shot("finished-390")
	b.button("Sign")
	b.see("You signed")
	b.waitUntilStill()
	for _, a := range svc.envelope(t, e.ID).AuditLog {
		if a.Event == "signer.signed" {
			require.EqualValues(t, 1, a.Detail["finishedPages"])
			return
		}
	}
	require.Fail(t, "not recorded")
}

// TestThumbnails checks that, in a wide window, there is a thumbnail of each page next to the documents. Each
// thumbnail leads to its page, and shows whether the page was read.
func TestThumbnails(t *testing.T) {
	t.Parallel()
	leaves := make([]leaf, 12)
	for i := range leaves {
		leaves[i] = leaf{title: fmt.Sprintf("Sheet %d", i+1), lines: []string{"A line of text"}}
	}
	e := svc.create(t, "Thumbnails", []object{{"name": "Ada", "email": "thumbs@example.com", "authMethod": "none"}}, leaseFields()[:1], pdfOf(leaves...))
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.until(`document.querySelectorAll(".thumb").length === 12`)
	b.until(`document.querySelectorAll(".thumb canvas")[3].width < 150`) // the thumbnail was rendered
	eval[bool](b, `(scrollTo(0, document.querySelector(".sheet").offsetTop), true)`)
	eval[bool](b, `new Promise((done) => setTimeout(() => { scrollBy(0, document.querySelector(".sheet").getBoundingClientRect().bottom - innerHeight + 150); done(true); }, 1500))`)
	b.until(`document.querySelector(".thumb[aria-current]")?.id.match(/\/[12]$/) && document.querySelector(".thumb").getAttribute("aria-label") === "Page 1 of 12, read"`)
	b.click(`document.querySelectorAll(".thumb")[3]`)
	b.until(`document.querySelector(".thumb[aria-current]")?.id.endsWith("/4") && ` + inWindow(`document.querySelectorAll(".thumb")[3]`))
	b.until(`document.activeElement?.id.endsWith("/4")`)
	b.accessible()
	b.shot("thumbnails-1280")
	b.size(1000, 700)
	b.until(`document.querySelector(".thumb") === null`)
	b.waitUntilStill()
}

// TestVoidIsShown checks that the page reports within five seconds that the sender has voided the envelope, even
// while the disclosure is displayed.
func TestVoidIsShown(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Voided", []object{{"name": "Ada", "email": "voided@example.com", "authMethod": "none"}, {"name": "Bob", "email": "voided-b@example.com", "authMethod": "none"}},
		[]object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 450, "w": 200, "h": 20}, {"signerId": "1", "type": "text", "page": 1, "x": 72, "y": 500, "w": 200, "h": 20}}, leaseDocument())
	reading, consenting := open(t, desktop), open(t, phone)
	reading.visit(e.Signers[0].SigningURL)
	reading.button("I agree")
	reading.see("Scroll through every page to continue.")
	consenting.visit(e.Signers[1].SigningURL)
	consenting.see("Sign electronically")
	svc.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/void", object{"reason": "Wrong file"}, nil)
	voided := time.Now()
	reading.see("This request was canceled by the sender")
	consenting.see("This request was canceled by the sender")
	require.Less(t, time.Since(voided), 9*time.Second, "five, plus a margin for a busy machine")
	reading.waitUntilStill()
}

// TestScanHasAlternativeText checks that a page without text has alternative text for screen readers. On a page with
// text, the text is available to screen readers and the image is marked as decorative.
func TestScanHasAlternativeText(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Scanned", []object{{"name": "Ada", "email": "scanned@example.com", "authMethod": "none"}}, leaseFields()[:1], pdfOf(leaf{}, leaf{title: "Sheet 2"}))
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.until(`document.querySelector(".sheet .paint img")?.alt.startsWith("Page 1 is an image without text that can be read aloud. Contact ")`)
	b.until(`document.querySelectorAll(".sheet")[1].querySelector(".textLayer span") !== null && document.querySelectorAll(".sheet")[1].querySelector("img").alt === ""`)
	b.accessible()
	b.waitUntilStill()
}

// TestRemovedContentIsNamed checks that the signer sees which content the service has removed from a file, next to
// the file's name.
func TestRemovedContentIsNamed(t *testing.T) {
	t.Parallel()
	script := pdfOf(leaf{title: "Sheet 1", extra: "/AA<</O<</S/JavaScript/JS(app.alert\\(1\\))>>>>"})
	for language, sentence := range map[string]string{"en-GB": "Removed from this file when it was uploaded:", "de": "Beim Hochladen aus dieser Datei entfernt:"} {
		e := svc.create(t, "Scripted", []object{{"name": "Ada", "email": "scripted@example.com", "authMethod": "none"}}, leaseFields()[:1], script)
		b := open(t, device{width: 390, height: 844, touch: true, language: language})
		b.visit(e.Signers[0].SigningURL)
		b.see(sentence)
		b.click(`document.querySelector(".consent button")`)
		b.until(`document.querySelector(".pages .changes")?.innerText.includes(` + fmt.Sprintf("%q", sentence) + `)`)
		b.accessible()
		b.waitUntilStill()
	}
}

// TestDocuments_CanBeSavedBeforeSigning checks that each document can be saved before it is signed.
func TestDocuments_CanBeSavedBeforeSigning(t *testing.T) {
	t.Parallel()
	file := leaseDocument()
	e := svc.create(t, "Saved", []object{{"name": "Ada", "email": "saved@example.com", "authMethod": "none"}}, leaseFields()[:1], file)
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	eval[bool](b, `(() => { const address = URL.createObjectURL; URL.createObjectURL = (o) => { if (o.type === "application/pdf") window.saved = { size: o.size }; return address(o); };
		HTMLAnchorElement.prototype.click = function () { if (window.saved) window.saved.name = this.download; }; return true; })()`)
	b.click(`document.querySelector('[aria-label^="Download: "]')`)
	b.until(fmt.Sprintf(`window.saved?.size === %d && window.saved.name?.endsWith(".pdf")`, len(file)))
	b.waitUntilStill()
}
