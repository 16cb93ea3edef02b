package conformance_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// checkFields tests an envelope with every type of field, from the draft to the entered values that the owner
// retrieves. The fields have names, prefilled values, rules and conditions, and are placed at coordinates and at
// anchors.
func checkFields(t *testing.T, s *target) {
	t.Helper()
	c, nobody := s.app(), &client{s: s}
	row := 0
	field := func(kind, name string, more object) object {
		row++
		f := object{"signerId": "0", "type": kind, "name": name, "page": 1, "x": 72, "y": 80 + 26*row, "w": 160, "h": 20}
		for k, v := range more {
			f[k] = v
		}
		return f
	}
	data := s.contract()
	data["fields"] = []object{
		field("name", "who", nil), field("email", "mail", nil), field("company", "firm", object{"defaultValue": "Engines Ltd", "readOnly": true}),
		field("title", "job", object{"required": false}), field("signed_date", "on", object{"format": "dd.MM.yyyy"}),
		field("number", "rent", object{"format": "2", "validation": object{"min": 0.5, "max": 10000}}),
		field("select", "heating", object{"options": []string{"gas", "oil"}}),
		field("radio", "none", object{"group": "pets", "option": "none"}), field("radio", "cat", object{"group": "pets", "option": "cat"}),
		field("text", "petName", object{"condition": object{"all": []object{{"field": "pets", "isNot": "none"}}}}),
		field("checkbox", "read", nil), field("date", "from", nil), field("stamp", "stamp", object{"required": false}),
	}
	e := s.create(t, data)
	at := "/v1/envelopes/" + e.str("id")
	add := func(fields ...object) *answer { return c.post(t, at+"/fields", fields) }
	byText := func(anchor object) object {
		return object{"signerId": e.item("signers", 0)["id"], "type": "initial", "name": "ini", "required": false, "anchor": anchor}
	}
	add(byText(object{"text": "Contract", "match": "all", "at": "below"}), byText(object{"text": "No such text", "ifMissing": "skip"})).want(t, 201)
	add(byText(object{"text": "Contrakt"})).rejected(t, 400, "validation_error")
	add(object{"signerId": e.item("signers", 0)["id"], "type": "hologram", "page": 1, "x": 1, "y": 1, "w": 9, "h": 9}).rejected(t, 400, "validation_error")
	add(field("text", "loop", object{"signerId": e.item("signers", 0)["id"], "condition": object{"all": []object{{"field": "loop", "filled": true}}}})).rejected(t, 400, "validation_error")

	sent := c.post(t, at+"/send", nil).want(t, 200)
	token := sent.item("signers", 0)["signingUrl"].(string)
	link := "/v1/signing/" + token[strings.LastIndex(token, "/")+1:]
	ids := map[string]any{}
	for _, v := range nobody.get(t, link).want(t, 200).body["fields"].([]any) {
		f := v.(object)
		ids[f["name"].(string)] = f["id"]
	}
	require.Contains(t, ids, "ini")
	nobody.post(t, link+"/consent", nil).want(t, 200)
	text := func(name, value string) object { return object{"fieldId": ids[name], "textValue": value} }
	sign := func(fields ...object) *answer {
		return nobody.post(t, link+"/sign", object{"timeZone": "Europe/Berlin", "fields": fields})
	}
	rules := map[string]string{}
	wrong := sign(text("mail", "nobody"), text("firm", "Another"), text("rent", "0.623"), text("heating", "wood"), text("none", "true"), text("petName", "Tom"), text("read", "true"), text("from", "2026-11-22")).rejected(t, 400, "validation_error")
	for _, v := range wrong.body["details"].(object)["fields"].([]any) {
		rules[v.(object)["name"].(string)] = v.(object)["rule"].(string)
	}
	require.Equal(t, map[string]string{"mail": "type", "firm": "readOnly", "rent": "format", "heating": "options", "petName": "condition"}, rules)
	require.Nil(t, c.get(t, at+"/values").want(t, 200).body["rent"], "no part of a rejected request is stored")

	picture := object{"fieldId": ids["stamp"], "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature())}
	sign(text("rent", "950.50"), text("heating", "oil"), text("cat", "true"), text("petName", "Tom"), text("read", "true"), text("from", "2026-11-22"), picture).want(t, 200)
	values := c.get(t, at+"/values").want(t, 200).body
	require.Regexp(t, `^\d\d\.\d\d\.\d{4} \(UTC\+0[12]:00\)$`, values["on"])
	require.Regexp(t, `^[0-9a-f]{64}$`, values["stamp"].(object)["sha256"])
	delete(values, "on")
	delete(values, "stamp")
	require.Equal(t, object{
		"who": "Ada Lovelace", "mail": "ada@example.com", "firm": "Engines Ltd", "job": nil, "rent": "950.50", "heating": "oil", "pets": "cat", "petName": "Tom",
		"read": "true", "from": "2026-11-22", "ini": nil,
	}, values)
	s.completed(t, e.str("id"))
	shown := c.get(t, at).want(t, 200)
	require.Equal(t, http.StatusOK, shown.status)
	for _, v := range shown.body["fields"].([]any) {
		if f := v.(object); f["name"] == "rent" {
			require.Equal(t, "950.50", f["value"])
		}
	}
}
