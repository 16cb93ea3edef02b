package browser_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/locales"
)

const (
	endpointsShown = `{"data": [
		{"id": "0197a1c2-0000-7000-8000-000000000021", "url": "https://app.example.com/hooks/countersign", "events": ["envelope.completed", "signer.signed"], "active": true, "createdAt": "2026-11-20T08:00:00Z", "signedWith": "secret",
			"failingSince": "2026-11-20T09:00:00Z", "lastError": "HTTP status 503", "disabledAt": null, "disabledReason": "", "previousSecretUntil": "2099-11-21T08:00:00Z"},
		{"id": "0197a1c2-0000-7000-8000-000000000022", "url": "https://old.example.com/hook", "events": ["envelope.completed"], "active": false, "createdAt": "2026-11-20T08:00:00Z", "signedWith": "client",
			"failingSince": null, "lastError": "", "disabledAt": "2026-11-20T09:00:00Z", "disabledReason": "gone", "previousSecretUntil": null}]}`
	deliveriesShown = `{"nextCursor": "next", "data": [{"id": "0197a1c2-0000-7000-8000-000000000031", "webhookId": "0197a1c2-0000-7000-8000-000000000021", "eventId": "0197a1c2-0000-7000-8000-000000000032",
		"envelopeId": "0197a1c2-0000-7000-8000-000000000033", "envelopeSubject": "Lease for flat 7", "event": "envelope.completed", "status": "failed", "attempts": 5, "resends": 0, "createdAt": "2026-11-20T08:00:00Z",
		"deliveredAt": null, "failedAt": "2026-11-20T09:00:00Z", "webhookUrl": "https://app.example.com/hooks/countersign"}]}`
)

// cutTexts returns the selected options and placeholders that are wider than their controls. Browsers do not report
// this as an overflow.
const cutTexts = `(() => {
	const pen = document.createElement("canvas").getContext("2d");
	return [...document.querySelectorAll("select, input[placeholder]")].filter((e) => e.checkVisibility()).filter((e) => {
		const style = getComputedStyle(e), list = e.matches("select");
		pen.font = style.font;
		const arrow = list ? 16 : 0;
		return pen.measureText(shown(e)).width > e.clientWidth - parseFloat(style.paddingInlineStart) - parseFloat(style.paddingInlineEnd) - arrow + 1;
	}).map(shown);
	function shown(e) { return e.matches("select") ? e.selectedOptions[0]?.text ?? "" : e.value ? "" : e.placeholder; }
})()`

// pageFits checks that the page is not wider than the screen, on a desktop and on a phone, and that no button label
// is truncated.
func (b *tab) pageFits(name string) {
	b.t.Helper()
	for _, width := range []int64{390, 1280} {
		b.size(width, b.device.height)
		b.settled()
		require.LessOrEqual(b.t, eval[int64](b, `document.documentElement.scrollWidth`), width, "%s at %d pixels", name, width)
		require.Empty(b.t, eval[[]string](b, cutTexts), "%s at %d pixels", name, width)
		require.Empty(b.t, eval[[]string](b, `[...document.querySelectorAll("button, .button, select")].filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent)`), "%s at %d pixels", name, width)
	}
	b.size(b.device.width, b.device.height)
}

// TestConsoleInOtherLanguages checks that the console uses the user's language and its text direction on every page
// that is available to an administrator.
func TestConsoleInOtherLanguages(t *testing.T) {
	t.Parallel()
	var templates struct{ Data []struct{ ID string } }
	bulk := svc.bulkSend(t, "Berths at pier 7")
	svc.json(t, http.MethodGet, "/v1/templates?q=Berths", nil, &templates)
	e := svc.create(t, "Mooring at pier 7", []object{{"name": "Ada Lovelace", "email": "speaks@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	for _, language := range []string{"de", "ar"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			texts := textsOf(t, "console.json", language)
			say := func(key string) string { return texts[key][0] }
			b := open(t, device{width: 1280, height: 860, language: language + "-XX"})
			b.answers("/v1/console/problems", http.StatusOK, problemsShown)
			b.answers("/v1/console/webhooks", http.StatusOK, endpointsShown)
			b.answers("/v1/console/webhook-deliveries", http.StatusOK, deliveriesShown)
			b.answers("/v1/console/usage", http.StatusOK, `{"plan": "pro", "periodStart": "2026-11-01", "periodEnd": "2026-11-30", "envelopesUsed": 4711, "envelopesLimit": 5000, "overageAllowed": false}`)
			b.visit(svc.base + "/console")
			b.see(say("password"))
			b.checked("console-" + language + "-login")
			consoleUser(b, "speaks-"+language, "admin")
			require.Equal(t, language, eval[string](b, "document.documentElement.lang"))
			require.Equal(t, locales.RightToLeft(language), eval[string](b, "document.documentElement.dir") == "rtl")
			for _, page := range []struct{ at, title string }{
				{"envelopes", "inboxWaiting"},
				{"envelopes/" + e.ID, "activity"},
				{"contacts", "contacts"},
				{"users", "users"},
				{"settings", "settings"},
				{"application", "application"},
				{"usage", "usage"},
				{"problems", "problems"},
				{"webhooks", "webhooks"},
				{"templates", "templates"},
				{"templates/" + templates.Data[0].ID, "roles"},
				{"templates/" + templates.Data[0].ID + "?use=1", "continueInBuilder"},
				{"bulk", "bulkSends"},
				{"bulk/" + bulk, "rowsPerMinute"},
				{"bulk/new?template=" + templates.Data[0].ID, "table"},
				{"account", "authenticatorApp"},
			} {
				b.visit(svc.base + "/console#/" + page.at)
				b.see(say(page.title))
				b.until(`document.querySelector(".spinner") === null`)
				b.requireTranslated("console.json", language)
				b.pageFits(page.at)
				b.checked(fmt.Sprintf("console-%s-%s", language, page.title))
			}
			b.visit(svc.base + "/console#/users")
			for _, dialog := range []string{"addUser"} {
				b.button(say(dialog))
				b.until(`document.querySelector("dialog[open]") !== null`)
				b.requireTranslated("console.json", language)
				b.checked(fmt.Sprintf("console-%s-%s", language, dialog))
				b.button(say("cancel"))
			}
			b.waitUntilStill()
		})
	}
}

// TestConsoleLanguageIsChosen checks that selecting another language takes effect immediately, keeps typed text, and
// survives a reload, including in the builder.
func TestConsoleLanguageIsChosen(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Workshop lease", twoPeople(), leaseDocument())
	b := open(t, desktop)
	consoleUser(b, "language", "admin")
	b.visit(svc.base + "/console#/settings")
	b.until(`document.querySelector("#senderName") !== null`)
	b.fill("#senderName", "Pier One")
	b.choice(".languages", "ar")
	b.see(textsOf(t, "console.json", "ar")["settings"][0])
	require.Equal(t, []string{"ar", "rtl", "Pier One"}, eval[[]string](b, `[document.documentElement.lang, document.documentElement.dir, document.querySelector("#senderName").value]`))
	b.visit(svc.base + "/console?again#/build/" + e.ID)
	b.until(`document.querySelector(".bpaint img") !== null && document.documentElement.lang === "ar" && document.documentElement.dir === "rtl"`)
	b.requireTranslated("builder.json", "ar")
	b.button(textsOf(t, "builder.json", "ar")["close"][0])
	b.until(`document.querySelector(".builder") === null && document.documentElement.lang === "ar"`)
	b.see("Workshop lease")
	b.choice(".languages", "en")
	b.until(`document.documentElement.dir === "ltr"`)
	b.see("Envelopes")
	b.waitUntilStill()
}
