package browser_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// problemsShown is a response that contains problems of every kind.
const problemsShown = `{"envelopes":[
	{"envelopeId":"0197a1c2-0000-7000-8000-000000000001","tenantId":"acme","subject":"Lease for flat 7","status":"sent","problem":"lost","since":null,"code":null,"detail":"","workflow":"missing","workflowUrl":null},
	{"envelopeId":"0197a1c2-0000-7000-8000-000000000002","tenantId":"acme","subject":null,"status":"in_progress","problem":"sealing_failed","since":"2026-11-20T09:00:00Z","code":"original_missing","detail":"An uploaded document is missing from the file store.","workflow":"running","workflowUrl":"https://temporal.example.com/namespaces/default/workflows/envelope%2F0197a1c2"},
	{"envelopeId":"0197a1c2-0000-7000-8000-000000000003","tenantId":"acme","subject":"Order 1041","status":"sent","problem":"overdue","since":"2026-11-20T09:00:00Z","code":null,"detail":"","workflow":"unknown","workflowUrl":null}],
	"mails":[{"envelopeId":"0197a1c2-0000-7000-8000-000000000004","tenantId":"acme","subject":"Non-disclosure agreement","signerId":"0197a1c2-0000-7000-8000-000000000005","signerName":"Ada Lovelace","kind":"invitation","attempts":3,"createdAt":"2026-11-20T09:00:00Z","sentAt":null,"failedAt":null,"error":"451 4.3.0 the mailbox is full, try again later"},
	{"envelopeId":"0197a1c2-0000-7000-8000-000000000006","tenantId":"acme","subject":"Order 1042","signerId":"0197a1c2-0000-7000-8000-000000000007","signerName":"Grace Hopper","kind":"invitation","attempts":1,"createdAt":"2026-11-20T08:00:00Z","sentAt":null,"failedAt":"2026-11-20T08:00:01Z","error":"550 5.1.1 no such mailbox"}],
	"deliveries":[{"id":"0197a1c2-0000-7000-8000-000000000008","webhookId":"0197a1c2-0000-7000-8000-000000000009","eventId":"0197a1c2-0000-7000-8000-000000000010","envelopeId":"0197a1c2-0000-7000-8000-000000000001","envelopeSubject":"Lease for flat 7","event":"envelope.sent","status":"pending","attempts":2,"resends":0,"createdAt":"2026-11-20T09:00:00Z","deliveredAt":null,"failedAt":null,"webhookUrl":"https://app.example.com/hooks/countersign","nextAttemptAt":"2026-11-20T09:11:00Z","lastAttempt":{"number":2,"at":"2026-11-20T09:01:00Z","status":503,"latencyMs":12,"error":"","body":"closed for maintenance"}},
	{"id":"0197a1c2-0000-7000-8000-000000000011","webhookId":"0197a1c2-0000-7000-8000-000000000009","eventId":"0197a1c2-0000-7000-8000-000000000012","envelopeId":null,"event":"ping","status":"failed","attempts":5,"resends":0,"createdAt":"2026-11-20T07:00:00Z","deliveredAt":null,"failedAt":"2026-11-20T14:00:00Z","webhookUrl":"https://app.example.com/hooks/countersign","nextAttemptAt":null,"lastAttempt":{"number":5,"at":"2026-11-20T14:00:00Z","status":null,"latencyMs":10000,"error":"the endpoint did not answer in time","body":""}}]}`

// TestConsoleProblems checks that a permanently failed delivery is listed with the receiver's response, and disappears
// once it has been resent with the keyboard.
func TestConsoleProblems(t *testing.T) {
	t.Parallel()
	var mended atomic.Bool
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !mended.Load() {
			http.Error(w, "the warehouse is closed", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(endpoint.Close)
	var hook struct{ ID string }
	require.NoError(t, svc.api(http.MethodPost, "/v1/webhooks", object{"url": endpoint.URL + "/warehouse", "events": []string{"envelope.voided"}}, &hook))
	t.Cleanup(func() { _ = svc.api(http.MethodDelete, "/v1/webhooks/"+hook.ID, nil, nil) })
	e := svc.create(t, "Delivery to a closed warehouse", []object{{"name": "Ada Lovelace", "email": "warehouse@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	require.NoError(t, svc.api(http.MethodPost, "/v1/envelopes/"+e.ID+"/void", object{"reason": "No."}, nil))

	b := open(t, desktop)
	consoleUser(b, "problems", "support")
	b.visit(svc.base + "/console#/problems")
	// Other tests void envelopes at the same time, and those events are also delivered to this endpoint.
	rows := `[...document.querySelectorAll("tr")].filter((r) => r.textContent.includes("/warehouse") && r.querySelector("a[href='#/envelopes/` + e.ID + `']"))`
	row := rows + `.find((r) => r.textContent.includes("the warehouse is closed") && r.querySelector(".badge.bad"))`
	b.until(row + ` !== undefined`)
	mended.Store(true)
	for range 30 { // Tab first reaches the links in the console's header
		if eval[bool](b, `document.activeElement === `+row+`.querySelector("button")`) {
			break
		}
		b.keys("\t")
	}
	b.keysOn(row+`.querySelector("button")`, "\r")
	b.until(rows + `.length === 0`)

	b.answers("/v1/console/problems", http.StatusOK, problemsShown)
	b.visit(svc.base + "/console?all#/problems")
	b.see("No workflow is running")
	b.see("550 5.1.1 no such mailbox")
	b.see("closed for maintenance")
	require.Equal(t, 2, eval[int](b, `[...document.querySelectorAll("button")].filter((x) => x.textContent === "Restart workflow").length`), "a running workflow cannot be restarted")
	b.checked("console-problems")
	b.answers("/v1/console/problems", http.StatusOK, `{"envelopes":[],"mails":[],"deliveries":[]}`)
	b.visit(svc.base + "/console?none#/problems")
	b.see("No problems")
	b.checked("console-problems-none")

	viewer := open(t, desktop)
	consoleUser(viewer, "problems-viewer", "viewer")
	require.False(t, eval[bool](viewer, `[...document.querySelectorAll("nav a")].some((a) => a.textContent === "Problems")`))
	b.waitUntilStill()
}
