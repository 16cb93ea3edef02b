package clients_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/clients/go/api"
)

// TestBulkSend checks that a table is sent, and that the problems of an invalid table are reported.
func TestBulkSend(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := &cli{home: t.TempDir(), env: s.env()}
	c.must(t, "template", "push", lease(t, c))
	table := func(name, text string) string {
		path := filepath.Join(c.home, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const head = "externalId,tenant.name,tenant.email,landlord.name,landlord.email,variable.place\n"
	good := table("good.csv", "\ufeff"+head+"a-1,Ada,ada@example.com,Grace,grace@example.com,\"Mill Lane, 12\"\r\na-2,Bob,bob@example.com,Grace,grace@example.com,Hill\r\n")
	bad := table("bad.csv", head+"b-1,Ada,ada@example.com,Grace,grace@example.com,Mill\nb-2,Bob,nobody,Grace,grace@example.com,Hill\n")

	code, _, said := c.run(t, "", "bulk", "send", bad, "--template", "lease")
	require.Equal(t, 2, code)
	require.Contains(t, said, "row 2, tenant.email: ")
	require.NotContains(t, said, "row 1,")
	require.Contains(t, c.must(t, "bulk", "send", good, "--template", "lease", "--dry-run"), "2 rows without errors")
	require.NotContains(t, c.must(t, "list"), "Lease of", "nothing was sent")

	code, out, said := c.run(t, "", "bulk", "send", good, "--template", "lease", "--wait", "--timeout", "2m", "--json")
	require.Zero(t, code, said)
	var done api.BulkSend
	require.NoError(t, json.Unmarshal([]byte(out), &done))
	require.EqualValues(t, "completed", done.Status)
	require.Contains(t, said, done.ID.String(), "the id is printed as soon as it is known")
	require.Equal(t, 2, done.Counts.Sent)
	require.Equal(t, "good.csv", done.Name)
	require.Contains(t, c.must(t, "list"), "Lease of Mill Lane, 12")
	require.Contains(t, c.must(t, "bulk", "status", done.ID.String()), "2 sent, 0 failed")
	require.Contains(t, c.must(t, "bulk", "rows", done.ID.String()), "a-2")
	require.Contains(t, c.must(t, "bulk", "rows", done.ID.String(), "--json"), `"a-1"`)
	code, _, _ = c.run(t, "", "bulk", "pause", done.ID.String())
	require.Equal(t, 2, code, "it has ended")
	code, _, _ = c.run(t, "", "bulk", "status", uuid.NewString())
	require.Equal(t, 4, code)
	code, _, _ = c.run(t, "", "bulk", "send", good, "--template", "nothing")
	require.Equal(t, 4, code)
}
