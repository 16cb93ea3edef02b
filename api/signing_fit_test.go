package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTextsThatDoNotFit_AreRejected checks that text that would be drawn smaller than five points is rejected when
// signing, and is reported by the fit operation.
func TestTextsThatDoNotFit_AreRejected(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		data := contract()
		data["fields"] = []object{
			{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 100, "w": 150, "h": 18, "name": "note"},
			{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 140, "w": 400, "h": 200, "name": "essay"},
			{"signerId": "0", "type": "email", "page": 1, "x": 72, "y": 400, "w": 20, "h": 8, "name": "mail"},
		}
		e, token := c.sent(data)
		at, id := "/v1/signing/"+token, func(i int) any { return e.field(i)["id"] }
		nobody.post(at+"/consent", nil).want(200)
		long := strings.Repeat("word ", 60)
		a := nobody.post(at+"/fit", object{"fields": []object{{"fieldId": id(0), "textValue": long}, {"fieldId": id(1), "textValue": long}}}).want(200)
		misfits := a.body["misfits"].([]any)
		require.Len(t, misfits, 1)
		require.Equal(t, id(0), misfits[0].(object)["fieldId"])
		length := int(misfits[0].(object)["length"].(float64))
		require.InDelta(t, 180, length, 40)
		require.Empty(t, nobody.post(at+"/fit", object{"fields": []object{{"fieldId": id(0), "textValue": long[:length]}}}).want(200).body["misfits"])
		nobody.post(at+"/fit", object{"fields": []object{{"fieldId": id(0), "textValue": strings.Repeat("w", 2001)}}}).want(400)

		rejected := nobody.post(at+"/sign", object{"fields": []object{{"fieldId": id(0), "textValue": long}, {"fieldId": id(1), "textValue": long}}}).want(400)
		require.Equal(t, "validation_error", rejected.str("error"))
		messages := rejected.body["errors"].(object)["fields[0].textValue"].([]any)
		require.Contains(t, messages[0], "field note: does not fit in the field at a legible size: it has 300 characters, of which the first")
		require.NotContains(t, rejected.body["errors"], "fields[1].textValue")
		nobody.post(at+"/sign", object{"fields": []object{{"fieldId": id(0), "textValue": long[:length]}, {"fieldId": id(1), "textValue": long}}}).want(200) // field 1 accepts the text because the service prefilled it
	})
}
