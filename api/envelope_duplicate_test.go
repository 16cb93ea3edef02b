package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestDuplicateEnvelope_CreatesADraft checks that an envelope in any state can be duplicated as an independent draft.
func TestDuplicateEnvelope_CreatesADraft(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		data := contract()
		data["signers"] = []object{
			{"name": "Ada Byron", "email": "ada@example.com", "authMethod": "none", "role": "tenant", "allowDelegation": true, "language": "de"},
			{"name": "Cora", "email": "cora@example.com", "kind": "copy", "routingOrder": 2},
		}
		data["fields"] = []object{
			{"signerId": "0", "type": "text", "page": 1, "x": 50, "y": 50, "w": 100, "h": 20, "name": "city", "defaultValue": "Rome"},
			{"signerId": "0", "type": "date", "page": 1, "x": 50, "y": 90, "w": 100, "h": 20, "required": false},
		}
		data["externalId"], data["metadata"], data["labels"], data["message"], data["expiresInDays"] = "order 9", object{"k": "v"}, []string{"Leases"}, "Please", 7
		e, token := c.sent(data)
		c.signs(e, token)
		s.completes(t, e.str("id"), 1)

		made := c.post("/v1/envelopes/"+e.str("id")+"/duplicate", object{"createdBy": "Ada"}).want(201)
		require.NotEqual(t, e.str("id"), made.str("id"))
		require.Equal(t, []any{"draft", "Ada", "Contract", "Please", "acme"}, values(made, "status", "createdBy", "subject", "message", "tenantId"))
		require.Equal(t, []any{object{"k": "v"}, []any{"Leases"}}, values(made, "metadata", "labels"))
		require.NotContains(t, made.body, "externalId")
		require.NotNil(t, made.body["expiresAt"])
		for i, name := range []string{"name", "email", "authMethod", "role", "allowDelegation", "language"} {
			require.Equal(t, e.signer(0)[name], made.signer(0)[name], "%d %s", i, name)
		}
		require.Equal(t, "pending", made.signer(0)["status"])
		require.Equal(t, "cora@example.com", made.body["copies"].([]any)[0].(object)["email"])
		require.Len(t, made.body["documents"], 1)
		require.Equal(t, e.document(0)["sha256"], made.document(0)["sha256"])
		require.Len(t, made.body["fields"], 2)
		require.Equal(t, []any{"city", "Rome", made.signer(0)["id"], made.document(0)["id"]},
			[]any{made.field(0)["name"], made.field(0)["defaultValue"], made.field(0)["signerId"], made.field(0)["documentId"]})
		require.Equal(t, []string{"envelope.created", "signer.added", "signer.added", "document.added", "field.added", "field.added"}, made.eventNames())

		// The copy's files remain after the source's files are purged.
		s.clock.advance(48 * time.Hour)
		c = s.client(t)
		_, err := s.store.Change(t.Context(), s.app.ID, uuid.MustParse(e.str("id")), func(e *models.Envelope) error { return e.Purge(s.act("system")) })
		require.NoError(t, err)
		source, err := s.store.Envelope(t.Context(), s.app.ID, uuid.MustParse(e.str("id")))
		require.NoError(t, err)
		kept, err := s.store.Unreferenced(t.Context(), source.Originals()[0].BlobKey)
		require.NoError(t, err)
		require.Empty(t, kept, "the file is still referenced")
		c.post("/v1/envelopes/"+e.str("id")+"/duplicate", nil).rejected(410, "document_purged")
		c.get("/v1/envelopes/" + made.str("id") + "/document").want(200)
		c.post("/v1/envelopes/"+made.str("id")+"/send", nil).want(200)

		// Duplicating an envelope is subject to the app's plan, and supports an If-Match header with the version of the
		// source.
		two := c.draft(contract())
		at := "/v1/envelopes/" + two.str("id")
		c.send(http.MethodPost, at+"/document", "application/pdf", kit.OnePage()).want(200)
		c.with("If-Match", `"1"`).post(at+"/duplicate", nil).rejected(412, "precondition_failed")
		c.with("If-Match", c.get(at).want(200).header.Get("Etag")).post(at+"/duplicate", nil).want(201)
		free := models.PlanFree
		_, err = s.store.UpdateApp(t.Context(), s.app.ID, store.AppChange{Plan: &free})
		require.NoError(t, err)
		s.clock.advance(2 * time.Second) // apps are cached for one second
		c.post(at+"/duplicate", nil).rejected(402, "plan_documents")
		c.post("/v1/envelopes/"+made.str("id")+"/duplicate", nil).want(201)

		c.post("/v1/envelopes/"+newID().String()+"/duplicate", nil).rejected(404, "not_found")
		s.other(t).post("/v1/envelopes/"+made.str("id")+"/duplicate", nil).rejected(404, "not_found")
		s.signIn(t, models.RoleSupport).post("/v1/envelopes/"+made.str("id")+"/duplicate", nil).rejected(403, "role_forbidden")
		s.signIn(t, models.RoleSender).post("/v1/envelopes/"+made.str("id")+"/duplicate", nil).want(201)
	})
}
