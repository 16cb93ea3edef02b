package browser_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// endsSessions ends all sessions of a console user at the service.
func (s *service) endsSessions(t *testing.T, email string) {
	t.Helper()
	var users struct{ Data []struct{ ID, Email string } }
	s.json(t, http.MethodGet, "/v1/console/users", nil, &users)
	for _, u := range users.Data {
		if u.Email == email {
			s.json(t, http.MethodDelete, "/v1/console/users/"+u.ID+"/sessions", nil, nil)
			return
		}
	}
	require.FailNow(t, "no user "+email)
}

// signIn is the sign-in dialog that covers the page when the user's session has ended.
const signIn = `document.querySelector("dialog.required[open]")`

// entersAgain signs in again with the keyboard, on a page whose session has ended.
func (b *tab) entersAgain() {
	b.t.Helper()
	b.see("Your session has ended. Sign in again to continue. What you entered on the page is kept.")
	b.focused(`document.querySelector("#password")`)
	b.keys("\x1b") // Escape does not close the dialog
	b.keys("\x1b")
	b.write(`document.querySelector("#password")`, "a long password")
	b.keys("\r")
	b.until(signIn + ` === null`)
}

// TestSessionEndsInAForm checks that a user whose session ends while they fill in a form can sign in again on the same
// page. The form must be unchanged, and must be submitted only once.
func TestSessionEndsInAForm(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "A session ends", []object{{"name": "Ada Lovelace", "email": "session-before@example.com", "authMethod": "none"}},
		[]object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 450, "w": 200, "h": 20}}, leaseDocument())
	b := open(t, desktop)
	consoleUser(b, "session-form", "sender")
	b.visit(svc.base + "/console#/envelopes/" + e.ID)
	b.click(named("Correct email of Ada Lovelace"))
	b.fill("#cmail", "session-after@example.com")
	svc.endsSessions(t, "session-form@staff.example")
	b.click(in(dialog, "Save"))
	b.until(`Boolean(` + signIn + `)`)
	require.False(t, eval[bool](b, `document.elementFromPoint(10, 10).closest(".console") !== null`), "the page must be covered")
	b.checked("console-session-ended")
	b.entersAgain()
	b.until(`document.querySelector("dialog[open] [role=alert]")?.textContent === "Your session ended, so the action wasn't completed. Try again."`)
	b.focused(in(dialog, "Save"))
	require.Equal(t, "session-after@example.com", eval[string](b, `document.querySelector("#cmail").value`))
	require.Equal(t, "session-before@example.com", svc.envelope(t, e.ID).Signers[0].Email)
	b.checked("console-session-again")
	b.click(in(dialog, "Save"))
	b.see("Ada Lovelace's email was updated.")
	svc.invited(t, "session-after@example.com")
	require.Len(t, svc.mailsTo(t, "session-after@example.com"), 1)

	// Test the form for a new envelope, with files and recipients.
	b.visit(svc.base + "/console#/envelopes")
	b.button("New envelope")
	b.choose("#newfiles", "kept.pdf", leaseDocument())
	b.fill("#newname", "Grace Hopper")
	b.fill("#newemail", "session-grace@example.com")
	svc.endsSessions(t, "session-form@staff.example")
	b.button("Continue")
	b.entersAgain()
	require.Equal(t, []string{"kept", "Grace Hopper", "session-grace@example.com"}, eval[[]string](b, `["#newsubject", "#newname", "#newemail"].map((s) => document.querySelector(s).value)`))
	b.button("Continue")
	b.until(`document.querySelector(".bpaint img") !== null`)
	id := eval[string](b, `location.hash.split("/")[2]`)

	// Test the builder and its send sheet.
	b.button("Signature")
	b.press(1, 200, 300)
	b.saved()
	b.button("Send …")
	b.fill("#smessage", "Please sign by Friday.")
	svc.endsSessions(t, "session-form@staff.example")
	b.button("Send to 1 person")
	b.entersAgain()
	require.Equal(t, "Please sign by Friday.", eval[string](b, `document.querySelector("#smessage").value`))
	require.Equal(t, "draft", svc.envelope(t, id).Status)
	b.saved()
	b.button("Send to 1 person")
	b.see("Activity")
	svc.invited(t, "session-grace@example.com")
	require.Len(t, svc.mailsTo(t, "session-grace@example.com"), 1)
	var sent struct{ Message string }
	svc.json(t, http.MethodGet, "/v1/envelopes/"+id, nil, &sent)
	require.Equal(t, "Please sign by Friday.", sent.Message)
	b.waitUntilStill()
}

// TestSessionEndsForAnother checks that a user who signs in on a page where another user's session has ended does not
// see that user's work.
func TestSessionEndsForAnother(t *testing.T) {
	t.Parallel()
	other := open(t, desktop)
	consoleUser(other, "session-two", "sender")
	b := open(t, desktop)
	consoleUser(b, "session-one", "sender")
	b.button("New envelope")
	b.fill("#newname", "Grace Hopper")
	svc.endsSessions(t, "session-one@staff.example")
	b.keys(", of session-one") // a request for suggestions, or an earlier request, detects the end of the session
	b.until(`Boolean(` + signIn + `)`)
	b.fill("#email", "session-two@staff.example")
	b.fill("#password", "a long password")
	b.keys("\r")
	b.until(signIn + ` === null && ` + dialog + ` === null`)
	b.signedIn()
	require.NotContains(t, eval[string](b, `[...document.querySelectorAll("input")].map((x) => x.value).join()`), "Grace")
	b.waitUntilStill()
}
