package browser_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/stretchr/testify/require"

	"countersign/locales"
)

// pageTexts returns the messages of the signing page in the given language.
func pageTexts(t *testing.T, language string) map[string]any {
	t.Helper()
	raw, err := locales.Text(language, "pages.json")
	require.NoError(t, err)
	var texts map[string]any
	require.NoError(t, json.Unmarshal([]byte(raw), &texts))
	return texts
}

// TestLanguages checks the signing page in every language on the narrowest screen. Arabic and Hebrew are displayed
// from right to left. The consent is displayed and recorded in the language of the page.
func TestLanguages(t *testing.T) {
	t.Parallel()
	for i, language := range locales.Tags() {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			texts := pageTexts(t, language)
			consent, err := locales.Text(language, "consent.txt")
			require.NoError(t, err)
			consent = strings.FieldsFunc(consent, func(r rune) bool { return r == '.' || r == '。' })[0]
			dialect := map[string]string{"en": "en-GB", "de": "de-AT", "pt": "pt-BR"}[language]
			e := svc.create(t, "Aufbauvertrag für Łódź 東京", []object{{"name": "Ada Lovelace", "email": language + "@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
			b := open(t, device{width: 320, height: 640, touch: true, dark: i%2 == 1, language: cmp.Or(dialect, language)})
			b.visit(e.Signers[0].SigningURL)
			b.see(consent)
			require.Equal(t, locales.RightToLeft(language), eval[string](b, "document.documentElement.dir") == "rtl")
			b.accessible()
			b.shot("consent-320-" + language)
			b.click(`document.querySelector(".card button")`)
			b.see(texts["start"].(string))
			b.until(`document.querySelectorAll(".textLayer span").length > 10`)
			b.accessible()
			b.shot("read-320-" + language)
			b.click(`document.querySelector("#next")`)
			b.until(`document.activeElement?.classList.contains("initial")`)
			b.click(`document.querySelector("#next")`)
			b.until(`document.querySelector("dialog[open] .face span") !== null`)
			b.accessible()
			b.shot("adopt-320-" + language)
			for _, a := range svc.envelope(t, e.ID).AuditLog {
				if a.Event == "consent.given" {
					require.Equal(t, language, a.Detail["language"])
					require.Contains(t, a.Detail["version"], "-"+language)
				}
			}
			b.visit(svc.base + "/")
			b.see(texts["homeText"].(string))
			b.shot("home-320-" + language)
			if i == 0 {
				b.accessible()
			}
			b.visit(svc.base + "/no/such/page")
			b.see(texts["missingTitle"].(string))
			if i == 0 {
				b.accessible()
			}
			b.shot("missing-320-" + language)
			b.waitUntilStill()
		})
	}
}

// TestLanguageIsChosen checks that the language can be changed at any time, and that the text of the consent changes
// with it.
func TestLanguageIsChosen(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Chosen", []object{{"name": "Ada Lovelace", "email": "chosen@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.see("You are asked to sign electronically")
	b.choice(".languages", "fr")
	b.see("Il vous est demandé de signer")
	b.see("2026-11-fr")
	b.button("J’accepte")
	b.see("champs à remplir")
	log := svc.envelope(t, e.ID).AuditLog
	require.Condition(t, func() bool {
		for _, a := range log {
			if a.Event == "consent.given" && a.Detail["version"] == "2026-11-fr" {
				return true
			}
		}
		return false
	})
	b.visit(svc.base + "/")
	b.see("Des documents sont signés ici") // the language is remembered
	b.waitUntilStill()
}

// TestInvalidLinks_ExplainTheReason checks that, for each way in which a link can become invalid, a page explains the
// reason.
func TestInvalidLinks_ExplainTheReason(t *testing.T) {
	t.Parallel()
	one := func(email string) envelope {
		return svc.create(t, "Ends", []object{{"name": "Ada", "email": email, "authMethod": "none"}, {"name": "Bob", "email": "b-" + email, "authMethod": "none"}},
			[]object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 500, "w": 100, "h": 20}, {"signerId": "1", "type": "text", "page": 1, "x": 72, "y": 600, "w": 100, "h": 20}}, leaseDocument())
	}
	b := open(t, device{width: 320, height: 700, touch: true, dark: true})
	b.visit(svc.base + "/sign/nonsense")
	b.see("This link doesn't work")
	b.checked("invalid")

	e := one("void@example.com")
	b.visit(e.Signers[0].SigningURL)
	b.see("Sign electronically")
	svc.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/void", object{"reason": "mistake"}, nil)
	b.button("I agree") // the page was opened before the envelope was voided
	b.see("This request was canceled by the sender")
	b.checked("voided")
	b.visit(e.Signers[0].SigningURL)
	b.see("This request was canceled by the sender")

	e = one("decline@example.com")
	b.visit(e.Signers[0].SigningURL)
	b.button("Decline to sign")
	b.see("Decline to sign?")
	b.fill("#reason", "The rent is too high.")
	b.checked("decline")
	b.button("Decline")
	b.see("You declined")
	b.checked("declined")
	b.visit(e.Signers[1].SigningURL)
	b.see("This request is closed")
	b.checked("other-declined")
	fresh := open(t, desktop)
	fresh.visit(e.Signers[0].SigningURL)
	fresh.see("You declined")
	fresh.see("Declined at")
	fresh.checked("used")
	fresh.waitUntilStill()
}

// TestRareEndings_ExplainTheReason checks the pages for endings that would take weeks to occur or require a broken
// service. Each page receives a prepared response.
func TestRareEndings_ExplainTheReason(t *testing.T) {
	t.Parallel()
	rejection := func(code, message string) string {
		return fmt.Sprintf(`{"error": %q, "message": %q, "errors": {}}`, code, message)
	}
	const sign, embed, download = "/v1/signing/x", "/v1/embedded/sessions/x", "/v1/download/x"
	for _, c := range []struct {
		name, page, call string
		status           int
		body, see        string
	}{
		{"expired", "/sign/x", sign, 401, rejection("signing_link_expired", "This signing link has expired."), "This request has expired"},
		{"envelope-expired", "/sign/x", sign, 401, rejection("signing_link_closed", "This signing link is no longer valid: the envelope is expired."), "This request has expired"},
		{"completed", "/sign/x", sign, 401, rejection("signing_link_closed", "This signing link is no longer valid: the envelope is completed."), "Everyone has signed"},
		{"not-yet", "/sign/x", sign, 401, rejection("signer_pending", "It is not this signer's turn."), "It's not your turn yet"},
		{"busy", "/sign/x", sign, 429, rejection("rate_limited", "Too many requests."), "Too many requests"},
		{"down", "/sign/x", sign, 503, "", "No connection to the service"},
		{"embed-expired", "/embed/x", embed, 401, rejection("session_expired", "This embedded session has expired."), "Link expired"},
		{"embed-invalid", "/embed/x", embed, 401, rejection("session_invalid", "This embedded session is not valid."), "Invalid link"},
		{"embed-used", "/embed/x", embed, 410, rejection("session_completed", "This signer has already signed or declined."), "You already responded"},
		{"download-invalid", "/download/x", download, 401, rejection("download_link_invalid", "This download link is not valid or has expired."), "This link doesn't work"},
		{"purged", "/download/x", download, 410, rejection("document_purged", "The document was deleted at the end of its retention period."), "This document was deleted"},
		{"download-down", "/download/x", download, 500, "", "No connection to the service"},
		{"download-unavailable", "/download/x", download, 200, `{"available": false, "name": "lease.pdf", "size": 1000, "sha256": "00", "completedAt": null, "expiresAt": null}`, "The file isn't available right now."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, device{width: 320, height: 700, touch: true})
			b.answers(c.call, c.status, c.body)
			b.visit(svc.base + c.page)
			b.see(c.see)
			require.True(t, eval[bool](b, `document.querySelector("a[download]") === null`))
			b.checked(c.name)
			b.waitUntilStill()
		})
	}
}

// TestOffline checks that the page reports a lost connection, keeps the entries, and continues when the connection is
// restored.
func TestOffline(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Offline", []object{{"name": "Ada Lovelace", "email": "offline@example.com", "authMethod": "none"}}, leaseFields()[2:3], leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.see("Sign electronically")
	offline := func(now bool) {
		call(b, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: now, DownloadThroughput: -1, UploadThroughput: -1})
		call(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{
			{URLPattern: "", DownloadThroughput: -1, UploadThroughput: -1, Offline: now},
		}})
	}
	offline(true)
	b.see("You're offline")
	b.checked("offline-consent")
	b.button("I agree")
	b.until(`document.querySelector(".card .notice.bad:not(:empty)") !== null`)
	b.see("You're offline. Your entries are saved")
	offline(false)
	b.until(`document.querySelector(".banner") === null`)
	b.button("I agree")
	b.see("field left")
	b.until(`document.querySelectorAll(".textLayer span").length > 10`)
	b.click(`document.querySelector("#next")`)
	b.write(entry, "Kept words")
	b.see("All fields completed")
	b.read()
	offline(true)
	b.see("You're offline")
	b.checked("offline")
	b.button("Review and sign")
	b.button("Sign")
	b.until(`document.querySelector("dialog[open] .notice.bad p") !== null`)
	b.checked("offline-sign")
	offline(false)
	b.button("Sign")
	b.see("You signed")
	svc.completed(t, e.ID)
}

// TestPage_ShowsOutcomeOfAnotherTab checks that the page displays the outcome after the signer has signed or declined
// in another tab, or after the response to the signer's own action was lost.
func TestPage_ShowsOutcomeOfAnotherTab(t *testing.T) {
	t.Parallel()
	one := func(email string) envelope {
		return svc.create(t, "Answered", []object{{"name": "Ada", "email": email, "authMethod": "none", "allowDelegation": true}, {"name": "Bob", "email": "b-" + email, "authMethod": "none"}},
			[]object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 500, "w": 100, "h": 20}}, leaseDocument())
	}
	b := open(t, device{width: 390, height: 844, touch: true, language: "de"})
	e := one("decline-lost@example.com")
	b.visit(e.Signers[0].SigningURL)
	b.button("Ablehnen")
	b.dropResponse("/decline")
	b.button("Ablehnen")
	b.until(`document.querySelector("dialog[open] .notice.bad:not(:empty)") !== null`)
	b.button("Ablehnen")
	b.see("Sie haben abgelehnt")
	b.checked("declined-lost")
	b.waitUntilStill()

	for _, what := range []string{"decline", "delegate"} {
		e = one(what + "-other@example.com")
		b.visit(e.Signers[0].SigningURL)
		b.button(map[string]string{"decline": "Ablehnen", "delegate": "Jemand anderem übertragen"}[what])
		svc.signByAPI(t, e.Signers[0].SigningURL, "Elsewhere")
		if what == "decline" {
			b.button("Ablehnen")
		} else {
			b.fill("#delegate-name", "Grace Hopper")
			b.fill("#delegate-email", "grace@example.com")
			b.click(`document.querySelector("dialog[open] form .end button:last-child")`)
		}
		b.see("Sie haben unterschrieben")
		require.NotContains(t, b.text(), "This signer")
	}

	// The signer has not entered a code in this tab yet when they sign in another tab.
	code := svc.create(t, "Answered", []object{{"name": "Ada", "email": "answered-code@example.com"}, {"name": "Bob", "email": "b-answered-code@example.com", "authMethod": "none"}},
		leaseFields()[2:3], leaseDocument())
	other := open(t, desktop)
	b.visit(code.Signers[0].SigningURL)
	other.visit(code.Signers[0].SigningURL)
	identified(other, "answered-code@example.com")
	other.button("I agree")
	other.button("Start")
	other.write(entry, "Here")
	other.read()
	other.button("Review and sign")
	other.button("Sign")
	other.see("You signed")
	b.click(`document.querySelector(".card button")`)
	b.see("Sie haben unterschrieben")
	b.waitUntilStill()
}
