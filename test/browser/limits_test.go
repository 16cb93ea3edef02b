package browser_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTooLongText_IsRejectedWhileTyping checks that the page rejects text that is too long for its field before the
// signer continues, instead of displaying it at an illegible size.
func TestTooLongText_IsRejectedWhileTyping(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]device{"phone": phone, "desktop": desktop} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := svc.create(t, "Small field", []object{
				{"name": "Ada Lovelace", "email": "small-" + name + "@example.com", "authMethod": "none", "routingOrder": 1},
				{"name": "Bob Hill", "email": "later-" + name + "@example.com", "authMethod": "none", "routingOrder": 2},
			}, []object{
				{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 150, "w": 150, "h": 18, "label": "Note"},
				{"signerId": "1", "type": "signature", "page": 1, "x": 72, "y": 220, "w": 200, "h": 60},
			}, leaseDocument())
			b := open(t, look)
			b.visit(e.Signers[0].SigningURL)
			b.button("I agree")
			b.until(`document.querySelector(".later")?.getAttribute("aria-label").replaceAll(/[\u2066-\u2069]/g, "") === "Signature (later, by Bob Hill)"`)
			b.button("Start")
			b.write(entry, strings.Repeat("word ", 60))
			b.see("too long for the field")
			b.checked("too-long-" + name)
			length := eval[int](b, `Number(/first (\d+) characters/.exec(document.body.innerText)[1])`)
			require.InDelta(t, 180, length, 40)
			eval[bool](b, "("+entry+".select(), true)")
			b.keys("a short note") // replaces the text
			b.until(`!document.body.innerText.includes("too long for the field")`)
		})
	}
}

// TestBuilderWarnsBeforeSending checks the warnings about fields that are too small or very large, and about content
// that programs may display differently.
func TestBuilderWarnsBeforeSending(t *testing.T) {
	t.Parallel()
	var e envelope
	require.NoError(t, svc.app.call(&e, "create", object{
		"tenantId": "harbour", "subject": "Warnings", "signers": []object{{"name": "Ada Lovelace", "email": "warned@example.com", "authMethod": "none"}},
		"fields": []object{
			{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 150, "w": 150, "h": 18, "label": "Remarks", "maxLength": 1000},
			{"signerId": "0", "type": "stamp", "page": 1, "x": 20, "y": 200, "w": 550, "h": 400},
		},
	}, pdfFile{leaseDocument()}))
	b := open(t, desktop)
	b.builds(e, object{"recipients": true, "documents": true, "send": true})
	b.button("Send …")
	b.see("Before you send")
	b.see("The field “Remarks” on page 1 is too small for a legible entry.")
	b.see("covers more than a quarter of page 1.")
	b.checked("builder-warnings")
}
