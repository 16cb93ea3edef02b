package browser_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/locales"
)

const delegateName = `document.querySelector("#delegate-name")`

// delegated returns an envelope whose signer may delegate.
func delegated(t *testing.T, signer object) envelope {
	t.Helper()
	signer["allowDelegation"] = true
	return svc.create(t, "Workshop lease", []object{signer, {"name": "Bob Stone", "email": "delegate-bob@example.com", "authMethod": "none"}},
		[]object{
			{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 450, "w": 200, "h": 20},
			{"signerId": "1", "type": "text", "page": 1, "x": 72, "y": 500, "w": 200, "h": 20},
		}, leaseDocument())
}

// TestDelegateByKeyboard checks that a signer can delegate with the keyboard only, and that the new signer can sign but
// cannot delegate again.
func TestDelegateByKeyboard(t *testing.T) {
	t.Parallel()
	e := delegated(t, object{"name": "Ada Lovelace", "email": "delegate-ada@example.com"})
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.see("Verify your identity")
	b.tabTo("Assign to someone else")
	b.keys("\r")
	b.see("Before you assign this to someone else")
	require.True(t, eval[bool](b, delegateName+` === null`))
	b.checked("delegate-code")
	b.button("Send code")
	text, _ := svc.mail(t, "delegate-ada@example.com", "code")
	b.keysOn(codeField, regexp.MustCompile(`\b\d{6}\b`).FindString(text))
	b.until(delegateName + ` !== null`)
	b.accessible()

	b.keysOn(`document.querySelector("dialog[open] h2")`, "\t") // the dialog's heading initially has the focus
	b.keysOn(delegateName, "\r")
	b.see("Enter a name.")
	b.see("Enter a complete email address.")
	b.focused(delegateName)
	b.checked("delegate-mistakes")
	b.keys("Grace Hopper\tdelegate-bob@example.com\r")
	b.see("someone who isn't already a signer of these documents")
	b.until(`document.activeElement?.id === "delegate-email"`)
	require.Equal(t, "Ada Lovelace", svc.envelope(t, e.ID).Signers[0].Name, "a rejected delegation changes nothing")
	b.fill("#delegate-email", "delegate-grace@example.com")
	b.fill("#delegate-reason", "Grace signs for the firm.")
	b.checked("delegate-filled")
	b.tabTo("Send invitation")
	b.keys("\r")
	b.see("Reassigned")
	b.see("Grace Hopper")
	b.see("Your link no longer works")
	b.checked("delegate-done")
	b.waitUntilStill()

	status, err := svc.do(http.MethodGet, svc.base+signingPath(e.Signers[0].SigningURL), "", nil, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, "Grace Hopper", svc.envelope(t, e.ID).Signers[0].Name)

	grace := open(t, phone)
	grace.visit(svc.invited(t, "delegate-grace@example.com"))
	grace.see("Verify your identity")
	require.NotContains(t, grace.text(), "Assign to someone else", "delegation is possible only once")
	identified(grace, "delegate-grace@example.com")
	grace.button("I agree")
	grace.see("field left")
	grace.until(`document.querySelectorAll(".textLayer span").length > 10`)
	grace.click(`document.querySelector(".field.text")`)
	grace.replace("From Monday")
	grace.keys("\r")
	grace.read()
	grace.button("Review and sign")
	grace.see("Review before you sign")
	grace.button("Sign")
	grace.see("You signed")
	grace.waitUntilStill()

	bob := open(t, phone)
	bob.visit(e.Signers[1].SigningURL)
	bob.see("Sign electronically")
	require.NotContains(t, bob.text(), "Assign to someone else", "the sender did not allow it")
	svc.signByAPI(t, e.Signers[1].SigningURL, "Agreed")
	svc.completed(t, e.ID)
}

// TestDelegateWhileReading delegates by touch on the page with the documents. If codes are sent by text message, the
// signer must enter the new signer's phone number.
func TestDelegateWhileReading(t *testing.T) {
	t.Parallel()
	const number, next = "+447400123460", "+447400123461"
	e := delegated(t, object{"name": "Ada Lovelace", "email": "delegate-sms@example.com", "phone": number, "authMethod": "sms_otp"})
	b := open(t, handset)
	b.visit(e.Signers[0].SigningURL)
	b.button("Send code")
	text, _ := svc.mail(t, number, "code")
	b.keysOn(codeField, regexp.MustCompile(`\b\d{6}\b`).FindString(text))
	b.see("Sign electronically")
	b.checked("delegate-offered")
	b.button("I agree")
	b.until(`document.querySelectorAll(".textLayer span").length > 10`)
	b.checked("delegate-reading")
	eval[bool](b, "(scrollTo(0, 0), true)")
	b.shot("delegate-top")
	b.button("Assign to someone else")
	b.fill("#delegate-name", "Grace Hopper")
	b.fill("#delegate-email", "delegate-sms-grace@example.com")
	b.fill("#delegate-phone", "07400 123461")
	b.button("Send invitation")
	b.see("Enter the number with its country code")
	b.checked("delegate-phone")
	b.fill("#delegate-phone", "+44 7400 123461")
	b.button("Send invitation")
	b.see("Reassigned")
	b.waitUntilStill()

	grace := open(t, handset)
	grace.visit(svc.invited(t, "delegate-sms-grace@example.com"))
	grace.button("Send code")
	text, _ = svc.mail(t, next, "code")
	grace.keysOn(codeField, regexp.MustCompile(`\b\d{6}\b`).FindString(text))
	grace.see("Sign electronically")
	grace.waitUntilStill()
}

// TestDelegateInEveryLanguage checks the dialog, its error messages and the following page on a narrow screen in
// every language.
func TestDelegateInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, language := range locales.Tags() {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			texts := pageTexts(t, language)
			e := delegated(t, object{"name": "Ada Lovelace", "email": "delegate-" + language + "@example.com", "authMethod": "none", "language": language})
			b := open(t, handset) // the browser uses English, but the sender has selected this language
			b.visit(e.Signers[0].SigningURL)
			b.until(`document.documentElement.lang === "` + language + `"`)
			b.see(texts["delegate"].(string))
			b.accessible()
			b.shot("delegate-offered-" + language)
			b.button(texts["delegate"].(string))
			b.button(texts["delegateNow"].(string))
			b.see(texts["badName"].(string))
			b.accessible()
			b.shot("delegate-" + language)
			b.fill("#delegate-name", "Grace Hopper")
			b.fill("#delegate-email", "delegate-to-"+language+"@example.com")
			b.button(texts["delegateNow"].(string))
			b.see(texts["delegatedTitle"].(string))
			require.Equal(t, locales.RightToLeft(language), eval[string](b, "document.documentElement.dir") == "rtl")
			b.accessible()
			b.shot("delegated-" + language)
			b.waitUntilStill()
		})
	}
}
