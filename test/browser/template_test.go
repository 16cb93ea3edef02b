package browser_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// savedTemplate is a template as returned by the service.
type savedTemplate struct {
	ID, Name, Subject string
	Version           int
	Roles             []struct {
		Role         string
		Kind         string
		RoutingOrder int
		WitnessFor   string
	}
	Fields []struct {
		Role, Type, DocumentID string
		X                      float64
	}
	Documents []struct {
		ID, Name  string
		PageCount int
	}
}

func (s *service) savedTemplate(t *testing.T, id string) savedTemplate {
	t.Helper()
	var out savedTemplate
	s.json(t, http.MethodGet, "/v1/templates/"+id, nil, &out)
	return out
}

// templateOf creates a template from a draft. The template has two roles and a field for each role.
func (s *service) templateOf(t *testing.T, name string) string {
	t.Helper()
	e := s.draft(t, name, twoPeople(), leaseDocument())
	for i, role := range []string{"Tenant", "Landlord"} {
		s.json(t, http.MethodPost, "/v1/envelopes/"+e.ID+"/fields", object{"role": role, "type": "signature", "page": 1, "x": 72, "y": 300 + 100*i, "w": 160, "h": 40}, nil)
	}
	var made struct{ ID string }
	s.json(t, http.MethodPost, "/v1/templates", object{"name": name, "tenantId": "harbour", "fromEnvelope": e.ID}, &made)
	return made.ID
}

// buildsTemplate opens a new builder session for a template.
func (b *tab) buildsTemplate(id string, features object) {
	b.t.Helper()
	var made struct{ EmbedURL string }
	svc.json(b.t, http.MethodPost, "/v1/embedded/builder-sessions", object{"tenantId": "harbour", "templateId": id, "allowedOrigin": "http://localhost:9", "features": features}, &made)
	b.visit(made.EmbedURL)
	b.until(`document.querySelector(".bpaint img") !== null`)
}

const stateIs = `document.querySelector(".bstate")?.textContent === %q`

// TestBuilderOfATemplate checks that the builder for a template displays roles instead of recipients, that changes are
// saved only on request, and that each save creates one version.
func TestBuilderOfATemplate(t *testing.T) {
	t.Parallel()
	id := svc.templateOf(t, "Lease of the mill")
	b := open(t, desktop)
	b.buildsTemplate(id, object{"send": true})
	b.see("Roles")
	b.button("Text")
	b.press(1, 300, 550)
	b.until(fmt.Sprintf(stateIs, "Not saved yet"))
	b.checked("builder-template")
	require.Equal(t, 1, svc.savedTemplate(t, id).Version)
	b.button("Undo")
	b.saved()
	b.button("Redo")
	b.button("Add")
	b.see("Add role")
	b.fill("#rname", "Guarantor")
	b.choice("#rkind", "witness")
	b.checked("builder-template-role")
	b.click(inDialog("Add"))
	b.until(`[...document.querySelectorAll(".brecipient.witness")].some((x) => x.textContent.includes("Guarantor") && x.textContent.includes("witnesses Tenant"))`)
	b.button("Name, subject and message")
	b.fill("#tsubject", "Lease of {{place}}")
	b.click(inDialog("Apply"))
	b.button("Save")
	b.saved()
	got := svc.savedTemplate(t, id)
	require.Equal(t, 2, got.Version, "one click on Save creates one version")
	require.Equal(t, "Lease of {{place}}", got.Subject)
	require.Len(t, got.Fields, 3)
	require.Len(t, got.Roles, 3)
	require.Equal(t, []any{"Guarantor", "Tenant", 1}, []any{got.Roles[2].Role, got.Roles[2].WitnessFor, got.Roles[2].RoutingOrder})

	// A concurrent save is not overwritten without confirmation.
	svc.json(t, http.MethodPatch, "/v1/templates/"+id, object{"message": "Theirs"}, nil)
	b.button("Initials")
	b.press(1, 300, 650)
	b.button("Save")
	b.see("Somebody else changed this template in the meantime.")
	b.see("version 3 was saved")
	b.ignoreConflictErrors()
	b.button("Keep my version")
	b.button("Save")
	b.saved()
	require.Len(t, svc.savedTemplate(t, id).Fields, 4)
	require.Equal(t, 4, svc.savedTemplate(t, id).Version)
	b.waitUntilStill()
}

// inDialog returns an expression for a button in the open dialog.
func inDialog(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("dialog[open] button")].find((x) => x.textContent === %q)`, text)
}

// people contains the recipients and documents of a draft as returned by the service.
type people struct {
	Signers []struct {
		ID, Name, Email, Role, WitnessFor string
		RoutingOrder                      int
	}
	Documents []struct{ ID, Name string }
}

func (s *service) people(t *testing.T, id string) people {
	t.Helper()
	var out people
	s.json(t, http.MethodGet, "/v1/envelopes/"+id, nil, &out)
	return out
}

// TestBuilder_UndoesRecipientChanges checks that undo restores a removed recipient together with the recipient's
// fields, and also reverts the move of a recipient and the addition of a witness.
func TestBuilder_UndoesRecipientChanges(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Back again", twoPeople(), leaseDocument())
	b := open(t, desktop)
	b.builds(e, nil)
	b.button("Signature")
	b.press(1, 200, 300)
	b.saved()
	first := svc.fields(t, e.ID)[0]
	b.click(`document.querySelector('[aria-label="Edit Ada Lovelace"]')`)
	b.click(inDialog("Remove, including fields"))
	b.until(`document.querySelectorAll(".brecipient").length === 1 && document.querySelectorAll(".bfield").length === 0`)
	require.Len(t, svc.people(t, e.ID).Signers, 1)
	b.button("Undo")
	b.until(`document.querySelectorAll(".brecipient").length === 2 && document.querySelectorAll(".bfield").length === 1`)
	b.saved()
	ada := find(svc.people(t, e.ID), "Ada Lovelace")
	back := svc.fields(t, e.ID)[0]
	require.Equal(t, []any{ada, first.X, first.Y}, []any{back.SignerID, back.X, back.Y}, "the field is restored and assigned to her")
	b.button("Undo")
	b.saved()
	require.Empty(t, svc.fields(t, e.ID), "placing the field is undone, too")
	b.button("Redo")
	b.saved()
	require.Len(t, svc.fields(t, e.ID), 1)
	b.button("Redo")
	b.until(`document.querySelectorAll(".brecipient").length === 1`)
	b.button("Undo")
	b.until(`document.querySelectorAll(".bfield").length === 1`)
	b.saved()

	// With the keyboard, one recipient is moved into the other's step. Later, a witness is added.
	b.enterOn(`document.querySelector('[aria-label="Move Grace Hopper earlier"]')`)
	b.until(`document.querySelectorAll(".bstepbox").length === 1`)
	for _, s := range svc.people(t, e.ID).Signers {
		require.Equal(t, 1, s.RoutingOrder, s.Name)
	}
	b.button("Undo")
	b.until(`document.querySelectorAll(".bstepbox").length === 2`)
	b.checked("builder-steps")
	b.button("Add")
	b.fill("#rname", "Wil Witness")
	b.fill("#remail", "wil@example.com")
	b.choice("#rauth", "none")
	b.choice("#rkind", "witness")
	b.click(inDialog("Add"))
	b.until(`document.querySelector(".brecipient.witness")?.textContent.includes("witnesses")`)
	require.NotEmpty(t, svc.people(t, e.ID).Signers[2].WitnessFor)
	b.button("Undo")
	b.until(`document.querySelector(".brecipient.witness") === null`)
	require.Len(t, svc.people(t, e.ID).Signers, 2)
	b.waitUntilStill()
}

// enterOn focuses a control and presses Enter.
func (b *tab) enterOn(find string) {
	b.t.Helper()
	eval[bool](b, `(`+find+`.focus(), true)`)
	b.keysOn(find, "\r")
}

func find(p people, name string) string {
	for _, s := range p.Signers {
		if s.Name == name {
			return s.ID
		}
	}
	return ""
}

// TestBuilderOrdersRecipientsByMouse checks that a recipient can be dragged into the step of another one.
func TestBuilderOrdersRecipientsByMouse(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Dragged", twoPeople(), leaseDocument())
	b := open(t, desktop)
	b.builds(e, nil)
	b.dragsOnto(`document.querySelectorAll(".brecipient")[1].querySelector("strong")`, `document.querySelector(".bstepbox")`)
	b.until(`document.querySelectorAll(".bstepbox").length === 1`)
	for _, s := range svc.people(t, e.ID).Signers {
		require.Equal(t, 1, s.RoutingOrder, s.Name)
	}
	b.waitUntilStill()
}

// TestBuilder_UndoesDocumentChanges checks that undo restores a removed document with its name, position, pages and
// fields.
func TestBuilder_UndoesDocumentChanges(t *testing.T) {
	t.Parallel()
	e := svc.draft(t, "Two files", twoPeople()[:1], leaseDocument())
	b := open(t, desktop)
	b.builds(e, nil)
	b.choose(`.badd input`, "annex.pdf", leaseDocument())
	b.until(`document.querySelectorAll(".bdocuments > li").length === 2 && document.querySelector(".badd").textContent === "Add a document"`)
	b.enterOn(`document.querySelector('[aria-label="Move annex.pdf up"]')`)
	b.until(`document.querySelector(".bdocuments > li")?.textContent.includes("annex.pdf")`)
	b.click(`document.querySelector('[aria-label="Edit annex.pdf"]')`)
	b.fill("#dname", "Annex A.pdf")
	b.click(inDialog("Rename"))
	b.until(`document.querySelector(".bdocuments > li")?.textContent.includes("Annex A.pdf")`)
	b.click(`document.querySelector('[aria-label="Show pages of Annex A.pdf"]')`)
	b.until(`document.querySelectorAll(".bthumbpage img").length > 0`)
	b.button("Signature")
	b.press(1, 200, 300)
	b.saved()
	b.checked("builder-thumbnails")
	require.Equal(t, "Annex A.pdf", svc.people(t, e.ID).Documents[0].Name)
	b.click(`document.querySelector('[aria-label="Edit Annex A.pdf"]')`)
	b.click(inDialog("Remove document and its fields"))
	b.until(`document.querySelectorAll(".bdocuments > li").length === 1`)
	require.Empty(t, svc.fields(t, e.ID))
	b.button("Undo")
	b.until(`document.querySelectorAll(".bdocuments > li").length === 2 && document.querySelectorAll(".bfield").length === 1`)
	b.saved()
	require.Equal(t, "Annex A.pdf", svc.people(t, e.ID).Documents[0].Name)
	require.Len(t, svc.fields(t, e.ID), 1)
	for range 4 { // the field, name, position and file are restored
		b.until(`!(document.querySelector('[title="Undo (Ctrl+Z)"]').disabled || document.querySelector('[title="Undo (Ctrl+Z)"]').ariaDisabled === "true")`)
		b.button("Undo")
	}
	b.until(`document.querySelectorAll(".bdocuments > li").length === 1`)
	b.saved()
	require.Len(t, svc.people(t, e.ID).Documents, 1)
	require.Equal(t, "lease.pdf", svc.people(t, e.ID).Documents[0].Name)
	b.waitUntilStill()
}

// TestConsoleTemplates checks that a sender can create a template from a file and from an envelope, and edit, use and
// archive it, without the API.
func TestConsoleTemplates(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	consoleUser(b, "templates", "sender")
	b.visit(svc.base + "/console#/templates")
	b.see("New template")
	b.button("New template")
	b.choose("#newfiles", "workshop.pdf", leaseDocument())
	b.until(`document.querySelector("#newtname")?.value === "workshop"`)
	b.fill("#newtname", "Workshop of a sender")
	b.fill("#newroles", "Tenant, Landlord")
	b.checked("console-template-new")
	b.button("Continue")
	b.until(`document.querySelector(".bpaint img") !== null`)
	id := eval[string](b, `location.hash.split("/")[2]`)
	b.button("Signature")
	b.press(1, 200, 300)
	b.button("Close")
	b.see("Save your changes?")
	b.accessible()
	b.button("Save and close")
	b.see("Version 2")
	b.checked("console-template")
	require.Len(t, svc.savedTemplate(t, id).Fields, 1)

	b.button("New envelope")
	b.see("New envelope from Workshop of a sender")
	b.fill("#pname0", "Ada Lovelace")
	b.fill("#pmail0", "ada-template@example.com")
	b.fill("#pname1", "Grace Hopper")
	b.fill("#pmail1", "grace-template@example.com")
	b.checked("console-template-use")
	b.button("Continue in the builder")
	b.until(`document.querySelectorAll(".bfield").length === 1`)
	b.click(`[...document.querySelectorAll(".brecipient .bchoose")][1]`)
	b.button("Signature")
	b.press(1, 200, 500)
	b.saved()
	b.button("Send …")
	b.button("Send to 2 people")
	b.see("Activity")
	b.button("Save as template")
	b.see("Recipients become roles")
	b.fill("#newtname", "Of an envelope")
	b.button("Save template")
	b.see("Of an envelope")
	b.see("Landlord")
	b.button("Archive")
	b.see("Archive this template?")
	b.click(inDialog("Archive"))
	b.until(`document.querySelector(".head .badge")?.textContent === "archived"`)
	b.waitUntilStill()
}

// TestContactsAreOffered checks that the console's builder suggests contacts while a name is being typed, but an
// application's session suggests none.
func TestContactsAreOffered(t *testing.T) {
	t.Parallel()
	svc.json(t, http.MethodPost, "/v1/console/contacts", object{"name": "Quentin Quay", "email": "quentin@example.com"}, nil)
	e := svc.draft(t, "With contacts", twoPeople()[:1], leaseDocument())
	b := open(t, desktop)
	consoleUser(b, "contacting", "sender")
	b.visit(svc.base + "/console#/build/" + e.ID)
	b.until(`document.querySelector(".bpaint img") !== null`)
	b.button("Add")
	b.keysOn(`document.querySelector("#rname")`, "Quen")
	b.until(`document.querySelectorAll("[role=option]").length === 1`)
	b.checked("builder-contacts")
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.keys("\r")
	b.until(`document.querySelector("#remail").value === "quentin@example.com"`)
	require.Equal(t, "Quentin Quay", eval[string](b, `document.querySelector("#rname").value`))
	b.waitUntilStill()

	b = open(t, desktop)
	b.builds(e, nil)
	b.button("Add")
	b.see("Add recipient")
	require.True(t, eval[bool](b, `document.querySelector("#rname").role !== "combobox"`))
	b.waitUntilStill()
}

// TestFirstUse checks that an empty list explains its purpose and the next step.
func TestFirstUse(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	const none = `{"data": [], "nextCursor": null}`
	b.answers("/v1/console/envelopes", 200, none)
	b.answers("/v1/templates", 200, none)
	b.answers("/v1/bulk-sends", 200, none)
	b.answers("/v1/console/contacts", 200, `[]`)
	b.answers("/v1/console/webhooks", 200, `{"data": [], "nextCursor": null}`)
	consoleUser(b, "firstuse", "sender")
	for _, list := range []struct{ section, title string }{
		{"envelopes", "No envelopes yet"}, {"templates", "No templates yet"}, {"bulk", "No bulk sends yet"}, {"contacts", "No contacts yet"}, {"webhooks", "No endpoints yet"},
	} {
		b.visit(svc.base + "/console#/" + list.section)
		b.see(list.title)
		b.checked("console-first-" + list.section)
	}
	b.visit(svc.base + "/console#/bulk/new")
	b.see("Create a template first")
	b.waitUntilStill()
}
