package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
)

// TestWarningsBeforeSending: a draft says which of its fields are too small for what may be entered, or very large; once sent, it
// does not any more.
func TestWarningsBeforeSending(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		data := contract()
		field := func(typ, name string, w, h float64, more object) object {
			f := object{"signerId": "0", "type": typ, "page": 1, "x": 20, "y": 20, "w": w, "h": h, "name": name, "required": false}
			for k, v := range more {
				f[k] = v
			}
			return f
		}
		data["fields"] = []object{
			field("text", "good", 150, 18, object{"maxLength": 100}),
			field("text", "long", 150, 18, object{"maxLength": 300}),
			field("text", "low", 150, 5, nil),
			field("text", "prefilled", 40, 10, object{"defaultValue": strings.Repeat("prefilled ", 10)}),
			field("select", "choice", 30, 10, object{"options": []string{"a", strings.Repeat("long option ", 8)}}),
			field("signature", "large", 500, 400, nil),
			field("signature", "sig", 160, 40, nil),
			field("email", "mail", 160, 20, nil),
		}
		id := c.draftOf(data, testkit.OnePage()).want(201).str("id")
		draft := c.get("/v1/envelopes/" + id).want(200)
		byField, fonts := map[any]string{}, 0
		for _, w := range draft.body["documents"].([]any)[0].(object)["warnings"].([]any) {
			warning := w.(object)
			require.NotEmpty(t, warning["message"])
			if warning["code"] == "font_not_embedded" {
				require.NotContains(t, warning, "field")
				fonts++
				continue
			}
			require.EqualValues(t, 1, warning["page"])
			byField[warning["field"]] = warning["code"].(string)
		}
		want := map[any]string{}
		for i, code := range map[int]string{1: "field_too_small", 2: "field_too_small", 3: "field_too_small", 4: "field_too_small", 5: "field_too_large"} {
			want[draft.field(i)["id"]] = code
		}
		require.Equal(t, want, byField)
		require.Equal(t, 1, fonts)
		c.post("/v1/envelopes/"+id+"/send", nil).want(200)
		left := c.get("/v1/envelopes/" + id).want(200).body["documents"].([]any)[0].(object)["warnings"].([]any)
		require.Len(t, left, 1, "what is told of the file stays")
	})
}
