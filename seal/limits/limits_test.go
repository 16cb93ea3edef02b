package limits_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/limits"
)

// TestJSON_MatchesTheEncoder checks that no encoded text exceeds the size returned by JSON, and that Cut returns
// the longest prefix that fits.
func TestJSON_MatchesTheEncoder(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", `"quoted" \ <b>&amp;`, "a\tb\nc\r\x01\x1f\x7f", "é漢😀\u2028\u2029", "broken \xff\xfe"} {
		b, err := json.Marshal(s)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, limits.JSON(s), len(b)-2, "%q", s)
		assert.LessOrEqual(t, limits.JSON(s), len(b)-2+8, "%q", s)
		assert.Equal(t, len(inList(t, b))-2, limits.Embedded(b), "%q", s)
		for most := range 40 {
			cut := limits.Cut(s, most)
			assert.LessOrEqual(t, limits.JSON(cut), most)
			if cut != s {
				next := []rune(s[len(cut):])[0]
				assert.Greater(t, limits.JSON(cut)+limits.JSON(string(next)), most, "%q at %d", s, most)
			}
		}
	}
}

// inList returns a JSON list whose only element is a JSON text.
func inList(t *testing.T, text []byte) []byte {
	t.Helper()
	b, err := json.Marshal([]json.RawMessage{text})
	require.NoError(t, err)
	return b
}
