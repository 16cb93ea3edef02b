package browser_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// reloadBuilder reloads the page and waits until the builder is displayed.
func (b *tab) reloadBuilder() {
	b.t.Helper()
	eval[bool](b, `window.before = true`)
	b.reloads()
	b.until(`!window.before && document.querySelector(".bpaint img") !== null`)
}

const placedFields = `document.querySelectorAll(".bfield").length === %d`

// TestTemplateSurvivesAReload checks that unsaved changes to a template, and their history, survive reloads until they
// are saved or discarded.
func TestTemplateSurvivesAReload(t *testing.T) {
	t.Parallel()
	var made struct{ ID string }
	e := svc.draft(t, "Lease with tags", twoPeople(), printed(t, sheetStyle+`<h1>Lease</h1><p>{{Name;role=Tenant;type=text}}</p><p style="margin-top: 80pt">{{sign;role=Landlord;type=signature}}</p>`))
	svc.json(t, http.MethodPost, "/v1/templates", object{"name": "Lease with tags", "tenantId": "harbour", "fromEnvelope": e.ID}, &made)
	b := open(t, desktop)
	b.confirmLeaving()
	b.buildsTemplate(made.ID, object{"send": true})
	b.until(`document.querySelectorAll(".bsuggestion").length === 2`)
	b.checked("builder-template-suggestions")
	eval[bool](b, `(document.querySelectorAll(".bsuggestion")[1].focus(), true)`)
	b.keysOn(`document.querySelectorAll(".bsuggestion")[1]`, kb.Delete)
	b.until(`document.querySelectorAll(".bsuggestion").length === 1`)
	b.button("Show hidden suggestions (1)")
	b.until(`document.querySelectorAll(".bsuggestion").length === 2`)
	b.button("Hide suggestions")
	b.until(`document.querySelectorAll(".bsuggestion").length === 0`)
	b.button("Show hidden suggestions (2)")
	b.button("Add all (2)")
	b.until(fmt.Sprintf(placedFields, 2))
	b.button("Text")
	b.press(1, 300, 600)
	b.until(fmt.Sprintf(placedFields, 3))
	b.button("Undo")
	b.button("Name, subject and message")
	b.fill("#tsubject", "Lease of {{place}}")
	b.click(inDialog("Apply"))
	b.button("Add")
	b.fill("#rname", "Guarantor")
	b.click(inDialog("Add"))
	b.until(`document.querySelectorAll(".brecipient").length === 3`)
	require.Equal(t, 1, svc.savedTemplate(t, made.ID).Version, "no change is saved yet")

	b.reloadBuilder()
	b.see("your unsaved work was restored")
	b.checked("builder-template-restored")
	b.until(fmt.Sprintf(stateIs, "Not saved yet"))
	b.until(fmt.Sprintf(placedFields, 2) + ` && document.querySelectorAll(".brecipient").length === 3`)
	b.button("Undo") // the added role
	b.until(`document.querySelectorAll(".brecipient").length === 2`)
	b.button("Undo") // the changed subject
	b.button("Undo") // the accepted suggestion
	b.until(fmt.Sprintf(placedFields, 0))
	for range 3 {
		b.button("Redo")
	}
	b.until(`document.querySelectorAll(".brecipient").length === 3`)
	b.reloadBuilder()
	b.button("Save")
	b.saved()
	got := svc.savedTemplate(t, made.ID)
	require.Equal(t, []any{2, "Lease of {{place}}", 2, 3}, []any{got.Version, got.Subject, len(got.Fields), len(got.Roles)})
	require.Equal(t, []string{"Tenant", "text", "Landlord", "signature"}, []string{got.Fields[0].Role, got.Fields[0].Type, got.Fields[1].Role, got.Fields[1].Type}, "the tags specify the recipient of each field")
	b.reloadBuilder()
	b.saved()
	require.NotContains(t, b.text(), "unsaved work")

	// Another user saves changes, and this page is reloaded with unsaved work.
	b.button("Initials")
	b.press(1, 300, 650)
	b.until(fmt.Sprintf(stateIs, "Not saved yet"))
	svc.json(t, http.MethodPatch, "/v1/templates/"+made.ID, object{"message": "Theirs"}, nil)
	b.reloadBuilder()
	b.see("Somebody else changed this template in the meantime.")
	b.focused(`document.querySelector("[role=alertdialog]")`)
	b.keys("\t\r") // Tab moves the focus to the first button
	b.until(fmt.Sprintf(stateIs, "Saved"))
	b.until(fmt.Sprintf(placedFields, 2))
	b.button("Undo") // this user's changes are in the history
	b.until(fmt.Sprintf(placedFields, 3))
	b.button("Redo")
	b.saved()
	b.waitUntilStill()
}

// TestUndoSurvivesAReload checks that changes made before a reload can be undone and redone after it, including changes
// to recipients. The history is discarded if the draft is changed elsewhere or sent.
func TestUndoSurvivesAReload(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Undone after a reload", twoPeople(), leaseDocument())
	b := open(t, desktop)
	b.confirmLeaving()
	b.builds(e, object{"send": true})
	b.button("Signature")
	b.press(1, 200, 300)
	b.saved()
	b.drags(b.onPage(1, 200, 300), b.onPage(1, 300, 400))
	b.saved()
	moved := svc.fields(t, e.ID)[0]
	b.click(`document.querySelector('[aria-label="Edit Ada Lovelace"]')`)
	b.click(inDialog("Remove, including fields"))
	b.until(`document.querySelectorAll(".brecipient").length === 1 && ` + fmt.Sprintf(placedFields, 0))
	b.saved()

	b.reloadBuilder()
	require.NotContains(t, b.text(), "unsaved work", "all changes were saved")
	b.button("Undo")
	b.until(`document.querySelectorAll(".brecipient").length === 2 && ` + fmt.Sprintf(placedFields, 1))
	b.saved()
	back := svc.fields(t, e.ID)[0]
	require.Equal(t, []any{find(svc.people(t, e.ID), "Ada Lovelace"), moved.X, moved.Y}, []any{back.SignerID, back.X, back.Y}, "the recipient and her field are restored")
	b.reloadBuilder()
	b.button("Undo")
	b.saved()
	require.InDelta(t, 120, svc.fields(t, e.ID)[0].X, 1.5, "the move is undone")
	b.button("Undo")
	b.saved()
	require.Empty(t, svc.fields(t, e.ID))
	b.reloadBuilder()
	b.button("Redo")
	b.button("Redo")
	b.saved()
	require.InDelta(t, moved.X, svc.fields(t, e.ID)[0].X, 0.01)
	b.button("Redo") // removes the recipient again
	b.until(`document.querySelectorAll(".brecipient").length === 1`)
	b.button("Undo")
	b.until(`document.querySelectorAll(".brecipient").length === 2`)
	b.saved()

	svc.json(t, http.MethodPatch, "/v1/envelopes/"+e.ID, object{"message": "Elsewhere"}, nil)
	b.reloadBuilder()
	require.True(t, eval[bool](b, `[...document.querySelectorAll(".btools button")].filter((x) => ["Undo", "Redo"].includes(x.textContent)).every((x) => x.ariaDisabled === "true")`), "the undo history belongs to another version")

	b.click(`[...document.querySelectorAll(".brecipient .bchoose")][0]`)
	b.button("Initials")
	b.press(1, 200, 600)
	b.saved()
	b.button("Send …")
	b.see("Send for signature")
	b.checked("builder-send")
	b.button("Send to 2 people")
	b.see("Recipients of step 1 have been invited.")
	b.until(`sessionStorage.length === 0`)
	b.waitUntilStill()
}

// TestBuilderSessionEnds checks that changes to a draft or template that were unsaved when a session expired are
// restored in the next session, if they can still be saved.
func TestBuilderSessionEnds(t *testing.T) {
	t.Parallel()
	session := func(of object) (id, address string) {
		var made struct{ SessionID, EmbedURL string }
		in := object{"tenantId": "harbour", "allowedOrigin": "http://localhost:9", "features": object{"send": true}}
		maps.Copy(in, of)
		svc.json(t, http.MethodPost, "/v1/embedded/builder-sessions", in, &made)
		return made.SessionID, made.EmbedURL
	}
	ends := func(id string) { svc.json(t, http.MethodDelete, "/v1/embedded/builder-sessions/"+id, nil, nil) }
	b := open(t, desktop)
	b.confirmLeaving()
	opens := func(address string) {
		b.visit(address)
		b.until(`document.querySelector(".bpaint img") !== null`)
	}

	of := svc.templateOf(t, "A session that ends")
	id, address := session(object{"templateId": of})
	opens(address)
	b.button("Text")
	b.press(1, 300, 550)
	b.until(fmt.Sprintf(stateIs, "Not saved yet"))
	ends(id)
	b.button("Save")
	b.see("Unsaved work stays in this tab")
	b.until(fmt.Sprintf(stateIs, "The session has ended"))
	b.checked("builder-session-ended")
	b.button("Initials") // later changes are kept as well
	b.press(1, 400, 350)
	b.until(fmt.Sprintf(placedFields, 4))
	_, address = session(object{"templateId": of})
	opens(address)
	b.see("your unsaved work was restored")
	b.until(fmt.Sprintf(placedFields, 4))
	b.button("Save")
	b.saved()
	require.Len(t, svc.savedTemplate(t, of).Fields, 4)

	e := svc.draft(t, "A session that ends", twoPeople(), leaseDocument())
	id, address = session(object{"envelopeId": e.ID})
	opens(address)
	b.connected(false)
	b.button("Signature")
	b.press(1, 200, 300)
	b.until(`document.querySelector(".bstate.offline") !== null`)
	ends(id)
	b.connected(true)
	b.until(fmt.Sprintf(stateIs, "The session has ended"))
	id, address = session(object{"envelopeId": e.ID})
	opens(address)
	b.see("your unsaved work was restored")
	b.saved()
	require.Len(t, svc.fields(t, e.ID), 1)

	// The page also reports the expiry if the first request after it is an action.
	ends(id)
	b.button("Send …")
	b.button("Send to 2 people")
	b.until(fmt.Sprintf(stateIs, "The session has ended"))
	_, address = session(object{"envelopeId": e.ID})
	opens(address)

	// If the draft is deleted elsewhere, a page that is opened later restores no changes.
	b.connected(false)
	b.button("Text")
	b.press(1, 200, 400)
	b.until(`document.querySelector(".bstate.offline") !== null`)
	svc.json(t, http.MethodDelete, "/v1/envelopes/"+e.ID, nil, nil)
	b.connected(true)
	b.until(fmt.Sprintf(stateIs, "The session has ended"))
	b.visit(address)
	b.until(`document.querySelector(".notice.bad") !== null`)
	require.NotContains(t, eval[string](b, `Object.keys(sessionStorage).join()`), e.ID)
}

// TestTemplateWithoutARemovedDocument checks that a user can keep and save their own changes after another user has
// removed a document from the template. The page omits the document and displays its name.
func TestTemplateWithoutARemovedDocument(t *testing.T) {
	t.Parallel()
	id := svc.templateOf(t, "Removed elsewhere")
	b := open(t, desktop)
	b.confirmLeaving()
	b.buildsTemplate(id, nil)
	b.choose(`.badd input`, "annex.pdf", leaseDocument())
	b.until(`document.querySelectorAll(".bdocuments > li").length === 2 && document.querySelector(".badd").textContent === "Add a document"`)
	b.reloadBuilder() // the page no longer holds the file
	b.button("Text")
	b.press(1, 300, 550)
	b.button("Text")
	b.shows(3)
	b.press(3, 300, 150)
	b.until(fmt.Sprintf(placedFields, 4))
	got := svc.savedTemplate(t, id)
	svc.json(t, http.MethodPatch, "/v1/templates/"+id, object{"documents": []object{{"id": got.Documents[0].ID}}}, nil)
	b.button("Save")
	b.see("Somebody else changed this template in the meantime.")
	b.button("Keep my version")
	b.see("Somebody else removed these documents: annex.pdf")
	b.button("Save")
	b.saved()
	got = svc.savedTemplate(t, id)
	require.Len(t, got.Documents, 1)
	require.Len(t, got.Fields, 3)
	b.button("Undo") // the earlier state includes the document
	b.until(`document.querySelector(".bstate").textContent !== "Saved"`)
	b.button("Save")
	b.saved()
	require.Len(t, svc.savedTemplate(t, id).Documents, 1)
	b.ignoreConflictErrors()
	b.waitUntilStill()
}

// TestConflictSurvivesAReload checks that a page that is reloaded during a conflict shows the conflict again, and
// neither saves nor sends anything until the user has resolved it.
func TestConflictSurvivesAReload(t *testing.T) {
	t.Parallel()
	of := svc.templateOf(t, "Asked again")
	b := open(t, desktop)
	b.confirmLeaving()
	b.buildsTemplate(of, object{"send": true})
	b.button("Text")
	b.press(1, 300, 550)
	b.until(fmt.Sprintf(stateIs, "Not saved yet"))
	svc.json(t, http.MethodPatch, "/v1/templates/"+of, object{"message": "Theirs"}, nil)
	b.button("Save")
	for range 2 {
		b.see("Somebody else changed this template in the meantime.")
		require.Len(t, svc.savedTemplate(t, of).Fields, 2)
		b.reloadBuilder()
	}
	b.see("Somebody else changed this template in the meantime.")
	b.button("Keep my version")
	b.button("Save")
	b.saved()
	require.Len(t, svc.savedTemplate(t, of).Fields, 3)

	e := svc.draft(t, "Asked again", twoPeople(), leaseDocument())
	b.builds(e, object{"send": true})
	b.button("Signature")
	b.press(1, 200, 300)
	b.saved()
	svc.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/fields", object{"signerId": e.Signers[0].ID, "type": "text", "name": "theirs", "page": 1, "x": 50, "y": 50, "w": 100, "h": 20}, nil)
	svc.json(t, http.MethodDelete, "/v1/envelopes/"+e.ID+"/fields/"+svc.fields(t, e.ID)[0].ID, nil, nil)
	b.drags(b.onPage(1, 200, 300), b.onPage(1, 300, 400)) // the field that was removed
	for range 2 {
		b.see("Somebody else changed this draft in the meantime.")
		b.see("added: theirs on page 1")
		b.see("removed: signature_1 on page 1")
		b.reloadBuilder()
	}
	b.see("added: theirs on page 1")
	b.button("Send …")
	b.click(inDialog("Send to 2 people"))
	b.until(`document.querySelector("dialog[open]") === null`) // the page's notice explains why it was not sent
	b.see("added: theirs on page 1")
	require.Equal(t, "draft", svc.envelope(t, e.ID).Status)
	b.button("Keep my version")
	b.saved()
	require.Len(t, svc.fields(t, e.ID), 1)

	// Only the message was changed, and this change is also reported again.
	b.button("Continue") // the notice about the restored work covers the page
	svc.json(t, http.MethodPatch, "/v1/envelopes/"+e.ID, object{"message": "Theirs"}, nil)
	b.button("Initials")
	b.press(1, 200, 600)
	for range 2 {
		b.see("recipients, documents, subject or message")
		b.reloadBuilder()
	}
	b.see("recipients, documents, subject or message")
	b.button("Use their version")
	b.saved()
	b.ignoreConflictErrors()
	b.ignoreConsoleErrors("beforeunload")
	b.waitUntilStill()
}

// TestBuilder_UploadDuringConflict_KeepsOtherDocuments adds a file while the page asks how to resolve a conflict. A
// document that was added elsewhere must not be removed.
func TestBuilder_UploadDuringConflict_KeepsOtherDocuments(t *testing.T) {
	t.Parallel()
	of := svc.templateOf(t, "Two files")
	names := func() (out []string) {
		for _, d := range svc.savedTemplate(t, of).Documents {
			out = append(out, d.Name)
		}
		return out
	}
	first, second := open(t, desktop), open(t, desktop)
	first.buildsTemplate(of, nil)
	second.buildsTemplate(of, nil)
	second.choose(`.badd input`, "theirs.pdf", leaseDocument())
	second.until(`document.querySelectorAll(".bdocuments > li").length === 2`)
	for range 2 {
		first.choose(`.badd input`, "mine.pdf", leaseDocument())
		first.see("Somebody else changed this template in the meantime.")
		first.until(`document.querySelector(".badd").textContent === "Add a document"`)
		require.Equal(t, []string{"lease.pdf", "theirs.pdf"}, names())
	}
	first.button("Use their version")
	first.choose(`.badd input`, "mine.pdf", leaseDocument())
	first.until(`document.querySelectorAll(".bdocuments > li").length === 3`)
	require.Equal(t, []string{"lease.pdf", "theirs.pdf", "mine.pdf"}, names())
	first.ignoreConflictErrors()
	first.waitUntilStill()

	e := svc.draft(t, "Two recipients", twoPeople()[:1], leaseDocument())
	first.builds(e, nil)
	svc.json(t, http.MethodPatch, "/v1/envelopes/"+e.ID, object{"message": "Theirs"}, nil)
	for range 2 {
		first.button("Add")
		first.fill("#rname", "Grace Hopper")
		first.fill("#remail", "grace@example.com")
		first.choice("#rauth", "none")
		first.click(inDialog("Add"))
		first.until(`document.querySelector("dialog[open] .notice.bad") !== null`)
		first.click(inDialog("Cancel"))
		first.see("Somebody else changed this draft in the meantime.")
		require.Len(t, svc.people(t, e.ID).Signers, 1)
	}
	first.ignoreConflictErrors()
	first.waitUntilStill()
}
