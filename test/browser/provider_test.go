package browser_test

import (
	"bufio"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const providerSecret = "the console's secret at the provider"

// startProvider starts a certified OpenID provider. It is stopped when the test ends.
func startProvider(t *testing.T) {
	t.Helper()
	address, err := url.Parse(svc.provider)
	require.NoError(t, err)
	node := exec.CommandContext(t.Context(), "node", filepath.Join(svc.root, "web", "test", "provider.mjs"), address.Port(), svc.base+"/console/signed-in", "console", providerSecret)
	out, err := node.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, node.Start())
	t.Cleanup(func() {
		_ = node.Process.Kill()
		_ = node.Wait() // the process was killed
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "ready" {
			go func() {
				for lines.Scan() { // prevents the pipe from filling up
				}
			}()
			return
		}
	}
	require.Fail(t, "the provider did not start: check that the packages of web/ are installed")
}

// toProvider follows the login page's link to the provider, and signs in there.
func (b *tab) toProvider(login string) {
	b.t.Helper()
	b.button("Sign in with Staff login")
	b.atProvider(login)
}

func (b *tab) atProvider(login string) {
	b.t.Helper()
	b.see("Asked for: login")
	b.fill("#login", login)
	b.button("Continue")
}

// clean checks that the URL contains no parameters of the provider.
func (b *tab) clean(hash string) {
	b.t.Helper()
	b.until(`location.pathname === "/console"`)
	require.Equal(b.t, svc.base+"/console"+hash, eval[string](b, `location.href`))
}

// TestConsoleSignInAtTheProvider signs in through a standards-compliant provider, from the console's page to the
// provider's page and back.
func TestConsoleSignInAtTheProvider(t *testing.T) {
	t.Parallel()
	down := open(t, desktop)
	down.visit(svc.base + "/console")
	down.button("Sign in with Staff login")
	down.see("The sign-in provider is not responding correctly.")
	down.checked("console-provider-down")
	startProvider(t)

	t.Run("with a role", func(t *testing.T) { //nolint:paralleltest // not parallel; the first subtest makes the console retry the provider
		b := open(t, desktop)
		b.visit(svc.base + "/console#/contacts")
		b.see("Sign in with Staff login")
		b.checked("console-login-provider")
		// The console contacts the provider again after the pause.
		b.until(`(() => {
			[...document.querySelectorAll("button")].find((x) => x.textContent.trim() === "Sign in with Staff login" && !x.disabled && x.ariaDisabled !== "true")?.click();
			return document.body?.innerText.includes("Asked for: login") ?? false;
		})()`)
		b.fill("#login", "ada")
		b.button("Continue")
		b.signedIn()
		b.clean("#/contacts")
		b.until(`document.querySelector("h1")?.textContent === "Contacts"`)
		require.Contains(t, b.text(), "Ada Byron")
		b.visit(svc.base + "/console#/account")
		b.see("You sign in through your organization's provider.")
		require.NotContains(t, b.text(), "authenticator")
		b.checked("console-account-provider")
		b.visit(svc.base + "/console#/users")
		b.see("managed by the provider")
		b.checked("console-users-provider")

		// Changes for which other users enter a password require a new sign-in through the provider.
		b.visit(svc.base + "/console#/application")
		b.button("Create new secret")
		require.False(t, eval[bool](b, `document.querySelector("dialog #proof") !== null`))
		b.click(`[...document.querySelectorAll("dialog button")].at(-1)`)
		b.see("First, sign in with your provider again")
		b.checked("console-prove-provider")
		b.button("Sign in again")
		b.see("Asked for: login")
		b.fill("#login", "ada")
		b.button("Continue")
		b.signedIn()
		b.clean("#/application")
		b.button("Create new secret")
		b.click(`[...document.querySelectorAll("dialog button")].at(-1)`)
		b.until(`document.body.innerText.includes("won't be shown again")`)

		// The parameters of a sign-in are valid only once, and the URL to return to never leads to another site.
		b.visit(svc.base + "/console/signed-in?code=used&state=used&returnTo=https%3A%2F%2Fevil.example")
		b.see("This sign-in has expired, was already used, or was started in another browser.")
		b.clean("")
		eval[string](b, `(sessionStorage.setItem("countersign:console:back", "https://evil.example/"), "")`)
		b.visit(svc.base + "/console/signed-in?error=server_error&returnTo=//evil.example")
		b.see("The provider couldn't sign you in (server_error).")
		b.clean("")
		b.visit(svc.base + "/console/signed-in?error=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
		b.see("The provider couldn't sign you in. Start again")
		b.waitUntilStill()
	})
	t.Run("without", func(t *testing.T) { //nolint:paralleltest // not parallel; the first subtest makes the console retry the provider
		for login, told := range map[string]string{"guest": "none of the roles viewer, support, sender and admin", "fresh": "does not confirm that your email address is verified"} {
			b := open(t, phone)
			b.visit(svc.base + "/console")
			eval[bool](b, `(() => {
				const real = fetch;
				window.fetch = (...asked) => { if (String(asked[0]).includes("provider/begin")) sessionStorage.begun = (sessionStorage.begun ?? "") + "x"; return real(...asked); };
				return true;
			})()`)
			b.doubleClick(buttonOf("Sign in with Staff login"))
			b.atProvider(login)
			b.see(told)
			b.clean("")
			require.Equal(t, "x", eval[string](b, "sessionStorage.begun"), "a second sign-in would invalidate the first")
			b.checked("console-login-" + login)
			b.waitUntilStill()
		}
		b := open(t, desktop)
		b.visit(svc.base + "/console")
		b.button("Sign in with Staff login")
		b.see("Asked for: login")
		b.click(`document.querySelector("#abort")`)
		b.see("The provider did not sign you in, or you went back.")
		b.waitUntilStill()
	})
	t.Run("with another account", func(t *testing.T) { //nolint:paralleltest // not parallel; the first subtest makes the console retry the provider
		b := open(t, desktop)
		b.visit(svc.base + "/console")
		b.toProvider("guest")
		b.see("none of the roles viewer, support, sender and admin")
		// Otherwise the provider would immediately return the same account.
		b.button("Sign in with another account at Staff login")
		b.see("Asked for: login")
		b.fill("#login", "bob")
		b.button("Continue")
		b.signedIn()
		require.Equal(t, []string{"Bob Babbage", "viewer"}, b.account())
		b.waitUntilStill()
	})
	t.Run("in place of a password", func(t *testing.T) { //nolint:paralleltest // not parallel; the first subtest makes the console retry the provider
		b := open(t, desktop)
		consoleUser(b, "connect", "viewer")
		b.visit(svc.base + "/console#/account")
		b.button("Connect")
		b.checked("console-connect")
		b.fill("#proof", staffPassword)
		b.click(`[...document.querySelectorAll("dialog button")].at(-1)`)
		b.see("Asked for: login")
		b.fill("#login", "factor")
		b.button("Continue")
		b.signedIn()
		b.clean("#/account")
		require.Equal(t, []string{"Sam Staff", "sender"}, b.account())
		b.signsOut()
		b.enter("connect")
		b.see("The email address or password is incorrect.")
		b.waitUntilStill()
	})
}
