package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/store/blob"
)

// TestTemplateSuggestions checks that suggestions for a template's document work in the same way as for an envelope's
// document.
func TestTemplateSuggestions(t *testing.T) {
	t.Parallel()
	var files blob.Store
	s := onSQLite(t, func(cfg *api.Config) { files = cfg.Blobs })
	c := s.client(t)
	of := func(file []byte) (*response, string) {
		data := leaseTemplate()
		data["fields"] = nil
		made := c.upload(http.MethodPost, "/v1/templates", data, file).want(201)
		return made, "/v1/templates/" + made.str("id") + "/documents/" + made.document(0)["id"].(string) + "/suggestions"
	}
	template, at := of(preparable("Sign {{signature;role=tenant}}", "/AcroForm<</Fields[6 0 R]>>", "/Annots[6 0 R]", widget))
	found := c.get(at).want(200).body["data"].([]any)
	require.Len(t, found, 2)
	require.Equal(t, []any{"tag", "signature", "tenant"}, []any{found[0].(object)["source"], found[0].(object)["type"], found[0].(object)["role"]})
	require.Equal(t, object{"source": "form", "type": "text", "name": "a", "role": nil, "page": 1.0, "x": 100.0, "y": 280.0, "w": 100.0, "h": 20.0}, found[1])
	require.InDelta(t, 1, c.get("/v1/templates/" + template.str("id")).want(200).body["version"], 0, "suggestions must not change the template")
	s.other(t).get(at).rejected(404, "not_found")

	other, _ := of(preparable("Sign here", "", ""))
	path := "/v1/templates/" + template.str("id") + "/documents/"
	c.get(path+other.document(0)["id"].(string)+"/suggestions").rejected(404, "not_found")
	c.get(path+"x/suggestions").rejected(404, "not_found")

	_, wrong := of(preparable("{{a;typ=date}}", "", ""))
	require.Contains(t, c.get(wrong).rejected(400, "text_tag_invalid").str("message"), "{{a;typ=date}}")

	lost, gone := of(preparable("Sign here, please", "", ""))
	keys, err := files.List(t.Context(), "templates/")
	require.NoError(t, err)
	stored, err := s.store.Template(t.Context(), s.app.ID, id(lost), 0)
	require.NoError(t, err)
	require.Contains(t, keys, stored.Documents[0].BlobKey)
	require.NoError(t, files.Delete(t.Context(), stored.Documents[0].BlobKey))
	c.get(gone).rejected(503, "file_missing")
	c.get("/v1/templates/"+lost.str("id")+"/document").rejected(503, "file_missing")

	c.del("/v1/templates/" + template.str("id")).want(204)
	c.get(at).rejected(410, "template_archived")
}
