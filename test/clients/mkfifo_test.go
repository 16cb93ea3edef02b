package clients_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// mkfifo creates a named pipe to which nothing is ever written.
func mkfifo(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}
