package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// TestWarnings_OnlyOfDrafts checks that only a draft has warnings about fields that are very large or too small for
// their values.
func TestWarnings_OnlyOfDrafts(t *testing.T) {
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
		made := c.draftOf(data, kit.OnePage()).want(201)
		id := made.str("id")
		draft := c.get("/v1/envelopes/" + id).want(200)
		require.Equal(t, draft.document(0)["warnings"], made.document(0)["warnings"], "the response to the upload must contain the warnings")
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
		require.Len(t, left, 1, "warnings about the file do not change")
	})
}

// TestWarnings_CoveredText checks that a draft has a warning about each field whose image would cover text in the
// original.
func TestWarnings_CoveredText(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		data := contract()
		field := func(typ, name string, y float64) object { // the top of the text is at y = 64
			return object{"signerId": "0", "type": typ, "page": 1, "x": 60, "y": y, "w": 200, "h": 40, "name": name, "required": false}
		}
		data["fields"] = []object{field("signature", "on", 55), field("initial", "initials", 56), field("stamp", "stamp", 57), field("text", "text", 55), field("signature", "below", 100)}
		id := c.draftOf(data, kit.OnePageWith("The rent is due")).want(201).str("id")
		covering := func(path string) map[any]any {
			found := map[any]any{}
			for _, w := range c.get(path + id).want(200).body["documents"].([]any)[0].(object)["warnings"].([]any) {
				if warning := w.(object); warning["code"] == "field_covers_text" {
					require.Contains(t, warning["message"], "covers text on page 1.")
					require.EqualValues(t, 1, warning["page"])
					found[warning["field"]] = true
				}
			}
			return found
		}
		draft := c.get("/v1/envelopes/" + id).want(200)
		want := map[any]any{draft.field(0)["id"]: true, draft.field(1)["id"]: true, draft.field(2)["id"]: true}
		require.Equal(t, want, covering("/v1/envelopes/"))
		require.Equal(t, want, covering("/v1/envelopes/"), "as stored")
		require.Equal(t, want, covering("/v1/console/envelopes/"))
		moved := draft.field(1)["id"].(string)
		c.patch("/v1/envelopes/"+id+"/fields/"+moved, object{"y": 300}).want(200)
		delete(want, moved)
		require.Equal(t, want, covering("/v1/envelopes/"))
	})
}

// TestWarnings_PDFA checks that an upload that claims PDF/A conformance is accepted with a warning.
func TestWarnings_PDFA(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		const xmp = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/" pdfaid:part="2" pdfaid:conformance="B"/></rdf:RDF>`
		file := kit.OnePageHolding("Metadata", fmt.Sprintf("<</Type/Metadata/Subtype/XML/Length %d>>\nstream\n%s\nendstream", len(xmp), xmp))
		c := s.client(t)
		made := c.draftOf(contract(), file).want(201)
		for _, at := range []object{made.body, c.get("/v1/envelopes/" + made.str("id")).want(200).body} {
			require.Contains(t, at["documents"].([]any)[0].(object)["warnings"], object{
				"code": "pdfa_claim_removed", "message": "The file states that it conforms to PDF/A. The sealed file does not conform, so the statement is removed from its metadata.",
			})
		}
	})
}
