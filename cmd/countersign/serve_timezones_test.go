package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTimeZonesAreEmbedded: a container image has no zoneinfo, and a digest is due at 08:00 of its reader.
func TestTimeZonesAreEmbedded(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, strings.Split(string(out), "\n"), "time/tzdata")
}
