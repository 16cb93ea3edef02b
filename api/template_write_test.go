package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/models"
	"countersign/temporal"
	"countersign/test/kit"
)

// flat converts an object to form fields. Strings remain unchanged, and all other values are encoded as JSON.
func flat(t *testing.T, o object) map[string]string {
	t.Helper()
	parts := map[string]string{}
	for name, v := range o {
		if text, ok := v.(string); ok {
			parts[name] = text
			continue
		}
		b, err := json.Marshal(v)
		require.NoError(t, err)
		parts[name] = string(b)
	}
	return parts
}

// TestTemplate_Forms checks that a template can be created and changed with form fields in the same way as with JSON.
func TestTemplate_Forms(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	data := leaseTemplate()
	data["createdBy"], data["externalId"], data["origin"], data["reminderHours"], data["documentOptions"] = "Ada", "lease", "bottom-left", 48, object{"tags": "ignore"}
	ct, body := multipartBody(t, flat(t, data), kit.OnePage())
	made := c.send(http.MethodPost, "/v1/templates", ct, body).want(201)
	require.Equal(t, []any{"Lease", "lease", "Lease of {{place}}"}, []any{made.str("name"), made.str("externalId"), made.str("subject")})
	require.Len(t, made.body["fields"], 2)
	require.InDelta(t, 842-50-20, made.field(0)["y"], 50, "y was measured from the bottom")

	edit := object{
		"name": "Other", "externalId": "other", "createdBy": "Bob", "subject": "S", "message": "M", "expiresInDays": 4, "reminderHours": 24, "metadata": object{"a": "b"},
		"origin": "top-left", "documentOptions": object{"tags": "ignore"},
		"roles":  []object{{"role": "tenant", "authMethod": "none"}},
		"fields": []object{{"role": "tenant", "type": "text", "page": 1, "x": 5, "y": 6, "w": 100, "h": 20}},
	}
	ct, body = multipartBody(t, flat(t, edit), kit.OnePage())
	changed := c.send(http.MethodPatch, "/v1/templates/"+made.str("id"), ct, body).want(200)
	require.Equal(t, []any{"Other", "other", "S", "M"}, []any{changed.str("name"), changed.str("externalId"), changed.str("subject"), changed.str("message")})
	require.Len(t, changed.body["roles"], 1)
	require.InDelta(t, 6, changed.field(0)["y"], 0.001)
	c.patch("/v1/templates/"+made.str("id"), object{"externalId": "third", "origin": "bottom-left", "fields": []object{{"role": "tenant", "type": "text", "page": 1, "x": 5, "y": 6, "w": 100, "h": 20}}}).want(200)

	// The origin of y is kept until an edit changes it.
	low := object{"role": "tenant", "type": "text", "page": 1, "x": 5, "y": 100, "w": 100, "h": 20}
	kept := c.patch("/v1/templates/"+made.str("id"), object{"fields": []object{low}}).want(200)
	require.InDelta(t, 842-100-20, kept.field(0)["y"], 1)
	c.patch("/v1/templates/"+made.str("id"), object{"subject": "S"}).want(200)
	use := object{"tenantId": "acme", "templateId": made.str("id"), "signers": []object{{"role": "tenant", "name": "Ada", "email": "ada@example.com"}}}
	e := c.post("/v1/envelopes", use).want(201)
	added := c.post("/v1/envelopes/"+e.str("id")+"/fields", low).want(201)
	require.Equal(t, kept.field(0)["y"], added.body["y"], "envelopes created from the template measure y in the same way")
	require.InDelta(t, 100, c.patch("/v1/templates/"+made.str("id"), object{"origin": nil, "fields": []object{low}}).want(200).field(0)["y"], 0.001, "null is the default")

	noFile := leaseTemplate()
	delete(noFile, "fields")
	noFile["origin"] = "top-left"
	noFile["roles"] = []object{{"role": "tenant", "kind": "approver"}}
	require.Equal(t, "approver", c.post("/v1/templates", noFile).want(201).body["roles"].([]any)[0].(object)["kind"])
}

// TestTemplate_MembersReachTheEnvelope checks that envelopes have the attributes of the template's fields and roles.
func TestTemplate_MembersReachTheEnvelope(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	data := leaseTemplate()
	data["roles"] = []object{
		{"role": "tenant", "kind": "signer", "authMethod": "none", "language": "de"},
		{"role": "witness", "authMethod": "none", "witnessFor": "tenant"},
	}
	box := func(more object) object {
		o := object{"role": "tenant", "page": 1, "x": 50, "w": 100, "h": 20, "required": false}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	data["fields"] = []object{
		box(object{"type": "text", "name": "code", "y": 50, "align": "right", "comb": true, "maxLength": 8, "validation": object{"pattern": "[A-Z]+", "message": "Capitals"}}),
		box(object{"type": "number", "name": "rent", "y": 80, "format": "2", "validation": object{"min": 1, "max": 9}}),
		box(object{"type": "select", "name": "pick", "y": 110, "options": []string{"A", "B"}, "condition": object{"all": []object{{"field": "rent", "filled": true}}}}),
		box(object{"type": "radio", "group": "how", "option": "cash", "y": 140, "w": 14, "h": 14}),
		box(object{"type": "radio", "group": "how", "option": "card", "y": 170, "w": 14, "h": 14}),
		box(object{"type": "signature", "role": "witness", "y": 200}),
		box(object{"type": "radio", "group": "when", "option": "now", "y": 230, "w": 14, "h": 14}),
	}
	template := c.template(data)
	require.Equal(t, "de", template.body["roles"].([]any)[0].(object)["language"])
	require.Equal(t, "tenant", template.body["roles"].([]any)[1].(object)["witnessFor"])
	use := object{
		"tenantId": "acme", "templateId": template.str("id"), "templateVersion": 1, "variables": object{"place": "P", "name": "N"},
		"signers": []object{{"role": "tenant", "name": "Ada", "email": "ada@example.com"}, {"role": "witness", "name": "Wil", "email": "wil@example.com"}},
	}
	e := c.post("/v1/envelopes", use).want(201)
	for i := range 7 {
		of, in := template.field(i), e.field(i)
		for _, member := range []string{"type", "align", "comb", "maxLength", "validation", "format", "options", "condition", "group", "option"} {
			require.Equal(t, of[member], in[member], "%s of field %d", member, i)
		}
	}
	use["values"] = object{"how": "card", "when": "now"}
	chosen := c.post("/v1/envelopes", use).want(201)
	require.Equal(t, []any{nil, "true", "true"}, []any{chosen.field(3)["defaultValue"], chosen.field(4)["defaultValue"], chosen.field(6)["defaultValue"]})
	use["values"] = object{"how": "now"}
	require.Equal(t, []string{"values.how"}, c.post("/v1/envelopes", use).rejected(400, "validation_error").faults(), "an option of another group")
	delete(use, "values")
	use["templateVersion"] = 2
	require.Equal(t, []string{"templateVersion"}, c.post("/v1/envelopes", use).rejected(400, "validation_error").faults())
}

// TestTemplate_RejectedByState checks that an upsert based on an outdated version is rejected, and that an envelope
// whose files are purged cannot become a template.
func TestTemplate_RejectedByState(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	data := leaseTemplate()
	data["externalId"] = "lease"
	first := c.template(data)
	c.upload(http.MethodPost, "/v1/templates", data, kit.OnePage()).want(200)
	c.with("If-Match", first.header.Get("ETag")).upload(http.MethodPost, "/v1/templates", data, kit.OnePage()).rejected(412, "precondition_failed")

	ct, body := multipartBody(t, flat(t, object{
		"tenantId": "acme", "send": true, "signers": []object{{"name": "Ada", "email": "ada@example.com", "authMethod": "none", "role": "tenant"}},
		"fields": []object{{"signerId": "0", "type": "text", "page": 1, "x": 50, "y": 50, "w": 100, "h": 20}},
	}), kit.OnePage())
	e := c.send(http.MethodPost, "/v1/envelopes", ct, body).want(201)
	require.Equal(t, "sent", e.str("status"))
	c.signs(e, s.linkOf(t, e.str("id"), 0))
	s.seals(t, c, e)
	_, err := s.store.Change(t.Context(), s.app.ID, id(e), func(e *models.Envelope) error { e.SetRetention(1); return nil })
	require.NoError(t, err)
	s.clock.advance(49 * time.Hour)
	worker := activities.Activities{Store: s.store, Blobs: s.cfg.Blobs, Now: s.clock.now, NewID: newID}
	require.NoError(t, worker.Purge(t.Context(), temporal.EnvelopeInput{AppID: s.app.ID, EnvelopeID: id(e)}))
	c = s.client(t)
	from := object{"tenantId": "acme", "name": "Again", "fromEnvelope": e.str("id")}
	c.post("/v1/templates", from).rejected(410, "document_purged")
}

func TestCreateTemplate_PartsThatContradict_AreRejected(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	data := leaseTemplate()
	data["roles"] = []object{{"role": "tenant", "kind": "in_person", "host": object{"name": "Hal", "email": "hal@example.com"}}, {"role": "landlord"}}
	require.Contains(t, c.upload("POST", "/v1/templates", data, preparable("Sign here", "", "")).rejected(400, "validation_error").body["errors"], "roles[0].host")
	draft := c.draft(contract())
	copied := object{"tenantId": "acme", "name": "Copy", "fromEnvelope": draft.str("id")}
	require.Contains(t, c.upload("POST", "/v1/templates", copied, preparable("Sign here", "", "")).rejected(400, "validation_error").body["errors"], "file")
	contentType, body := multipartBody(t, map[string]string{"data": "{"}, preparable("Sign here", "", ""))
	c.send("POST", "/v1/templates", contentType, body).rejected(400, "invalid_json")
}
