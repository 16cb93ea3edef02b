package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
	"countersign/test/kit"
)

// TestTemplate_ExternalIDCreatesVersions checks that creating a template with an existing external ID adds a version,
// and that an unchanged file is stored only once.
func TestTemplate_ExternalIDCreatesVersions(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		data := leaseTemplate()
		data["externalId"] = "lease"
		first := c.template(data)
		data["name"] = "Another name"
		again := c.upload(http.MethodPost, "/v1/templates", data, kit.OnePage()).want(200)
		require.Equal(t, first.str("id"), again.str("id"))
		require.EqualValues(t, 2, again.body["version"])
		require.Equal(t, "Another name", again.str("name"))
		require.Len(t, s.files(t), 1)
		other := leaseTemplate()
		other["externalId"], other["tenantId"] = "lease", "another"
		require.NotEqual(t, first.str("id"), c.template(other).str("id"), "of another tenant")
		free := c.template(leaseTemplate())
		c.patch("/v1/templates/"+free.str("id"), object{"externalId": "lease"}).rejected(409, "external_id_taken")
		c.del("/v1/templates/" + first.str("id")).want(204)
		require.NotEqual(t, first.str("id"), c.template(data).str("id"), "an archived template cannot be changed")

		// The file of a rejected request is not stored.
		before := len(s.files(t))
		data["fields"] = []object{{"role": "tenant", "type": "text", "page": 9, "x": 50, "y": 50, "w": 100, "h": 20}}
		c.upload(http.MethodPost, "/v1/templates", data, kit.OnePage()).rejected(400, "validation_error")
		require.Len(t, s.files(t), before)
	})
}

// TestEnvelopeOfTemplate_EqualsUploaded checks that an envelope created from a template equals an envelope with an
// uploaded file, but shares the template's file.
func TestEnvelopeOfTemplate_EqualsUploaded(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		template := c.template(leaseTemplate())
		data := leaseUse(template)
		data["values"], data["externalId"] = object{"rent": 950.5, "text_1": "as agreed"}, "e-1"
		draft := c.post("/v1/envelopes", data).want(201)
		require.Equal(t, []any{"draft", "Lease of the mill", "Dear Ada", object{"kind": "lease"}, template.str("id"), 1.0},
			[]any{draft.body["status"], draft.body["subject"], draft.body["message"], draft.body["metadata"], draft.body["templateId"], draft.body["templateVersion"]})
		require.Equal(t, []any{"tenant", "landlord"}, []any{draft.signer(0)["role"], draft.signer(1)["role"]})
		require.EqualValues(t, 2, draft.signer(1)["routingOrder"])
		require.Equal(t, []any{"950.5", "as agreed"}, []any{draft.field(0)["defaultValue"], draft.field(1)["defaultValue"]})
		require.Equal(t, template.document(0)["sha256"], draft.document(0)["sha256"])
		require.Len(t, draft.document(0)["warnings"], 1, "the warning about the font that is not embedded, as for an upload")
		require.Equal(t, template.str("id"), draft.events("envelope.created")[0]["templateId"])
		require.Equal(t, kit.OnePage(), c.get("/v1/envelopes/"+draft.str("id")+"/document").want(200).raw)
		c.post("/v1/envelopes", data).rejected(409, "external_id_taken")

		data["send"], data["externalId"], data["subject"], data["expiresInDays"] = true, "e-2", "{{own}}", nil
		key := c.with("Idempotency-Key", "once")
		sent := key.post("/v1/envelopes", data).want(201)
		require.Equal(t, []any{"sent", "{{own}}", nil}, []any{sent.body["status"], sent.body["subject"], sent.body["expiresAt"]})
		require.NotEmpty(t, sent.signer(0)["signingUrl"])
		require.NotContains(t, sent.signer(1), "signingUrl")
		require.Equal(t, sent.body, key.post("/v1/envelopes", data).want(201).body)
		require.Len(t, s.files(t), 1, "only the template's files")

		for _, list := range []string{"?tenantId=acme&templateId=" + template.str("id"), "?tenantId=acme"} {
			page := c.get("/v1/envelopes" + list).want(200)
			require.EqualValues(t, 2, page.body["total"])
		}
		require.EqualValues(t, 0, c.get("/v1/envelopes?tenantId=acme&templateId=" + uuid.NewString()).want(200).body["total"])
		c.get("/v1/envelopes?tenantId=acme&templateId=x").rejected(400, "validation_error")

		require.Len(t, rowsOf(c.get("/v1/console/envelopes?tenantId=acme").want(200)), 2)
		require.Equal(t, template.str("id"), c.get("/v1/console/envelopes/" + draft.str("id")).want(200).body["templateId"])

		// Changes to a draft do not affect the template's file.
		at := "/v1/envelopes/" + draft.str("id")
		c.del(at + "/documents/" + draft.document(0)["id"].(string)).want(204)
		c.del(at).want(204)
		require.Equal(t, kit.OnePage(), c.get("/v1/templates/"+template.str("id")+"/document").want(200).raw)

		// An envelope with an uploaded file can also be created and sent in one request.
		plain := contract()
		plain["send"] = true
		uploaded := c.upload(http.MethodPost, "/v1/envelopes", plain, kit.OnePage()).want(201)
		require.Equal(t, "sent", uploaded.str("status"))
		require.NotEmpty(t, uploaded.signer(0)["signingUrl"])
	})
}

// TestPurge_KeepsFilesOfTemplate checks that purging an envelope of a template does not affect the template or its
// other envelopes.
func TestPurge_KeepsFilesOfTemplate(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		c.call("PUT", "/v1/console/settings?tenantId=acme", object{"retentionDays": 1}).want(200)
		template := c.upload(http.MethodPost, "/v1/templates", leaseTemplate(), preparable("Lease", script, "")).want(201)
		require.NotNil(t, template.document(0)["prepared"])
		require.Len(t, s.files(t), 2)
		data := leaseUse(template)
		data["send"] = true
		signed := func() *response {
			t.Helper()
			e := c.post("/v1/envelopes", data).want(201)
			for i := range 2 {
				at := "/v1/signing/" + s.linkOf(t, e.str("id"), i)
				page := &client{t: t, s: s}
				page.get(at).want(200)
				page.post(at+"/consent", nil).want(200)
				page.post(at+"/sign", object{"fields": []object{{"fieldId": e.field(i)["id"], "textValue": "yes"}}}).want(200)
			}
			return e
		}
		first := signed()
		s.seals(t, c, first)
		s.clock.advance(25 * time.Hour)
		c = s.client(t)
		worker := activities.Activities{Store: s.store, Blobs: s.cfg.Blobs, Now: s.clock.now, NewID: newID}
		_, err := s.store.Change(t.Context(), s.app.ID, id(first), func(e *models.Envelope) error {
			e.SetRetention(1)
			return nil
		})
		require.NoError(t, err)
		purge := func(e *response) {
			t.Helper()
			require.NoError(t, worker.Purge(t.Context(), temporal.EnvelopeInput{AppID: s.app.ID, EnvelopeID: id(e)}))
		}
		purge(first)
		c.get("/v1/envelopes/"+first.str("id")+"/document").rejected(410, "document_purged")
		require.Len(t, s.files(t), 2, "the template's two files, and no sealed file")

		second := signed()
		sealed := s.seals(t, c, second)
		verified := (&client{t: t, s: s}).send(http.MethodPost, "/v1/verify", "application/pdf", sealed).want(200)
		require.Equal(t, "valid", verified.str("verdict"), "%s", verified.raw)
		require.Equal(t, second.str("id"), verified.body["record"].(object)["envelopeId"])

		third := c.post("/v1/envelopes", data).want(201)
		c.del("/v1/templates/" + template.str("id")).want(204)
		c.get("/v1/envelopes/" + third.str("id") + "/document?kind=prepared").want(200)
		c.post("/v1/envelopes/"+third.str("id")+"/void", nil).want(200)
		_, err = s.store.Change(t.Context(), s.app.ID, id(second), func(e *models.Envelope) error {
			e.SetRetention(1)
			return nil
		})
		require.NoError(t, err)
		s.clock.advance(25 * time.Hour)
		purge(second)
		require.Len(t, s.files(t), 2, "the third envelope, which was voided, still references them")
	})
}
