package appearance_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/appearance"
	"countersign/seal/fonts"
)

// TestCurrent_NamesWhatIsBuiltIn checks that the current profile matches the bundled fonts and the versions in go.mod
// and ADR 28. The engine itself checks the module's hash.
func TestCurrent_NamesWhatIsBuiltIn(t *testing.T) {
	t.Parallel()
	p := appearance.Current()
	hashes, err := fonts.Hashes()
	require.NoError(t, err)
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		fmt.Fprintf(&list, "%s %s\n", name, hashes[name])
	}
	sum := sha256.Sum256([]byte(list.String()))
	assert.Equal(t, hex.EncodeToString(sum[:]), p.Fonts)
	requirements := string(read(t, "../../go.mod"))
	assert.Contains(t, requirements, "\t"+p.PDFium+"\n")
	assert.Contains(t, requirements, "\t"+p.Runtime+"\n")
	decision := string(read(t, "../../docs/adr/0028-pages-are-pictures-of-one-renderer.md"))
	assert.Contains(t, decision, "The hash of profile "+strconv.Itoa(p.Number)+" is `"+p.Module+"`.")
	assert.Contains(t, decision, "--branch "+p.PDFium[strings.LastIndexByte(p.PDFium, ' ')+1:])
	same, ok := appearance.Lookup(p.Number)
	assert.True(t, ok)
	assert.Equal(t, p, same)
	_, ok = appearance.Lookup(0)
	assert.False(t, ok)
}
