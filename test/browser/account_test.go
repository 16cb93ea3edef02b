package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"
)

const staffPassword = "a long password"

// enter fills in the login page.
func (b *tab) enter(name string) {
	b.t.Helper()
	b.visit(svc.base + "/console")
	b.see("Countersign console")
	b.fill("#email", name+"@staff.example")
	b.fill("#password", staffPassword)
	b.button("Sign in")
}

// confirmIdentity re-enters the password, and also enters the code if it is not empty.
func (b *tab) confirmIdentity(label, code string) {
	b.t.Helper()
	b.fill("#proof", staffPassword)
	if code != "" {
		b.fill("#proofcode", code)
	}
	b.click(fmt.Sprintf(`[...document.querySelectorAll("dialog button")].find((x) => x.textContent === %q)`, label))
	b.until(`document.querySelector("dialog") === null`)
}

// enrollFactor sets up an authenticator app, and returns its secret and the recovery codes.
func (b *tab) enrollFactor(picture string) (secret string, recovery []string) {
	b.t.Helper()
	b.button("Set up authenticator app")
	b.confirmIdentity("Continue", "")
	b.see("Scan this")
	b.until(`document.querySelector(".qr").naturalWidth > 0`)
	b.checked(picture)
	secret = strings.ReplaceAll(eval[string](b, `document.querySelector(".secret").textContent`), " ", "")
	b.fill("#code", "000000")
	b.button("Confirm")
	b.see("is wrong or was already used")
	b.fill("#code", code(b.t, secret, 0))
	b.button("Confirm")
	b.see("Your second factor is on.")
	recovery = eval[[]string](b, `[...document.querySelectorAll(".codes li")].map((x) => x.textContent)`)
	require.Len(b.t, recovery, 10)
	return secret, recovery
}

// code returns the authenticator app's code for a later time step, the given number of steps from now. The service
// accepts the code of each step only once.
func code(t *testing.T, secret string, steps int) string {
	t.Helper()
	c, err := totp.GenerateCode(secret, time.Now().Add(time.Duration(steps)*30*time.Second))
	require.NoError(t, err)
	return c
}

func TestConsoleSecondFactor(t *testing.T) {
	t.Parallel()
	other := open(t, desktop)
	consoleUser(other, "factor", "support")
	b := open(t, desktop)
	b.enter("factor")
	b.signedIn()
	b.visit(svc.base + "/console#/account")
	b.see("Sessions")
	b.until(`document.querySelectorAll("tbody tr").length === 2`)
	b.checked("console-account")
	b.button("Sign out everywhere else")
	b.see("The session will end immediately.")
	b.checked("console-account-prove")
	b.confirmIdentity("Sign out", "")
	b.until(`document.querySelectorAll("tbody tr").length === 1`)
	other.visit(svc.base + "/console#/contacts")
	other.see("Your session has ended. Sign in again to continue.")

	secret, recovery := b.enrollFactor("console-factor-enrol")
	b.checked("console-factor-codes")
	b.button("I've stored the codes")
	b.see("10 recovery codes are left.")
	b.checked("console-account-factor")
	token := eval[string](b, `sessionStorage.getItem("countersign:console")`)
	b.signsOut()
	b.see("Countersign console")
	b.eventually("the token has ended at the service", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, svc.base+"/v1/console/me", http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode == http.StatusUnauthorized
	})

	b.enter("factor")
	b.see("Code from your authenticator app")
	b.checked("console-login-code")
	b.fill("#code", "000000")
	b.button("Sign in")
	b.see("The code is wrong or was already used.")
	b.fill("#code", code(t, secret, 1))
	b.button("Sign in")
	b.signedIn()
	b.signsOut()
	b.see("Countersign console")
	b.enter("factor")
	b.see("No phone?")
	b.fill("#code", recovery[0])
	b.button("Sign in")
	b.signedIn()
	b.visit(svc.base + "/console#/account")
	b.see("9 recovery codes are left.")
	b.button("Remove")
	b.confirmIdentity("Remove", recovery[1])
	b.see("Protect your account with a code")

	b.fill("#now", staffPassword)
	b.fill("#fresh", "tooshort")
	b.fill("#now", "not the password")
	b.fill("#fresh", "a new long password")
	b.button("Change password")
	b.see("password is wrong")
	b.checked("console-password-refused")
	b.fill("#now", staffPassword)
	b.button("Change password")
	b.see("Password changed. You are signed out everywhere else.")
	b.waitUntilStill()
}

// TestConsoleMustEnrol checks that a required second factor must be enrolled before the user can do anything else.
func TestConsoleMustEnrol(t *testing.T) {
	t.Parallel()
	b := open(t, phone)
	consoleUser(b, "mustenrol", "admin")
	b.answers("/v1/console/me", 200, `{"user": {"id": "0", "email": "a@staff.example", "name": "Sam Staff", "role": "admin", "createdAt": "2026-11-21T07:00:00Z"}, "app": {"id": "0", "name": "Demo", "plan": "pro", "tenants": []}, "mustEnrol": true}`)
	b.visit(svc.base + "/console?again#/envelopes")
	b.see("A second factor is required")
	require.NotContains(t, b.text(), "Envelopes")
	b.checked("console-must-enrol")
	b.enrollFactor("console-must-enrol-secret")
	b.button("I've stored the codes")
	b.until(`document.querySelector("nav") !== null`)
	b.waitUntilStill()
}

// TestConsole_RestoresWorkOnlyForItsUser checks that unsaved work is restored for the user who created it, but not for
// the next user in the same tab.
func TestConsole_RestoresWorkOnlyForItsUser(t *testing.T) {
	t.Parallel()
	other := open(t, desktop)
	consoleUser(other, "keeper-two", "sender")
	b := open(t, desktop)
	consoleUser(b, "keeper-one", "sender")
	const left = `sessionStorage.getItem("countersign.draft.left") !== null`
	eval[bool](b, `(sessionStorage.setItem("countersign.draft.left", "{}"), true)`)
	b.signsOut()
	b.enter("keeper-one")
	b.signedIn()
	require.True(t, eval[bool](b, left))
	b.signsOut()
	b.enter("keeper-two")
	b.signedIn()
	require.False(t, eval[bool](b, left))
}
