package browser_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// read returns a response of the API as an object.
func (s *service) read(t *testing.T, path string) (o object) {
	t.Helper()
	s.json(t, http.MethodGet, path, nil, &o)
	return o
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// consoleStates contains the envelopes of a workspace in every state, in the form that the console receives. States
// that would require several days or a failing server are derived from other states.
type consoleStates struct {
	names []string
	list  []object          // rows of the home page
	pages map[string]object // by name
}

func newConsoleStates(t *testing.T) *consoleStates {
	t.Helper()
	s := &consoleStates{pages: map[string]object{}}
	create := func(name string) envelope {
		return svc.createFor(t, "states", "Lease of the workshop, "+name, []object{
			{"name": "Ada Lovelace", "email": "states-ada-" + name + "@example.com", "authMethod": "none", "routingOrder": 1},
			{"name": "Bob Hill", "email": "states-bob-" + name + "@example.com", "authMethod": "email_otp", "routingOrder": 2, "allowDelegation": true},
			{"name": "Cora Copy", "email": "states-cora@example.com", "kind": "copy", "routingOrder": 2},
		}, []object{
			{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 450, "w": 200, "h": 20}, {"signerId": "1", "type": "text", "page": 3, "x": 72, "y": 500, "w": 200, "h": 20},
		}, threePages())
	}
	opens := func(e envelope) {
		_, err := svc.do(http.MethodGet, svc.base+signingPath(e.Signers[0].SigningURL), "", nil, nil)
		require.NoError(t, err)
	}
	record := func(name, id string) {
		s.names = append(s.names, name)
		s.pages[name] = svc.read(t, "/v1/console/envelopes/"+id)
	}
	draft := svc.draft(t, "Lease of the workshop, draft", twoPeople(), threePages())
	record("draft", draft.ID)
	sent := create("sent")
	svc.invited(t, "states-ada-sent@example.com")
	record("sent", sent.ID)
	viewed := create("viewed")
	opens(viewed)
	record("viewed", viewed.ID)
	partial := create("partial")
	svc.signByAPI(t, partial.Signers[0].SigningURL, "Agreed")
	record("partial", partial.ID)
	declined := create("declined")
	opens(declined)
	svc.signerPosts(t, signingPath(declined.Signers[0].SigningURL)+"/decline", object{"reason": "The rent is too high."})
	record("declined", declined.ID)
	voided := create("voided")
	svc.json(t, http.MethodPost, "/v1/envelopes/"+voided.ID+"/void", object{"reason": "Sent twice."}, nil)
	record("voided", voided.ID)

	now := time.Now().UTC()
	like := func(name, of string, change func(e object)) {
		e := maps.Clone(s.pages[of])
		change(e)
		s.names, s.pages[name] = append(s.names, name), e
	}
	like("expired", "viewed", func(e object) { e["status"], e["expiresAt"] = "expired", now.Add(-time.Hour).Format(time.RFC3339) })
	like("bounced", "sent", func(e object) {
		signer := e["signers"].([]any)[0].(map[string]any)
		at := now.Add(-time.Hour).Format(time.RFC3339)
		e["undelivered"] = []any{signer["id"]}
		e["mails"] = []any{object{"signerId": signer["id"], "kind": "invitation", "attempts": 1, "createdAt": at, "sentAt": nil, "failedAt": at, "error": "550 5.1.1 no such mailbox"}}
	})
	like("sealing-problem", "partial", func(e object) {
		e["status"] = "in_progress"
		var signers []any
		for _, v := range e["signers"].([]any) {
			signer := maps.Clone(v.(map[string]any))
			signer["status"], signer["signedAt"] = "signed", now.Add(-time.Hour).Format(time.RFC3339)
			signers = append(signers, signer)
		}
		e["signers"] = signers
		e["sealingProblem"] = object{"code": "original_missing", "message": "An uploaded document is missing from the file store.", "since": now.Add(-time.Hour).Format(time.RFC3339)}
	})
	like("completed", "sealing-problem", func(e object) {
		e["status"], e["completedAt"] = "completed", now.Format(time.RFC3339)
		delete(e, "sealingProblem")
		var documents []any
		for _, v := range e["documents"].([]any) {
			sealed := maps.Clone(v.(map[string]any))
			sealed["kind"] = "sealed"
			documents = append(documents, v, sealed)
		}
		e["documents"] = documents
	})
	like("erased", "completed", func(e object) {
		var documents []any
		for _, v := range e["documents"].([]any) {
			gone := maps.Clone(v.(map[string]any))
			gone["purgeStatus"] = "purged"
			documents = append(documents, gone)
		}
		e["documents"] = documents
	})
	var rows struct{ Data []object }
	svc.json(t, http.MethodGet, "/v1/console/envelopes?search=Lease+of+the+workshop&pageSize=50", nil, &rows)
	byID := map[any]object{}
	for _, r := range rows.Data {
		byID[r["id"]] = r
	}
	for _, name := range s.names {
		e := s.pages[name]
		row := maps.Clone(byID[e["id"]])
		for _, member := range []string{"status", "expiresAt", "completedAt", "signers", "undelivered"} {
			if v, ok := e[member]; ok {
				row[member] = v
			}
		}
		if name == "voided" {
			row["labels"] = []string{"Leases", "Berlin, north"}
		}
		row["subject"] = "Lease of the workshop, " + name
		s.list = append(s.list, row)
	}
	return s
}

// stateTab is an administrator's tab with the window size of a phone. Each state is also checked at the size of a
// desktop.
type stateTab struct {
	*tab
	language string
	visits   int
}

// eachStateLanguage runs a test in German or, if screenshots are taken, in three languages.
func eachStateLanguage(t *testing.T, name string, test func(b *stateTab, console, builder map[string][]string)) {
	t.Helper()
	languages := []string{"de"}
	if shots() != "" {
		languages = []string{"en", "de", "ar"}
	}
	for _, language := range languages {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			b := &stateTab{tab: open(t, device{width: 390, height: 844, touch: true, language: language + "-XX"}), language: language}
			consoleUser(b.tab, name+"-"+language, "admin")
			test(b, textsOf(t, "console.json", language), textsOf(t, "builder.json", language))
			b.waitUntilStill()
		})
	}
}

// loads opens a console page as a new document, so that responses configured with b.answers apply to it.
func (b *stateTab) loads(at string) {
	b.t.Helper()
	b.visits++
	b.visit(fmt.Sprintf("%s/console?%d#/%s", svc.base, b.visits, at))
	b.until(`document.querySelector(".masthead nav, .builder") !== null`)
}

// fits checks that a state fits on both screens, and that axe reports no problems on either of them.
func (b *stateTab) fits(name string) {
	b.t.Helper()
	b.until(`document.querySelector(".spinner") === null`)
	b.pageFits(name)
	b.checked("state-" + b.language + "-" + name)
	b.size(1280, 860)
	b.settled()
	b.axe(`{ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }`)
	b.size(b.device.width, b.device.height)
}

// TestConsoleStates checks every state of the home page, an envelope's page, the problems page and the notifications.
// Each state must fit on a phone and on a desktop, and axe must report no problems.
func TestConsoleStates(t *testing.T) {
	t.Parallel()
	states := newConsoleStates(t)
	eachStateLanguage(t, "states", func(b *stateTab, console, _ map[string][]string) {
		say := func(key string) string { return console[key][0] }
		b.answers("/v1/console/envelopes", http.StatusOK, `{"data": [], "nextCursor": null}`)
		b.loads("envelopes")
		b.see(say("noEnvelopes"))
		b.fits("home-empty")
		b.answers("/v1/console/envelopes", http.StatusOK, jsonOf(b.t, object{"data": states.list, "nextCursor": nil}))
		b.loads("envelopes")
		b.until(fmt.Sprintf(`document.querySelectorAll(".worklist tbody tr").length === %d`, len(states.names)))
		b.fits("home")
		b.click(`document.querySelector(".account > summary")`)
		b.fits("home-menu")
		b.keys("\x1b")
		b.click(`document.querySelector(".more > summary")`)
		eval[bool](b.tab, `[...document.querySelectorAll(".worklist .pick input")].slice(1, 7).every((x) => (x.click(), true))`)
		b.until(`document.querySelector(".selection") !== null`)
		b.fits("home-selected")
		for _, action := range []string{"remind", "extend", "void", "download"} {
			b.click(sectionButton(".selection > button", say(action)))
			b.until(dialog + ` !== null`)
			if action == "download" { // no selected envelope is completed, so the title contains no number
				require.Equal(b.t, say("download"), eval[string](b.tab, dialog+`.querySelector("h2").textContent`))
			}
			b.fits("bulk-" + action)
			b.keys("\x1b")
			b.until(dialog + ` === null`)
		}
		for _, name := range states.names {
			e := states.pages[name]
			b.answers("/v1/console/envelopes/"+e["id"].(string), http.StatusOK, jsonOf(b.t, e))
			b.loads("envelopes/" + e["id"].(string))
			b.see(say("progress"))
			if name == "partial" { // the copy recipient's turn has come, but there is nothing to send yet
				require.Equal(b.t, "sent", e["copies"].([]any)[0].(map[string]any)["status"])
				b.see(say("copyAtEnd"))
				require.NotContains(b.t, b.text(), say("copyWasSent"))
			}
			if name == "completed" {
				b.see(say("copyWasSent"))
			}
			if slices.Contains([]string{"declined", "voided", "expired"}, name) { // no further recipient is invited
				b.see(say("copyNever"))
				b.see(say("personNotInvited"))
				require.NotContains(b.t, b.text(), say("copyAtEnd"))
			}
			if name == "sealing-problem" { // the cause is in the user's language
				b.see(say("sealingOriginalMissing"))
			}
			voids := fmt.Sprintf(`%s !== undefined`, sectionButton("main button", say("voidEnvelope")))
			require.Equal(b.t, name == "sent" || name == "viewed" || name == "partial" || name == "bounced", eval[bool](b.tab, voids), name)
			b.fits(name)
		}
		b.answers("/v1/console/envelopes/"+states.pages["sent"]["id"].(string), http.StatusOK, jsonOf(b.t, states.pages["sent"]))
		b.loads("envelopes/" + states.pages["sent"]["id"].(string))
		for _, action := range []string{"saveAsTemplate", "addLabels", "changeDeadline", "voidEnvelope", "correctEmail", "reassign"} {
			b.click(sectionButton("main button", say(action)))
			b.until(dialog + ` !== null`)
			b.fits("dialog-" + action)
			b.keys("\x1b")
			b.until(dialog + ` === null`)
		}
		b.click(`document.querySelector("#tab-technical")`)
		b.see(say("stepWaiting"))
		b.fits("technical")
		b.answers("/v1/console/problems", http.StatusOK, problemsShown)
		b.loads("problems")
		b.see("550 5.1.1 no such mailbox")
		b.see(say("sealingOriginalMissing"))
		b.fits("problems")
		b.loads("account/notifications")
		b.until(`document.querySelector("#notifications + *") !== null && document.activeElement?.id === "notifications"`)
		b.fits("notifications")
	})
}

// TestSendSheetStates performs the checks of TestConsoleStates on the preview, and on the send sheet with each kind of
// error response.
func TestSendSheetStates(t *testing.T) {
	t.Parallel()
	eachStateLanguage(t, "sheet-states", func(b *stateTab, _, builder map[string][]string) {
		draft := svc.draft(b.t, "Lease of the workshop", twoPeople(), threePages())
		b.loads("build/" + draft.ID)
		b.until(`document.querySelector(".bpaint img") !== null`)
		sheet := func() {
			b.t.Helper()
			b.button(builder["sendMore"][0])
			b.until(`document.querySelector("#ssubject") !== null`)
		}
		sheet()
		b.fits("sheet")
		send := `document.querySelector("dialog[open] .row.end button:last-child")`
		b.click(send)
		b.see(builder["fieldsMissing"][0])
		b.fits("sheet-fields-missing")
		b.keys("\x1b")
		svc.json(b.t, http.MethodPost, "/v1/envelopes/"+draft.ID+"/fields", object{"signerId": draft.Signers[0].ID, "type": "signature", "page": 1, "x": 72, "y": 300, "w": 160, "h": 40}, nil)
		for name, answer := range map[string]struct {
			status int
			body   string
			key    string
		}{
			"plan-limit": {http.StatusPaymentRequired, `{"error": "plan_limit_reached", "message": "x", "errors": {}, "details": null}`, "planLimit"},
			"too-fast":   {http.StatusTooManyRequests, `{"error": "rate_limited", "message": "x", "errors": {}, "details": null}`, "tooFast"},
			"unanswered": {http.StatusBadGateway, ``, "sendUnanswered"},
		} {
			b.answers("/v1/envelopes/"+draft.ID+"/send", answer.status, answer.body)
			b.loads("build/" + draft.ID)
			b.until(`document.querySelector(".bpaint img") !== null && document.querySelector(".bfield") !== null`)
			sheet()
			b.click(send)
			b.see(builder[answer.key][0])
			b.fits("sheet-" + name)
		}
		b.keys("\x1b")
		b.button(builder["preview"][0])
		b.until(`document.querySelector("iframe.bsigning")?.contentDocument?.querySelector("h1") != null`)
		b.fits("preview")
	})
}
