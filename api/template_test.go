package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// leaseTemplate returns a request to create a template with two roles.
func leaseTemplate() object {
	return object{
		"tenantId": "acme", "name": "Lease", "subject": "Lease of {{place}}", "message": "Dear {{name}}", "expiresInDays": 9, "metadata": object{"kind": "lease"},
		"roles": []object{{"role": "tenant", "authMethod": "none"}, {"role": "landlord", "authMethod": "none", "routingOrder": 2}},
		"fields": []object{
			{"role": "tenant", "type": "text", "name": "rent", "page": 1, "x": 50, "y": 50, "w": 100, "h": 20},
			{"role": "landlord", "type": "text", "page": 1, "x": 50, "y": 90, "w": 100, "h": 20},
		},
	}
}

// leaseUse returns a request to create an envelope from leaseTemplate.
func leaseUse(template *response) object {
	return object{
		"tenantId": "acme", "templateId": template.str("id"), "variables": object{"place": "the mill", "name": "Ada"},
		"signers": []object{{"role": "landlord", "name": "Bob", "email": "bob@example.com"}, {"role": "tenant", "name": "Ada", "email": "ada@example.com"}},
	}
}

// upload sends data and a file in a multipart body.
func (c *client) upload(method, path string, data object, file []byte) *response {
	c.t.Helper()
	b, err := json.Marshal(data)
	require.NoError(c.t, err)
	ct, body := multipartBody(c.t, map[string]string{"data": string(b)}, file)
	return c.send(method, path, ct, body)
}

func (c *client) template(data object) *response {
	c.t.Helper()
	return c.upload(http.MethodPost, "/v1/templates", data, kit.OnePage()).want(201)
}

// files returns the storage keys of all files that belong to templates and envelopes.
func (s *service) files(t *testing.T) (keys []string) {
	t.Helper()
	for _, folder := range []string{"templates/", "envelopes/"} {
		found, err := s.cfg.Blobs.List(t.Context(), folder)
		require.NoError(t, err)
		keys = append(keys, found...)
	}
	return keys
}

// faults returns the sorted JSON paths in an error response.
func (a *response) faults() []string {
	var out []string
	for path := range a.body["errors"].(object) {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

// TestTemplates checks that each change to the content of a template creates a new version and leaves the previous ones
// unchanged.
func TestTemplates(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		made := c.template(leaseTemplate())
		at := "/v1/templates/" + made.str("id")
		require.Equal(t, "https://sign.example.com"+at, made.header.Get("Location"))
		require.EqualValues(t, 1, made.body["version"])
		require.Equal(t, []any{"place", "name"}, made.body["variables"])
		require.Equal(t, []string{"rent", "text_1"}, []string{made.field(0)["name"].(string), made.field(1)["name"].(string)})
		require.Equal(t, made.document(0)["id"], made.field(0)["documentId"])
		require.EqualValues(t, 9, made.body["expiresInDays"])
		got := c.get(at).want(200)
		require.Equal(t, made.body, got.body)
		require.Equal(t, made.header.Get("ETag"), got.header.Get("ETag"))
		require.Equal(t, kit.OnePage(), c.get(at+"/document").want(200).raw)

		renamed := c.patch(at, object{"name": "Lease 2"}).want(200)
		require.EqualValues(t, 1, renamed.body["version"], "the name is not part of the content")
		c.with("If-Match", made.header.Get("ETag")).patch(at, object{"subject": "x"}).rejected(412, "precondition_failed")
		c.with("If-Match", made.header.Get("ETag")).del(at).rejected(412, "precondition_failed")
		second := c.with("If-Match", renamed.header.Get("ETag")).patch(at, object{"subject": nil, "expiresInDays": nil, "message": "For {{who}}"}).want(200)
		require.EqualValues(t, 2, second.body["version"])
		require.Equal(t, []any{nil, nil, []any{"who"}, "Lease 2"}, []any{second.body["subject"], second.body["expiresInDays"], second.body["variables"], second.body["name"]})
		require.Contains(t, second.body, "expiresInDays")
		require.Equal(t, made.body["fields"], second.body["fields"])
		require.Len(t, second.body["versions"], 2)

		third := c.patch(at, object{"roles": []object{{"role": "tenant"}}, "fields": []object{
			{"role": "tenant", "type": "signature", "documentId": made.document(0)["id"], "anchor": object{"text": "Contract", "at": "below"}},
		}}).want(200)
		require.Len(t, third.body["fields"], 1)
		require.NotZero(t, third.field(0)["x"])
		c.patch(at, object{"roles": []object{{"role": "guest"}}}).rejected(400, "validation_error")
		fourth := c.upload(http.MethodPatch, at, object{}, threePages()).want(200)
		require.EqualValues(t, 3, fourth.document(0)["pageCount"])
		require.Equal(t, fourth.document(0)["id"], fourth.field(0)["documentId"], "the fields are on the new file")
		require.Equal(t, kit.OnePage(), c.get(at+"/document?version=3").want(200).raw)
		require.Equal(t, threePages(), c.get(at+"/document").want(200).raw)
		first := c.get(at + "?version=1").want(200)
		for _, name := range []string{"subject", "fields", "roles", "documents", "expiresInDays", "message"} {
			require.Equal(t, made.body[name], first.body[name])
		}
		c.get(at+"?version=5").rejected(404, "not_found")
		c.get(at+"?version=x").rejected(400, "validation_error")
		c.get(at+"/document?kind=sealed").rejected(400, "validation_error")
		c.get(at+"/document?kind=prepared").rejected(404, "not_found")

		require.Len(t, s.files(t), 2)
		c.del(at).want(204)
		c.del(at).want(204)
		require.Empty(t, s.files(t), "no envelope references a file")
		require.NotNil(t, c.get(at).want(200).body["archivedAt"])
		c.get(at+"/document").rejected(410, "template_archived")
		c.patch(at, object{"name": "x"}).rejected(409, "template_archived")
		require.Equal(t, []string{"templateId"}, c.post("/v1/envelopes", leaseUse(made)).rejected(400, "validation_error").faults())
	})
}

// TestTemplate_FromEnvelope checks that a template created from an envelope has all of its content except the
// recipients' names and addresses.
func TestTemplate_FromEnvelope(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		data := twoSignerRequest()
		data["subject"] = "First"
		data["signers"].([]object)[1]["role"] = "signer1"
		e := c.draft(data)
		from := object{"tenantId": "acme", "name": "Copy", "fromEnvelope": e.str("id"), "message": "For {{name}}"}
		template := c.post("/v1/templates", from).want(201)
		require.Equal(t, []any{"First", "For {{name}}", 30.0}, []any{template.body["subject"], template.body["message"], template.body["expiresInDays"]})
		roles := template.body["roles"].([]any)
		require.Equal(t, []any{"signer2", "signer1"}, []any{roles[0].(object)["role"], roles[1].(object)["role"]})
		require.Equal(t, []any{"signer2", "signer1"}, []any{template.field(0)["role"], template.field(1)["role"]})
		require.NotContains(t, string(template.raw), "ada@example.com")
		require.Len(t, s.files(t), 1)
		c.del("/v1/envelopes/" + e.str("id")).want(204)
		require.Len(t, s.files(t), 1)
		use := object{"tenantId": "acme", "templateId": template.str("id"), "send": true, "variables": object{"name": "Ada"}, "signers": []object{
			{"role": "signer1", "name": "Ada", "email": "ada@example.com"}, {"role": "signer2", "name": "Bob", "email": "bob@example.com"},
		}}
		sent := c.post("/v1/envelopes", use).want(201)
		require.Equal(t, kit.OnePage(), c.get("/v1/envelopes/"+sent.str("id")+"/document").want(200).raw)

		for _, bad := range []struct {
			change func(object)
			paths  []string
		}{
			{func(o object) { o["fromEnvelope"] = uuid.NewString() }, []string{"fromEnvelope"}},
			{func(o object) { o["fromEnvelope"] = sent.str("id"); o["tenantId"] = "other" }, []string{"fromEnvelope"}},
			{func(o object) {
				o["roles"], o["fields"] = []object{{"role": "a"}}, []object{{"role": "a", "type": "text", "page": 1, "x": 1, "y": 1, "w": 1, "h": 1}}
			}, []string{"fields", "roles"}},
			{func(o object) { o["fromEnvelope"] = sent.str("id"); o["message"] = "{{" }, []string{"message"}},
		} {
			request := clone(from)
			bad.change(request)
			require.Equal(t, bad.paths, c.post("/v1/templates", request).rejected(400, "validation_error").faults())
		}
		all := clone(from)
		all["fromEnvelope"], all["tenantId"] = sent.str("id"), nil
		require.Nil(t, c.post("/v1/templates", all).want(201).body["tenantId"])
	})
}

// TestTemplate_RejectedRequests checks that a rejected request reports all problems.
func TestTemplate_RejectedRequests(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.SMS = nil })
	c := s.client(t)
	for name, bad := range map[string]struct {
		change func(object)
		paths  []string
	}{
		"nothing":     {func(o object) { clear(o) }, []string{"name", "roles", "tenantId"}},
		"name":        {func(o object) { o["name"] = strings.Repeat("x", 201) }, []string{"name"}},
		"tenant":      {func(o object) { o["tenantId"] = "" }, []string{"tenantId"}},
		"signers":     {func(o object) { o["signers"] = []object{} }, []string{"signers"}},
		"no role":     {func(o object) { delete(o["fields"].([]object)[0], "role") }, []string{"fields[0].role"}},
		"signerId":    {func(o object) { o["fields"].([]object)[0]["signerId"] = "0" }, []string{"fields[0].role", "fields[0].signerId"}},
		"role":        {func(o object) { o["fields"].([]object)[0]["role"] = "guest" }, []string{"fields[0].role"}},
		"roles twice": {func(o object) { o["roles"].([]object)[1]["role"] = "tenant" }, []string{"roles[1].role"}},
		"sms":         {func(o object) { o["roles"].([]object)[0]["authMethod"] = "sms_otp" }, []string{"roles[0].authMethod"}},
		"deadline":    {func(o object) { o["expiresInDays"] = 0 }, []string{"expiresInDays"}},
		"texts":       {func(o object) { o["subject"], o["message"] = "{{a b}}", "a}}" }, []string{"message", "subject"}},
		"page":        {func(o object) { o["fields"].([]object)[0]["page"] = 2 }, []string{"fields[0].page"}},
		"document":    {func(o object) { o["fields"].([]object)[0]["documentId"] = uuid.NewString() }, []string{"fields[0].documentId"}},
		"anchor": {func(o object) {
			o["fields"] = []object{{"role": "tenant", "type": "text", "anchor": object{"text": "nowhere"}}}
		}, []string{"fields[0].anchor"}},
		"cycle": {func(o object) {
			f := o["fields"].([]object)[0]
			f["condition"] = object{"all": []object{{"field": "rent", "filled": true}}}
		}, []string{"fields[0].condition"}},
	} {
		data := leaseTemplate()
		bad.change(data)
		require.Equal(t, bad.paths, c.upload(http.MethodPost, "/v1/templates", data, kit.OnePage()).rejected(400, "validation_error").faults(), name)
	}
	c.upload(http.MethodPost, "/v1/templates", leaseTemplate(), []byte("no PDF")).want(400)
	data := leaseTemplate()
	data["fields"] = []object{{"role": "tenant", "type": "text", "anchor": object{"text": "x"}}}
	c.post("/v1/templates", data).rejected(400, "anchor_needs_document")
	data = leaseTemplate()
	data["documentOptions"] = object{"tags": "detect"}
	require.Equal(t, []string{"documentOptions"}, c.post("/v1/templates", data).rejected(400, "validation_error").faults())
	require.Empty(t, s.files(t))

	template := c.template(leaseTemplate())
	for name, bad := range map[string]struct {
		change func(object)
		paths  []string
	}{
		"beside":    {func(o object) { o["fields"], o["documentOptions"] = []object{}, object{} }, []string{"documentOptions", "fields"}},
		"unknown":   {func(o object) { o["templateId"] = uuid.NewString() }, []string{"templateId"}},
		"version":   {func(o object) { o["templateVersion"] = 2 }, []string{"templateVersion"}},
		"version 0": {func(o object) { o["templateVersion"] = 0 }, []string{"templateVersion"}},
		"tenant":    {func(o object) { o["tenantId"] = "other" }, []string{"templateId"}},
		"missing":   {func(o object) { o["signers"] = o["signers"].([]object)[:1] }, []string{"signers"}},
		"order":     {func(o object) { o["signers"].([]object)[0]["routingOrder"] = 0 }, []string{"signers[0].routingOrder"}},
		"method":    {func(o object) { o["signers"].([]object)[0]["authMethod"] = "" }, []string{"signers[0].authMethod"}},
		"variables": {func(o object) { o["variables"] = object{"place": nil} }, []string{"variables.name"}},
		"values":    {func(o object) { o["values"] = object{"rent": "\u0001"} }, []string{"values.rent"}},
		"names":     {func(o object) { o["values"] = object{"rent": "1", "none": "x"} }, []string{"values.none"}},
		"list":      {func(o object) { o["values"], o["variables"] = object{"rent": []any{}}, 7 }, []string{"values", "variables"}},
		"type":      {func(o object) { o["send"] = "yes" }, []string{"send"}},
	} {
		data := leaseUse(template)
		bad.change(data)
		require.Equal(t, bad.paths, c.post("/v1/envelopes", data).rejected(400, "validation_error").faults(), name)
	}
	require.Equal(t, []string{"templateId"}, c.upload(http.MethodPost, "/v1/envelopes", leaseUse(template), kit.OnePage()).rejected(400, "validation_error").faults())
	plan := models.PlanFree
	_, err := s.store.UpdateApp(t.Context(), s.app.ID, store.AppChange{Plan: &plan})
	require.NoError(t, err)
	most := s.store.PlanLimits(plan).EnvelopesPerMonth
	data = leaseUse(template)
	data["send"] = true
	for range most {
		c.post("/v1/envelopes", data).want(201)
	}
	c.post("/v1/envelopes", data).rejected(402, "plan_limit_reached")
	require.EqualValues(t, most, c.get("/v1/envelopes?tenantId=acme").want(200).body["total"])
}

// TestTemplates_TenantAccess checks access to templates by tenant.
func TestTemplates_TenantAccess(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		own := c.template(leaseTemplate())
		data := leaseTemplate()
		data["tenantId"] = "other"
		others := c.template(data)
		data["tenantId"] = nil
		all := c.template(data)
		s.other(t).get("/v1/templates/"+own.str("id")).rejected(404, "not_found")
		require.Equal(t, []string{"templateId"}, s.other(t).post("/v1/envelopes", leaseUse(own)).rejected(400, "validation_error").faults())
		ids := func(query string) (out []string) {
			for _, v := range c.get("/v1/templates" + query).want(200).body["data"].([]any) {
				out = append(out, v.(object)["id"].(string))
			}
			return out
		}
		require.Equal(t, []string{all.str("id"), others.str("id"), own.str("id")}, ids(""))
		s.limit(t, "acme")
		s.clock.advance(2 * time.Second) // apps are cached for one second
		require.Equal(t, []string{all.str("id"), own.str("id")}, ids("?tenantId=acme"))
		c.get("/v1/templates").rejected(400, "validation_error")
		c.get("/v1/templates?tenantId=other").rejected(403, "tenant_forbidden")
		c.get("/v1/templates/"+others.str("id")).rejected(404, "not_found")
		c.get("/v1/templates/"+others.str("id")+"/document").rejected(404, "not_found")
		c.patch("/v1/templates/"+others.str("id"), object{"name": "x"}).rejected(404, "not_found")
		c.del("/v1/templates/"+others.str("id")).rejected(404, "not_found")
		c.get("/v1/templates/" + all.str("id")).want(200)
		c.patch("/v1/templates/"+all.str("id"), object{"name": "x"}).rejected(403, "tenant_forbidden")
		c.del("/v1/templates/"+all.str("id")).rejected(403, "tenant_forbidden")
		c.upload(http.MethodPost, "/v1/templates", data, kit.OnePage()).rejected(403, "tenant_forbidden")
		c.post("/v1/envelopes", leaseUse(all)).want(201)
		require.Equal(t, []string{"templateId"}, c.post("/v1/envelopes", leaseUse(others)).rejected(400, "validation_error").faults())
	})
}

// TestTemplates_AreListed checks the pages, cursors and filters of the list of templates.
func TestTemplates_AreListed(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		var made []string
		for i := range 5 {
			data := leaseTemplate()
			data["name"], data["externalId"] = fmt.Sprintf("Lease 10%% no_%d", i), fmt.Sprint(i)
			if i == 1 {
				data["name"] = "LEASE 10% no_1 ÜBERGABE"
			}
			made = append(made, c.post("/v1/templates", data).want(201).str("id"))
		}
		slices.Reverse(made)
		var got []string
		for path := "?pageSize=2"; path != ""; {
			page := c.get("/v1/templates" + path).want(200)
			for _, v := range page.body["data"].([]any) {
				got = append(got, v.(object)["id"].(string))
			}
			path = ""
			if next := page.str("nextCursor"); next != "" {
				path = "?pageSize=2&cursor=" + next
			}
		}
		require.Equal(t, made, got)
		c.del("/v1/templates/" + made[0]).want(204)
		for query, want := range map[string]int{
			"externalId=2": 1, "externalId=9": 0, "q=10%25%20no": 4, "q=lease": 4, "q=no_3": 1, "q=noX3": 0, "q=Übergabe": 1, "q=lease&pageSize=3": 3, "q=übergabe": 1, "q=ÜBER": 1, "q=uber": 0, "archived=true": 1, "tenantId=acme": 4, "tenantId=x": 0,
		} {
			require.Len(t, c.get("/v1/templates?" + query).want(200).body["data"], want, query)
		}
		next := c.get("/v1/templates?q=LEASE&pageSize=3").want(200).str("nextCursor")
		rest := c.get("/v1/templates?q=LEASE&pageSize=3&cursor=" + next).want(200)
		require.Len(t, rest.body["data"], 1)
		require.Nil(t, rest.body["nextCursor"])
		for _, bad := range []string{"cursor=x", "archived=x", "q=", "pageSize=101"} {
			c.get("/v1/templates?"+bad).rejected(400, "validation_error")
		}
	})
}

// TestTemplate_TextTags checks that fields found in a file belong to the template, and that every envelope uses the
// same prepared file.
func TestTemplate_TextTags(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		data := leaseTemplate()
		data["fields"], data["documentOptions"] = nil, object{"tags": "detect"}
		template := c.upload(http.MethodPost, "/v1/templates", data, preparable("{{Rent;role=tenant;type=text}} {{s;role=landlord;type=signature}}", "", "")).want(201)
		require.Len(t, template.body["fields"], 2)
		use := leaseUse(template)
		use["values"] = object{"Rent": "5"}
		e := c.post("/v1/envelopes", use).want(201)
		require.Equal(t, []any{"Rent", "5", "s"}, []any{e.field(0)["name"], e.field(0)["defaultValue"], e.field(1)["name"]})
		require.Equal(t, template.document(0)["prepared"], e.document(0)["prepared"])
		prepared := c.get("/v1/envelopes/" + e.str("id") + "/document?kind=prepared").want(200).raw
		require.Equal(t, prepared, c.get("/v1/templates/"+template.str("id")+"/document?kind=prepared").want(200).raw)

		// Preparing a draft created from the template again does not change the template's file.
		c.post("/v1/envelopes/"+e.str("id")+"/documents/"+e.document(0)["id"].(string)+"/prepare", object{"tags": "ignore"}).want(200)
		c.get("/v1/templates/" + template.str("id") + "/document?kind=prepared").want(200)

		// A new file adds the fields found in it, and removes those found in the previous file.
		next := c.upload(http.MethodPatch, "/v1/templates/"+template.str("id"), object{"documentOptions": object{"tags": "detect"}},
			preparable("{{Deposit;role=tenant;type=text}}", "", "")).want(200)
		require.Equal(t, []string{"Deposit"}, []string{next.field(0)["name"].(string)})
		require.Len(t, next.body["fields"], 1)
	})
}

func threePages() []byte {
	b, table := []byte("%PDF-1.7\n"), "xref\n0 6\n0000000000 65535 f \n"
	const page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<<>>>>"
	for i, body := range []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R 4 0 R 5 0 R]/Count 3>>", page, page, page,
	} {
		table += fmt.Sprintf("%010d 00000 n \n", len(b))
		b = fmt.Appendf(b, "%d 0 obj\n%s\nendobj\n", i+1, body)
	}
	return fmt.Appendf(b, "%strailer\n<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", table, len(b))
}
