package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/operate/sweep"
	"countersign/test/kit"
)

// everyKind returns a request to create an envelope with a recipient of each kind, in routing order, and a witness.
func everyKind() object {
	return object{
		"tenantId": "acme", "subject": "Lease",
		"signers": []object{
			{"name": "Cora", "email": "cora@example.com", "kind": "copy", "language": "de"},
			{"name": "Abe", "email": "abe@example.com", "kind": "approver", "authMethod": "none", "routingOrder": 2, "language": "fr-CA"},
			{"name": "Vic", "email": "vic@example.com", "kind": "viewer", "authMethod": "none", "routingOrder": 3, "notify": false},
			{"name": "Wilma", "email": "wilma@example.com", "authMethod": "email_otp", "witnessFor": "Tenant"},
			{
				"name": "Ida", "email": "ida@example.com", "kind": "in_person", "routingOrder": 4, "role": "Tenant",
				"host": object{"name": "Hal", "email": "hal@example.com"},
			},
			{"name": "Carl", "email": "carl@example.com", "kind": "copy", "routingOrder": 5, "role": "Archive", "notify": false},
		},
		"fields": []object{{"role": "Tenant", "type": "signature", "page": 1, "x": 50, "y": 50, "w": 100, "h": 20}},
	}
}

func (c *client) create(data object) *response {
	c.t.Helper()
	b, err := json.Marshal(data)
	require.NoError(c.t, err)
	ct, body := multipartBody(c.t, map[string]string{"data": string(b)}, kit.OnePage())
	return c.send("POST", "/v1/envelopes", ct, body)
}

func (a *response) copies() []any { c, _ := a.body["copies"].([]any); return c }

// finishes performs the actions of the recipient of a link: consent, and then signing, approval or confirmation of
// reading.
func (c *client) finishes(at string, fields ...object) *response {
	c.t.Helper()
	c.get(at).want(200)
	c.post(at+"/consent", nil).want(200)
	if fields == nil {
		fields = []object{}
	}
	return c.post(at+"/sign", object{"fields": fields})
}

// TestEveryKindOfRecipient checks that recipients of every kind act in the correct order, and that responses remain
// compatible with the original API.
func TestEveryKindOfRecipient(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		e := c.create(everyKind()).want(201)
		require.Len(t, e.body["signers"], 4)
		require.Len(t, e.copies(), 2)
		cora := e.copies()[0].(object)
		require.Equal(t, object{
			"id": cora["id"], "name": "Cora", "email": "cora@example.com", "routingOrder": 1.0, "status": "pending", "kind": "copy", "language": "de",
		}, cora)
		abe, vic, wilma, ida := e.signer(0), e.signer(1), e.signer(2), e.signer(3)
		require.Equal(t, []any{"approver", "fr-CA", nil}, []any{abe["kind"], abe["language"], abe["notify"]})
		require.Equal(t, []any{"viewer", false}, []any{vic["kind"], vic["notify"]})
		require.Equal(t, []any{nil, "Tenant", 4.0}, []any{wilma["kind"], wilma["witnessFor"], wilma["routingOrder"]})
		require.Equal(t, []any{"in_person", "none", object{"name": "Hal", "email": "hal@example.com"}}, []any{ida["kind"], ida["authMethod"], ida["host"]})

		sent := c.post("/v1/envelopes/"+e.str("id")+"/send", nil).want(200)
		require.Equal(t, "sent", sent.signer(0)["status"], "a group that contains only copies is skipped")
		require.Equal(t, "sent", sent.copies()[0].(object)["status"])

		at := s.link(t, e, 0)
		ctx := nobody.get(at).want(200)
		require.Equal(t, []any{"approver", "fr-CA", "fr"}, []any{ctx.body["kind"], ctx.body["language"], ctx.body["consent"].(object)["language"]})
		require.Equal(t, "signed", nobody.finishes(at).want(200).str("status"))

		at = s.link(t, e, 1)
		doc := e.document(0)["id"]
		ctx = nobody.get(at).want(200)
		require.Equal(t, []any{doc}, ctx.body["documentsToOpen"])
		rejected := nobody.finishes(at).rejected(409, "documents_not_opened")
		require.Equal(t, object{"documentIds": []any{doc}}, rejected.body["details"])
		nobody.post(at+"/page-view", object{"documentId": doc, "page": 1, "dwellMs": 5}).want(204)
		require.Equal(t, []any{}, nobody.get(at).want(200).body["documentsToOpen"])
		nobody.post(at+"/sign", object{"fields": []object{}}).want(200)

		now := c.get("/v1/envelopes/" + e.str("id")).want(200)
		require.Equal(t, []any{"pending", "sent"}, []any{now.signer(2)["status"], now.signer(3)["status"]}, "the witness waits")
		at = s.link(t, e, 3)
		ctx = nobody.get(at).want(200)
		require.Equal(t, []any{"in_person", object{"name": "Hal"}, "Tenant"}, []any{ctx.body["kind"], ctx.body["host"], ctx.body["role"]})
		nobody.finishes(at, object{"fieldId": e.field(0)["id"], "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature())}).want(200)

		at = s.link(t, e, 2)
		ctx = nobody.get(at).want(200)
		require.Nil(t, ctx.body["witnessFor"].(object)["name"], "not returned before the code is verified")
		code := nobody.code(at)
		nobody.post(at+"/otp/verify", object{"code": code}).want(200)
		witnessed := nobody.get(at).want(200).body["witnessFor"].(object)
		require.Equal(t, []any{ida["id"], "Tenant", "Ida"}, []any{witnessed["signerId"], witnessed["role"], witnessed["name"]})
		require.NotNil(t, witnessed["signedAt"])
		nobody.post(at+"/consent", nil).want(200)
		nobody.post(at+"/sign", object{"fields": []object{}}).want(200)

		done := c.get("/v1/envelopes/" + e.str("id")).want(200)
		for i := range 4 {
			require.Equal(t, "signed", done.signer(i)["status"])
			require.NotNil(t, done.signer(i)["signedAt"])
		}
		var kinds []any
		for _, ev := range done.events("signer.signed") {
			kinds = append(kinds, ev["kind"])
		}
		require.Equal(t, []any{"approver", "viewer", "in_person", nil}, kinds)
		require.Equal(t, ida["id"], done.events("signer.signed")[3]["witnessFor"])
		require.NotContains(t, string(done.raw), "hal@example.com\",\"ip", "the chain contains no names")
		require.Len(t, done.events("signer.added"), 6)
		require.Equal(t, 4, s.outbox(t, e.str("id"), models.OutboxSigned))

		sealed := s.seals(t, c, e)
		record := nobody.send("POST", "/v1/verify", "application/pdf", sealed).want(200)
		require.Equal(t, "valid", record.str("verdict"))
		signers := record.body["record"].(object)["signers"].([]any)
		require.Equal(t, []any{"approver", "viewer", "in_person"}, []any{signers[0].(object)["kind"], signers[1].(object)["kind"], signers[3].(object)["kind"]})
		require.Equal(t, object{"name": "Hal", "email": "hal@example.com"}, signers[3].(object)["host"])
		require.Equal(t, ida["id"], signers[2].(object)["witnessFor"])
		c.post("/v1/envelopes/"+e.str("id")+"/copies", object{"email": "Carl@example.com"}).want(202)
		c.post("/v1/envelopes/"+e.str("id")+"/copies", object{"email": "hal@example.com"}).rejected(400, "validation_error")
		console := s.signIn(t, models.RoleViewer)
		require.Len(t, console.get("/v1/console/envelopes/"+e.str("id")).want(200).copies(), 2)
		require.Len(t, console.get("/v1/console/envelopes").want(200).body["data"].([]any)[0].(object)["copies"], 2)
		found := c.get("/v1/envelopes?tenantId=acme&signerEmail=carl@example.com").want(200)
		require.Len(t, found.body["data"], 1)
		require.Len(t, found.body["data"].([]any)[0].(object)["copies"], 2)
	})
}

// TestRecipients_RejectedRequests checks that each rejection identifies the fault.
func TestRecipients_RejectedRequests(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	for name, tc := range map[string]struct {
		member string
		value  any
		at     int
		path   string
	}{
		"kind":                {"kind", "boss", 1, "signers[1].kind"},
		"kind of a type":      {"kind", 7, 1, "signers[1].kind"},
		"language":            {"language", "xx", 1, "signers[1].language"},
		"a role twice":        {"role", "Tenant", 1, "signers[4].role"},
		"notify":              {"notify", "no", 1, "signers[1].notify"},
		"mailed code":         {"authMethod", "email_otp", 4, "signers[4].authMethod"},
		"no host":             {"host", nil, 4, "signers[4].host"},
		"host without a mail": {"host", object{"name": "Hal"}, 4, "signers[4].host.email"},
		"host of themselves":  {"host", object{"name": "Hal", "email": "IDA@example.com"}, 4, "signers[4].host.email"},
		"host of a viewer":    {"host", object{"name": "Hal", "email": "hal@example.com"}, 2, "signers[2].host"},
		"witness of nobody":   {"witnessFor", "Landlord", 3, "signers[3].witnessFor"},
		"witness of a copy":   {"witnessFor", "Archive", 3, "signers[3].witnessFor"},
		"witness's order":     {"routingOrder", 2, 3, "signers[3].routingOrder"},
		"witness's address":   {"email", "Ida@example.com", 3, "signers[3].email"},
	} {
		data := everyKind()
		data["signers"].([]object)[tc.at][tc.member] = tc.value
		require.Contains(t, c.create(data).rejected(400, "validation_error").body["errors"], tc.path, name)
	}
	data := everyKind()
	data["fields"].([]object)[0]["role"] = "Archive"
	require.Contains(t, c.create(data).rejected(400, "validation_error").body["errors"], "fields[0].role")

	only := everyKind()
	only["signers"], only["fields"] = only["signers"].([]object)[:1], []object{}
	e := c.create(only).want(201)
	require.Empty(t, e.body["signers"])
	require.Contains(t, c.post("/v1/envelopes/"+e.str("id")+"/send", nil).rejected(400, "validation_error").body["errors"], "signers")
	c.post("/v1/embedded/signing-sessions", object{
		"tenantId": "acme", "envelopeId": e.str("id"), "signerId": e.copies()[0].(object)["id"], "allowedOrigin": "https://app.example.com",
	}).rejected(404, "not_found")
}

// TestEditRecipient_ChangesKind checks that PATCH can change the kind of a recipient.
func TestEditRecipient_ChangesKind(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e := c.create(everyKind()).want(201)
		at := "/v1/envelopes/" + e.str("id") + "/signers/"
		cora, abe, ida := e.copies()[0].(object)["id"].(string), e.signer(0)["id"].(string), e.signer(3)["id"].(string)
		made := c.patch(at+cora, object{"kind": "approver", "routingOrder": 6, "notify": false}).want(200)
		require.Equal(t, []any{"approver", false, "de", 6.0}, []any{made.str("kind"), made.body["notify"], made.str("language"), made.body["routingOrder"]})
		require.Equal(t, "copy", c.patch(at+abe, object{"kind": "copy", "language": "it", "role": "Office"}).want(200).str("kind"))
		require.Equal(t, object{"name": "Hal", "email": "h2@example.com"}, c.patch(at+ida, object{"host": object{"name": "Hal", "email": "h2@example.com"}}).want(200).body["host"])
		require.Contains(t, c.patch(at+ida, object{"kind": nil}).rejected(400, "validation_error").body["errors"], "host")
		require.Nil(t, c.patch(at+cora, object{"notify": nil, "language": nil}).want(200).body["language"])
		now := c.get("/v1/envelopes/" + e.str("id")).want(200)
		require.Len(t, now.body["signers"], 4)
		require.Equal(t, "Abe", now.copies()[0].(object)["name"])
		c.patch(at+ida, object{"routingOrder": 7}).want(200)
		require.EqualValues(t, 7, c.get("/v1/envelopes/" + e.str("id")).want(200).signer(2)["routingOrder"], "the witness stays in the same group")
		witness := e.signer(2)["id"].(string)
		require.Equal(t, "Tenant", c.patch(at+witness, object{"witnessFor": "Tenant", "language": "ja"}).want(200).str("witnessFor"))
		require.Contains(t, c.patch(at+witness, object{"routingOrder": 2}).rejected(400, "validation_error").body["errors"], "routingOrder")
		c.del(at + abe).want(204)
		require.Len(t, c.get("/v1/envelopes/"+e.str("id")).want(200).copies(), 1)
		added := c.post("/v1/envelopes/"+e.str("id")+"/signers", object{"name": "Zoe", "email": "zoe@example.com", "kind": "copy"}).want(201)
		require.Equal(t, []any{"copy", "pending"}, []any{added.str("kind"), added.str("status")})
	})
}

// TestReplaceCopyRecipient checks that the recipient of a copy can be replaced until all signers have signed.
func TestReplaceCopyRecipient(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"signer.replaced"}}).want(201)
		data := contract()
		data["signers"] = append(data["signers"].([]object), object{"name": "Cora", "email": "cora@example.com", "kind": "copy"}, object{"name": "Late", "email": "late@example.com", "kind": "copy", "routingOrder": 9})
		e, token := c.sent(data)
		ids := e.copies()
		require.Len(t, ids, 2)
		at := func(i int) string {
			return "/v1/envelopes/" + e.str("id") + "/signers/" + ids[i].(object)["id"].(string) + "/replace"
		}
		in := object{"name": "Dora", "email": "dora@example.com", "reason": "On leave"}
		got := c.post(at(0), in).want(200)
		require.Equal(t, []any{ids[0].(object)["id"], "Dora", "copy", "sent"}, []any{got.str("id"), got.str("name"), got.str("kind"), got.str("status")})
		require.Equal(t, "pending", c.post(at(1), object{"name": "Luna", "email": "luna@example.com"}).want(200).str("status"))
		require.Equal(t, 1, s.outbox(t, e.str("id"), models.OutboxReinvite), "only the recipient whose routing order was reached is notified")
		c.post(at(0), object{"name": "Dora", "email": "dora"}).rejected(400, "validation_error")

		shown := c.get("/v1/envelopes/" + e.str("id")).want(200)
		dora := shown.copies()[0].(object)
		was := dora["previous"].([]any)[0].(object)
		require.Equal(t, []any{"dora@example.com", "Cora", "cora@example.com", "On leave"}, []any{dora["email"], was["name"], was["email"], was["reason"]})
		persons := []any{}
		for _, ev := range shown.body["auditLog"].([]any) {
			require.NotEqual(t, "signer.replaced", ev.(object)["event"])
			if ev.(object)["event"] == "copy.replaced" {
				detail := ev.(object)["detail"].(object)
				persons = append(persons, detail["person"])
				for _, name := range []string{"Cora", "cora@", "Dora", "dora@", "Luna"} {
					require.NotContains(t, fmt.Sprint(detail), name, "the chain contains no names")
				}
			}
		}
		require.Equal(t, []any{2.0, 2.0}, persons)
		require.Empty(t, c.get("/v1/console/webhook-deliveries?webhookId=" + hook.str("id")).want(200).body["data"])
		require.EqualValues(t, 1, c.get("/v1/envelopes?tenantId=acme&signerEmail=dora@example.com").want(200).body["total"])
		s.signIn(t, models.RoleViewer).post(at(0), in).rejected(403, "role_forbidden")
		c.signs(e, token)
		c.post(at(0), in).rejected(409, "envelope_sealing")
	})
}

// TestReplaceSigner_SuccessorInheritsNothing checks that a new signer inherits none of the previous signer's
// attachments, consent, verification, adopted signature, draft key or embedded sessions.
func TestReplaceSigner_SuccessorInheritsNothing(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		for _, way := range []string{"replaced", "delegated"} {
			ada, grace := way+"-ada@example.com", way+"-grace@example.com"
			s.adopts(t, c, ada)
			data := attaching()
			data["signers"].([]object)[0] = object{"name": "Ada Byron", "email": ada, "routingOrder": 1, "allowDelegation": true}
			e, old := c.sent(data)
			at, required, signer := "/v1/signing/"+old, e.field(0)["id"], e.signer(0)["id"].(string)
			confirmed := nobody.binds(at)
			before := confirmed.get(at).want(200)
			require.NotNil(t, before.body["savedSignatureB64"])
			confirmed.post(at+"/consent", nil).want(200)
			waiting := make([]string, 0, models.MaxAttachmentsPerField)
			for range models.MaxAttachmentsPerField {
				waiting = append(waiting, confirmed.attach(old, required, "ada's passport.pdf", kit.OnePage()).want(201).str("attachmentId"))
			}
			session := c.post("/v1/embedded/signing-sessions", object{
				"tenantId": "acme", "envelopeId": e.str("id"), "signerId": signer, "allowedOrigin": "https://app.example.com",
			}).want(201).str("sessionToken")
			embedded := nobody.get("/v1/embedded/sessions/" + session).want(200).str("signingToken")

			if way == "replaced" {
				c.post("/v1/envelopes/"+e.str("id")+"/signers/"+signer+"/replace", object{"name": "Grace", "email": grace}).want(200)
			} else {
				confirmed.post(at+"/delegate", object{"name": "Grace", "email": grace}).want(204)
			}

			for token, code := range map[string]string{old: "signing_link_invalid", embedded: "session_invalid"} {
				link := "/v1/signing/" + token
				for _, path := range []string{"", "/document", "/attachments/" + waiting[0]} {
					confirmed.get(link+path).rejected(401, code)
				}
				confirmed.del(link+"/attachments/"+waiting[0]).rejected(401, code)
				confirmed.attach(token, required, "late.pdf", kit.OnePage()).rejected(401, code)
				confirmed.post(link+"/sign", object{"fields": []object{{"fieldId": required, "attachmentId": waiting[0]}}}).rejected(401, code)
			}
			nobody.get("/v1/embedded/sessions/"+session).rejected(401, "session_invalid")

			fresh := s.linkOf(t, e.str("id"), 0)
			link := "/v1/signing/" + fresh
			require.Equal(t, []any{"Grace", false, false}, values(confirmed.get(link).want(200), "signerName", "otpVerified", "consentGiven"), "the previous signer's verification and consent do not apply")
			successor := nobody.binds(link)
			now := successor.get(link).want(200)
			require.Equal(t, []any{true, false, nil, nil}, values(now, "otpVerified", "consentGiven", "savedSignatureB64", "attachments"))
			require.Empty(t, now.body["filled"])
			require.NotEqual(t, before.str("draftKey"), now.str("draftKey"), "the new signer cannot decrypt the previous signer's unsent input")
			require.NotContains(t, string(now.raw), "Ada")
			require.NotContains(t, string(now.raw), "passport")
			for _, id := range waiting {
				successor.get(link+"/attachments/"+id).rejected(404, "not_found")
				successor.del(link+"/attachments/"+id).rejected(401, "consent_required")
				c.get("/v1/envelopes/"+e.str("id")+"/attachments/"+id).rejected(404, "not_found")
			}
			successor.post(link+"/sign", object{"fields": []object{{"fieldId": required, "attachmentId": waiting[0]}}}).rejected(401, "consent_required")
			successor.post(link+"/consent", nil).want(200)
			successor.del(link+"/attachments/"+waiting[1]).rejected(404, "not_found")
			sign := func(id string) *response {
				return successor.post(link+"/sign", object{"fields": []object{{"fieldId": required, "attachmentId": id}}})
			}
			require.Contains(t, sign(waiting[0]).rejected(400, "validation_error").body["errors"], "fields[0].attachmentId")

			// The previous signer's files do not count toward any limit, and the next cleanup deletes them.
			own := successor.attach(fresh, required, "grace.pdf", kit.OnePage()).want(201).str("attachmentId")
			require.Len(t, successor.get(link).want(200).body["attachments"], 1)
			_, err := sweep.Unused(t.Context(), s.store, s.cfg.Blobs, s.clock.now())
			require.NoError(t, err)
			prefix := "envelopes/" + e.str("id") + "/attachments/"
			kept, err := s.cfg.Blobs.List(t.Context(), prefix)
			require.NoError(t, err)
			require.Equal(t, []string{prefix + own}, kept)
			sign(waiting[0]).rejected(400, "validation_error")
			sign(own).want(200)
			known, err := s.store.Attachments(t.Context(), uuid.MustParse(e.str("id")))
			require.NoError(t, err)
			require.Len(t, known, 1)
			require.True(t, known[0].Used)
		}
	})
}

// adopts signs an envelope as the person with the given address. The service then saves the signature image for that
// person.
func (s *service) adopts(t *testing.T, c *client, email string) {
	t.Helper()
	data := contract()
	data["signers"] = []object{{"name": "Ada Byron", "email": email}}
	data["fields"] = []object{{"signerId": "0", "type": "signature", "page": 1, "x": 1, "y": 1, "w": 90, "h": 30}}
	e, token := c.sent(data)
	at := "/v1/signing/" + token
	signer := (&client{t: t, s: s}).binds(at)
	signer.post(at+"/consent", nil).want(200)
	signer.post(at+"/sign", object{"fields": []object{
		{"fieldId": e.field(0)["id"], "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature())},
	}}).want(200)
}
