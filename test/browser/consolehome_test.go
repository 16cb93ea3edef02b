package browser_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rowOf returns an expression for the row of an envelope on the console's home page.
func rowOf(subject string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".worklist tbody tr")].find((r) => r.querySelector(".what a").textContent === %q)`, subject)
}

// TestConsole_AnswersWithinTwoClicks checks that ten questions of a sender about a tenant with twenty envelopes in all
// states can be answered within two clicks each, starting from the home page.
func TestConsole_AnswersWithinTwoClicks(t *testing.T) {
	t.Parallel()
	const workspace = "morning"
	two := func(name string) []object {
		return []object{
			{"name": "Ada Lovelace", "email": "ada-" + name + "@morning.example", "authMethod": "none", "routingOrder": 1},
			{"name": "Bob Hill", "email": "bob-" + name + "@morning.example", "authMethod": "none", "routingOrder": 2},
		}
	}
	fields := func() []object {
		return []object{
			{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 450, "w": 200, "h": 20}, {"signerId": "1", "type": "text", "page": 1, "x": 72, "y": 500, "w": 200, "h": 20},
		}
	}
	sent := func(name string) envelope {
		return svc.createFor(t, workspace, name, two(name[:4]), fields(), leaseDocument())
	}
	opens := func(e envelope) {
		_, err := svc.do(http.MethodGet, svc.base+signingPath(e.Signers[0].SigningURL), "", nil, nil)
		require.NoError(t, err)
	}
	for i := range 6 {
		require.NoError(t, svc.app.call(nil, "create", object{"tenantId": workspace, "subject": fmt.Sprintf("Draft %d", i), "signers": two("draft")}, pdfFile{leaseDocument()}))
	}
	for i := range 6 {
		sent(fmt.Sprintf("Sent order %d", i))
	}
	var invited []envelope
	for i := range 3 {
		invited = append(invited, sent(fmt.Sprintf("Open order %d", i)))
	}
	require.Eventually(t, func() bool { return len(svc.linksTo(t, "ada-Open@morning.example")) == 3 }, waitTimeout, 200*time.Millisecond, "signers are invited before they open the envelope")
	for _, e := range invited {
		opens(e)
	}
	half := sent("Half signed")
	svc.signByAPI(t, half.Signers[0].SigningURL, "Agreed")
	declined := sent("Gone wrong")
	opens(declined)
	svc.signerPosts(t, signingPath(declined.Signers[0].SigningURL)+"/decline", object{"reason": "The rent is too high."})
	voided := sent("Void order")
	svc.json(t, http.MethodPost, "/v1/envelopes/"+voided.ID+"/void", object{"reason": "Sent twice."}, nil)
	urgent := sent("Urgent order")
	svc.json(t, http.MethodPatch, "/v1/envelopes/"+urgent.ID, object{"expiresAt": time.Now().Add(30 * time.Hour).UTC().Format(time.RFC3339)}, nil)
	done := sent("Done order")
	svc.signByAPI(t, done.Signers[0].SigningURL, "Agreed")
	svc.signByAPI(t, svc.invited(t, "bob-Done@morning.example"), "Agreed")
	svc.completed(t, done.ID)

	svc.createFor(t, workspace+"-other", "Elsewhere", two("else"), fields(), leaseDocument()) // the header offers a choice only between several workspaces

	b := open(t, desktop)
	consoleUser(b, "morning", "sender")
	b.until(`[...document.querySelectorAll("select.workspace option")].some((o) => o.value === "morning")`)
	b.choice("select.workspace", workspace)
	b.until(`document.querySelectorAll(".worklist tbody tr").length === 20`)
	b.checked("console-home")
	home := func() {
		b.t.Helper()
		b.visit(svc.base + "/console?again#/templates")
		b.visit(svc.base + "/console#/envelopes")
		b.until(`document.querySelectorAll(".worklist tbody tr").length === 20`) // the workspace is still selected
		b.countsClicks()
	}
	shows := func(subject, text string) {
		b.t.Helper()
		b.until(fmt.Sprintf(`(%s)?.innerText.includes(%q) ?? false`, rowOf(subject), text))
	}
	part := func(name string) {
		b.t.Helper()
		b.click(fmt.Sprintf(`[...document.querySelectorAll(".inbox button")].find((x) => x.textContent.startsWith(%q))`, name))
		b.until(`document.querySelectorAll(".worklist tbody tr").length < 20`)
	}
	opened := func(subject string) {
		b.t.Helper()
		b.click(rowOf(subject) + `.querySelector(".what a")`)
		b.see("Progress")
	}
	questions := []struct {
		question string
		answer   func()
	}{
		{"What needs me today?", func() { part("Action needed"); shows("Gone wrong", "declined"); shows("Urgent order", "tomorrow") }},
		{"Who declined, and why?", func() { part("Action needed"); opened("Gone wrong"); b.see("The rent is too high.") }},
		{"Which deadline is near?", func() { part("Action needed"); shows("Urgent order", "tomorrow") }},
		{"Whom does an envelope wait for?", func() {
			shows("Half signed", "Bob Hill")
			opened("Half signed")
			b.until(stateOf("Bob Hill", "Invited"))
		}},
		{"Did the customer open it?", func() { shows("Open order 1", "Ada Lovelace opened the envelope") }},
		{"How many are out?", func() {
			b.until(`[...document.querySelectorAll(".inbox button")].some((x) => x.textContent === "Waiting for others10")`)
		}},
		{"Where is the signed contract?", func() {
			part("Completed")
			opened("Done order")
			b.until(`Boolean(` + buttonOf("Download sealed document") + `)`)
		}},
		{"Which drafts are left?", func() { part("Drafts"); shows("Draft 4", "added a document") }},
		{"Who sent it?", func() { shows("Sent order 2", svc.appName(t)) }},
		{"Why was it voided?", func() { opened("Void order"); b.see("Sent twice.") }},
	}
	require.Len(t, questions, 10)
	for _, q := range questions {
		home()
		q.answer()
		clicks := eval[int](b, `window.clicked`)
		t.Logf("%d clicks: %s", clicks, q.question)
		require.LessOrEqual(t, clicks, 2, q.question)
	}

	// A filter is saved under a name.
	home()
	b.fill("#search", "Open order")
	b.until(`document.querySelectorAll(".worklist tbody tr").length === 3`)
	b.button("Save filters")
	b.fill("#filtername", "Opened")
	b.click(inDialog("Save"))
	b.until(`document.querySelector(".chip.on")?.textContent === "Opened"`)
	b.checked("console-saved-filter")

	// An action can be applied to several rows, and each row shows its result. A completed action is not repeated.
	home()
	pick := func(subjects ...string) {
		for _, s := range subjects {
			b.click(rowOf(s) + `.querySelector("input")`)
		}
	}
	pick("Sent order 0", "Sent order 1", "Draft 0", "Done order")
	b.see("4 selected")
	b.checked("console-selection")
	bar := func(label string) {
		b.click(fmt.Sprintf(`[...document.querySelectorAll(".selection > button")].find((x) => x.textContent === %q)`, label))
	}
	outcome := func(subject, text string) {
		b.t.Helper()
		b.until(fmt.Sprintf(`[...document.querySelectorAll(".outcomes li")].some((l) => l.textContent.includes(%q) && l.textContent.includes(%q))`, subject, text))
	}
	bar("Remind")
	b.see("Remind the recipients of 2 envelopes?")
	outcome("Draft 0", "Nobody is waiting to sign")
	b.checked("console-remind-several")
	b.dropResponse("/remind")
	b.click(inDialog("Remind"))
	outcome("Sent order 1", "Reminded Ada Lovelace")
	outcome("Sent order 0", "The service can't be reached.")
	b.checked("console-remind-half")
	b.click(inDialog("Retry 1"))
	outcome("Sent order 0", "Reminded Ada Lovelace")
	b.click(inDialog("Close"))
	for _, email := range []string{"ada-Sent@morning.example"} {
		b.eventually("each is reminded once", func() bool { return len(svc.linksTo(t, email)) == 8 }) // six invitations and two reminders
	}
	bar("Void")
	b.fill("#why", "No longer needed.")
	b.click(inDialog("Void"))
	outcome("Sent order 1", "Voided")
	outcome("Done order", "Not out for signature")
	b.click(inDialog("Close"))
	eval[bool](b, `(URL.createObjectURL = (blob) => { blob.arrayBuffer().then((a) => { window.file = new TextDecoder("latin1").decode(a); }); return "#"; }, true)`)
	bar("Download")
	b.click(inDialog("Download"))
	outcome("Done order", "1 document")
	b.until(`window.file?.startsWith("PK") && window.file.includes("Done order/") && window.file.includes("%PDF-")`)
	b.click(inDialog("Close"))
	eval[bool](b, `(window.file = null, true)`)
	bar("CSV")
	b.until(`window.file?.includes("Done order")`)
	b.waitUntilStill()
}

// appName returns the name of the tests' application.
func (s *service) appName(t *testing.T) string {
	t.Helper()
	var app struct{ Name string }
	s.json(t, http.MethodGet, "/v1/console/app", nil, &app)
	return app.Name
}
