package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kinds returns fields of every type on the lease's second page, for the first of two signers.
func kinds() []object {
	at := func(kind, name string, row int, more object) object {
		f := object{"signerId": "0", "type": kind, "name": name, "label": strings.ReplaceAll(name, "_", " "), "page": 1, "x": 60, "y": 40 + 44*row, "w": 200, "h": 22}
		for k, v := range more {
			f[k] = v
		}
		return f
	}
	return []object{
		at("name", "full_name", 0, nil),
		at("email", "mail", 1, nil),
		at("company", "firm", 2, object{"defaultValue": "Engines Ltd"}),
		at("title", "job", 3, object{"required": false}),
		at("number", "rent", 4, object{"format": "2", "validation": object{"min": "100", "max": "5000"}}),
		at("select", "floor", 5, object{"options": []string{"Ground", "First"}}),
		at("radio", "r1", 6, object{"group": "pets", "option": "No pets", "w": 14, "h": 14}),
		at("radio", "r2", 7, object{"group": "pets", "option": "A cat", "w": 14, "h": 14}),
		at("text", "cat_name", 8, object{"condition": object{"all": []object{{"field": "pets", "is": "A cat"}}}}),
		at("text", "code", 9, object{"comb": true, "maxLength": 6}),
		at("text", "reference", 10, object{"readOnly": true, "defaultValue": "LEASE-14"}),
		at("text", "remarks", 11, object{"multiline": true, "required": false, "h": 26}),
		at("signed_date", "signed_on", 12, nil),
		at("attachment", "passport", 13, nil),
		at("stamp", "seal", 14, object{"required": false, "h": 30}),
		at("signature", "sign", 16, object{"h": 40}),
		{"signerId": "1", "type": "signature", "page": 2, "x": 320, "y": 640, "w": 150, "h": 40},
	}
}

func kindsEnvelope(t *testing.T, email string) envelope {
	t.Helper()
	return svc.create(t, "Every kind", []object{
		{"name": "Ada Lovelace", "email": email, "authMethod": "none", "routingOrder": 1},
		{"name": "Bob Stone", "email": "later-" + email, "authMethod": "none", "routingOrder": 2},
	}, kinds(), leaseDocument())
}

func field(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".field")].find((f) => f.getAttribute("aria-label").includes(%q))`, name)
}

// replace replaces the existing text of an input.
func (b *tab) replace(text string) {
	b.t.Helper()
	b.until(entry + ` !== null`)
	b.focused(entry)
	eval[bool](b, entry+`.select() === undefined`)
	b.write(entry, text)
}

// TestEveryKindOfField checks all types of fields in one envelope, on a phone and on a desktop.
func TestEveryKindOfField(t *testing.T) {
	t.Parallel()
	for name, device := range map[string]device{"390": phone, "1280": desktop} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := kindsEnvelope(t, "kinds-"+name+"@example.com")
			b := open(t, device)
			b.visit(e.Signers[0].SigningURL)
			b.see("Sign electronically")
			b.button("I agree")
			b.see("fields left")
			b.until(`document.querySelectorAll(".textLayer span").length > 10`)
			for _, said := range []string{"Ada Lovelace", "Engines Ltd", "LEASE-14", "kinds-" + name + "@example.com"} {
				b.until(field(said) + ` !== undefined`)
			}
			b.accessible()
			b.shot("kinds-start-" + name)

			b.click(field("mail"))
			b.replace("no address")
			b.keys("\r")
			b.see("Enter a complete email address.")
			b.accessible()
			b.replace("ada@example.com")
			b.keys("\r")

			b.click(field("rent"))
			b.replace("12.345")
			b.keys("\r")
			b.see("At most 2 digits after the decimal point.")
			b.replace("99")
			b.keys("\r")
			b.see("At least 100.")
			b.shot("kinds-wrong-" + name)
			b.replace("1234,5") // not a valid grouping in English, and not 12345
			b.keys("\r")
			b.see("Enter a number")
			b.replace("1,234.50")
			b.keys("\r")
			b.until(field("rent") + `.getAttribute("aria-label").endsWith("1234.50")`)

			b.click(field("floor"))
			b.choice(`.entry select`, "First")
			b.accessible()
			require.Nil(t, eval[any](b, field("cat name")+` ?? null`), "not shown yet")
			b.click(field("A cat"))
			b.until(field("cat name") + ` !== undefined`)
			b.click(field("No pets"))
			b.until(field("cat name") + ` === undefined`)
			b.click(field("A cat"))
			b.click(field("cat name"))
			b.replace("Charles")
			b.click(field("code"))
			b.replace("AB12CD")
			b.click(field("passport"))
			b.choose(`.entry input[type=file]`, "passport.html", []byte("<html>no</html>"))
			b.see("This file isn't a PDF, JPEG or PNG, or it can't be read.")
			b.accessible()
			b.choose(`.entry input[type=file]`, "passport.png", paper(true))
			b.until(field("passport") + `.getAttribute("aria-label").endsWith("passport.png")`)
			b.accessible()
			b.shot("kinds-file-" + name)
			b.click(`document.querySelector(".field.signature")`)
			b.until(`!document.querySelector("dialog[open] form .end button:last-child").disabled`)
			b.button("Use this signature")
			b.see("All fields completed")
			b.read()
			b.shot("kinds-filled-" + name)
			b.button("Review and sign")
			b.see("Review before you sign")
			b.see("A cat")
			b.accessible()
			b.shot("kinds-review-" + name)
			b.button("Sign")
			b.see("You signed")

			_, links := svc.mail(t, "later-kinds-"+name+"@example.com", "sign")
			require.NotEmpty(t, links)
			b.visit(links[0])
			b.see("Sign electronically")
			b.button("I agree")
			b.see("field left")
			for _, said := range []string{"ada@example.com", "1234.50", "First", "Charles", "AB12CD", "LEASE-14", "passport.png"} {
				b.until(fmt.Sprintf(`[...document.querySelectorAll(".entered")].some((e) => e.getAttribute("aria-label").includes(%q))`, said))
			}
			b.accessible()
			b.shot("kinds-later-" + name)
		})
	}
}

// TestAttachments_UploadInTheBackground checks that a signer can continue during an upload, and that signing waits
// until the upload has finished.
func TestAttachments_UploadInTheBackground(t *testing.T) {
	t.Parallel()
	at := func(kind, name string, y int, required bool) object {
		return object{"signerId": "0", "type": kind, "name": name, "label": name, "required": required, "page": 1, "x": 60, "y": y, "w": 200, "h": 22}
	}
	e := svc.create(t, "Files on their way", []object{{"name": "Ada", "email": "onitsway@example.com", "authMethod": "none"}},
		[]object{at("attachment", "passport", 100, false), at("text", "place", 140, true)}, leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.see("1 field left")
	b.delays("POST", "/attachments")
	b.click(field("passport"))
	b.choose(`.entry input[type=file]`, "passport.png", paper(true))
	b.until(`window.held === 1`)
	b.click(field("place"))
	b.write(entry, "Berlin")
	b.see("Uploading …")
	b.accessible()
	b.until(`window.release()`)
	b.until(field("passport") + `.getAttribute("aria-label").endsWith("passport.png")`)
	b.focused(entry)
	b.read()

	// The next upload fails during the review.
	eval[bool](b, `(() => { const before = window.fetch; const gate = new Promise((open) => { window.lose = () => { open(); return true; }; });
		window.fetch = async (...a) => { if (String(a[0]).endsWith("/attachments") && a[1]?.method === "POST") { await gate; throw new TypeError("lost"); } return before(...a); }; return true; })()`)
	b.click(field("passport"))
	b.choose(`.entry input[type=file]`, "other.png", paper(false))
	b.click(field("place"))
	b.button("Review and sign")
	b.see("Review before you sign")
	b.until(`document.querySelector("#sign").disabled`) // the page waits for the upload
	b.accessible()
	b.until(`window.lose()`)
	b.until(`!document.querySelector("#sign").disabled`)
	b.until(`document.querySelector("dialog .notice.bad bdi")?.textContent.includes("passport")`)
	b.accessible()
	b.click(`document.querySelector("dialog .filenotices button")`)
	b.until(`document.querySelector("#entry-problem")?.textContent.includes("can't be reached")`)
	b.waitUntilStill()
}

// TestRejectedFileIsForgotten checks that the error about a rejected replacement is displayed only once if the signer
// keeps the current file.
func TestRejectedFileIsForgotten(t *testing.T) {
	t.Parallel()
	at := func(kind, name string, y int) object {
		return object{"signerId": "0", "type": kind, "name": name, "label": name, "page": 1, "x": 60, "y": y, "w": 200, "h": 22}
	}
	e := svc.create(t, "A refused file", []object{{"name": "Ada", "email": "refused-file@example.com", "authMethod": "none"}}, []object{at("attachment", "passport", 100), at("text", "place", 140)}, leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.see("2 fields left")
	const told = `document.querySelector(".filenotices .notice.bad") !== null`
	tooLarge := func() {
		b.click(field("passport"))
		b.choose(`.entry input[type=file]`, "large.png", make([]byte, 11<<20))
		b.see("This file is too large.")
	}
	tooLarge()
	b.click(field("place"))
	b.until(told) // no file is selected
	b.click(field("passport"))
	b.choose(`.entry input[type=file]`, "passport.png", paper(true))
	b.until(field("passport") + `.getAttribute("aria-label").endsWith("passport.png")`)
	tooLarge()
	b.click(field("place"))
	b.write(entry, "Berlin")
	require.False(t, eval[bool](b, told))
	b.read()
	tooLarge()
	b.button("Review and sign") // the input is still open
	b.see("Review before you sign")
	require.False(t, eval[bool](b, told))
	b.accessible()
	b.waitUntilStill()
}
