package browser_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/locales"
)

// TestPreviewOfASigning checks that, before sending, the sender can go through the complete signing page of each
// recipient. The preview stores nothing in the service, and the text typed in the send dialog is kept.
func TestPreviewOfASigning(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "To be previewed", []object{
		{"name": "Ada Lovelace", "email": "preview-ada@example.com", "authMethod": "email_otp", "allowDelegation": true},
		{"name": "Bob Hill", "email": "preview-bob@example.com", "authMethod": "none", "routingOrder": 2, "language": "ar"},
	}, leaseDocument())
	for i, f := range []object{
		{"type": "text", "page": 1, "x": 60, "y": 100, "w": 200, "h": 22, "label": "Place"},
		{"type": "signature", "page": 1, "x": 60, "y": 300, "w": 200, "h": 40},
	} {
		f["signerId"] = e.Signers[i%2].ID
		svc.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/fields", f, nil)
	}
	stored := func() (raw object) {
		svc.json(t, http.MethodGet, "/v1/console/envelopes/"+e.ID, nil, &raw)
		return raw
	}
	before := stored()
	b := open(t, desktop)
	consoleUser(b, "previews", "sender")
	b.visit(svc.base + "/console#/build/" + e.ID)
	b.until(`document.querySelector(".bpaint img") !== null`)
	b.click(buttonOf("Preview"))
	b.framed("Verify your identity")
	b.accessible()
	b.accessibleInFrame()
	b.pictures("preview-identify")

	// Preview as the first recipient with the keyboard, up to the signature, which is never submitted.
	p := b.framedSigning()
	p.goTo(`[...document.querySelectorAll("button")].find((x) => x.textContent === "Send code")`)
	b.keys("\r")
	p.await(hasFocus(`document.querySelector("input[inputmode=numeric]")`))
	b.keys("123456")
	b.framed("Sign electronically")
	p.goTo(`[...document.querySelectorAll("button")].find((x) => x.textContent === "I agree")`)
	b.keys("\r")
	b.framed("1 field left")
	b.accessibleInFrame()
	b.pictures("preview-reading")
	p.await(`document.querySelector(".page img, .paint img") !== null`)
	b.frameButton("Decline to sign")
	b.framed("Decline to sign?")
	b.frameButton("Decline")
	b.framed("Nothing was signed, declined or sent.")
	b.accessibleInFrame()
	b.frameButton("Start over")
	b.framed("Verify your identity")

	// Preview as the second recipient, in that recipient's language and text direction.
	b.choice(`select[aria-label="Preview as"]`, e.Signers[1].ID)
	p.await(`document.documentElement.dir === "rtl" && document.querySelector(".consent") !== null`)
	b.pictures("preview-arabic")
	require.Equal(t, "en", eval[string](b, `document.documentElement.lang`))
	p.goTo(`document.querySelector(".consent button")`)
	b.keys("\x1b")
	b.until(dialog + ` === null`)

	// Preview from the send dialog. The typed text is displayed in the preview and kept in the dialog.
	b.button("Send …")
	b.fill("#smessage", "Please sign by noon.")
	b.click(in(dialog, "Preview"))
	b.framed("Please sign by noon.")
	b.click(`document.querySelector(".bclose")`)
	b.until(`document.querySelector("#smessage")?.value === "Please sign by noon." && document.querySelector(".bsigning") === null`)

	after := stored()
	require.Equal(t, before["signers"], after["signers"])
	require.Equal(t, before["mails"], after["mails"])
	for _, event := range after["auditLog"].([]any) {
		require.Contains(t, []string{"envelope.created", "signer.added", "document.added", "field.added", "envelope.updated"}, event.(map[string]any)["event"])
	}
	require.False(t, eval[bool](b, `Object.keys(localStorage).concat(Object.keys(sessionStorage)).some((k) => /^countersign:(draft|receipt|session|language)/.test(k))`), "the preview must not store anything")
	b.waitUntilStill()
}

// TestPreviewInEveryLanguage checks that the preview opens in every language, and that axe reports no problems on its
// first screen.
func TestPreviewInEveryLanguage(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Previewed", []object{{"name": "Ada", "email": "preview-all@example.com", "authMethod": "none"}}, leaseDocument())
	b := open(t, phone)
	consoleUser(b, "previews-all", "sender")
	for _, tag := range locales.Tags() {
		eval[bool](b, `(localStorage.setItem("countersign:language", "`+tag+`"), true)`)
		b.visit(svc.base + "/console?" + tag + "#/build/" + e.ID)
		texts := textsOf(t, "builder.json", tag)
		b.until(`document.querySelector(".bpaint img") !== null`)
		b.click(buttonOf(texts["preview"][0]))
		b.until(`document.querySelector(".bsigning") !== null`)
		p := b.framedSigning()
		p.await(`document.documentElement.lang === "` + tag + `" && document.querySelector(".consent") !== null`)
		b.accessible()
		b.pictures("preview-" + tag)
	}
	b.waitUntilStill()
}
