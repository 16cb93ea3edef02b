package clients_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// mkfifo creates a named pipe that never receives any data.
func mkfifo(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}
