package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"countersign/internal/bundled"
)

// StartTemporal starts the bundled Temporal server that "make build" puts into bin/, on free loopback ports, with its
// state in memory. The server stops with Stop or with this process, however it ends.
func StartTemporal(ctx context.Context, flags ...string) (*bundled.Server, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	return bundled.Start(ctx, filepath.Join(root, "bin", bundled.Binary), append([]string{"--port", "0", "--headless"}, flags...)...)
}

// moduleRoot returns the directory of the main module's go.mod, above the working directory, because "go test" runs a
// test in its package's directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod")) //nolint:gosec // above the working directory
		if err == nil && bytes.HasPrefix(content, []byte("module countersign\n")) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the module: no go.mod of countersign above the working directory")
		}
		dir = parent
	}
}
