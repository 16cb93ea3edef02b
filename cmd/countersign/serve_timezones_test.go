package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTimeZones_AreEmbedded checks that the program embeds the time zone database. A container image has no zoneinfo,
// and digests are due at 08:00 in the recipient's time zone.
func TestTimeZones_AreEmbedded(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, strings.Split(string(out), "\n"), "time/tzdata")
}
