package browser_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestConsole_WorkOfASender performs all of a sender's work in the console. One envelope is created from a file,
// prepared, sent, tracked, corrected, signed and downloaded. Another one is created from a template and voided, and a
// bulk send is created from a table. The signers use the links in their emails.
func TestConsole_WorkOfASender(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	consoleUser(b, "walk", "sender")
	for _, section := range []string{"users", "application"} {
		require.False(t, eval[bool](b, `document.querySelector("nav a[href='#/`+section+`']") !== null`), "senders must not see %s", section)
	}
	b.visit(svc.base + "/console#/settings")
	b.see("administrators can change settings.")
	b.visit(svc.base + "/console#/webhooks")
	b.see("Deliveries")
	require.False(t, eval[bool](b, `Boolean(`+buttonOf("Add endpoint")+`)`))

	// Create an envelope from a file. Two people sign one after the other, and a third person receives a copy.
	b.visit(svc.base + "/console#/envelopes")
	b.button("New envelope")
	b.choose("#newfiles", "walk.pdf", leaseDocument())
	b.until(`document.querySelector("#newsubject")?.value === "walk"`)
	b.fill("#newsubject", "A sender's walk")
	b.fill("#newname", "Ada Lovelace")
	b.fill("#newemail", "walk-ada@example.com")
	b.button("Continue")
	b.until(`document.querySelector(".bpaint img") !== null`)
	id := eval[string](b, `location.hash.split("/")[2]`)
	b.click(`document.querySelector('[aria-label="Edit Ada Lovelace"]')`)
	b.choice("#rauth", "none")
	b.click(inDialog("Save"))
	b.until(dialog + ` === null`)
	b.button("Text")
	b.press(1, 200, 500)
	b.saved()
	add := func(name, email, kind string) {
		b.t.Helper()
		b.button("Add")
		b.fill("#rname", name)
		b.fill("#remail", email)
		b.choice("#rkind", kind)
		if kind != "copy" {
			b.choice("#rauth", "none")
		}
		b.click(inDialog("Add"))
		b.until(dialog + ` === null`)
	}
	add("Hedy Lamarr", "walk-wrong@example.com", "signer")
	b.button("Text")
	b.press(1, 200, 600)
	b.saved()
	add("Cora Copy", "walk-copy-wrong@example.com", "copy")
	b.button("Send …")
	b.see("Send for signature")
	b.checked("console-send")
	b.button("Send to 2 people")
	b.see("Activity")
	b.until(stateOf("Ada Lovelace", "Invited"))

	// Send a reminder, replace a signer, and extend the deadline.
	first := svc.invited(t, "walk-ada@example.com")
	b.click(named("Remind Ada Lovelace"))
	b.see("A reminder is on its way to walk-ada@example.com.")
	b.eventually("the reminder arrives", func() bool { return len(svc.linksTo(t, "walk-ada@example.com")) == 2 })
	before := svc.linksTo(t, "walk-ada@example.com")
	for _, l := range before {
		status, err := svc.do(http.MethodGet, svc.base+signingPath(l), "", nil, nil)
		require.NoError(t, err, "both links must work")
		require.Equal(t, http.StatusOK, status)
	}
	b.see("Reminder sent")
	b.click(named("Remind Ada Lovelace"))
	b.see("This signer was reminded less than an hour ago. Please wait.")
	b.checked("console-reminded")
	b.click(named("Send a new link to Ada Lovelace"))
	b.see("New link sent. The old link no longer works.")
	b.eventually("the new link arrives", func() bool { return len(svc.linksTo(t, "walk-ada@example.com")) == 3 })
	status, err := svc.do(http.MethodGet, svc.base+signingPath(first), "", nil, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	b.click(named("Correct email of Hedy Lamarr"))
	b.checked("console-correct-email")
	b.fill("#cmail", "walk-hedy@example.com")
	b.click(in(dialog, "Save"))
	b.see("Hedy Lamarr's email was updated.")
	b.click(named("Replace Cora Copy"))
	b.see("We'll send the files to the new address when everyone has signed.")
	b.checked("console-replace-copy")
	b.fill("#rname", "Cora Copy")
	b.fill("#rmail", "walk-cora@example.com")
	b.click(in(dialog, "Replace"))
	b.see("Cora Copy will receive the copy instead of Cora Copy")
	b.until(`[...document.querySelectorAll(".before")].filter((x) => /walk-(copy-)?wrong@/.test(x.textContent)).length === 2`)
	deadline := func() time.Time {
		var e struct{ ExpiresAt time.Time }
		svc.json(t, http.MethodGet, "/v1/envelopes/"+id, nil, &e)
		return e.ExpiresAt.UTC()
	}
	wanted := deadline().AddDate(0, 1, 0).Truncate(time.Minute)
	b.button("Change deadline")
	b.choice("#deadline", eval[string](b, `(() => { const d = new Date("`+wanted.Format(time.RFC3339)+`"); return new Date(d - d.getTimezoneOffset() * 60000).toISOString().slice(0, 16); })()`))
	b.click(in(dialog, "Change"))
	b.see("Deadline changed.")
	require.Equal(t, wanted, deadline())

	// Both signers sign. The page updates automatically, and the sealed file appears.
	for _, l := range svc.linksTo(t, "walk-ada@example.com") {
		if !slices.Contains(before, l) {
			svc.signByAPI(t, l, "From Monday")
		}
	}
	b.until(stateOf("Hedy Lamarr", "Invited"))
	svc.signByAPI(t, svc.invited(t, "walk-hedy@example.com"), "Agreed")
	b.until(`document.querySelector(".head .badge")?.textContent === "completed"`)
	b.click(named("Send copies again to Cora Copy"))
	b.see("Links to the sealed files are on their way to walk-cora@example.com.")
	b.eventually("the copy arrives again", func() bool { return len(svc.mailsTo(t, "walk-cora@example.com")) >= 2 })
	require.Empty(t, svc.linksTo(t, "walk-wrong@example.com"))
	b.checked("console-completed")
	for _, gone := range []string{"Change deadline", "Void envelope", "Reassign", "Copy link", "Send a new link"} {
		require.NotContains(t, b.text(), gone, "the envelope has ended")
	}
	eval[bool](b, `(URL.createObjectURL = (blob) => { if (blob.type === "application/pdf") new Response(blob).arrayBuffer().then((a) => { window.file = btoa([...new Uint8Array(a)].map((x) => String.fromCharCode(x)).join("")); }); return "#"; }, true)`)
	b.click(`[...document.querySelectorAll(".plainlist li")].find((l) => l.querySelector(".badge")?.textContent === "sealed").querySelector("button")`)
	b.until(`Boolean(window.file)`)
	file, err := base64.StdEncoding.DecodeString(eval[string](b, `window.file`))
	require.NoError(t, err)
	require.Equal(t, svc.completed(t, id), file, "the download must be the sealed file")

	// Create an envelope from a template, and void it.
	template := svc.templateOf(t, "A sender's template")
	b.visit(svc.base + "/console#/templates/" + template)
	b.button("New envelope")
	for i, who := range []string{"ada", "grace"} {
		n := string(rune('0' + i))
		b.fill("#pname"+n, who)
		b.fill("#pmail"+n, "walk-template-"+who+"@example.com")
	}
	b.click(inDialog("Send"))
	b.see("Activity")
	link := svc.invited(t, "walk-template-ada@example.com")
	b.button("Void envelope")
	b.fill("#why", "The mill was sold.")
	b.click(in(dialog, "Void"))
	b.until(`document.querySelector(".head .badge")?.textContent === "voided"`)
	status, err = svc.do(http.MethodGet, svc.base+signingPath(link), "", nil, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusUnauthorized, status, "the link has become invalid")

	// Create a bulk send from a table.
	b.visit(svc.base + "/console#/bulk/new?template=" + template)
	b.see("Tenant.name, Tenant.email")
	b.choose("#btable", "many.csv", []byte("Tenant.name,Tenant.email,Landlord.name,Landlord.email\r\nAda,walk-row-1@example.com,Grace,grace@example.com\r\nBo,walk-row-2@example.com,Grace,grace@example.com\r\n"))
	b.see("2 rows are valid.")
	b.button("Send 2 envelopes")
	b.see("2 of 2 rows are done.")
	for _, email := range []string{"walk-row-1@example.com", "walk-row-2@example.com"} {
		svc.invited(t, email)
	}
	b.waitUntilStill()
}

// stateOf returns an expression that is true if the envelope's page shows a recipient in the given state.
func stateOf(name, state string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".steps .people li")].some((x) => x.textContent.includes(%q) && x.textContent.includes(%q))`, name, state)
}

// mailsTo returns the subjects of the emails to an address.
func (s *service) mailsTo(t *testing.T, email string) (subjects []string) {
	t.Helper()
	var list []struct{ Subject string }
	_, err := s.do(http.MethodGet, s.inbox+"/api/messages?to="+email, "", nil, &list)
	require.NoError(t, err)
	for _, m := range list {
		subjects = append(subjects, m.Subject)
	}
	return subjects
}
