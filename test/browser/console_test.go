package browser_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// consoleUser creates a console user and signs in.
func consoleUser(b *tab, name, role string) {
	b.t.Helper()
	err := svc.api(http.MethodPost, "/v1/console/users", object{"email": name + "@staff.example", "name": "Sam Staff", "password": "a long password", "role": role}, nil)
	var rejected *callError
	// If a test is repeated with -count, the user already exists.
	if !errors.As(err, &rejected) || rejected.Status != http.StatusConflict {
		require.NoError(b.t, err)
	}
	b.visit(svc.base + "/console")
	b.until(`document.querySelector("#password") !== null`)
	b.fill("#email", name+"@staff.example")
	b.fill("#password", "a long password")
	b.keysOn(`document.querySelector("#password")`, "\r")
	b.signedIn()
}

// signedIn waits until the console displays its navigation.
func (b *tab) signedIn() { b.t.Helper(); b.until(`document.querySelector(".masthead nav") !== null`) }

// account returns the user's name and role from the account menu.
func (b *tab) account() []string {
	b.t.Helper()
	return eval[[]string](b, `[document.querySelector(".account > summary").textContent, document.querySelector(".account .menu p").textContent.split(" · ").at(-1)]`)
}

// signsOut signs out through the account menu.
func (b *tab) signsOut() {
	b.t.Helper()
	b.click(`document.querySelector(".account > summary")`)
	b.button("Sign out")
}

// TestConsoleAttachedFiles checks that a user with read access to an envelope can view and download its signers'
// attachments.
func TestConsoleAttachedFiles(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "With a passport", []object{{"name": "Ada Lovelace", "email": "attached@example.com", "authMethod": "none"}},
		[]object{{"signerId": "0", "type": "attachment", "name": "identity", "label": "Proof of identity", "page": 1, "x": 60, "y": 100, "w": 200, "h": 22}}, leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.see("1 field left")
	b.click(field("Proof of identity"))
	b.choose(`.entry input[type=file]`, "passport.png", paper(true))
	b.until(field("Proof of identity") + `.getAttribute("aria-label").endsWith("passport.png")`)
	b.read()
	b.button("Review and sign")
	b.button("Sign")
	b.see("You signed")
	consoleUser(b, "attached", "viewer")
	b.visit(svc.base + "/console#/envelopes/" + e.ID)
	b.see("Proof of identity attached")
	b.see("by Ada Lovelace")
	b.checked("console-attached")
	b.click(`document.querySelector('[aria-label="Download Proof of identity"]')`)
	b.until(`performance.getEntriesByType("resource").some((r) => r.name.includes("/attachments/") && r.responseStatus === 200)`)
	b.waitUntilStill()
}

// TestConsole_ShowsThatTemporalIsDown checks the message that appears while Temporal is unavailable, for example while
// "make dev" is still compiling it.
func TestConsole_ShowsThatTemporalIsDown(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	b.answers("/readyz", http.StatusServiceUnavailable, `{"database":"ok","files":"ok","temporal":"down"}`)
	consoleUser(b, "waiting", "viewer")
	b.see("Temporal is not running yet.")
	b.checked("console-temporal-down")
}

func TestConsoleEnvelopes(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Console lease", []object{{"name": "Ada Lovelace", "email": "console@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	b := open(t, desktop)
	b.visit(svc.base + "/console")
	b.see("Countersign console")
	b.checked("console-login")
	b.fill("#email", "nobody@staff.example")
	b.fill("#password", "not the password")
	b.keysOn(`document.querySelector("#password")`, "\r")
	b.until(`document.querySelector(".notice.bad") !== null`)
	b.checked("console-login-refused")
	consoleUser(b, "envelopes", "support")
	b.until(`document.querySelectorAll("tbody tr").length > 0`)
	b.checked("console-envelopes")
	b.fill("#search", "console lease")
	b.see("Console lease")
	b.until(`document.querySelectorAll("tbody tr").length === 1`)
	b.choice("#status", "completed")
	b.see("No matches.")
	b.choice("#status", "sent")
	b.until(`document.querySelectorAll("tbody tr").length === 1`)
	b.click(`document.querySelector("tbody a")`)
	b.see("Activity")
	b.see("Invitation sent to Ada Lovelace")
	b.checked("console-envelope")
	b.button("Technical")
	b.until(`document.querySelector(".facts a") !== null`)
	require.Equal(t, "/namespaces/default/workflows/envelope%2F"+e.ID, eval[string](b, `new URL(document.querySelector(".facts a").href).pathname`))
	b.checked("console-technical")
	b.button("Activity")

	// A new link is sent to the signer, and the old one becomes invalid.
	b.button("Send a new link")
	b.see("New link sent")
	old := svc.base + "/v1/signing" + e.Signers[0].SigningURL[strings.LastIndex(e.Signers[0].SigningURL, "/"):]
	status, err := svc.do(http.MethodGet, old, "", nil, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	b.see("New link sent")
	b.eventually("the new link arrives", func() bool {
		_, links := svc.mail(t, "console@example.com", "Console lease", "/sign/")
		for _, l := range links {
			if strings.Contains(l, "/sign/") && l != e.Signers[0].SigningURL {
				return true
			}
		}
		return false
	})
	require.NotContains(t, eval[string](b, "document.documentElement.outerHTML"), "/sign/", "the console must not show signing links")

	b.button("Void envelope")
	b.see("Void this envelope?")
	b.fill("#why", "Sent to the wrong tenant.")
	b.checked("console-void")
	b.button("Void")
	b.until(`document.querySelector(".head .badge")?.textContent === "voided"`)
	b.see("Sent to the wrong tenant.")
	require.Equal(t, "voided", svc.envelope(t, e.ID).Status)
	b.checked("console-voided")
	eval[bool](b, `(sessionStorage.setItem("countersign:console", "over"), true)`)
	b.see("Your session has ended. Sign in again to continue.") // at the next poll
	b.checked("console-session-ended")
	b.waitUntilStill()
}

func TestConsoleWebhooks(t *testing.T) {
	t.Parallel()
	var mended atomic.Bool
	var taken atomic.Int32
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !mended.Load() {
			http.Error(w, "the shop is closed", http.StatusServiceUnavailable)
			return
		}
		taken.Add(1)
	}))
	defer broken.Close()
	var hook struct{ ID string }
	svc.json(t, http.MethodPost, "/v1/webhooks", object{"url": broken.URL + "/hook", "events": []string{"envelope.voided"}, "secret": "0123456789abcdef"}, &hook)
	var own []string // envelope IDs; the endpoint also receives events of other tests' envelopes
	for i := range 3 {
		e := svc.create(t, fmt.Sprintf("Hooked %d", i), []object{{"name": "Ada Lovelace", "email": "hooked@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
		svc.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/void", object{}, nil)
		own = append(own, e.ID)
	}
	failed := func() (deliveries []string) {
		for _, id := range own {
			var list struct{ Data []struct{ ID string } }
			svc.json(t, http.MethodGet, "/v1/console/webhook-deliveries?status=failed&webhookId="+hook.ID+"&envelopeId="+id, nil, &list)
			for _, d := range list.Data {
				deliveries = append(deliveries, d.ID)
			}
		}
		return deliveries
	}
	b := open(t, desktop)
	b.eventually("all three have permanently failed", func() bool { return len(failed()) == 3 })
	consoleUser(b, "webhooks", "admin")
	b.visit(svc.base + "/console#/webhooks")
	b.see("Deliveries")
	b.see(broken.URL)
	row := fmt.Sprintf(`[...document.querySelectorAll("tbody tr")].find((r) => r.textContent.includes(%q))`, broken.URL)
	b.until(`Boolean(` + row + `)`)
	b.checked("console-webhooks")
	b.visit(svc.base + "/console#/deliveries/" + failed()[0])
	b.see("Attempt 5")
	b.see(broken.URL + "/hook")
	require.Contains(t, own, eval[string](b, `document.querySelector(".facts a").getAttribute("href").split("/").at(-1)`), "the envelope must be named and linked")
	b.see("Hooked")
	b.see("the shop is closed")
	b.see("Payload")
	b.checked("console-delivery")

	// One delivery is resent individually, and the others together.
	mended.Store(true)
	b.button("Resend")
	b.until(`document.querySelector(".head .badge")?.textContent === "delivered"`)
	b.see("Resent")
	require.Len(t, failed(), 2)
	b.visit(svc.base + "/console#/webhooks")
	card := fmt.Sprintf(`document.querySelector("section[aria-label='%s/hook']")`, broken.URL)
	b.until(`Boolean(` + card + `)`)
	act := func(label string) {
		b.t.Helper()
		b.click(fmt.Sprintf(`[...%s.querySelectorAll("button")].find((x) => x.textContent === %q && !x.disabled && x.ariaDisabled !== "true")`, card, label))
	}
	act("Resend deliveries that failed in the last 24 hours")
	b.see(" deliveries are being resent.") // at least the two deliveries of this test
	b.eventually("all are delivered", func() bool { return len(failed()) == 0 && taken.Load() >= 3 })
	act("Send a ping")
	b.see("Ping sent.")
	b.eventually("the ping arrives", func() bool { return taken.Load() >= 4 })
	act("Pause")
	b.until(card + `.querySelector(".badge").textContent === "paused"`)
	b.checked("console-webhook-paused")
	act("Resume")
	b.until(card + `.querySelector(".badge").textContent === "active"`)
	b.waitUntilStill()
}

func TestConsoleAccount(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	consoleUser(b, "account", "admin")
	b.visit(svc.base + "/console#/contacts")
	b.see("Add contact")
	b.fill("#cname", "Katherine Johnson")
	b.fill("#cmail", "kj@example.com")
	b.fill("#cphone", "12")
	b.button("Add")
	b.until(`document.querySelector("form .notice.bad") !== null`) // not a number
	b.checked("console-contact-refused")
	b.fill("#cphone", "+12025550123")
	b.button("Add")
	b.see("+12025550123")
	b.fill("#csearch", "KATHERINE")
	b.until(`document.querySelectorAll("tbody tr").length === 1`)
	b.checked("console-contacts")
	b.fill("#csearch", "nobody of that name")
	b.see("No matches.")
	b.fill("#csearch", "kj@")
	b.button("Remove")
	b.see("No matches.")

	b.visit(svc.base + "/console#/usage")
	b.see("no limit")
	b.see("enterprise")
	b.checked("console-usage")

	b.visit(svc.base + "/console#/settings")
	b.see("Days until an envelope expires")
	b.fill("#stenant", "quayside\t")
	b.until(`document.querySelector("#defaultExpiryDays").value === ""`)
	b.fill("#defaultExpiryDays", "9999")
	b.button("Save")
	b.until(`document.querySelector(".told.bad") !== null`)
	b.checked("console-settings-refused")
	b.fill("#defaultExpiryDays", "45")
	b.fill("#senderName", "Quayside Ltd")
	b.choice("#slanguage", "de")
	b.fill("#replyTo", "desk@quayside.example")
	b.fill("#notifyEmail", "legal@quayside.example")
	b.choice("#fieldOrigin", "bottom-left")
	b.button("Save")
	b.see("Saved.")
	b.checked("console-settings")
	var kept struct {
		Own struct {
			DefaultExpiryDays                                       *int
			RetentionDays                                           *int
			SenderName, FieldOrigin, Language, ReplyTo, NotifyEmail string
		}
	}
	svc.json(t, http.MethodGet, "/v1/console/settings?tenantId=quayside", nil, &kept)
	require.Equal(t, 45, *kept.Own.DefaultExpiryDays)
	require.Nil(t, kept.Own.RetentionDays)
	require.Equal(t, "Quayside Ltd", kept.Own.SenderName)
	require.Equal(t, "bottom-left", kept.Own.FieldOrigin)
	require.Equal(t, "de", kept.Own.Language)
	require.Equal(t, "desk@quayside.example", kept.Own.ReplyTo)
	require.Equal(t, "legal@quayside.example", kept.Own.NotifyEmail)
	b.signsOut()
	b.see("Countersign console")
	require.NotContains(t, b.text(), "Your session has ended")
	b.waitUntilStill()
}

// TestConsoleOfAViewer checks that the usage of a limited plan is displayed as a chart, and that a viewer can see the
// same data as other users but cannot change anything.
func TestConsoleOfAViewer(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Only seen", []object{{"name": "Ada Lovelace", "email": "seen@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	b := open(t, device{width: 390, height: 844, touch: true, dark: true})
	b.answers("/v1/console/usage", 200, `{"plan": "pro", "periodStart": "2026-11-01", "periodEnd": "2026-11-30", "envelopesUsed": 73, "envelopesLimit": 100, "overageAllowed": true}`)
	consoleUser(b, "viewer", "viewer")
	b.visit(svc.base + "/console#/envelopes/" + e.ID)
	b.see("Activity")
	require.NotContains(t, b.text(), "Send a new link")
	require.NotContains(t, b.text(), "Void envelope")
	b.accessible()
	b.visit(svc.base + "/console#/settings")
	b.see("Only administrators can change settings.")
	b.checked("console-settings-viewer")
	b.visit(svc.base + "/console#/usage")
	b.see("of 100 envelopes sent")
	b.checked("console-usage-pro")
	b.waitUntilStill()
}
