package sealing_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the files in testdata") //nolint:gochecknoglobals // a flag

// TestSeeds checks the small files of each structure that are stored for the fuzz tests. With -update it creates
// them.
func TestSeeds(t *testing.T) {
	t.Parallel()
	names := map[string]string{"classic": "classic", "xref stream": "xref-stream", "linearized streams": "linearized", "hybrid": "hybrid", "form": "form"}
	if *update {
		for name, b := range corpus(t) {
			if file, ok := names[name]; ok {
				require.NoError(t, os.WriteFile(filepath.Join("..", "..", "seal", "testdata", file+".pdf"), b, 0o600))
			}
		}
	}
	for _, file := range names {
		info, err := os.Stat(filepath.Join("..", "..", "seal", "testdata", file+".pdf"))
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(8<<10))
	}
}
