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

// StartTemporal starts the bundled Temporal server, which "make build" creates in bin/. The server uses free loopback
// ports and stores its data in memory. It stops when Stop is called or this process exits for any reason.
func StartTemporal(ctx context.Context, flags ...string) (*bundled.Server, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	return bundled.Start(ctx, filepath.Join(root, "bin", bundled.Binary), append([]string{"--port", "0", "--headless"}, flags...)...)
}

// moduleRoot returns the directory of the main module's go.mod. It searches upward from the working directory,
// because "go test" runs a test in the directory of its package.
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
