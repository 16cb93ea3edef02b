package browser_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/stretchr/testify/require"
)

// authenticator adds a virtual device to the tab. The device verifies its user and stores passkeys.
func (b *tab) authenticator() webauthn.AuthenticatorID {
	b.t.Helper()
	call(b, webauthn.Enable, webauthn.EnableParams{})
	return call(b, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: "ctap2", Transport: "internal", HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
	}}).AuthenticatorID
}

// TestConsolePasskeys checks that a browser can create and use passkeys, which require a service with a host name.
func TestConsolePasskeys(t *testing.T) {
	t.Parallel()
	s, err := startService(t.TempDir(), "localhost")
	require.NoError(t, err)
	t.Cleanup(s.stop)
	require.NoError(t, s.api(http.MethodPost, "/v1/console/users", object{"email": "key@staff.example", "name": "Kay Staff", "password": staffPassword, "role": "admin"}, nil))
	enter := func(b *tab) {
		b.visit(s.base + "/console")
		b.see("Countersign console")
		b.fill("#email", "key@staff.example")
		b.fill("#password", staffPassword)
		b.button("Sign in")
	}

	b := open(t, desktop)
	device := b.authenticator()
	enter(b)
	b.signedIn()
	b.visit(s.base + "/console#/account")
	b.see("Sign in with your password and your fingerprint")
	b.button("Add a passkey")
	b.fill("#passkeyname", "My laptop")
	b.fill("#proof", staffPassword)
	b.checked("console-passkey-new")
	b.click(`[...document.querySelectorAll("dialog button")].at(-1)`)
	b.see("Store these recovery codes")
	b.checked("console-passkey-codes")
	recovery := eval[[]string](b, `[...document.querySelectorAll(".codes li")].map((x) => x.textContent)`)
	require.Len(t, recovery, 10)
	b.button("I've stored the codes")
	b.see("My laptop")
	b.checked("console-account-passkeys")

	// The same device already has a passkey.
	b.button("Add a passkey")
	b.fill("#passkeyname", "Again")
	b.fill("#proof", staffPassword)
	b.fill("#proofcode", recovery[0])
	b.click(`[...document.querySelectorAll("dialog button")].at(-1)`)
	b.see("This device already has a passkey for this account.")
	b.button("Cancel")

	b.signsOut()
	enter(b)
	b.see("Recovery code")
	require.NotContains(t, b.text(), "authenticator app")
	b.until(`document.activeElement.textContent === "Use a passkey"`)
	b.checked("console-login-passkey")
	call(b, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: device, IsUserVerified: false})
	b.button("Use a passkey")
	b.see("No passkey was used.")
	call(b, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: device, IsUserVerified: true})
	b.button("Use a passkey")
	b.signedIn()

	// Use the passkey to authorize a change to the account, and to remove the passkey.
	b.visit(s.base + "/console#/account")
	b.see("My laptop")
	b.see("9 recovery codes are left.")
	b.checked("console-account-passkey")
	b.button("Create new recovery codes")
	b.button("Use a passkey")
	b.until(`document.activeElement.matches("#proof:invalid")`) // the password is required first
	b.fill("#proof", staffPassword)
	b.click(`document.querySelector("dialog button")`)
	b.see("Store these recovery codes")
	b.button("I've stored the codes")
	b.fill("#now", staffPassword)
	b.fill("#fresh", staffPassword+" anew")
	b.button("Use a passkey")
	b.see("Password changed. You are signed out everywhere else.")
	b.fill("#now", staffPassword+" anew")
	b.fill("#fresh", staffPassword)
	b.button("Use a passkey")
	b.until(`document.querySelector("#now").value === ""`)
	b.click(`document.querySelector("[aria-label='Remove My laptop']")`)
	b.fill("#proof", staffPassword)
	b.checked("console-passkey-remove")
	b.click(`document.querySelector("dialog button")`)
	b.until(`document.querySelector("dialog") === null`)
	b.until(`!document.body.innerText.includes("My laptop")`)
	b.signsOut()
	enter(b)
	b.signedIn()
	b.waitUntilStill()
}
