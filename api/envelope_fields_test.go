package api_test

import (
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// placed returns a field on page 1 for the signer with the given role. The parameter more contains additional members.
func placed(role, typ string, y int, more object) object {
	f := object{"role": role, "type": typ, "page": 1, "x": 50, "y": y, "w": 200, "h": 20, "required": false}
	maps.Copy(f, more)
	return f
}

// everyType returns a request to create an envelope with a field of every type that needs no upload. The tenant's
// values determine which fields the tenant and, later, the landlord must fill in.
func everyType() object {
	return object{
		"tenantId": "acme", "subject": "Lease",
		"signers": []object{
			{"name": "Ada Byron", "email": "ada@example.com", "authMethod": "email_otp", "role": "Tenant"},
			{"name": "Grace Hopper", "email": "grace@example.com", "authMethod": "none", "role": "Landlord", "routingOrder": 2},
		},
		"fields": []object{
			placed("Tenant", "name", 10, object{"name": "who"}),
			placed("Tenant", "email", 30, object{"name": "mail", "readOnly": true}),
			placed("Tenant", "company", 50, object{"name": "firm", "defaultValue": "Secret Ltd", "label": "Company"}),
			placed("Tenant", "title", 70, object{"name": "title"}),
			placed("Tenant", "signed_date", 90, object{"name": "at", "format": "dd.MM.yyyy"}),
			placed("Tenant", "number", 110, object{"name": "rent", "format": 2, "validation": object{"min": 0.5, "max": 10000}, "align": "right", "fontSize": 9}),
			placed("Tenant", "select", 130, object{"name": "heating", "options": []string{"gas", "oil"}, "placeholder": "Choose"}),
			placed("Tenant", "radio", 150, object{"group": "pets", "option": "none", "required": true}),
			placed("Tenant", "radio", 170, object{"group": "pets", "option": "cat"}),
			placed("Tenant", "text", 190, object{"name": "petName", "required": true, "condition": object{"all": []object{{"field": "pets", "isNot": "none"}}}}),
			placed("Tenant", "text", 210, object{"name": "id", "maxLength": 6, "comb": true, "validation": object{"pattern": "[A-Z]{2}[0-9]{4}", "message": "As on your card."}}),
			placed("Tenant", "text", 230, object{"name": "note"}),
			placed("Tenant", "text", 250, object{"name": "note"}),
			placed("Tenant", "stamp", 270, object{"name": "stamp"}),
			placed("Landlord", "text", 300, object{"name": "petRules", "multiline": true, "required": true, "condition": object{"any": []object{{"field": "pets", "is": "cat"}}}}),
		},
	}
}

func byName(fields []any) map[string]object {
	out := map[string]object{}
	for _, f := range fields {
		f := f.(object)
		out[f["name"].(string)] = f
	}
	return out
}

// TestCheckboxDefault checks that the default of a checkbox must be a Boolean, or the string "true" or "false".
func TestCheckboxDefault(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	with := func(value any) object {
		in := everyType()
		in["fields"] = []object{placed("Tenant", "checkbox", 10, object{"name": "box", "defaultValue": value}), placed("Landlord", "text", 30, object{"name": "t"})}
		return in
	}
	for _, value := range []any{true, "true", false, "false"} {
		e := c.post("/v1/envelopes", with(value)).want(201)
		require.Equal(t, fmt.Sprint(value), e.field(0)["defaultValue"])
	}
	for _, value := range []any{"perhaps", []string{"true"}, object{}} {
		require.Contains(t, c.post("/v1/envelopes", with(value)).rejected(400, "validation_error").body["errors"], "fields[0].defaultValue")
	}
}

// TestEveryType sends and signs an envelope with every field type, and reads the entered values.
func TestEveryType(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		e, _ := c.sent(everyType())
		path := "/v1/envelopes/" + e.str("id")
		require.Equal(t, "Tenant", e.signer(0)["role"])
		fields := byName(e.body["fields"].([]any))
		require.EqualValues(t, object{"min": 0.5, "max": 10000.0}, fields["rent"]["validation"])
		require.Equal(t, "2", fields["rent"]["format"])
		require.NotContains(t, fields["rent"], "value")

		at := s.link(t, e, 0)
		before := byName(nobody.get(at).want(200).body["fields"].([]any))
		require.NotContains(t, before["firm"], "defaultValue", "the link alone reveals no values")
		require.NotContains(t, before["mail"], "defaultValue")
		ada := nobody.binds(at)
		shown := byName(ada.get(at).want(200).body["fields"].([]any))
		require.Equal(t, "Ada Byron", shown["who"]["defaultValue"])
		require.Equal(t, "ada@example.com", shown["mail"]["defaultValue"])
		require.Equal(t, "Secret Ltd", shown["firm"]["defaultValue"])
		require.Equal(t, []any{"gas", "oil"}, shown["heating"]["options"])
		require.Equal(t, "pets", shown["radio_1"]["group"])
		ada.post(at+"/consent", nil).want(200)

		text := func(name, value string) object { return object{"fieldId": fields[name]["id"], "textValue": value} }
		rejected := ada.post(at+"/sign", object{"fields": []object{text("radio_1", "true"), text("petName", "Tom"), text("rent", "0.623"), text("id", "x")}}).rejected(400, "validation_error")
		rules := map[string]string{}
		for _, broken := range rejected.body["details"].(object)["fields"].([]any) {
			rules[broken.(object)["name"].(string)] = broken.(object)["rule"].(string)
		}
		require.Equal(t, map[string]string{"petName": "condition", "rent": "format", "id": "pattern"}, rules)
		require.Contains(t, string(rejected.raw), "As on your card.")

		stamp := object{"fieldId": fields["stamp"]["id"], "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature())}
		values := c.get(path + "/values").want(200)
		require.Nil(t, values.body["who"], "nobody has signed")
		require.Nil(t, byName(c.get(path).want(200).body["fields"].([]any))["who"]["value"])
		ada.post(at+"/sign", object{"timeZone": "Europe/Berlin", "fields": []object{
			text("radio_2", "true"), text("petName", "Tom"), text("rent", "950.50"), text("id", "AB1234"), text("heating", "oil"), text("note", "=1+1"), text("title", "-5"), stamp,
		}}).want(200)

		// The landlord receives only the tenant's values that determine which of the landlord's fields are required.
		grace := s.link(t, e, 1)
		ctx := nobody.get(grace).want(200)
		require.Equal(t, object{"pets": "cat"}, ctx.body["conditionValues"])
		require.Len(t, ctx.body["fields"], 1)
		nobody.post(grace+"/consent", nil).want(200)
		nobody.post(grace+"/sign", object{"fields": []object{}}).rejected(400, "validation_error")
		nobody.post(grace+"/sign", object{"fields": []object{{"fieldId": fields["petRules"]["id"], "textValue": "No dogs"}}}).want(200)

		got := c.get(path + "/values").want(200).body
		require.Regexp(t, `^\d\d\.\d\d\.\d{4} \(UTC\+0[12]:00\)$`, got["at"])
		delete(got, "at")
		hash := got["stamp"].(object)["sha256"]
		delete(got, "stamp")
		require.Equal(t, object{
			"who": "Ada Byron", "mail": "ada@example.com", "firm": "Secret Ltd", "title": "-5", "rent": "950.50", "heating": "oil", "pets": "cat",
			"petName": "Tom", "id": "AB1234", "note": "=1+1", "petRules": "No dogs",
		}, got)
		whole := byName(c.get(path).want(200).body["fields"].([]any))
		require.Equal(t, "true", whole["radio_2"]["value"])
		require.Nil(t, whole["radio_1"]["value"])
		require.Equal(t, object{"sha256": hash}, whole["stamp"]["value"])
		list := c.get("/v1/envelopes?tenantId=acme").want(200).body["data"].([]any)[0].(object)
		require.NotContains(t, list["fields"].([]any)[0], "value", "lists never contain values")

		table := c.with("Accept", "text/csv").get(path + "/values").want(200)
		require.Contains(t, table.header.Get("Content-Type"), "text/csv")
		rows, err := csv.NewReader(strings.NewReader(string(table.raw))).ReadAll()
		require.NoError(t, err)
		require.Contains(t, rows, []string{"note", "'=1+1"})
		require.Contains(t, rows, []string{"title", "-5"})
		require.Contains(t, rows, []string{"stamp", hash.(string)})
		require.Equal(t, []string{"name", "value"}, rows[0])
		require.Contains(t, string(table.raw), "\r\n")

		s.client(t).get("/v1/envelopes/"+newID().String()+"/values").rejected(404, "not_found")
		nobody.get(path + "/values").want(401)
	})
}

// TestPlainEnvelope_HasOnlyOriginalMembers checks that responses for an envelope without additional features contain
// only the members of the original API.
func TestPlainEnvelope_HasOnlyOriginalMembers(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	c.sent(everyType())
	e, _ := c.sent(contract())
	at := s.link(t, e, 0)
	known := []string{"documentId", "h", "id", "origin", "page", "required", "signerId", "type", "w", "x", "y"}
	require.Equal(t, known, slices.Sorted(maps.Keys(e.field(0))))
	require.NotContains(t, e.signer(0), "role")
	ctx := nobody.get(at).want(200)
	require.NotContains(t, ctx.body, "conditionValues")
	require.Equal(t, []string{"documentId", "h", "id", "page", "required", "type", "w", "x", "y"}, slices.Sorted(maps.Keys(ctx.body["fields"].([]any)[0].(object))))
	nobody.post(at+"/consent", nil).want(200)
	rejected := nobody.post(at+"/sign", object{"fields": []object{}}).rejected(400, "validation_error")
	require.Nil(t, rejected.body["details"])
	nobody.post(at+"/sign", object{"fields": []object{{"fieldId": e.field(0)["id"], "textValue": "yes"}}}).want(200)
	require.Equal(t, object{"text_1": "yes"}, c.get("/v1/envelopes/"+e.str("id")+"/values").want(200).body)
}

// TestAnchors_PlaceFields checks that fields are placed at their anchor text, for every request that accepts fields.
func TestAnchors_PlaceFields(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	at := func(anchor, more object) object {
		f := object{"signerId": "0", "type": "signature", "anchor": anchor}
		maps.Copy(f, more)
		return f
	}
	with := func(fields ...object) object {
		data := contract()
		data["fields"] = fields
		return data
	}
	create := func(data object) *response {
		b, err := json.Marshal(data)
		require.NoError(t, err)
		ct, body := multipartBody(t, map[string]string{"data": string(b)}, kit.OnePage())
		return c.send("POST", "/v1/envelopes", ct, body)
	}
	// "Contract" begins at x = 72, and its baseline is 82 points from the top.
	e := create(with(
		at(object{"text": "Contract", "at": "over", "dx": 1, "dy": -2}, object{"name": "sig", "w": 50, "h": 10}),
		at(object{"text": "t", "match": "all", "at": "below"}, object{"name": "ini", "type": "initial"}),
		at(object{"text": "Nowhere", "ifMissing": "skip"}, nil),
		at(object{"text": "contract", "ignoreCase": true, "match": 1, "wholeWord": true, "page": 1}, nil),
	)).want(201)
	fields := byName(e.body["fields"].([]any))
	require.Equal(t, []string{"ini", "ini_2", "sig", "signature_1"}, slices.Sorted(maps.Keys(fields)))
	require.InDelta(t, 73, fields["sig"]["x"], 1)
	require.InDelta(t, 58, fields["sig"]["y"], 8)
	require.EqualValues(t, 50, fields["sig"]["w"])
	require.EqualValues(t, 60, fields["ini"]["w"], "the width of initials")
	require.Less(t, fields["ini"]["x"], fields["ini_2"]["x"])
	require.Equal(t, fields["ini"]["y"], fields["ini_2"]["y"])
	require.Greater(t, fields["signature_1"]["x"], 150.0, "to the right of the word")

	for _, bad := range []struct {
		field object
		path  string
		says  string
	}{
		{at(object{"text": "Contrakt"}, object{"name": "sig"}), "fields[0].anchor", `field sig: the anchor text "Contrakt" was not found in the document; there is "Contract"`},
		{at(object{"text": "t", "match": 3}, nil), "fields[0].anchor", "only 2 times"},
		{at(object{"text": "t", "page": 2}, nil), "fields[0].anchor", "page 2"},
		{at(object{"text": ""}, nil), "fields[0].anchor", "must not be empty"},
		{at(object{"text": "t", "match": "second"}, nil), "fields[0].anchor.match", "match must be"},
		{at(object{"text": "t", "at": "left"}, nil), "fields[0].anchor", "anchor.at"},
		{at(object{"text": "t"}, object{"page": 1}), "fields[0].page", "combined with anchor"},
		{at(object{"text": "Contract", "at": "over", "dx": 500}, nil), "fields[0].x", "extends beyond page 1"},
	} {
		rejected := create(with(bad.field)).rejected(400, "validation_error")
		errors := rejected.body["errors"].(object)
		require.Contains(t, errors, bad.path, "%s", rejected.raw)
		require.Contains(t, errors[bad.path].([]any)[0], bad.says)
	}

	c.post("/v1/envelopes", with(at(object{"text": "Contract"}, nil))).rejected(400, "anchor_needs_document")
	empty := c.post("/v1/envelopes", with()).want(201)
	path := "/v1/envelopes/" + empty.str("id")
	c.post(path+"/fields", at(object{"text": "Contract"}, nil)).rejected(400, "anchor_needs_document")
	doc := c.send("POST", path+"/document", "application/octet-stream", kit.OnePage()).want(200)
	one := c.post(path+"/fields", at(object{"text": "Contract"}, object{"documentId": doc.str("documentId"), "name": "later"})).want(201)
	require.EqualValues(t, fields["signature_1"]["x"], one.body["x"])
	require.Equal(t, "later", one.str("name"))
	c.post(path+"/fields", at(object{"text": "t", "match": "all"}, nil)).rejected(400, "validation_error")

	// A field in a list can become several fields or none. Errors contain the index in the request.
	added := func(fields ...object) *response { return c.post(path+"/fields", fields) }
	several := list(added(
		at(object{"text": "Nowhere", "ifMissing": "skip"}, object{"name": "nothing"}),
		at(object{"text": "t", "match": "all", "at": "below"}, object{"name": "each", "type": "initial"}),
		object{"signerId": "0", "type": "text", "name": "still", "page": 1, "x": 9, "y": 9, "w": 9, "h": 9},
	).want(201))
	var names []any
	for _, f := range several {
		names = append(names, f.(object)["name"])
	}
	require.Equal(t, []any{"each", "each_2", "still"}, names)
	require.EqualValues(t, fields["ini"]["x"], several[0].(object)["x"])
	require.EqualValues(t, fields["ini_2"]["x"], several[1].(object)["x"])
	for place, bad := range []object{
		at(object{"text": "Contrakt"}, nil), at(object{"text": "Contract"}, object{"documentId": newID().String()}),
		at(object{"text": "Contract", "at": "over", "dx": 500}, nil),
	} {
		rejected := added(at(object{"text": "t", "match": "all"}, object{"type": "initial"}), bad).rejected(400, "validation_error")
		require.Contains(t, rejected.body["errors"], []string{"fields[1].anchor", "fields[1].documentId", "fields[1].x"}[place], "%s", rejected.raw)
	}
	require.Empty(t, list(added(at(object{"text": "Nowhere", "ifMissing": "skip"}, nil)).want(201)))
	require.Len(t, c.get(path).want(200).body["fields"], 4, "fields must not be added partially")
	c.post(path+"/fields", at(object{"text": "Nowhere", "ifMissing": "skip"}, nil)).rejected(400, "validation_error")
	c.post(path+"/fields", at(object{"text": "Nowhere"}, nil)).rejected(400, "validation_error")
	c.post(path+"/fields", at(object{"text": "Contract"}, object{"documentId": newID().String()})).rejected(400, "validation_error")
}
