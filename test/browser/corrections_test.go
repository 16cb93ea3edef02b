package browser_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// named returns an expression for the button with the given accessible name.
func named(label string) string {
	return fmt.Sprintf(`document.querySelector("button[aria-label='%s']")`, label)
}

// linksTo returns the signing links emailed to an address, one per email.
func (s *service) linksTo(t *testing.T, email string) (links []string) {
	t.Helper()
	var list []struct{ Links []string }
	_, err := s.do(http.MethodGet, s.inbox+"/api/messages?to="+email, "", nil, &list)
	require.NoError(t, err)
	for _, m := range list {
		for _, l := range m.Links {
			if u, err := url.Parse(l); err == nil && strings.HasPrefix(u.Path, "/sign/") {
				links = append(links, l)
				break // the first link opens the page
			}
		}
	}
	return links
}

// TestConsoleCorrections checks that a sender can correct a sent envelope by replacing a signer, sending a new link,
// changing the deadline, and sending the copies again.
func TestConsoleCorrections(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "To be corrected", []object{
		{"name": "Ada Lovelace", "email": "before@example.com", "authMethod": "none", "routingOrder": 1},
		{"name": "Hedy Lamarr", "email": "second@example.com", "authMethod": "none", "routingOrder": 2},
	}, []object{
		{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 450, "w": 200, "h": 20}, {"signerId": "1", "type": "text", "page": 1, "x": 72, "y": 500, "w": 200, "h": 20},
	}, leaseDocument())
	_, err := svc.do(http.MethodGet, svc.base+signingPath(e.Signers[0].SigningURL), "", nil, nil)
	require.NoError(t, err, "the first person opens the link")
	b := open(t, desktop)
	consoleUser(b, "corrections", "support")
	b.visit(svc.base + "/console#/envelopes/" + e.ID)
	b.see("Activity")

	// Replace a signer with the keyboard only.
	b.until(`Boolean(` + named("Reassign Ada Lovelace") + `)`)
	eval[bool](b, `(`+named("Reassign Ada Lovelace")+`.focus(), true)`)
	b.keysOn(named("Reassign Ada Lovelace"), "\r")
	b.keysOn(`document.querySelector("#rname")`, " \t")
	b.keysOn(`document.querySelector("#rmail")`, "after@example.com\r")
	b.until(`document.querySelector("dialog[open] [role=alert]")?.textContent.startsWith("name ")`)
	require.Equal(t, "Ada Lovelace", svc.envelope(t, e.ID).Signers[0].Name)
	b.checked("console-replace-refused")
	b.fill("#rname", "Grace Hopper")
	b.fill("#rreason", "Ada has left the firm.")
	b.click(in(dialog, "Reassign"))
	b.see("Grace Hopper will sign instead of Ada Lovelace. An invitation was sent.")
	b.until(dialog + ` === null`)
	b.until(`document.querySelector(".before")?.textContent.includes("before@example.com")`)
	b.see("Ada has left the firm.")
	b.see("Sam Staff reassigned signing from Ada Lovelace to Grace Hopper")
	status, err := svc.do(http.MethodGet, svc.base+signingPath(e.Signers[0].SigningURL), "", nil, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusUnauthorized, status, "the previous person's link has become invalid")
	first := svc.invited(t, "after@example.com")
	// The previous signer's actions are still recorded under that signer's name.
	b.until(`[...document.querySelectorAll(".timeline li")].some((l) => l.textContent.includes("Ada Lovelace opened the envelope"))`)

	// A signer without an invitation can also be replaced. The new signer is invited in routing order.
	b.click(named("Reassign Hedy Lamarr"))
	b.fill("#rname", "Hedy Kiesler")
	b.fill("#rmail", "second@example.com")
	b.click(in(dialog, "Reassign"))
	b.see("Hedy Kiesler will sign instead of Hedy Lamarr.")
	b.checked("console-replaced")

	// Send a new link.
	b.click(named("Send a new link to Grace Hopper"))
	b.see("New link sent. The old link no longer works.")
	b.eventually("the new link arrives", func() bool { return len(svc.linksTo(t, "after@example.com")) == 2 })
	status, err = svc.do(http.MethodGet, svc.base+signingPath(first), "", nil, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	var link string
	for _, l := range svc.linksTo(t, "after@example.com") {
		if l != first {
			link = l
		}
	}

	// Change the deadline. A deadline in the past is rejected.
	deadline := func() *time.Time {
		var v struct{ ExpiresAt *time.Time }
		svc.json(t, http.MethodGet, "/v1/envelopes/"+e.ID, nil, &v)
		return v.ExpiresAt
	}
	before := deadline()
	require.NotNil(t, before)
	b.button("Change deadline")
	b.focused(`document.querySelector("#deadline")`)
	b.choice("#deadline", "2020-01-01T12:00")
	b.click(in(dialog, "Change"))
	b.until(`document.querySelector("dialog[open] [role=alert]")?.textContent.startsWith("The deadline must be within")`)
	require.Equal(t, before, deadline())
	wanted := before.AddDate(0, 1, 0).UTC().Truncate(time.Minute)
	b.choice("#deadline", eval[string](b, fmt.Sprintf(`(() => { const d = new Date(%q); return new Date(d - d.getTimezoneOffset() * 60000).toISOString().slice(0, 16); })()`, wanted.Format(time.RFC3339))))
	b.checked("console-deadline")
	b.click(in(dialog, "Change"))
	b.see("Deadline changed.")
	require.Equal(t, wanted, deadline().UTC())
	b.see("Sam Staff changed the deadline to ")
	b.button("Change deadline")
	b.click(`document.querySelector("dialog[open] input[type=checkbox]")`)
	b.click(in(dialog, "Change"))
	b.see("The envelope no longer has a deadline.")
	require.Nil(t, deadline())

	// Both signers sign, and the copies are sent again.
	svc.signByAPI(t, link, "From Monday")
	svc.signByAPI(t, svc.invited(t, "second@example.com"), "Agreed")
	svc.completed(t, e.ID)
	b.click(named("Send copies again to Grace Hopper"))
	b.see("Links to the sealed files are on their way to after@example.com.")
	b.see("Copy sent to Grace Hopper")
	require.NotContains(t, b.text(), "Change deadline")
	require.NotContains(t, b.text(), "Send a new link")
	b.checked("console-copies")
	for range 4 {
		svc.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/copies", object{"email": "after@example.com"}, nil)
	}
	b.click(named("Send copies again to Grace Hopper"))
	b.see("The files were sent to this address too many times. Please wait.")
	require.NotContains(t, eval[string](b, "document.documentElement.outerHTML"), "/sign/", "the page must not contain signing links")
	b.waitUntilStill()
}

// TestConsoleCorrectionsOfRoles checks that a sender can correct an envelope and a viewer cannot change anything.
func TestConsoleCorrectionsOfRoles(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Roles", []object{{"name": "Ada Lovelace", "email": "roles@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	for role, may := range map[string]bool{"sender": true, "viewer": false} {
		b := open(t, phone)
		consoleUser(b, "corrections-"+role, role)
		b.visit(svc.base + "/console#/envelopes/" + e.ID)
		b.see("Activity")
		b.see("Progress")
		for _, label := range []string{"Remind", "Correct email", "Reassign", "Send a new link", "Change deadline", "Void envelope"} {
			require.Equal(t, may, strings.Contains(b.text(), label), "%s: %s", role, label)
		}
		b.checked("console-corrections-" + role)
		b.waitUntilStill()
	}
}
