package browser_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/require"
)

// forgetTab removes the data that closing the tab would remove. Data stored on the device remains.
func (b *tab) forgetTab() {
	b.t.Helper()
	eval[bool](b, `(sessionStorage.clear(), true)`)
	b.visit("about:blank")
}

// TestCodeSurvivesAReload reloads the page while the code is being delivered. It checks that the code is still valid,
// and that the page displays the remaining attempts and the expiry.
func TestCodeSurvivesAReload(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Reloaded", []object{{"name": "Ada Lovelace", "email": "reloaded@example.com"}}, leaseFields()[2:3], leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.see("Step 1 of 4: Verify your identity")
	b.button("Send code")
	text, _ := svc.mail(t, "reloaded@example.com", "code")
	code := regexp.MustCompile(`\b\d{6}\b`).FindString(text)
	require.NotEmpty(t, code)
	wrong := map[bool]string{true: "111111", false: "000000"}[code == "000000"]
	b.keysOn(codeField, wrong)
	b.see("2 attempts left.")
	b.visit(e.Signers[0].SigningURL)
	b.focused(codeField)
	b.see("2 attempts left.")
	b.see("Expires at")
	b.see("Send a new code")
	b.checked("code-reloaded")
	b.keysOn(codeField, code)
	b.see("Sign electronically")
	b.see("Step 2 of 4: Agree to sign electronically")
	b.waitUntilStill()
}

// TestDecliningAsksForTheCode checks that declining requires the code first, because it ends the envelope for all
// recipients.
func TestDecliningAsksForTheCode(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Declined by whom", []object{{"name": "Ada Lovelace", "email": "decline-code@example.com"}}, leaseFields()[2:3], leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.see("Verify your identity")
	b.button("Decline to sign")
	b.see("Declining ends this request for everyone")
	require.False(t, eval[bool](b, `document.querySelector("#reason") !== null`))
	b.checked("decline-code")
	b.button("Send code")
	text, _ := svc.mail(t, "decline-code@example.com", "code")
	b.keysOn(codeField, regexp.MustCompile(`\b\d{6}\b`).FindString(text))
	b.until(`document.querySelector("#reason") !== null`)
	b.fill("#reason", "Too dear")
	b.button("Decline")
	b.see("You declined")
	b.see("Declined at")
	b.see("lease.pdf")
	b.checked("declined-facts")
	// Later, the link displays the outcome.
	b.forgetTab()
	b.visit(e.Signers[0].SigningURL)
	b.see("You declined")
	b.see("Declined at")
	b.waitUntilStill()
}

// TestDraftSurvivesAClosedTab checks that entries are restored after the tab has been closed, but only for the verified
// signer. The entries are encrypted on the device.
func TestDraftSurvivesAClosedTab(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Draft", []object{{"name": "Ada Lovelace", "email": "draft@example.com"}}, leaseFields(), leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	identified(b, "draft@example.com")
	b.button("I agree")
	b.click(`document.querySelector(".field.text")`)
	b.write(entry, "Kept on the device")
	b.until(`Object.keys(localStorage).some((k) => k.startsWith("countersign:draft:"))`)
	b.until(`document.querySelector(".field.text").textContent === "Kept on the device"`)
	const kept = `Object.keys(localStorage).filter((k) => k.startsWith("countersign:draft:")).map((k) => localStorage.getItem(k)).join()`
	require.NotContains(t, eval[string](b, kept), "Kept on")
	// The page saves in the background after each change, so the saved data contains the latest text once it stops
	// changing.
	before := ""
	b.eventually("the draft is written", func() bool {
		now := eval[string](b, kept)
		same := now == before
		before = now
		return same
	})
	b.forgetTab()
	b.visit(e.Signers[0].SigningURL)
	b.until(`document.querySelector(".field.text")?.textContent === "Kept on the device"`)

	// Without the cookie of the verified session, no entry is displayed and the code is requested.
	b.forgetTab()
	call(b, network.ClearBrowserCookies, cdp.Empty{})
	b.visit(e.Signers[0].SigningURL)
	b.see("Verify your identity")
	require.False(t, eval[bool](b, `document.body.innerHTML.includes("Kept on the device")`))

	// The draft is restored after a new code is entered, and remains stored.
	mails := len(svc.mailsTo(t, "draft@example.com"))
	b.button("Send code")
	b.eventually("another code arrives", func() bool { return len(svc.mailsTo(t, "draft@example.com")) > mails })
	text, _ := svc.mail(t, "draft@example.com", "code", "code")
	b.keysOn(codeField, regexp.MustCompile(`\b\d{6}\b`).FindString(text))
	b.until(`document.querySelector(".field.text")?.textContent === "Kept on the device"`)
	b.forgetTab()
	b.visit(e.Signers[0].SigningURL)
	b.until(`document.querySelector(".field.text")?.textContent === "Kept on the device"`)
	call(b, network.ClearBrowserCookies, cdp.Empty{})

	// After a day, the entries are deleted.
	eval[bool](b, `(() => { for (const k of Object.keys(localStorage)) if (k.startsWith("countersign:draft:")) { const d = JSON.parse(localStorage.getItem(k)); d.at -= 25 * 3600 * 1000; localStorage.setItem(k, JSON.stringify(d)); } return true; })()`)
	b.forgetTab()
	b.visit(e.Signers[0].SigningURL)
	b.until(`!Object.keys(localStorage).some((k) => k.startsWith("countersign:draft:"))`)
	b.waitUntilStill()
}

// TestReceiptIsFoundAgain checks that the link displays the receipt when it is opened later, and that the verified
// client also receives the sealed copy.
func TestReceiptIsFoundAgain(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Found again", []object{{"name": "Ada Lovelace", "email": "receipt@example.com"}, {"name": "Bob", "email": "receipt-bob@example.com", "authMethod": "none"}},
		[]object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 500, "w": 100, "h": 20}, {"signerId": "1", "type": "text", "page": 1, "x": 72, "y": 600, "w": 100, "h": 20}}, leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	identified(b, "receipt@example.com")
	b.button("I agree")
	b.button("Start")
	b.write(entry, "words")
	b.read()
	// The response to the signature is lost.
	eval[bool](b, `(() => {
		const before = fetch;
		window.fetch = async (input, ...more) => { const res = await before(input, ...more); if (String(input).endsWith("/sign")) throw new TypeError("lost"); return res; };
		return true;
	})()`)
	b.button("Review and sign")
	b.button("Sign")
	b.until(`document.querySelector("dialog[open] .notice.bad p") !== null`)
	require.Equal(t, "signed", svc.envelope(t, e.ID).Signers[0].Status)
	b.forgetTab()
	b.visit(e.Signers[0].SigningURL)
	b.see("You signed")
	b.see("Found again")
	b.see("lease.pdf")
	b.see("Waiting for")
	b.see("Bob")
	b.checked("receipt-found")
	svc.signByAPI(t, e.Signers[1].SigningURL, "me too")
	b.see("Your sealed copy is ready")
	svc.completed(t, e.ID)
	b.waitUntilStill()

	// Anyone else with the link sees that the document was signed, but receives no copy.
	other := open(t, phone)
	call(other, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"User-Agent": "Another browser"}})
	other.visit(e.Signers[0].SigningURL)
	other.see("You signed")
	other.until(`document.querySelector(".copies a") === null`)
	require.NotContains(t, other.text(), "Bob")
}

// endConfirmation makes the service require a code again.
func (b *tab) endConfirmation() {
	b.t.Helper()
	call(b, network.ClearBrowserCookies, cdp.Empty{})
	eval[bool](b, `(() => { const before = fetch; window.fetch = (input, init) => { delete init?.headers?.["X-Signer-Session"]; return before(input, init); }; return true; })()`)
}

// TestConfirmationEnds checks that, if the verification expires during signing, the entries remain and the code is
// requested again.
func TestConfirmationEnds(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Ends early", []object{{"name": "Ada Lovelace", "email": "ends-early@example.com"}}, leaseFields()[2:3], leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	identified(b, "ends-early@example.com")
	b.button("I agree")
	b.button("Start")
	b.write(entry, "Not lost")
	b.read()
	b.endConfirmation()
	b.button("Review and sign")
	b.button("Sign")
	b.see("Your verification has expired. Your entries are saved")
	b.checked("confirm-again")
	b.visit(e.Signers[0].SigningURL)
	b.see("Verify your identity")
	b.button("Send code")
	b.until(`document.activeElement?.id === "code"`)
	b.waitUntilStill()
}

// TestDocumentsClosedBeforeTheCode checks that the page does not request documents that require the code until the code
// has been entered.
func TestDocumentsClosedBeforeTheCode(t *testing.T) {
	t.Parallel()
	const id = "01a20196-df5b-74d0-bffd-bb71b8cd0834"
	b := open(t, phone)
	b.answers("/v1/signing/x", 200, `{"envelopeId": "`+id+`", "signerId": "`+id+`", "signerName": "Ada", "subject": "Closed", "message": null, "senderName": "Acme", "expiresAt": null,
		"fields": [], "documents": [{"documentId": "`+id+`", "name": "nda.pdf", "pageCount": 1, "order": 1, "size": 900, "sha256": "", "pages": [{"from": 1, "width": 595, "height": 842}]}],
		"requiresOtpVerification": true, "otpVerified": false, "authMethod": "email_otp", "maskedEmail": "a***@example.com", "consentGiven": false,
		"consent": {"version": "1-en", "language": "en", "text": "Text"}, "savedSignatureB64": null, "savedSignatureFontLabel": null,
		"filled": [], "shown": null, "draftKey": null, "readBeforeCode": false, "contact": "help@acme.example",
		"code": {"liveUntil": null, "triesLeft": null, "requestableAt": null, "locked": true}}`)
	b.visit(svc.base + "/sign/x")
	b.see("Verify your identity")
	b.see("Too many incorrect codes were entered. Ask Acme for a new link.")
	require.False(t, eval[bool](b, `[...document.querySelectorAll("button")].some((x) => x.textContent === "Send code")`), "only a new link unlocks signing")
	b.see("Questions? Contact Acme: help@acme.example")
	require.Equal(t, "mailto:help@acme.example", eval[string](b, `document.querySelector('a[href^="mailto:"]').href`))
	require.False(t, eval[bool](b, `performance.getEntriesByType("resource").some((r) => r.name.includes("/documents/"))`))
	b.checked("locked")
	b.waitUntilStill()
}

// TestConfirmationEndsWithoutStorage checks that the signer's entries, and the record of the pages that were read,
// survive a renewed verification even if the browser stores nothing for the page. An upload that is interrupted by the
// request for a code remains pending, and is not reported as rejected.
func TestConfirmationEndsWithoutStorage(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Ends early", []object{{"name": "Ada Lovelace", "email": "ends-unkept@example.com"}}, append(leaseFields()[2:3],
		object{"signerId": "0", "type": "attachment", "name": "passport", "label": "passport", "required": false, "page": 1, "x": 60, "y": 100, "w": 200, "h": 22}), leaseDocument())
	b := open(t, desktop)
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `for (const name of ["sessionStorage", "localStorage"]) Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });`})
	b.visit(e.Signers[0].SigningURL)
	identified(b, "ends-unkept@example.com")
	b.button("I agree")
	b.button("Start")
	b.write(entry, "Not lost")
	b.read()
	b.endConfirmation()
	b.click(field("passport"))
	b.choose(`.entry input[type=file]`, "passport.png", paper(true))
	b.see("Your verification has expired. Your entries are saved")
	b.button("Send code")
	b.keysOn(codeField, svc.laterCode(t, "ends-unkept@example.com"))
	b.see("All fields completed")
	b.see("All pages read")
	b.until(field("Not lost") + ` !== undefined`)
	require.NotContains(t, b.text(), "Something went wrong")
	b.button("Review and sign")
	require.NotContains(t, b.text(), "Something went wrong")
	b.button("Sign")
	b.see("You signed")
	b.waitUntilStill()
}

// laterCode waits for the second code sent to an address.
func (s *service) laterCode(t *testing.T, email string) (code string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var list []struct{ Text string }
		if _, err := s.do(http.MethodGet, s.inbox+"/api/messages?to="+url.QueryEscape(email), "", nil, &list); err != nil {
			return false
		}
		var codes []string // newest first
		for _, m := range list {
			if c := regexp.MustCompile(`\b\d{6}\b`).FindString(m.Text); c != "" && strings.Contains(m.Text, "code") {
				codes = append(codes, c)
			}
		}
		if len(codes) < 2 {
			return false
		}
		code = codes[0]
		return true
	}, waitTimeout, 100*time.Millisecond)
	return code
}
