package api_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTextTags_CreateFields checks that a field has the attributes of its tag, and that the error for an invalid tag
// identifies the tag.
func TestTextTags_CreateFields(t *testing.T) {
	t.Parallel()
	app := onSQLite(t, nil).client(t)
	tagged := func(tag string) *response {
		data := object{
			"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com", "role": "Landlord"}, {"name": "B", "email": "b@example.com", "role": "Tenant"}},
			"documentOptions": object{"tags": "detect"},
		}
		return app.draftOf(data, preparable(tag, "", ""))
	}
	e := tagged("{{Rent;role=Tenant;type=number;format=2;required=false;default=12.50;label=The rent;width=90;height=20}}").want(201)
	f := e.field(0)
	want := object{
		"type": "number", "name": "Rent", "signerId": e.signer(1)["id"], "required": false, "format": "2", "defaultValue": "12.50", "label": "The rent", "w": 90.0, "h": 20.0, "x": 72.0,
	}
	for name := range want {
		require.Equal(t, want[name], f[name], name)
	}
	e = tagged("{{Pet;role=r1;type=select;options=Cat,Dog}} {{Why;role=r1;condition=Pet:Dog}}").want(201)
	require.Equal(t, []any{"Cat", "Dog"}, e.field(0)["options"])
	require.Equal(t, object{"all": []any{object{"field": "Pet", "is": "Dog"}}}, e.field(1)["condition"])
	e = tagged("{{!Who_es_:signer2:name}}").want(201)
	require.Equal(t, true, e.field(0)["readOnly"])
	e = tagged("{{Colour;role=Tenant;type=radio;options=red}}").want(201)
	require.Equal(t, "Colour", e.field(0)["group"])
	require.Equal(t, "red", e.field(0)["option"])

	for tag, says := range map[string]string{
		"{{Rent;role=Tenant;type=number;format=x}}":             "format",
		"{{Rent;role=Tenant;type=date;default=soon}}":           "defaultValue",
		"{{Sign;role=Tenant;type=signature;label=x;default=y}}": "defaultValue",
		"{{Rent;role=Guest}}":                                   "Guest",
	} {
		r := tagged(tag).rejected(400, "text_tag_invalid")
		message := r.str("message")
		require.Contains(t, message, tag)
		require.Contains(t, message, "page 1")
		require.Contains(t, message, says)
	}
	tagged("{{a;role=r1;condition=Nobody:x}}").want(400)
}

// TestForms_CreateFields checks that a form widget becomes a field, and that the form is removed from the document.
func TestForms_CreateFields(t *testing.T) {
	t.Parallel()
	app := onSQLite(t, nil).client(t)
	const at = "<</Type/Annot/Subtype/Widget/Rect[100 700 200 720]"
	widgets := []string{
		at + "/FT/Tx/T(name)/TU(Your name)/V(Ada)/Ff 3/MaxLen 30/DA(/Helv 11.5 Tf 0 g)/Q 2>>",
		at + "/FT/Tx/T(your notes)/Ff 4096>>",
		at + "/FT/Tx/T(comb)/Ff 16777216/MaxLen 8>>",
		at + "/FT/Tx/T(born)/V(24.12.1999)/AA<</F<</S/JavaScript/JS(AFDate_FormatEx\\(\"dd.mm.yyyy\"\\);)>>>>>>",
		at + "/FT/Tx/T(short)/AA<</F<</S/JavaScript/JS(AFDate_FormatEx\\(\"dd.mm.yy\"\\);)>>>>>>",
		at + "/FT/Btn/T(agree)/V/Yes/AS/Yes/AP<</N<</Off 5 0 R/Yes 5 0 R>>>>>>",
		at + "/FT/Ch/T(pet)/Ff 131072/V(d)/Opt[[(c)(Cat)][(d)(Dog)](bird)]>>",
		at + "/FT/Sig/T(sign_es_:signer2)>>",
		at + "/FT/Btn/T(push)/Ff 65536>>",
		at + "/FT/Tx/T(hidden)/F 2>>",
		at + "/FT/Tx/T(locked)/Ff 1>>",
	}
	refs := ""
	for i := range widgets {
		refs += fmt.Sprintf("%d 0 R ", i+6)
	}
	data := pairOfSigners()
	data["documentOptions"] = object{"form": "import", "formRole": "signer1"}
	e := app.draftOf(data, preparable("Form", "/AcroForm<</Fields["+refs+"]>>", "/Annots["+refs+"]", widgets...)).want(201)
	byName := make(map[string]object)
	for i := range e.body["fields"].([]any) {
		byName[e.field(i)["name"].(string)] = e.field(i)
	}
	for name, want := range map[string]object{
		"name": {
			"type": "text", "label": "Your name", "defaultValue": "Ada", "readOnly": true, "required": true, "maxLength": 30.0, "fontSize": 11.5, "align": "right",
			"x": 100.0, "y": 80.0, "w": 100.0, "h": 20.0, "signerId": e.signer(0)["id"],
		},
		"your_notes": {"type": "text", "multiline": true, "label": "your notes", "required": false},
		"comb":       {"type": "text", "comb": true, "maxLength": 8.0},
		"born":       {"type": "date", "format": "dd.MM.yyyy", "defaultValue": "24.12.1999"},
		"short":      {"type": "text"},
		"agree":      {"type": "checkbox", "defaultValue": "true"},
		"pet":        {"type": "select", "options": []any{"Cat", "Dog", "bird"}, "defaultValue": "Dog"},
		"sign":       {"type": "signature", "signerId": e.signer(1)["id"]},
		"locked":     {"type": "text", "readOnly": true, "required": false},
	} {
		require.Contains(t, byName, name)
		for k, v := range want {
			require.Equal(t, v, byName[name][k], "%s of %s", k, name)
		}
	}
	require.Len(t, byName, 9)
	changes := e.document(0)["prepared"].(object)["changes"].([]any)
	require.Contains(t, changes, object{"kind": "form_imported", "page": 1.0, "count": 11.0, "detail": nil})
}
