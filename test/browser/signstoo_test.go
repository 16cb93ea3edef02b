package browser_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSenderSignsTooByKeyboard checks that a sender can create an envelope, place its fields, send it and sign it first
// using only the keyboard, and that the focused element is visible at every step.
func TestSenderSignsTooByKeyboard(t *testing.T) {
	t.Parallel()
	const me = "keyboard-signs@staff.example"
	b := open(t, device{width: 1280, height: 700})
	consoleUser(b, "keyboard-signs", "sender")
	b.presses(sectionButton("button", "New envelope"))
	b.signing().opens(`document.querySelector("#newfiles")`, "order.pdf", leaseDocument())
	b.until(`document.querySelector("#newsubject")?.value === "order"`)
	for id, text := range map[string]string{"#newname": "Ada Lovelace", "#newemail": "keyboard-signs-ada@example.com"} {
		b.goes(fmt.Sprintf("document.querySelector(%q)", id))
		b.write(fmt.Sprintf("document.querySelector(%q)", id), text)
	}
	b.goes(`document.querySelector("#newme")`)
	b.keys(" ")
	b.see(me)
	b.presses(inDialog("Continue"))

	// Place a signature for each signer in the builder.
	b.until(`document.querySelector(".bpaint img") !== null`)
	b.keepsFocus()
	for i, name := range []string{"Sam Staff", "Ada Lovelace"} {
		b.presses(fmt.Sprintf(`[...document.querySelectorAll(".bchoose")].find((x) => x.textContent.includes(%q))`, name))
		b.presses(sectionButton(".builder button", "Signature"))
		b.until(fmt.Sprintf(`document.querySelectorAll(".bfield").length === %d && document.activeElement.matches(".bfield")`, i+1))
		b.saved()
	}
	b.presses(sectionButton(".builder button", "Send …"))
	b.presses(in(dialog, "Send to 2 people"))

	// The signing page opens. The code arrives by email, as for every other signer.
	b.until(`location.pathname.startsWith("/sign/")`)
	b.tabTo("Send code")
	b.keys("\r")
	text, _ := svc.mail(t, me, "code", "code")
	code := regexp.MustCompile(`\b\d{6}\b`).FindString(text)
	require.NotEmpty(t, code)
	b.keysOn(codeField, code)
	b.see("Sign electronically")
	b.tabTo("I agree")
	b.keys("\r")
	b.keysOn(next, "\r")
	b.keysOn(`document.querySelector(".field.signature")`, "\r")
	b.keysOn(typedName, "\r")
	b.see("All fields completed")
	b.readByKeys()
	b.see("Review before you sign")
	b.tabTo("Sign")
	b.keys("\r")
	b.see("You signed")
	b.waitUntilStill()
	svc.invited(t, "keyboard-signs-ada@example.com") // it is the other signer's turn
}
