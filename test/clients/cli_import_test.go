package clients_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestImportDocuSeal imports a template in the documented format of DocuSeal's API as a draft, and sends the draft.
func TestImportDocuSeal(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := &cli{home: t.TempDir(), env: s.env()}
	template := filepath.Join(c.home, "template.json")
	b, err := os.ReadFile("../../cli/docuseal/testdata/template.json")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(template, b, 0o600))
	people := []string{"--to", "Client=Ada Lovelace <ada@example.com>", "--to", "Company=Grace Hopper <grace@example.com>"}
	run := func(args ...string) (int, string, string) {
		return c.run(t, "", append([]string{"import", "docuseal"}, args...)...)
	}

	code, _, said := run(append([]string{template}, people...)...)
	require.Equal(t, 1, code)
	require.Contains(t, said, "contract.pdf")
	pdf, err := os.ReadFile("../../docs/contract.pdf")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(c.home, "contract.pdf"), pdf, 0o600))
	code, _, said = run(template, people[0], people[1])
	require.Equal(t, 1, code)
	require.Contains(t, said, "Company")
	code, _, said = run(append([]string{template, "--to", "Nobody=A B <a@example.com>"}, people...)...)
	require.Equal(t, 1, code)
	require.Contains(t, said, "no such role")
	code, _, said = run(append([]string{filepath.Join(c.home, "contract.pdf")}, people...)...)
	require.Equal(t, 1, code)
	require.Contains(t, said, "not a DocuSeal template")
	code, _, said = run(append([]string{template, "--pdf", template}, people...)...)
	require.Equal(t, 1, code)
	require.Contains(t, said, "is not a PDF")

	code, out, said := run(append([]string{template, "--json"}, people...)...)
	require.Zero(t, code, said)
	var made struct {
		EnvelopeID uuid.UUID
		Notes      []string
	}
	require.NoError(t, json.Unmarshal([]byte(out), &made))
	require.Len(t, made.Notes, 5)
	app := s.client(t)
	e, err := app.Envelope(t.Context(), made.EnvelopeID)
	require.NoError(t, err)
	require.Len(t, e.Fields, 16)
	require.Equal(t, "Service agreement", *e.Subject)
	require.Len(t, e.Signers, 2)
	require.Equal(t, 2, e.Signers[1].RoutingOrder)
	for _, f := range e.Fields {
		if f.Name != nil && *f.Name == "Signature" {
			require.InDelta(t, 594.96*0.1, f.X, 0.02)
			require.InDelta(t, 841.92*0.6, f.Y, 0.02)
			require.InDelta(t, 594.96*0.3, f.W, 0.02)
			require.Equal(t, e.Signers[0].ID, f.SignerID)
		}
	}
	sent, err := app.Send(t.Context(), e.ID, "")
	require.NoError(t, err)
	require.EqualValues(t, "sent", sent.Status)

	code, out, said = run(append([]string{template, "--dry-run"}, people...)...)
	require.Zero(t, code, said)
	require.Contains(t, said, "payment")
	require.Contains(t, out, `"Full_Name"`)
	require.NotContains(t, out, "envelopeId")
}
