package bundled_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/internal/bundled"
)

// TestStart_RetriesWithOtherPorts checks that Start tries again if another process takes one of the chosen ports before
// the server does.
func TestStart_RetriesWithOtherPorts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failures int
		message  string
		starts   int
		ready    bool
	}{
		"once":            {failures: 1, message: "listen tcp 127.0.0.1:46169: bind: address already in use", starts: 2, ready: true},
		"always":          {failures: 99, message: "listen tcp 127.0.0.1:7233: bind: address already in use", starts: 3},
		"something else":  {failures: 99, message: "no space left on device", starts: 1},
		"nothing, at all": {starts: 1, ready: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			starts, program := filepath.Join(dir, "starts"), filepath.Join(dir, bundled.Binary)
			script := `#!/bin/sh
echo >>` + starts + `
if [ "$(wc -l <` + starts + `)" -le "$FAILURES" ]; then echo "$MESSAGE" >&2; exit 1; fi
echo "ready address=127.0.0.1:7233 ui= namespaces=default"
exec cat
`
			script = strings.NewReplacer("$FAILURES", strconv.Itoa(c.failures), "$MESSAGE", c.message).Replace(script)
			require.NoError(t, os.WriteFile(program, []byte(script), 0o700))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			server, err := bundled.Start(ctx, program)
			if c.ready {
				require.NoError(t, err)
				require.Equal(t, "127.0.0.1:7233", server.Address)
				require.NoError(t, server.Stop())
			} else {
				require.ErrorContains(t, err, c.message)
			}
			made, err := os.ReadFile(starts)
			require.NoError(t, err)
			require.Len(t, made, c.starts)
		})
	}
}
