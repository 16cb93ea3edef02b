package browser_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/locales"
	"countersign/models"
)

// row returns an expression for the table row that contains the given text.
func row(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("tbody tr")].find((r) => r.textContent.includes(%q))`, text)
}

// in returns an expression for the button with the given label inside the element that another expression returns.
func in(find, label string) string {
	return fmt.Sprintf(`[...(%s).querySelectorAll("button")].find((x) => x.textContent === %q && !x.disabled && x.ariaDisabled !== "true")`, find, label)
}

const dialog = `document.querySelector("dialog[open]")`

// pick selects an option in the select element of a table row.
func (b *tab) pick(find, value string) {
	b.t.Helper()
	b.until(`Boolean(` + find + `)`)
	eval[bool](b, fmt.Sprintf(`((s) => { s.value = %q; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })((%s).querySelector("select"))`, value, find))
	b.until(`Boolean(` + dialog + `)`)
}

func TestConsoleUsers(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	consoleUser(b, "boss", "admin")
	b.visit(svc.base + "/console#/users")
	b.see("boss@staff.example")
	b.titled("Users – Countersign console")
	b.button("Add a user")
	b.fill("#nname", "Hedy Lamarr")
	b.fill("#nmail", "hedy@staff.example")
	b.fill("#npass", "short words")
	b.choice("#nrole", "sender")
	b.checked("console-user-new")
	b.click(in(dialog, "Add"))
	b.see("Hedy Lamarr can sign in.")
	hedy := row("hedy@staff.example")
	b.until(`(` + hedy + `).textContent.includes("sender")`)
	b.see("not signed in")
	b.checked("console-users")

	signIn := func(password string) int {
		status, _ := svc.do(http.MethodPost, svc.base+"/v1/console/login", "application/json", strings.NewReader(fmt.Sprintf(`{"email": "hedy@staff.example", "password": %q}`, password)), nil)
		return status
	}
	require.Equal(t, 200, signIn("short words"))
	b.pick(hedy, "role")
	b.choice("#urole", "viewer")
	b.checked("console-user-role")
	b.click(in(dialog, "Save"))
	b.see("Hedy Lamarr is now viewer.")
	b.until(`(` + hedy + `).textContent.includes("viewer")`)
	b.pick(hedy, "password")
	b.fill("#upass", "password12")
	b.click(in(dialog, "Set password"))
	b.until(`document.querySelector("dialog .notice.bad") !== null`) // the password is one of the most common ones
	b.fill("#upass", "frequency hopping")
	b.click(in(dialog, "Set password"))
	b.see("Hedy Lamarr has a new password and is signed out.")
	require.Equal(t, 401, signIn("short words"))
	require.Equal(t, 200, signIn("frequency hopping"))
	b.pick(hedy, "sessions")
	b.click(in(dialog, "Sign out"))
	b.see("Hedy Lamarr was signed out everywhere.")
	b.pick(hedy, "disable")
	b.checked("console-user-disable")
	b.click(in(dialog, "Disable"))
	b.see("Hedy Lamarr can no longer sign in.")
	b.until(`!(` + hedy + `)`)
	require.Equal(t, 401, signIn("frequency hopping"))
	require.False(t, eval[bool](b, `Boolean((`+row("boss@staff.example")+`).querySelector("select"))`), "users cannot change their own row")
	b.waitUntilStill()
}

func TestConsoleApplication(t *testing.T) {
	t.Parallel()
	var made struct{ ClientID, ClientSecret string }
	b := open(t, desktop)
	consoleUser(b, "app", "admin")
	b.visit(svc.base + "/console#/application")
	b.see("Client secrets")
	b.fill("#contact", "nonsense@")
	b.button("Save")
	b.until(`document.querySelector(".told.bad") !== null`)
	b.fill("#contact", "ops@demo.example")
	b.button("Save")
	b.see("Saved.")
	var app struct{ ID, Contact string }
	svc.json(t, http.MethodGet, "/v1/console/app", nil, &app)
	require.Equal(t, "ops@demo.example", app.Contact)
	b.checked("console-application")

	secrets := eval[int](b, `document.querySelectorAll("tbody tr").length`)
	b.button("Create new secret")
	b.fill("#proof", "not the password")
	b.click(in(dialog, "Create secret"))
	b.until(`document.querySelector("dialog .notice.bad") !== null`)
	b.fill("#proof", "a long password")
	b.checked("console-secret-new")
	b.doubleClick(in(dialog, "Create secret"))
	b.see("This is the new client secret.")
	b.checked("console-secret-once")
	made.ClientID, made.ClientSecret = svc.client, eval[string](b, `document.querySelector(".secret").textContent`)
	token := func(secret string) int {
		form := url.Values{"grant_type": {"client_credentials"}, "client_id": {made.ClientID}, "client_secret": {secret}}
		status, _ := svc.do(http.MethodPost, svc.base+"/oauth/token", "application/x-www-form-urlencoded", strings.NewReader(form.Encode()), nil)
		return status
	}
	require.Equal(t, 200, token(made.ClientSecret))
	require.Equal(t, 200, token(svc.secret), "the previous secret stays valid for some time")
	b.button("I've stored the secret")
	b.until(`document.querySelector(".secret") === null`)
	b.visit(svc.base + "/console#/usage")
	b.visit(svc.base + "/console#/application")
	b.see("newest")
	require.NotContains(t, eval[string](b, "document.documentElement.outerHTML"), made.ClientSecret)
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll("tbody .badge.good").length`))
	require.Equal(t, secrets+1, eval[int](b, `document.querySelectorAll("tbody tr").length`), "a double click creates one user")
	b.waitUntilStill()
}

// TestConsoleEndpoints checks that an administrator can register, edit and delete an endpoint and rotate its secret,
// and that deliveries are signed with the displayed secret.
func TestConsoleEndpoints(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var signatures []string
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		signatures = append(signatures, r.Header.Get("X-Service-Signature"))
	}))
	defer sink.Close()
	arrived := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(signatures)
	}
	b := open(t, desktop)
	consoleUser(b, "endpoints", "admin")
	b.visit(svc.base + "/console#/webhooks")
	b.button("Add endpoint")
	b.fill("#hookurl", "https://user:secret@example.com/")
	b.click(in(dialog, "Add"))
	b.until(`document.querySelector("dialog .notice.bad") !== null`)
	b.fill("#hookurl", sink.URL+"/one")
	var offered []string
	for _, event := range models.WebhookEvents {
		offered = append(offered, string(event))
	}
	require.Equal(t, strings.Join(offered, " "), eval[string](b, `[...document.querySelectorAll("dialog[open] .ticks label")].map((l) => l.textContent.trim()).join(" ")`))
	b.checked("console-endpoint-new")
	b.click(in(dialog, "Add"))
	b.see("This is the endpoint's secret.")
	require.Regexp(t, `^whsec_.{40,}`, eval[string](b, `document.querySelector(".secret").textContent`))
	b.button("I've stored the secret")
	card := func(path string) string {
		return fmt.Sprintf(`document.querySelector("section[aria-label='%s%s']")`, sink.URL, path)
	}
	b.until(`Boolean(` + card("/one") + `)`)
	// Consider only this endpoint's card, because other tests register endpoints at the same time.
	buttons := `((c) => JSON.stringify([...c.querySelectorAll("button")].map((x) => [x.textContent, x.getBoundingClientRect().x, x.getBoundingClientRect().y - c.getBoundingClientRect().y])))(` + card("/one") + `)`
	before := eval[string](b, buttons)
	b.click(in(card("/one"), "Resend deliveries that failed in the last 24 hours"))
	b.see("No deliveries failed in the last 24 hours.")
	b.click(in(card("/one"), "Send a ping"))
	b.eventually("the ping arrives", func() bool { return arrived() == 1 })
	b.see("Ping sent.")
	require.Equal(t, before, eval[string](b, buttons), "buttons must not move when results are shown")
	b.focused(in(card("/one"), "Send a ping")) // the remaining button keeps the focus
	b.click(in(card("/one"), "Edit"))
	b.fill("#hookurl", sink.URL+"/two")
	b.click(`[...document.querySelectorAll("dialog[open] .ticks label")].find((l) => l.textContent.trim() === "signer.viewed").querySelector("input")`)
	b.checked("console-endpoint-edit")
	b.click(in(dialog, "Save"))
	b.until(`(` + card("/two") + `)?.textContent.includes("signer.viewed")`)
	b.click(in(card("/two"), "New secret"))
	b.fill("#overlap", "2")
	b.click(in(dialog, "Create secret"))
	b.see("This is the endpoint's secret.")
	b.button("I've stored the secret")
	b.until(`(` + card("/two") + `).textContent.includes("Deliveries are also signed with the previous secret until")`)
	b.checked("console-endpoint")
	b.click(in(card("/two"), "Delete"))
	b.see("Delete endpoint?")
	b.click(in(dialog, "Delete"))
	b.until(`!(` + card("/two") + `)`)
	b.waitUntilStill()
}

// TestConsoleKeepsTheSearch checks that both Back and the link above an envelope return to the list with the search
// preserved.
func TestConsoleKeepsTheSearch(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Kept search", []object{{"name": "Ada Lovelace", "email": "kept@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	b := open(t, desktop)
	consoleUser(b, "kept", "viewer")
	b.visit(svc.base + "/console#/envelopes")
	b.see("Search")
	b.titled("Envelopes – Countersign console")
	b.fill("#search", "kept search")
	b.choice("#status", "sent")
	b.until(`location.hash.includes("search=kept")`) // the search begins after a pause in typing
	b.until(`document.querySelectorAll("tbody tr").length === 1`)
	b.click(`document.querySelector("tbody a")`)
	b.see("Activity")
	b.titled("Kept search – Countersign console")
	there := `document.querySelector("#search")?.value === "kept search" && document.querySelector("#status").value === "sent" && document.querySelectorAll("tbody tr").length === 1`
	eval[bool](b, `(history.back(), true)`)
	b.until(there)
	b.click(`document.querySelector("tbody a")`)
	b.see("Activity")
	b.click(`document.querySelector("main p.small a")`)
	b.until(there)
	b.visit(svc.base + "/console#/envelopes?search=kept%20search&status=completed")
	b.see("No matches.")

	// With a date filter, today's envelope is found in a period that begins today, but not in an earlier one.
	today := eval[string](b, `((d) => [d.getFullYear(), d.getMonth() + 1, d.getDate()].map((n) => String(n).padStart(2, "0")).join("-"))(new Date())`)
	b.visit(svc.base + "/console#/envelopes?search=kept%20search&from=" + today + "&to=" + today)
	b.until(`document.querySelectorAll("tbody tr").length === 1`)
	b.checked("console-envelopes-by-day")
	b.visit(svc.base + "/console#/envelopes?search=kept%20search&to=2020-01-01")
	b.see("No matches.")

	// A search for part of an address finds nothing, and the page explains why. A search for the full address or its
	// domain succeeds.
	b.visit(svc.base + "/console#/envelopes?search=kept@exam")
	b.see("Email addresses are encrypted")
	b.checked("console-envelopes-part")
	b.visit(svc.base + "/console#/envelopes?search=kept@example.com")
	b.until(`Boolean(` + row("Kept search") + `)`)
	require.Contains(t, eval[string](b, `(`+row("Kept search")+`).innerHTML`), e.ID)
	b.waitUntilStill()
}

// TestConsoleTimeline checks that page views are combined in one line, and that simultaneous events keep the order of
// the audit trail.
func TestConsoleTimeline(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	id, ada := "0197a1c2-0000-7000-8000-000000000001", "0197a1c2-0000-7000-8000-0000000000aa"
	var log []string
	event := func(name, at, detail string) {
		log = append(log, fmt.Sprintf(`{"id": "%s", "event": %q, "timestamp": %q, "actor": "signer:%s", "ip": "192.0.2.7", "detail": %s, "seq": %d}`, id, name, at, ada, detail, len(log)+1))
	}
	event("envelope.created", "2026-11-20T08:00:00Z", "null")
	event("document.added", "2026-11-20T08:00:00Z", "null")
	event("signer.added", "2026-11-20T08:00:00.000000Z", "null")
	event("envelope.sent", "2026-11-20T08:00:00.5Z", "null")
	event("signer.viewed", "2026-11-20T08:00:00.51Z", "null")
	for i := range 30 {
		event("page_viewed", fmt.Sprintf("2026-11-20T09:00:%02dZ", i), fmt.Sprintf(`{"documentId": "d", "page": %d}`, i/2+1))
	}
	event("consent.given", "2026-11-20T09:30:00Z", "null")
	b.answers("/v1/console/envelopes/"+id, 200, fmt.Sprintf(`{"id": %q, "tenantId": "acme", "status": "in_progress", "subject": "Thirty pages", "createdBy": "x", "createdAt": "2026-11-20T08:00:00Z",
		"expiresAt": null, "completedAt": null, "documents": [
			{"id": "d", "kind": "original", "name": "nda.pdf", "document_order": 1, "size": 2048, "pageCount": 15, "sha256": "", "purgeStatus": "active"},
			{"id": "e", "kind": "original", "name": "annex a.pdf", "document_order": 2, "size": 2048, "pageCount": 1, "sha256": "", "purgeStatus": "active"}],
		"signers": [{"id": %q, "name": "Ada Lovelace", "email": "ada@exmaple.com", "routingOrder": 1, "status": "sent", "authMethod": "email_otp", "signedAt": null}],
		"auditLog": [%s], "deliveries": [],
		"mails": [{"signerId": %q, "kind": "invitation", "attempts": 1, "createdAt": "2026-11-20T08:00:01Z", "sentAt": null, "failedAt": "2026-11-20T08:00:02Z", "error": "the server refused the recipient (550)"}]}`,
		id, ada, strings.Join(log, ","), ada))
	b.answers("/v1/envelopes/"+id+"/progress", 200, `{"step": "waiting", "openGroup": 1, "awaiting": [], "deadline": null, "nextReminder": null, "workflowUrl": null, "answeredBy": "database"}`)
	consoleUser(b, "timeline", "support")
	b.visit(svc.base + "/console#/envelopes/" + id)
	b.see("Ada Lovelace viewed 15 pages")
	b.see("nda.pdf")
	b.see("annex a.pdf")
	b.see("The mail server rejected our email")
	titles := eval[string](b, `[...document.querySelectorAll(".timeline > li > div > strong")].map((x) => x.textContent).join("|")`)
	require.Equal(t, "Ada Lovelace agreed to sign electronically|Ada Lovelace viewed 15 pages|Email to Ada Lovelace rejected: invitation|Ada Lovelace opened the envelope|Ada Lovelace sent the envelope|Set up (3 steps)", titles)
	require.Equal(t, 0, eval[int](b, `[...document.querySelectorAll("details li")].filter((x) => x.checkVisibility()).length`))
	b.click(`document.querySelector(".timeline details summary")`)
	b.until(`[...document.querySelectorAll("details li")].filter((x) => x.checkVisibility()).length === 30`)
	b.checked("console-timeline")
	b.waitUntilStill()
}

// TestConsole_ShowsFailures checks that a sealing failure is displayed prominently, and that an unreachable host of an
// in-person signing is distinguished from an unreachable signer.
func TestConsole_ShowsFailures(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	id, ines := "0197a1c2-0000-7000-8000-000000000002", "0197a1c2-0000-7000-8000-0000000000bb"
	b.answers("/v1/console/envelopes/"+id, 200, fmt.Sprintf(`{"id": %q, "tenantId": "acme", "status": "in_progress", "subject": "A bad day", "createdBy": "x", "createdAt": "2026-11-20T08:00:00Z",
		"expiresAt": null, "completedAt": null, "documents": [], "auditLog": [], "deliveries": [],
		"sealingProblem": {"code": "file_missing", "message": "A file is missing.", "since": "2026-11-20T09:00:00Z"},
		"signers": [{"id": %q, "name": "Ines", "email": "ines@example.com", "routingOrder": 1, "status": "sent", "authMethod": "none", "signedAt": null,
			"kind": "in_person", "host": {"name": "Hugo", "email": "hugo@exmaple.com"}}],
		"mails": [{"signerId": %q, "kind": "invitation", "attempts": 1, "createdAt": "2026-11-20T08:00:01Z", "sentAt": null, "failedAt": "2026-11-20T08:00:02Z", "error": "the server refused the recipient (550)"}]}`,
		id, ines, ines))
	b.answers("/v1/envelopes/"+id+"/progress", 200, `{"step": "waiting", "openGroup": 1, "awaiting": [], "deadline": null, "nextReminder": null, "workflowUrl": null, "answeredBy": "database"}`)
	consoleUser(b, "badday", "support")
	b.visit(svc.base + "/console#/envelopes/" + id)
	b.see("A file is missing.")
	require.True(t, eval[bool](b, `[...document.querySelectorAll(".notice.bad")].some((n) => n.textContent.includes("A file is missing."))`))
	b.see("Signs in person; Hugo (hugo@exmaple.com) gets the link")
	b.see("A host can't be replaced")
	b.checked("console-bad-day")
	b.waitUntilStill()
}

// TestConsoleUsageAtTheLimit checks that usage that has reached its limit is displayed only once, as a warning.
func TestConsoleUsageAtTheLimit(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	b.answers("/v1/console/usage", 200, `{"plan": "free", "periodStart": "2026-11-01", "periodEnd": "2026-11-30", "envelopesUsed": 5, "envelopesLimit": 5, "overageAllowed": false}`)
	consoleUser(b, "limit", "viewer")
	b.visit(svc.base + "/console#/usage")
	b.see("can't send more envelopes until after 30 Nov 2026")
	require.True(t, eval[bool](b, `document.querySelector(".usage").classList.contains("full")`))
	require.Equal(t, eval[string](b, `getComputedStyle(document.querySelector(".notice.bad")).color`), eval[string](b, `getComputedStyle(document.querySelector(".usage div")).backgroundColor`))
	b.checked("console-usage-full")
	b.waitUntilStill()
}

// TestConsole_CreatesASecretOnce checks that repeating a click after a lost response creates neither a second endpoint
// nor a second secret.
func TestConsole_CreatesASecretOnce(t *testing.T) {
	t.Parallel()
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer sink.Close()
	b := open(t, desktop)
	consoleUser(b, "secrets", "admin")
	b.visit(svc.base + "/console#/webhooks")
	b.button("Add endpoint")
	b.dropResponse("/webhooks")
	b.fill("#hookurl", sink.URL+"/once")
	b.click(in(dialog, "Add"))
	b.see("The service can't be reached.")
	b.click(in(dialog, "Add"))
	b.see("This is the endpoint's secret.")
	b.button("I've stored the secret")
	cards := fmt.Sprintf(`[...document.querySelectorAll("section[aria-label='%s/once']")]`, sink.URL)
	b.until(cards + `.length > 0`)
	require.Equal(t, 1, eval[int](b, cards+`.length`))

	b.dropResponse("/secret")
	eval[bool](b, `(() => { const before = window.fetch; window.secrets = new Set();
		window.fetch = (...a) => { if (String(a[0]).endsWith("/secret")) window.secrets.add(a[1].body + a[1].headers["Idempotency-Key"]); return before(...a); }; return true; })()`)
	b.click(in(cards+`[0]`, "New secret"))
	b.click(in(dialog, "Create secret"))
	b.see("The service can't be reached.")
	b.click(in(dialog, "Create secret"))
	b.see("This is the endpoint's secret.")
	require.Equal(t, 1, eval[int](b, `window.secrets.size`), "one secret, with one key")
	require.True(t, eval[bool](b, `[...window.secrets][0].includes(document.querySelector(".secret").textContent) && !/undefined$/.test([...window.secrets][0])`))
	b.button("I've stored the secret")
	b.click(in(cards+`[0]`, "Delete"))
	b.click(in(dialog, "Delete"))
	b.until(cards + `.length === 0`)
	b.waitUntilStill()
}

// TestConsoleSettingsOfOneTenant checks that settings of one tenant are never saved for another, and that concurrent
// changes by another administrator are not overwritten.
func TestConsoleSettingsOfOneTenant(t *testing.T) {
	t.Parallel()
	at := func(tenant string) string { return "/v1/console/settings?tenantId=" + tenant }
	svc.json(t, http.MethodPut, at("pier-one"), object{"retentionDays": 3650}, nil)
	b := open(t, desktop)
	consoleUser(b, "settings", "admin")
	b.visit(svc.base + "/console#/settings?tenant=pier-one")
	b.until(`document.querySelector("#retentionDays")?.value === "3650"`)
	eval[bool](b, `(() => { const before = window.fetch; window.fetch = (...a) => (a[0].includes("pier-two") && a[1].method === "GET" ? Promise.resolve(new Response("{}", { status: 503 })) : before(...a)); return true; })()`)
	b.fill("#stenant", "pier-two\t")
	b.until(`document.querySelector(".notice.bad") !== null`)
	require.True(t, eval[bool](b, `document.querySelector("#retentionDays") === null`), "the envelopes belong to another tenant")

	b.fill("#stenant", "pier-one\t")
	b.until(`document.querySelector("#retentionDays")?.value === "3650"`)
	svc.json(t, http.MethodPut, at("pier-one"), object{"retentionDays": 30}, nil)
	b.fill("#senderName", "Pier One")
	b.button("Save")
	b.see("Saved.")
	var kept struct {
		Own struct {
			RetentionDays *int
			SenderName    string
		}
	}
	svc.json(t, http.MethodGet, at("pier-one"), nil, &kept)
	require.Equal(t, "Pier One", kept.Own.SenderName)
	require.Equal(t, 30, *kept.Own.RetentionDays)
	b.waitUntilStill()
}

// TestConsoleNavigationFits checks, in every language and with several workspaces, that an administrator's header fits
// on one line of a desktop screen, and that every section can be reached on any screen.
func TestConsoleNavigationFits(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	consoleUser(b, "navigation", "admin")
	b.answers("/v1/console/home", http.StatusOK, `{"tenants": ["harbour-office", "main", "pier-seven-north"]}`)
	b.visit(svc.base + "/console?several#/application")
	b.until(`document.querySelector("select.workspace") !== null`)
	const visible = `[...document.querySelectorAll(".masthead nav a, .masthead nav summary")].filter((a) => a.checkVisibility({ visibilityProperty: true }))`
	for _, language := range locales.Tags() {
		b.choice(".account .languages", language)
		b.until(`document.documentElement.lang === "` + language + `"`)
		for _, width := range []int64{1600, 1280, 1024, 820, 390} {
			b.size(width, 860)
			b.until(fmt.Sprintf(`innerWidth === %d`, width))
			b.settled()
			if language == "de" || language == "fr" || width == 1280 {
				b.shot(fmt.Sprintf("console-navigation-%s-%d", language, width))
			}
			require.Less(t, eval[float64](b, `(() => { const y = `+visible+`.map((a) => a.getBoundingClientRect()).map((r) => r.top + r.height / 2); return Math.max(...y) - Math.min(...y); })()`), 8.0, "%s at %d pixels", language, width)
			if width >= 1280 {
				require.Less(t, eval[float64](b, `document.querySelector(".masthead").offsetHeight`), 64.0, "%s at %d pixels", language, width)
			}
			require.Less(t, eval[float64](b, `(() => { const y = [...document.querySelectorAll(".masthead > strong, .masthead > .workspace, .masthead > .account")].map((a) => a.getBoundingClientRect()).map((r) => r.top + r.height / 2); return Math.max(...y) - Math.min(...y); })()`), 8.0, "%s at %d pixels: the first line", language, width)
			require.Empty(t, eval[[]string](b, cutTexts), "%s at %d pixels", language, width)
			if width == 390 {
				continue // the line scrolls
			}
			if more := `document.querySelector(".headmenu.rest > summary")`; eval[bool](b, more+` !== null`) {
				b.click(more)
			}
			require.Equal(t, 10, eval[int](b, visible+`.filter((a) => a.href).length`), "%s at %d pixels", language, width)
			require.NotEmpty(t, eval[string](b, `document.querySelector(".masthead [aria-current]").textContent`))
			b.keys("\x1b")
		}
	}
	b.waitUntilStill()
}

// TestConsole_KeepsInputTypedWhileSaving checks that text typed while the service processes "Save" or "Add" is not
// lost.
func TestConsole_KeepsInputTypedWhileSaving(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	consoleUser(b, "meanwhile", "admin")
	b.visit(svc.base + "/console#/settings?tenant=pier-meanwhile")
	b.until(`document.querySelector("#senderName") !== null`)
	b.delays("PUT", "/settings")
	b.fill("#senderName", "Pier One")
	b.fill("#retentionDays", "30")
	b.button("Save")
	b.until(`window.held === 1`)
	b.fill("#replyTo", "office@pier.example")
	b.fill("#retentionDays", "40")
	b.until(`window.release()`)
	b.see("Saved.")
	b.until(`document.querySelector("#senderName").value === "Pier One"`)
	require.Equal(t, []string{"40", "office@pier.example"}, eval[[]string](b, `["retentionDays", "replyTo"].map((id) => document.getElementById(id).value)`))
	b.button("Save")
	b.until(`window.held === 2`)
	b.eventually("all of it is saved", func() bool {
		var kept struct {
			Own struct {
				RetentionDays       *int
				SenderName, ReplyTo *string
			}
		}
		svc.json(t, http.MethodGet, "/v1/console/settings?tenantId=pier-meanwhile", nil, &kept)
		return kept.Own.ReplyTo != nil && *kept.Own.ReplyTo == "office@pier.example" && *kept.Own.RetentionDays == 40 && *kept.Own.SenderName == "Pier One"
	})

	b.visit(svc.base + "/console#/contacts")
	b.see("Add contact")
	b.delays("POST", "/contacts")
	b.fill("#cname", "Grace Hopper")
	b.fill("#cmail", "grace-meanwhile@example.com")
	b.click(`document.querySelector("form.card button.small")`)
	b.until(`window.held === 1`)
	b.fill("#cphone", "+447400123456")
	b.until(`window.release()`)
	b.until(row("grace-meanwhile@example.com") + ` !== undefined`)
	require.Equal(t, "+447400123456", eval[string](b, `document.querySelector("#cphone").value`))
	b.waitUntilStill()
}
