package browser_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/stretchr/testify/require"
)

// identified requests a code, reads it from the email, and enters it.
func identified(b *tab, email string, subject ...string) {
	b.t.Helper()
	b.button("Send code")
	text, _ := svc.mail(b.t, email, append(subject, "code")[0], "code")
	code := regexp.MustCompile(`\b\d{6}\b`).FindString(text)
	require.NotEmpty(b.t, code)
	b.keysOn(codeField, code)
	b.see("Sign electronically")
}

func TestSignByMouse(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Workshop lease, 14 Quay Street", []object{{"name": "Ada Lovelace", "email": "mouse@example.com"}}, leaseFields(), leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.see("Verify your identity")
	b.checked("identify")
	identified(b, "mouse@example.com")
	b.checked("consent")
	b.button("I agree")
	b.see("fields left")
	b.until(`document.querySelectorAll(".textLayer span").length > 10`)
	b.checked("read")
	b.button("Start")
	b.button("Initials")
	b.see("Your initials")
	b.until(`!document.querySelector("dialog[open] form button:last-child").disabled`)
	b.checked("initials")
	b.button("Use these initials")
	b.button("Sign here")
	b.until(`!document.querySelector("dialog[open] form button:last-child").disabled`)
	b.checked("adopt")
	b.button("Use this signature")
	b.write(entry, "Lovelace Engines & Söhne")
	b.button("Next field")
	b.until(`document.activeElement?.type === "date"`)
	b.checked("fill")
	b.button("Next field")
	b.click(`document.querySelector(".field.checkbox")`)
	b.see("All fields completed")
	b.read()
	b.checked("filled")
	b.button("Review and sign")
	b.see("Review before you sign")
	b.checked("review")
	b.button("Sign")
	b.see("You signed")
	b.checked("done")
	b.see("Everyone has signed. Your sealed copy is ready.")
	b.checked("receipt")
	b.waitUntilStill()
	sealed := svc.completed(t, e.ID)
	link := eval[string](b, `document.querySelector(".copies a").href`)
	b.visit(link)
	b.see("Your sealed document")
	var file []byte
	_, err := svc.do(http.MethodGet, svc.base+"/v1"+strings.TrimPrefix(link, svc.base)+"/document", "", nil, &file)
	require.NoError(t, err)
	require.Equal(t, sealed, file)
}

// TestSignByTouch signs on a phone with taps and a drawn signature, and checks that all content fits within a width of
// 390 pixels.
func TestSignByTouch(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Workshop lease, 14 Quay Street", []object{{"name": "Ada Lovelace", "email": "touch@example.com"}}, leaseFields(), leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.see("Verify your identity")
	b.accessible()
	b.shot("identify-390")
	identified(b, "touch@example.com")
	b.accessible()
	b.shot("consent-390")
	b.button("I agree")
	b.see("fields left")
	b.until(`document.querySelectorAll(".textLayer span").length > 10`)
	b.accessible()
	b.shot("read-390")
	b.button("Start")
	b.button("Initials")
	b.until(`!document.querySelector("dialog[open] form .end button:last-child").disabled`)
	b.button("Use these initials")
	b.button("Sign here")
	b.button("Draw")
	b.until(`document.querySelector("dialog[open] canvas")?.width > 600`)
	b.draw(`document.querySelector("dialog[open] canvas")`)
	b.accessible()
	b.shot("draw-390")
	b.button("Use this signature")
	b.shot("signed-390")
	b.write(entry, "Lovelace Engines")
	b.accessible()
	b.shot("fill-390")
	b.button("Next field")
	b.until(`document.activeElement?.type === "date"`)
	b.button("Next field")
	b.click(`document.querySelector(".field.checkbox")`)
	b.see("All fields completed")
	b.read()
	b.button("Review and sign")
	b.see("Review before you sign")
	b.accessible()
	b.shot("review-390")
	b.button("Sign")
	b.see("You signed")
	b.accessible()
	b.shot("done-390")
	b.visit(e.Signers[0].SigningURL)
	b.see("You signed") // the same tab displays the receipt again
	b.waitUntilStill()
	svc.completed(t, e.ID)
}

// TestSignByKeyboard uses only the keyboard (Tab, Enter, Space and typed text) from the link to the receipt.
func TestSignByKeyboard(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Keyboard lease", []object{{"name": "Ada Lovelace", "email": "keys@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.see("Sign electronically")
	b.tabTo("I agree")
	b.keys("\r")
	b.see("fields left")
	b.keysOn(next, "\r") // the button that continues has the focus
	b.keysOn(`document.querySelector(".field.initial")`, "\r")
	b.see("Your initials")
	b.keysOn(typedName, "\r")
	b.keysOn(`document.querySelector(".field.signature")`, "\r")
	b.see("Your signature")
	b.keysOn(typedName, "\r")
	b.write(entry, "Typed by keys")
	b.keysOn(entry, "\r") // Enter moves to the next field
	b.keysOn(`document.querySelector(".bar input[type=date]")`, "\r")
	box := `document.querySelector(".field.checkbox")`
	b.keysOn(box, " ")
	b.see("All fields completed")
	b.keysOn(box, "\r")
	b.readByKeys()
	b.see("Review before you sign")
	b.tabTo("Sign")
	b.keys("\r")
	b.see("You signed")
	b.see("Your sealed copy is ready")
	b.tabTo("Download")
	b.waitUntilStill()
	svc.completed(t, e.ID)
}

// TestReloadKeepsEverything checks that a reload loses no typed text, and that pages that were read still count as
// read.
func TestReloadKeepsEverything(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Reload", []object{{"name": "Ada Lovelace", "email": "reload@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.see("2 pages left to read")
	b.click(`document.querySelector(".field.text")`)
	b.write(entry, "Kept words")
	b.readAll()
	b.visit(e.Signers[0].SigningURL)
	b.see("4 fields left")
	b.see("All pages read")
	require.Equal(t, "Kept words", eval[string](b, `document.querySelector(".field.text").textContent`))
	// While there is no connection, the page reports this and keeps its content.
	call(b, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: true})
	b.see("You're offline")
	b.shot("offline-1280")
	call(b, network.OverrideNetworkState, network.OverrideNetworkStateParams{DownloadThroughput: -1, UploadThroughput: -1})
	require.Eventually(t, func() bool {
		viewed := 0
		for _, a := range svc.envelope(t, e.ID).AuditLog {
			if a.Event == "page_viewed" {
				viewed++
			}
		}
		return viewed >= 1
	}, waitTimeout, 200*time.Millisecond, "page views are recorded")
}

// TestWrongCode checks that three wrong codes invalidate the code, and that the page explains why.
func TestWrongCode(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Codes", []object{{"name": "Ada", "email": "codes@example.com"}}, leaseFields(), leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("Send code")
	text, _ := svc.mail(t, "codes@example.com", "code")
	wrong := "000000"
	if strings.Contains(text, wrong) {
		wrong = "111111"
	}
	for range 3 {
		b.until(codeField + `.value === ""`)
		b.keysOn(codeField, wrong)
		b.until(`document.querySelector("#code-notice.bad") !== null && document.querySelector("#code").value === ""`)
	}
	b.see("Too many incorrect attempts")
	b.accessible()
	b.shot("code-390")
}

// TestSavedSignature checks that an adopted signature is offered again, but only to the same signer and after the
// code has been entered.
func TestSavedSignature(t *testing.T) {
	t.Parallel()
	who := []object{{"name": "Ada Lovelace", "email": "again@example.com"}}
	first := svc.create(t, "The first time", who, leaseFields()[1:2], leaseDocument())
	b := open(t, desktop)
	b.visit(first.Signers[0].SigningURL)
	identified(b, "again@example.com", "The first time")
	b.button("I agree")
	b.button("Start")
	b.button("Sign here")
	require.False(t, eval[bool](b, `document.querySelector("#way-saved") !== null`))
	b.button("Use this signature")
	b.see("All fields completed")
	b.read()
	b.button("Review and sign")
	b.button("Sign")
	b.see("You signed")

	second := svc.create(t, "The second time", who, leaseFields()[1:2], leaseDocument())
	b = open(t, desktop)
	b.visit(second.Signers[0].SigningURL)
	identified(b, "again@example.com", "The second time")
	b.button("I agree")
	b.button("Start")
	b.button("Sign here")
	b.see("Last used")
	b.until(`document.querySelector("dialog[open] .preview img")?.naturalWidth > 50`)
	b.accessible()
	b.button("Use this signature")
	b.see("All fields completed")
	b.read()
	b.button("Review and sign")
	b.button("Sign")
	b.see("You signed")
	b.waitUntilStill()
}
