package browser_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"countersign/locales"
)

// sendAs sends a draft as a console user.
func (s *service) sendAs(t *testing.T, email string, e envelope) (sent envelope) {
	t.Helper()
	credentials, err := json.Marshal(object{"email": email, "password": staffPassword})
	require.NoError(t, err)
	var login struct {
		Token string `json:"access_token"`
	}
	_, err = s.do(http.MethodPost, s.base+"/v1/console/login", "application/json", bytes.NewReader(credentials), &login)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/v1/envelopes/"+e.ID+"/send", strings.NewReader("{}"))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+login.Token)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.NoError(t, json.NewDecoder(res.Body).Decode(&sent))
	return sent
}

// declinedFor sends an envelope as a console user and declines it, so that the user is notified.
func (s *service) declinedFor(t *testing.T, email, subject string) {
	t.Helper()
	draft := s.draft(t, subject, []object{{"name": "Ada Lovelace", "email": "declines@example.com", "authMethod": "none"}}, leaseDocument())
	s.json(t, http.MethodPost, "/v1/envelopes/"+draft.ID+"/fields", object{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 450, "w": 200, "h": 20}, nil)
	sent := s.sendAs(t, email, draft)
	path := signingPath(sent.Signers[0].SigningURL)
	_, err := s.do(http.MethodGet, s.base+path, "", nil, nil)
	require.NoError(t, err)
	s.signerPosts(t, path+"/decline", object{"reason": "The rent is too high."})
}

// option returns an expression for the radio button or checkbox with the given label.
func option(label string) string {
	return `[...document.querySelectorAll("label")].find((l) => l.textContent.trim() === ` + quoteJS(label) + `)?.querySelector("input")`
}

func quoteJS(text string) string {
	raw, _ := json.Marshal(text) // a string can always be encoded
	return string(raw)
}

// TestNotificationsOfASender checks that a sender can disable notifications with one click in an email, and enable them
// again in the settings with the keyboard.
func TestNotificationsOfASender(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	consoleUser(b, "notified", "sender")
	const address = "notified@staff.example"
	svc.declinedFor(t, address, "Berth 12")
	_, links := svc.mail(t, address, "Berth 12", "/unsubscribe/")
	link := links[slices.IndexFunc(links, func(l string) bool { return strings.Contains(l, "/unsubscribe/") })]

	for _, language := range []string{"de", "ar"} {
		texts := textsOf(t, "pages.json", language)
		other := open(t, device{width: 1280, height: 860, language: language})
		other.visit(link)
		other.see(texts["unsubscribeTitle"][0])
		require.Equal(t, locales.RightToLeft(language), eval[string](other, "document.documentElement.dir") == "rtl")
		other.checked("unsubscribe-" + language)
	}
	b.visit(link)
	b.see("Stop notification emails?")
	b.checked("unsubscribe-asks")
	b.signing().goTo(buttonOf("Unsubscribe"))
	b.keys("\r")
	b.see("You are unsubscribed")
	b.checked("unsubscribe-done")
	b.visit(svc.base + "/unsubscribe/no.such.token")
	b.button("Unsubscribe")
	b.see("This link is incomplete or has expired.")
	b.checked("unsubscribe-invalid")

	b.visit(svc.base + "/console#/account/notifications")
	b.until(option("No emails") + `?.checked`)
	b.focused(`document.querySelector("#notifications")`)
	require.True(t, eval[bool](b, inWindow(`document.querySelector("#notifications")`)), "the section must be in view")
	require.False(t, eval[bool](b, `Boolean(`+option("everyone has signed")+`)`), "without emails, no types are shown")
	b.checked("notifications-never")
	b.signing().goTo(option("No emails"))
	b.do(chromedp.KeyEvent(kb.ArrowUp))
	b.until(option("One summary a day, at 08:00") + `?.checked`)
	b.signing().goTo(option("a recipient opens the link"))
	b.keys(" ")
	b.choice("#nlanguage", "de")
	b.choice("#nzone", "America/New_York")
	b.signing().goTo(`[...document.querySelectorAll("section[aria-labelledby=notifications] button")].find((x) => x.textContent === "Save")`)
	b.keys("\r")
	b.see("Saved.")
	b.checked("notifications-daily")
	b.do(chromedp.Reload())
	b.until(option("One summary a day, at 08:00") + `?.checked && ` + option("a recipient opens the link") + `?.checked`)
	require.Equal(t, []string{"de", "America/New_York"}, eval[[]string](b, `[document.querySelector("#nlanguage").value, document.querySelector("#nzone").value]`))
}
