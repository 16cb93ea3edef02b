package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// TestDevDataDir checks that dev stores its data in the directory given by its flag or, without the flag, in
// COUNTERSIGN_DATA_DIR.
func TestDevDataDir(t *testing.T) {
	set, given := t.TempDir(), t.TempDir()
	dirOf := func(args ...string) string {
		var c commands
		k, err := kong.New(&c)
		require.NoError(t, err)
		_, err = k.Parse(append([]string{"dev"}, args...))
		require.NoError(t, err)
		return c.Dev.DataDir
	}
	t.Setenv("COUNTERSIGN_DATA_DIR", "") // restores the variable after the test
	require.NoError(t, os.Unsetenv("COUNTERSIGN_DATA_DIR"))
	usual, err := filepath.Abs("data")
	require.NoError(t, err)
	require.Equal(t, usual, dirOf())
	t.Setenv("COUNTERSIGN_DATA_DIR", set)
	require.Equal(t, set, dirOf())
	require.Equal(t, given, dirOf("--data-dir", given))
}
