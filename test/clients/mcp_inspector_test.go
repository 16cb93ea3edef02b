package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMCP_InspectorCallsTheTools checks the tools with the protocol's official inspector on the command line. The
// inspector can list the tools and call the read-only ones. It cannot perform actions that require confirmation,
// because no person can confirm them.
func TestMCP_InspectorCallsTheTools(t *testing.T) {
	t.Parallel()
	require.FileExists(t, "node_modules/.bin/mcp-inspector-cli", `run "make clients" first`)
	f := newFixtures(t)
	sent := f.sent(t)
	inspect := func(flags []string, args ...string) (string, error) {
		t.Helper()
		command := append([]string{"--cli", program(t), "mcp", "--dir", t.TempDir()}, flags...)
		for _, name := range []string{"COUNTERSIGN_URL=" + f.s.BaseURL, "COUNTERSIGN_CLIENT_ID=" + f.s.ClientID, "COUNTERSIGN_CLIENT_SECRET=" + f.s.ClientSecret, "COUNTERSIGN_TENANT=acme"} {
			command = append(command, "-e", name)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		cmd := exec.CommandContext(ctx, "node_modules/.bin/mcp-inspector-cli", append(command, args...)...)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, said.String())
		}
		return string(out), err
	}
	list := func(flags ...string) (names []string) {
		t.Helper()
		out, err := inspect(flags, "--method", "tools/list")
		require.NoError(t, err, out)
		var answer struct {
			Tools []struct {
				Name        string
				InputSchema struct{ Type string }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(out), &answer), out)
		for _, tool := range answer.Tools {
			require.Equal(t, "object", tool.InputSchema.Type, tool.Name)
			names = append(names, tool.Name)
		}
		return names
	}
	all := list()
	require.Subset(t, all, []string{"list_envelopes", "get_envelope", "explain_envelope", "send_envelope", "void_envelope"})
	require.NotContains(t, list("--read-only"), "send_envelope")

	out, err := inspect(nil, "--method", "tools/call", "--tool-name", "explain_envelope", "--tool-arg", "envelope_id="+sent.ID.String())
	require.NoError(t, err, out)
	require.Contains(t, out, sent.ID.String())
	require.NotContains(t, out, `"isError": true`)
	require.NotContains(t, out, "/sign/", "links must not be revealed to the agent")

	out, err = inspect(nil, "--method", "tools/call", "--tool-name", "void_envelope", "--tool-arg", "envelope_id="+sent.ID.String(), "--tool-arg", "reason=No.")
	require.NoError(t, err, out)
	require.Contains(t, out, `"isError": true`)
	require.Contains(t, out, "confirm")
	e, err := f.c.Envelope(contextFor(t), sent.ID)
	require.NoError(t, err)
	require.EqualValues(t, "sent", e.Status, "nobody said yes")
}
