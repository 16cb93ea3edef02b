package browser_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// freezes stops the polling of a console page, so that the page displays an outdated state until the user acts.
func (b *tab) freezes() {
	b.t.Helper()
	eval[bool](b, `(() => { const before = window.fetch; window.fetch = (...a) => (a[1]?.headers?.["Countersign-Background"] ? new Promise(() => {}) : before(...a)); return true; })()`)
}

// twoAtWork opens the page of an envelope for two console users.
func twoAtWork(t *testing.T, name, envelope string) (first, second *tab) {
	t.Helper()
	tabs := make([]*tab, 2)
	for i := range tabs {
		tabs[i] = open(t, desktop)
		consoleUser(tabs[i], fmt.Sprintf("%s-%d", name, i), "sender")
		tabs[i].freezes()
		tabs[i].visit(svc.base + "/console#/envelopes/" + envelope)
		tabs[i].see("Activity")
	}
	return tabs[0], tabs[1]
}

// TestTwoPeopleOnAnEnvelope checks that, if one user changes an envelope and another user then acts on it, the second
// user is informed and sees the current state. No action may be repeated, and no change may be overwritten.
func TestTwoPeopleOnAnEnvelope(t *testing.T) {
	t.Parallel()
	sent := func(name string) envelope {
		return svc.create(t, "Two at work: "+name, []object{{"name": "Ada Lovelace", "email": name + "-ada@example.com", "authMethod": "none"}},
			[]object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 450, "w": 200, "h": 20}}, leaseDocument())
	}
	voids := func(b *tab) {
		b.button("Void envelope")
		b.fill("#why", "The mill was sold.")
		b.click(in(dialog, "Void"))
	}

	// One user voids the envelope. The other user clicks Remind, corrects the address, and also voids the envelope.
	e := sent("voided")
	one, two := twoAtWork(t, "meanwhile-void", e.ID)
	voids(one)
	one.until(`document.querySelector(".head .badge")?.textContent === "voided"`)
	two.click(named("Remind Ada Lovelace"))
	two.see("The action wasn't performed because this envelope was closed in the meantime.")
	two.until(`document.querySelector(".head .badge")?.textContent === "voided" && !` + named("Remind Ada Lovelace"))
	two.see("The action wasn't performed because this envelope was closed in the meantime.") // the message remains, although the buttons have disappeared
	two.see("Sam Staff voided")
	two.until(`document.activeElement !== document.body`)
	two.checked("console-closed-meanwhile")
	require.Len(t, svc.mailsTo(t, "voided-ada@example.com"), 2, "the invitation, and the notice that the envelope has closed")

	e = sent("corrected")
	one, two = twoAtWork(t, "meanwhile-correct", e.ID)
	two.click(named("Correct email of Ada Lovelace"))
	two.fill("#cmail", "corrected-later@example.com")
	three := open(t, desktop)
	consoleUser(three, "meanwhile-correct-2", "sender")
	three.freezes()
	three.visit(svc.base + "/console#/envelopes/" + e.ID)
	three.button("Void envelope")
	voids(one)
	one.until(`document.querySelector(".head .badge")?.textContent === "voided"`)
	two.click(in(dialog, "Save"))
	two.until(`document.querySelector("dialog[open] [role=alert]")?.textContent.startsWith("The action wasn't performed because this envelope was closed in the meantime.")`)
	require.Equal(t, "corrected-later@example.com", eval[string](two, `document.querySelector("#cmail").value`))
	two.checked("console-correct-meanwhile")
	two.keys("\x1b")
	two.until(dialog + ` === null && document.querySelector(".head .badge")?.textContent === "voided"`)
	two.until(`document.activeElement !== document.body`)
	require.Empty(t, svc.mailsTo(t, "corrected-later@example.com"))
	three.click(in(dialog, "Void"))
	three.until(`document.querySelector("dialog[open] [role=alert]")?.textContent.startsWith("The action wasn't performed because this envelope was closed in the meantime.")`)

	// Both users correct the address. The second user sees the first user's change. An identical correction is not
	// repeated.
	e = sent("both")
	one, two = twoAtWork(t, "meanwhile-both", e.ID)
	for _, b := range []*tab{one, two} {
		b.click(named("Correct email of Ada Lovelace"))
	}
	one.fill("#cmail", "both-right@example.com")
	one.click(in(dialog, "Save"))
	one.see("Ada Lovelace's email was updated.")
	two.fill("#cmail", "both-other@example.com")
	two.click(in(dialog, "Save"))
	two.until(`document.querySelector("dialog[open] [role=alert]")?.textContent.includes("changed in the meantime to Ada Lovelace, both-right@example.com")`)
	two.checked("console-recipient-changed")
	two.fill("#cmail", "Both-Right@example.com")
	two.click(in(dialog, "Save"))
	two.until(dialog + ` === null`)
	two.see("both-right@example.com")
	svc.invited(t, "both-right@example.com")
	require.Empty(t, svc.mailsTo(t, "both-other@example.com"))
	require.Len(t, svc.mailsTo(t, "both-right@example.com"), 1)

	// A reminder is sent to the corrected address, and the page reports this.
	e = sent("reminded")
	one, two = twoAtWork(t, "meanwhile-remind", e.ID)
	one.click(named("Correct email of Ada Lovelace"))
	one.fill("#cmail", "reminded-right@example.com")
	one.click(in(dialog, "Save"))
	one.see("Ada Lovelace's email was updated.")
	two.click(named("Remind Ada Lovelace"))
	two.see("A reminder is on its way to reminded-right@example.com.")
	one.click(named("Remind Ada Lovelace"))
	one.see("This signer was reminded less than an hour ago. Please wait.")
	one.eventually("one reminder arrives", func() bool { return len(svc.mailsTo(t, "reminded-right@example.com")) == 2 })
	for _, b := range []*tab{one, two} {
		b.waitUntilStill()
	}
}

// TestTwoPeopleSendADraft checks that a draft that two users send is sent only once, and that the second user is
// informed.
func TestTwoPeopleSendADraft(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(b *tab){
		"unchanged": func(*tab) {},
		"edited":    func(b *tab) { b.fill("#smessage", "From the second.") },
	} {
		email := "two-send-" + name + "@example.com"
		e := svc.draft(t, "Sent by two, "+name, []object{{"name": "Ada Lovelace", "email": email, "authMethod": "none"}}, leaseDocument())
		svc.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/fields", object{"signerId": e.Signers[0].ID, "type": "signature", "page": 1, "x": 72, "y": 300, "w": 160, "h": 40}, nil)
		tabs := make([]*tab, 2)
		for i := range tabs {
			tabs[i] = open(t, desktop)
			consoleUser(tabs[i], fmt.Sprintf("two-send-%s-%d", name, i), "sender")
			tabs[i].visit(svc.base + "/console#/build/" + e.ID)
			tabs[i].until(`document.querySelector(".bpaint img") !== null`)
			tabs[i].button("Send …")
		}
		one, two := tabs[0], tabs[1]
		one.button("Send to 1 person")
		one.see("Activity")
		edit(two)
		two.button("Send to 1 person")
		two.see("This envelope was sent in the meantime. It was not sent twice, and it can no longer be edited.")
		two.until(dialog + ` === null`)
		two.checked("builder-sent-meanwhile-" + name)
		two.button("Continue")
		two.see("Activity")
		two.see("Sam Staff sent")
		svc.invited(t, email)
		require.Len(t, svc.mailsTo(t, email), 1)
		var sent struct{ Message string }
		svc.json(t, http.MethodGet, "/v1/envelopes/"+e.ID, nil, &sent)
		require.Empty(t, sent.Message)
		one.waitUntilStill()
		two.ignoreConflictErrors()
		two.waitUntilStill()
	}
}

// TestSendSheet_LostResponse cuts the connection after the service has sent the envelope. It checks that the send
// sheet says that the outcome is unknown, and that a retry displays the sent envelope without sending anything.
func TestSendSheet_LostResponse(t *testing.T) {
	t.Parallel()
	const email = "cut-off@example.com"
	e := svc.draft(t, "Cut off", []object{{"name": "Ada Lovelace", "email": email, "authMethod": "none"}}, leaseDocument())
	svc.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/fields", object{"signerId": e.Signers[0].ID, "type": "signature", "page": 1, "x": 72, "y": 300, "w": 160, "h": 40}, nil)
	b := open(t, phone)
	consoleUser(b, "cut-off", "sender")
	b.visit(svc.base + "/console#/build/" + e.ID)
	b.until(`document.querySelector(".bpaint img") !== null`)
	eval[bool](b, `(() => { const before = window.fetch; window.cut = false; window.sends = 0;
		window.fetch = async (...a) => { if (window.cut) throw new TypeError("cut off"); const sends = String(a[0]).endsWith("/send"); if (sends) window.sends++;
			const answer = await before(...a); if (sends) { window.cut = true; throw new TypeError("cut off"); } return answer; }; return true; })()`)
	b.button("Send …")
	b.fill("#smessage", "Please sign by Friday.")
	b.button("Send to 1 person")
	b.see("The service can't be reached, so the envelope may or may not have been sent. Try again: it is never sent twice.")
	require.Equal(t, "sent", svc.envelope(t, e.ID).Status)
	b.until(inWindow(`document.querySelector("dialog[open] [role=alert]")`))
	b.checked("builder-send-unanswered")
	b.button("Send to 1 person")
	b.see("Some changes couldn't be saved yet.") // the connection is still cut
	eval[bool](b, `(window.cut = false, true)`)
	b.button("Send to 1 person")
	b.see("Activity")
	require.Equal(t, 1, eval[int](b, `window.sends`))
	svc.invited(t, email)
	require.Len(t, svc.mailsTo(t, email), 1)
	b.waitUntilStill()
}
