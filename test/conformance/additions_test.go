package conformance_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// checkDrafts makes every kind of edit to a draft, and deletes the draft.
func checkDrafts(t *testing.T, s *target) {
	t.Helper()
	c := s.app()
	e := s.create(t, s.contract())
	at := "/v1/envelopes/" + e.str("id")
	document := at + "/documents/" + e.item("documents", 0)["id"].(string)
	signer, field := at+"/signers/"+e.item("signers", 0)["id"].(string), at+"/fields/"+e.item("fields", 0)["id"].(string)
	a := c.call(t, http.MethodPatch, at, object{"subject": "Changed", "metadata": object{"case": "7"}}).want(t, 200)
	require.Equal(t, "Changed", a.str("subject"))
	c.call(t, http.MethodPatch, signer, object{"name": "Ada King"}).want(t, 200)
	require.Equal(t, "Ada King", c.get(t, strings.Replace(signer, "/v1/", "/v1/console/", 1)+"/preview").want(t, 200).str("signerName"))
	c.call(t, http.MethodPatch, field, object{"w": 200}).want(t, 200)
	c.call(t, http.MethodPatch, document, object{"name": "Lease.pdf"}).want(t, 200)
	c.get(t, document+"/suggestions").want(t, 200)
	c.post(t, document+"/prepare", object{"tags": "detect"}).want(t, 200)
	c.call(t, http.MethodDelete, field, nil).want(t, 204)
	c.call(t, http.MethodDelete, signer, nil).want(t, 204)
	c.call(t, http.MethodDelete, document, nil).want(t, 204)
	c.call(t, http.MethodDelete, at, nil).want(t, 204)
	c.get(t, at).rejected(t, 404, "not_found")
}

// checkCorrections corrects envelopes that were already sent.
func checkCorrections(t *testing.T, s *target) {
	t.Helper()
	c, nobody := s.app(), &client{s: s}
	e, _ := s.sent(t, s.contract())
	at := "/v1/envelopes/" + e.str("id")
	signer := at + "/signers/" + e.item("signers", 0)["id"].(string)
	c.call(t, http.MethodPatch, at, object{"reminderHours": 5}).want(t, 200)
	require.NotEqual(t, e.str("id"), c.post(t, at+"/duplicate", object{"createdBy": "me"}).want(t, 201).str("id"))
	c.post(t, signer+"/remind", nil).want(t, 202)
	c.post(t, signer+"/remind", nil).want(t, 429)
	c.post(t, signer+"/resend", nil).want(t, 202)
	require.NotEmpty(t, c.post(t, signer+"/signing-link", object{"rotate": true}).want(t, 200).str("signingUrl"))
	require.Equal(t, "Grace Hopper", c.post(t, signer+"/replace", object{"name": "Grace Hopper", "email": "grace@example.com"}).want(t, 200).str("name"))
	c.post(t, at+"/copies", object{"email": "grace@example.com"}).rejected(t, 409, "envelope_not_completed")

	handed := s.contract()
	handed["signers"].([]object)[0]["allowDelegation"] = true
	_, tokens := s.sent(t, handed)
	nobody.post(t, "/v1/signing/"+tokens[0]+"/delegate", object{"name": "Mary Somerville", "email": "mary@example.com"}).want(t, 204)
	nobody.get(t, "/v1/signing/"+tokens[0]).rejected(t, 401, "signing_link_invalid")

	hook := c.post(t, "/v1/webhooks", object{"url": "https://example.com/hook", "events": []string{"signer.otp_failed"}}).want(t, 201).str("id")
	c.call(t, http.MethodPatch, "/v1/webhooks/"+hook, object{"events": []string{"envelope.updated"}}).want(t, 200)
	require.Equal(t, []any{"envelope.updated"}, c.get(t, "/v1/webhooks/"+hook).want(t, 200).body["events"])
	c.post(t, "/v1/webhooks/"+hook+"/test", nil).want(t, 202)
	c.call(t, http.MethodDelete, "/v1/webhooks/"+hook, nil).want(t, 204)
}

// checkAttachments signs with an attachment, then retrieves the values, files and copies.
func checkAttachments(t *testing.T, s *target) {
	t.Helper()
	c, nobody := s.app(), &client{s: s}
	data := s.contract()
	data["fields"] = append(data["fields"].([]object), object{"signerId": "0", "type": "attachment", "name": "proof", "page": 1, "x": 72, "y": 400, "w": 160, "h": 50})
	e, tokens := s.sent(t, data)
	at := "/v1/signing/" + tokens[0]
	fields := nobody.get(t, at).want(t, 200).body["fields"].([]any)
	nobody.post(t, at+"/consent", nil).want(t, 200)
	id := func(i int) string { return fields[i].(object)["id"].(string) }
	give := func() string {
		return nobody.multipart(t, at+"/attachments", map[string]string{"fieldId": id(1)}, kit.OnePage()).want(t, 201).str("attachmentId")
	}
	spare, kept := give(), give()
	nobody.get(t, at+"/attachments/"+kept).want(t, 200)
	nobody.call(t, http.MethodDelete, at+"/attachments/"+spare, nil).want(t, 204)
	nobody.post(t, at+"/sign", object{"fields": []object{{"fieldId": id(0), "textValue": "yes"}, {"fieldId": id(1), "attachmentId": kept}}}).want(t, 200)
	envelope := "/v1/envelopes/" + e.str("id")
	c.get(t, envelope+"/attachments/"+kept).want(t, 200)
	c.get(t, envelope+"/values").want(t, 200)
	s.completed(t, e.str("id"))
	c.get(t, envelope+"/documents.zip").want(t, 200)
	c.post(t, envelope+"/copies", object{"email": "ada@example.com"}).want(t, 202)
}

// checkTemplates creates and modifies a template, sends an envelope created from it, and archives the template.
func checkTemplates(t *testing.T, s *target) {
	t.Helper()
	c := s.app()
	data := `{"tenantId": "` + s.contract()["tenantId"].(string) + `", "name": "Lease", "subject": "Lease of {{place}}", "roles": [{"role": "tenant", "authMethod": "none"}],
		"fields": [{"role": "tenant", "type": "text", "name": "rent", "page": 1, "x": 72, "y": 300, "w": 160, "h": 20}]}`
	template := c.multipart(t, "/v1/templates", map[string]string{"data": data}, kit.OnePage()).want(t, 201)
	at := "/v1/templates/" + template.str("id")
	require.EqualValues(t, 2, c.call(t, http.MethodPatch, at, object{"message": "Please sign"}).want(t, 200).body["version"])
	require.EqualValues(t, 1, c.get(t, at+"?version=1").want(t, 200).body["version"])
	c.get(t, at+"/document").want(t, 200)
	showsPages(t, c, at+"/documents/"+template.item("documents", 0)["id"].(string))
	c.get(t, at+"/documents/"+template.item("documents", 0)["id"].(string)+"/suggestions").want(t, 200)
	c.get(t, "/v1/templates?tenantId="+url.QueryEscape(s.contract()["tenantId"].(string))).want(t, 200)
	again := object{"tenantId": s.contract()["tenantId"], "name": "Again", "externalId": "again-" + template.str("id"), "roles": []object{{"role": "a"}}}
	c.post(t, "/v1/templates", again).want(t, 201)
	require.EqualValues(t, 2, c.post(t, "/v1/templates", again).want(t, 200).body["version"])
	e := c.post(t, "/v1/envelopes", object{
		"tenantId": s.contract()["tenantId"], "templateId": template.str("id"), "send": true, "variables": object{"place": "the mill"}, "values": object{"rent": "5"},
		"signers": []object{{"role": "tenant", "name": "Ada Byron", "email": "ada@example.com"}},
	}).want(t, 201)
	require.Equal(t, []string{"sent", "Lease of the mill"}, []string{e.str("status"), e.str("subject")})
	c.call(t, http.MethodDelete, at, nil).want(t, 204)
	c.get(t, at+"/document").rejected(t, 410, "template_archived")
	c.get(t, "/v1/envelopes/"+e.str("id")+"/document").want(t, 200)
	c.post(t, "/v1/envelopes/"+e.str("id")+"/void", nil).want(t, 200)
}
