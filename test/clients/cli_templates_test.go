package clients_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

const leaseTemplate = `name: Lease
subject: Lease of {{place}}
metadata: {department: housing}
roles:
  - {role: tenant, authMethod: none}
  - {role: landlord, routingOrder: 2, authMethod: none}
fields:
  - {role: tenant, type: date, name: since, page: 1, x: 72, y: 200, w: 120, h: 20, required: false, validation: {min: 2020-01-31}}
  - {role: tenant, type: signature, page: 1, x: 72, y: 600, w: 180, h: 50}
  - {role: landlord, type: signature, page: 1, x: 300, y: 600, w: 180, h: 50}
`

// lease creates a directory with a template, and returns its path.
func lease(t *testing.T, c *cli) string {
	t.Helper()
	dir := filepath.Join(c.home, "lease")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "template.yaml"), []byte(leaseTemplate), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lease.pdf"), kit.OnePage(), 0o600))
	return dir
}

// TestFields_DefaultOrigin_IsTopLeft checks that fields are placed at the requested positions even if the tenant's
// origin is bottom-left.
func TestFields_DefaultOrigin_IsTopLeft(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := &cli{home: t.TempDir(), env: s.env()}
	operator := &cli{home: c.home}
	operator.must(t, "tenant", "set", "--data-dir", s.dir, "--app", s.ClientID, "--origin", "bottom-left")
	pdf := filepath.Join(c.home, "contract.pdf")
	require.NoError(t, os.WriteFile(pdf, kit.OnePage(), 0o600))
	placed := func(id string) (x, y float64) {
		e, err := s.client(t).Envelope(t.Context(), uuid.MustParse(id))
		require.NoError(t, err)
		require.Len(t, e.Fields, 1)
		return e.Fields[0].X, e.Fields[0].Y
	}

	id := strings.Fields(c.must(t, "send", pdf, "--to", "Ada <ada@example.com>", "--no-code", "--draft", "--field", "signature:0:1:72:600:180:50"))[0]
	x, y := placed(id)
	require.Equal(t, []float64{72, 600}, []float64{x, y}, "send --field")

	a := newAgent(t, s, protocols[0], nil)
	e := draft(t, s, "Placed by an agent")
	a.must(t, "add_fields", map[string]any{"envelope_id": e, "fields": []map[string]any{{"type": "text", "signer": "0", "page": 1, "x": 72, "y": 100, "w": 90, "h": 20}}})
	added, err := s.client(t).Envelope(t.Context(), e)
	require.NoError(t, err)
	require.InDelta(t, 100, added.Fields[len(added.Fields)-1].Y, 0, "add_fields")

	// The local file specifies no origin, so the tenant's origin applies. The pulled file specifies one.
	template := strings.Fields(c.must(t, "template", "push", lease(t, c)))[0]
	other := filepath.Join(c.home, "other")
	var before []api.TemplateField
	for _, version := range []int{1, 2, 3} {
		res, err := s.client(t).API.GetTemplateWithResponse(t.Context(), uuid.MustParse(template), &api.GetTemplateParams{})
		require.NoError(t, err)
		require.Equal(t, version, res.JSON200.Version)
		require.Len(t, res.JSON200.Fields, 3)
		for i := range before {
			require.Equal(t, []float64{before[i].X, before[i].Y}, []float64{res.JSON200.Fields[i].X, res.JSON200.Fields[i].Y}, "pulled and pushed")
		}
		before = res.JSON200.Fields
		c.must(t, "template", "pull", template, other, "--force")
		c.must(t, "template", "push", other)
	}
}

// TestTemplates_PushAndPullFiles checks that a template does not change when it is pushed, pulled and pushed again.
func TestTemplates_PushAndPullFiles(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := &cli{home: t.TempDir(), env: s.env()}
	dir := lease(t, c)
	yaml := filepath.Join(dir, "template.yaml")

	require.Contains(t, c.must(t, "template", "push", dir, "--check"), "complete")
	out := c.must(t, "template", "push", dir)
	require.Contains(t, out, "v1  Lease")
	id := strings.Fields(out)[0]
	require.Contains(t, c.must(t, "template", "push", dir), id+"  v2", "the externalId must be the folder's name")
	require.Contains(t, c.must(t, "template", "list"), id)
	require.Contains(t, c.must(t, "template", "list", "--query", "eas"), id)
	require.NotContains(t, c.must(t, "template", "list", "--query", "nothing"), id)

	other := filepath.Join(c.home, "other")
	c.must(t, "template", "pull", "lease", other)
	pulled, err := os.ReadFile(filepath.Join(other, "template.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(pulled), "externalId: lease\n")
	require.Contains(t, string(pulled), "subject: Lease of {{place}}")
	pdf, err := os.ReadFile(filepath.Join(other, "lease.pdf"))
	require.NoError(t, err)
	require.Equal(t, kit.OnePage(), pdf)
	code, _, said := c.run(t, "", "template", "pull", id, other)
	require.Equal(t, 1, code)
	require.Contains(t, said, "exists", "no file may be overwritten")
	require.Contains(t, c.must(t, "template", "push", other), id+"  v3")
	c.must(t, "template", "pull", id, other, "--force")
	again, err := os.ReadFile(filepath.Join(other, "template.yaml"))
	require.NoError(t, err)
	require.Equal(t, string(pulled), string(again), "pulling and pushing must preserve everything")
	var versions [2]api.Template
	for i, v := range []string{"1", "3"} {
		dir := filepath.Join(c.home, "v"+v)
		c.must(t, "template", "pull", id, dir, "--version", v)
		n := map[string]int{"1": 1, "3": 3}[v]
		res, err := s.client(t).API.GetTemplateWithResponse(t.Context(), uuid.MustParse(id), &api.GetTemplateParams{Version: &n})
		require.NoError(t, err)
		versions[i] = *res.JSON200
	}
	require.Equal(t, versions[0].Roles, versions[1].Roles)
	require.Len(t, versions[1].Fields, 3)
	require.Equal(t, "2020-01-31", versions[1].Fields[0].Validation.Min)

	// A template without a deadline differs from one with the tenant's default deadline.
	never := filepath.Join(c.home, "never")
	require.NoError(t, os.Rename(other, never))
	file := filepath.Join(never, "template.yaml")
	require.NoError(t, os.WriteFile(file, append(pulled, "expiresInDays: null\n"...), 0o600))
	c.must(t, "template", "push", never)
	c.must(t, "template", "pull", id, never, "--force")
	again, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(again), "expiresInDays: null\n")
	c.must(t, "template", "push", never)
	res, err := s.client(t).API.GetTemplateWithResponse(t.Context(), uuid.MustParse(id), &api.GetTemplateParams{})
	require.NoError(t, err)
	require.Contains(t, string(res.Body), `"expiresInDays":null`)

	// Invalid input is reported either before anything is sent or by the service.
	for text, want := range map[string]string{
		"":                                       "is empty",
		"name: [":                                "yaml",
		"name: Lease\nrolls: []\n":               `unknown field "rolls"`,
		"name: Lease\ntenantId: acme\n":          "tenantId",
		"name: Lease\ndocument: ../secret.pdf\n": "document",
		"name: Lease\ndocument: missing.pdf\n":   "missing.pdf",
		strings.Replace(leaseTemplate, "type: date", "type: x", 1):                      "fields[0].type",
		strings.Replace(leaseTemplate, "role: landlord, type", "role: nobody, type", 1): "fields[2].role",
	} {
		require.NoError(t, os.WriteFile(yaml, []byte(text), 0o600))
		code, _, said := c.run(t, "", "template", "push", dir)
		require.NotZero(t, code, text)
		require.Contains(t, said, want)
	}
	code, _, _ = c.run(t, "", "template", "pull", "nothing", filepath.Join(c.home, "nothing"))
	require.Equal(t, 4, code)

	// Import a DocuSeal template as a template of this service.
	b, err := os.ReadFile("../../cli/docuseal/testdata/template.json")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(c.home, "theirs.json"), b, 0o600))
	out = c.must(t, "import", "docuseal", filepath.Join(c.home, "theirs.json"), "--pdf", contractPDF(t))
	require.Contains(t, out, "v1  Service agreement")
	require.Contains(t, c.must(t, "template", "list", "--json"), `"service-agreement"`)
}

// TestTemplates_WithTags_PushAndPullFiles checks that, after a template is pulled and pushed again, its signers see the
// same text as before, without the uploaded document's tags.
func TestTemplates_WithTags_PushAndPullFiles(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := &cli{home: t.TempDir(), env: s.env()}
	dir := lease(t, c)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lease.pdf"), kit.OnePageWith("{{signature;role=Client;width=180;height=40}}"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "template.yaml"), []byte("name: Tags\nroles: [{role: Client, authMethod: none}]\ndocumentOptions: {tags: detect}\n"), 0o600))
	id := uuid.MustParse(strings.Fields(c.must(t, "template", "push", dir))[0])
	read := func() (*api.Template, []byte) { // returns the text that signers see
		res, err := s.client(t).API.GetTemplateWithResponse(t.Context(), id, &api.GetTemplateParams{})
		require.NoError(t, err)
		require.Len(t, res.JSON200.Documents, 1)
		params := &api.DownloadTemplateDocumentParams{}
		if res.JSON200.Documents[0].Prepared != nil {
			params.Kind = countersign.Ptr(api.DownloadTemplateDocumentParamsKindPrepared)
		}
		doc, err := s.client(t).API.DownloadTemplateDocumentWithResponse(t.Context(), id, params)
		require.NoError(t, err)
		return res.JSON200, doc.Body
	}
	made, before := read()
	require.NotNil(t, made.Documents[0].Prepared)
	require.Len(t, made.Fields, 1)
	other := filepath.Join(c.home, "other")
	c.must(t, "template", "pull", id.String(), other)
	c.must(t, "template", "push", other)
	pushed, after := read()
	require.Equal(t, 2, pushed.Version)
	require.Equal(t, before, after)
	require.Len(t, pushed.Fields, 1)
	made.Fields[0].DocumentID = pushed.Fields[0].DocumentID
	require.Equal(t, made.Fields, pushed.Fields)
}

func contractPDF(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../docs/contract.pdf")
	require.NoError(t, err)
	return path
}
