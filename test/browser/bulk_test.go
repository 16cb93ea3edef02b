package browser_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// bulkSend starts a bulk send at a rate of one row per minute. The first row is sent immediately, and the others wait.
func (s *service) bulkSend(t *testing.T, name string) string {
	t.Helper()
	var template, made struct{ ID string }
	e := s.draft(t, name, []object{{"name": "Ada", "email": "bulk@example.com", "authMethod": "none", "role": "tenant"}}, leaseDocument())
	s.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/fields", object{"role": "tenant", "type": "signature", "page": 1, "x": 72, "y": 300, "w": 160, "h": 40}, nil)
	s.json(t, http.MethodPost, "/v1/templates", object{"name": name, "tenantId": "harbour", "fromEnvelope": e.ID}, &template)
	var rows []object
	for range 3 {
		rows = append(rows, object{"signers": []object{{"role": "tenant", "name": "Ada Lovelace", "email": "bulk@example.com"}}})
	}
	s.json(t, http.MethodPost, "/v1/bulk-sends", object{"templateId": template.ID, "tenantId": "harbour", "name": name, "perMinute": 1, "rows": rows}, &made)
	return made.ID
}

func TestConsoleBulkSends(t *testing.T) {
	t.Parallel()
	id := svc.bulkSend(t, "Leases of May")
	b := open(t, desktop)
	consoleUser(b, "bulk", "sender")
	b.visit(svc.base + "/console#/bulk")
	b.see("Leases of May")
	b.checked("console-bulk-sends")
	b.click(`[...document.querySelectorAll("tbody a")].find((a) => a.textContent === "Leases of May")`)
	b.see("1 of 3 rows are done.") // the page reloads automatically
	b.button("Pause")
	b.until(`document.querySelector(".head .badge")?.textContent === "paused"`)
	b.checked("console-bulk-send-paused")
	b.button("Resume")
	b.until(`document.querySelector(".head .badge")?.textContent === "running"`)
	b.button("Cancel")
	b.see("Cancel this bulk send?")
	b.checked("console-bulk-send-cancel")
	b.button("Cancel bulk send")
	b.until(`document.querySelector(".head .badge")?.textContent === "canceled"`)
	b.see("3 of 3 rows are done.")
	var kept struct{ Counts struct{ Sent, Cancelled int } }
	svc.json(t, http.MethodGet, "/v1/bulk-sends/"+id, nil, &kept)
	require.Equal(t, []int{1, 2}, []int{kept.Counts.Sent, kept.Counts.Cancelled})
	eval[bool](b, `(URL.createObjectURL = (blob) => { blob.text().then((text) => { window.table = text; }); return "#"; }, true)`)
	b.button("Download rows as CSV")
	b.until(`window.table?.startsWith("row,externalId,status")`)
	b.waitUntilStill()
}

// TestConsoleBulkSendOfAViewer checks that a viewer can see why rows failed, even on a phone, and cannot change
// anything.
func TestConsoleBulkSendOfAViewer(t *testing.T) {
	t.Parallel()
	b := open(t, device{width: 390, height: 844, touch: true, dark: true})
	const id = "0190c2a0-0000-7000-8000-000000000001"
	b.answers("/v1/bulk-sends/"+id, 200, `{"id": "`+id+`", "tenantId": "quayside", "templateId": "`+id+`", "templateVersion": 2, "name": "Leases of June", "status": "completed",
		"total": 3, "counts": {"pending": 0, "sent": 2, "failed": 1, "cancelled": 0}, "perMinute": null, "createdBy": "me", "createdAt": "2026-11-01T07:00:00Z", "completedAt": "2026-11-01T07:01:00Z"}`)
	b.answers("/v1/bulk-sends/"+id+"/rows", 200, `{"data": [{"row": 2, "externalId": "lease-2", "status": "failed", "envelopeId": null,
		"error": {"code": "external_id_taken", "message": "Another envelope has this externalId."}, "settledAt": "2026-11-01T07:00:30Z"}], "nextCursor": null}`)
	consoleUser(b, "bulkviewer", "viewer")
	b.visit(svc.base + "/console#/bulk/" + id)
	b.see("Another envelope has this externalId.")
	require.NotContains(t, b.text(), "Retry failed rows")
	require.Contains(t, b.text(), "Download rows as CSV")
	b.checked("console-bulk-send-viewer")
	b.waitUntilStill()
}

// TestConsoleStartsABulkSend checks that a sender can select a template and a table, see the table's problems and rows,
// and send it.
func TestConsoleStartsABulkSend(t *testing.T) {
	t.Parallel()
	id := svc.templateOf(t, "Leases in bulk")
	b := open(t, desktop)
	consoleUser(b, "bulkstart", "sender")
	b.visit(svc.base + "/console#/templates/" + id)
	b.see("Send to many")
	b.click(`[...document.querySelectorAll("a")].find((a) => a.textContent === "Send to many")`)
	b.see("Tenant.name, Tenant.email")
	const head = "Tenant.name,Tenant.email,Landlord.name,Landlord.email\r\n"
	table := filepath.Join(t.TempDir(), "table.csv")
	b.chooseAt("#btable", table, []byte(head+"Ada,ada@example.com,Grace,grace@example.com\r\nBo,not an address,\"Hopper, Grace\",grace@example.com\r\n"))
	b.see("1 error found. Nothing was sent.")
	b.see("Hopper, Grace")
	require.Equal(t, "2", eval[string](b, `document.querySelector("tr.faulty td").textContent`))
	b.checked("console-bulk-faults")
	b.ignoreConsoleErrors("400")
	b.chooseAt("#btable", table, []byte(head+"Ada,ada@example.com,Grace,grace@example.com\r\nBo,bo@example.com,\"Hopper, Grace\",grace@example.com\r\n"))
	b.see("2 rows are valid.")
	b.fill("#bname", "Leases of July")
	b.checked("console-bulk-new")
	b.button("Send 2 envelopes")
	b.see("Leases of July")
	b.see("2 of 2 rows are done.") // the page reloads automatically
	b.waitUntilStill()
}

// TestConsole_RetriesFailedRows checks that a row that failed because its externalId was in use can be sent again
// once the externalId is free.
func TestConsole_RetriesFailedRows(t *testing.T) {
	t.Parallel()
	template := svc.templateOf(t, "Leases of August")
	var rows []object
	for _, id := range []string{"again-1", "again-2"} {
		rows = append(rows, object{"externalId": id, "signers": []object{{"role": "Tenant", "name": "Ada", "email": id + "@example.com"}, {"role": "Landlord", "name": "Grace", "email": "grace@example.com"}}})
	}
	var bulk, taken struct{ ID string }
	svc.json(t, http.MethodPost, "/v1/bulk-sends", object{"templateId": template, "tenantId": "harbour", "name": "Leases of August", "perMinute": 6, "rows": rows}, &bulk) // the second row waits for ten seconds
	at := "/v1/bulk-sends/" + bulk.ID
	svc.json(t, http.MethodPost, at+"/pause", nil, nil)
	svc.json(t, http.MethodPost, "/v1/envelopes", object{"tenantId": "harbour", "externalId": "again-2", "signers": twoPeople()}, &taken)
	svc.json(t, http.MethodPost, at+"/resume", nil, nil)
	b := open(t, desktop)
	consoleUser(b, "bulkretry", "sender")
	b.visit(svc.base + "/console#/bulk/" + bulk.ID)
	b.see("external_id_taken")
	eval[bool](b, `(URL.createObjectURL = (blob) => { blob.text().then((text) => { window.table = text; }); return "#"; }, true)`)
	b.button("Download failed rows")
	b.until(`window.table?.includes("again-2") && !window.table.includes("again-1")`)
	b.checked("console-bulk-failed")

	svc.json(t, http.MethodDelete, "/v1/envelopes/"+taken.ID, nil, nil)
	b.button("Retry failed rows")
	b.see("Failed rows are being retried.")
	// The bulk send was already completed before the retry.
	b.until(`document.querySelector(".head .badge")?.textContent === "completed" && document.body.innerText.includes("Sent\n2\n")`)
	require.NotContains(t, b.text(), "external_id_taken")
	svc.invited(t, "again-2@example.com")
	b.waitUntilStill()
}

// dropResponse drops the response to the next POST request to a URL whose path has the given suffix.
func (b *tab) dropResponse(end string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(() => { const before = window.fetch; window.lost = 0;
		window.fetch = async (...a) => { const answer = await before(...a); if (a[1]?.method === "POST" && new URL(a[0], location.href).pathname.endsWith(%q) && !a[0].includes("dryRun=true") && !window.lost++) throw new TypeError("lost"); return answer; }; return true; })()`, end))
}

// TestConsoleSendsOnce checks that clicking again after a lost response repeats the same request, so that only one bulk
// send, or one envelope from a template, is created.
func TestConsoleSendsOnce(t *testing.T) {
	t.Parallel()
	id := svc.templateOf(t, "Sent once")
	b := open(t, desktop)
	consoleUser(b, "once", "sender")
	b.visit(svc.base + "/console#/bulk/new?template=" + id)
	b.see("Tenant.name, Tenant.email")
	b.dropResponse("/v1/bulk-sends")
	b.choose("#btable", "table.csv", []byte("Tenant.name,Tenant.email,Landlord.name,Landlord.email\r\nAda,ada-once@example.com,Grace,grace@example.com\r\n"))
	b.see("1 row is valid.")
	b.fill("#bname", "Once and no more")
	b.button("Send 1 envelope")
	b.see("The service can't be reached.")
	b.button("Send 1 envelope")
	b.see("1 of 1 row is done.")
	var sends struct{ Data []struct{ ID, Name string } }
	svc.json(t, http.MethodGet, "/v1/bulk-sends?tenantId=harbour&pageSize=100", nil, &sends)
	count := 0
	for _, s := range sends.Data {
		if s.Name == "Once and no more" {
			count++
		}
	}
	require.Equal(t, 1, count)

	losesTheEnvelope := func(email string) {
		b.visit(svc.base + "/console#/templates/" + id)
		b.button("New envelope")
		b.dropResponse("/v1/envelopes")
		b.fill("#pname0", "Ada Lovelace")
		b.fill("#pmail0", email)
		b.fill("#pname1", "Grace Hopper")
		b.fill("#pmail1", "grace@example.com")
		b.click(in(dialog, "Send"))
		b.see("The service can't be reached.")
	}
	losesTheEnvelope("sent-once@example.com")
	b.click(in(dialog, "Send"))
	b.see("Activity")
	var envelopes struct{ Total int }
	svc.json(t, http.MethodGet, "/v1/envelopes?tenantId=harbour&signerEmail=sent-once@example.com", nil, &envelopes)
	require.Equal(t, 1, envelopes.Total)

	// A send to a different recipient may be intentional, but requires a confirmation.
	losesTheEnvelope("sent-first@example.com")
	b.fill("#pmail0", "sent-second@example.com")
	b.click(in(dialog, "Send"))
	b.see("The action may already have been performed. Check before you retry.")
	svc.json(t, http.MethodGet, "/v1/envelopes?tenantId=harbour&signerEmail=sent-second@example.com", nil, &envelopes)
	require.Zero(t, envelopes.Total)
	b.waitUntilStill()
}
