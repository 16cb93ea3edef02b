package clients_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

// TestSendWithTags checks that a signer with a field from a text tag gets no other field, and that a signer without one
// gets a signature field.
func TestSendWithTags(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := &cli{home: t.TempDir(), env: s.env()}
	pdf := filepath.Join(c.home, "lease.pdf")
	require.NoError(t, os.WriteFile(pdf, kit.OnePageWith("{{Sig;role=Tenant;type=signature}}"), 0o600))
	var e countersign.Envelope
	out := c.must(t, "send", pdf, "--tags", "--to", "Tenant=Ada <ada@example.com>", "--to", "Grace <grace@example.com>", "--no-code", "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &e))
	full, err := s.client(t).Envelope(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, "Tenant", *full.Signers[0].Role)
	require.Len(t, full.Fields, 2)
	for _, f := range full.Fields {
		require.Equal(t, api.FieldTypeSignature, f.Type)
		if f.SignerID == full.Signers[0].ID {
			require.Equal(t, "Sig", *f.Name)
		} else {
			require.Equal(t, full.Signers[1].ID, f.SignerID)
		}
	}

	// Without --tags, the signature field is placed at the tag, which stays in the document.
	out = c.must(t, "send", pdf, "--to", "ada@example.com", "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &e))
	plain, err := s.client(t).Envelope(t.Context(), e.ID)
	require.NoError(t, err)
	require.Len(t, plain.Fields, 1)
	require.Contains(t, []float64{full.Fields[0].X, full.Fields[1].X}, plain.Fields[0].X)
	require.NotEqual(t, 50.0, plain.Fields[0].X, "the field must not be at the bottom of the page")

	code, _, said := c.run(t, "", "send", pdf, "--tags", "--to", "Landlord=Ada <ada@example.com>")
	require.Equal(t, 2, code)
	require.Contains(t, said, "Tenant", "the tag without a role")
	code, _, said = c.run(t, "", "send", pdf, "--to", "=Ada")
	require.Equal(t, 1, code)
	require.Contains(t, said, "write it as")
}

// TestExtendAndReplace checks that a sent envelope can be corrected from the command line.
func TestExtendAndReplace(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := &cli{home: t.TempDir(), env: s.env()}
	pdf := filepath.Join(c.home, "lease.pdf")
	require.NoError(t, os.WriteFile(pdf, kit.OnePage(), 0o600))
	id := strings.Fields(c.must(t, "send", pdf, "--to", "Client=Ada <ada@example.com>", "--no-code"))[0]
	app := s.client(t)
	read := func() *countersign.Envelope {
		e, err := app.Envelope(t.Context(), uuid.MustParse(id))
		require.NoError(t, err)
		return e
	}

	day := time.Now().UTC().AddDate(0, 0, 40).Format(time.DateOnly)
	require.Contains(t, c.must(t, "extend", id, "--until", day), day+" 23:59:59Z")
	require.Equal(t, day, read().ExpiresAt.UTC().Format(time.DateOnly))
	c.must(t, "extend", id, "--days", "3")
	require.WithinDuration(t, time.Now().AddDate(0, 0, 3), *read().ExpiresAt, time.Minute)
	require.Contains(t, c.must(t, "extend", id, "--never"), "without a deadline")
	require.Nil(t, read().ExpiresAt)
	for want, args := range map[int][]string{
		1:  {"--until", "soon"},
		2:  {"--until", "2020-01-01"},
		80: {"--until", day, "--days", "3"},
	} {
		code, _, said := c.run(t, "", append([]string{"extend", id}, args...)...)
		require.Equal(t, want, code, said)
	}
	code, _, _ := c.run(t, "", "extend", uuid.NewString(), "--days", "3")
	require.Equal(t, 4, code)

	require.Contains(t, c.must(t, "replace", id, "Client", "--with", "Grace <grace@example.com>", "--reason", "Ada is away"), "grace@example.com")
	now := read().Signers[0]
	require.Equal(t, "Grace", now.Name)
	require.Equal(t, "Ada", now.Previous[0].Name)
	code, _, said := c.run(t, "", "replace", id, "ada@example.com", "--with", "Eve <eve@example.com>")
	require.Equal(t, 4, code)
	require.Contains(t, said, "no signer")
	var changed api.Signer
	require.NoError(t, json.Unmarshal([]byte(c.must(t, "replace", id, "GRACE@example.com", "--with", "Ada <ada@example.com>", "--json")), &changed))
	require.Equal(t, "Ada", changed.Name)
	c.must(t, "void", id, "--yes")
	code, _, _ = c.run(t, "", "replace", id, "ada@example.com", "--with", "Eve <eve@example.com>")
	require.Equal(t, 2, code)
}
