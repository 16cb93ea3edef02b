package browser_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var ada = object{"name": "Ada Lovelace", "email": "ada@example.com"}

// identified asks for the code and reads it from the mail.
func identified(b *tab, email string) {
	b.t.Helper()
	b.button("Send the code")
	text, _ := svc.mail(b.t, email, "code")
	code := regexp.MustCompile(`\b\d{6}\b`).FindString(text)
	require.NotEmpty(b.t, code)
	b.until(`document.activeElement?.id === "code"`)
	b.keys(code)
	b.see("Signing electronically")
}

func TestSignByMouse(t *testing.T) {
	e := svc.create(t, "Workshop lease, 14 Quay Street", []object{{"name": "Ada Lovelace", "email": "mouse@example.com"}}, leaseFields(), lease())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.see("First, confirm that it is you")
	b.accessible()
	b.shot("identify-1280")
	identified(b, "mouse@example.com")
	b.accessible()
	b.shot("consent-1280")
	b.button("I agree")
	b.see("fields to fill")
	b.until(`document.querySelectorAll(".textLayer span").length > 10`)
	b.accessible()
	b.shot("read-1280")
	b.button("Start")
	b.button("Initials")
	b.see("Your initials")
	b.until(`!document.querySelector("dialog[open] form button:last-child").disabled`)
	b.accessible()
	b.button("Use these initials")
	b.button("Next field")
	b.button("Sign here")
	b.until(`!document.querySelector("dialog[open] form button:last-child").disabled`)
	b.accessible()
	b.shot("adopt-1280")
	b.button("Use this signature")
	b.button("Next field")
	b.until(`document.activeElement?.id === "entry"`)
	b.keys("Lovelace Engines & Söhne")
	b.button("Next field")
	b.until(`document.activeElement?.type === "date"`)
	b.accessible()
	b.shot("fill-1280")
	b.button("Next field")
	b.click(`document.querySelector(".field.checkbox")`)
	b.see("All fields filled")
	b.see("Everything read")
	b.shot("filled-1280")
	b.button("Review and sign")
	b.see("Please check once more")
	b.accessible()
	b.shot("review-1280")
	b.button("Sign")
	b.see("You have signed")
	b.accessible()
	b.shot("done-1280")
	b.calm()
	svc.completed(t, e.ID)
}
