package api

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCells checks that no cell can be interpreted as a formula, and that numbers remain unchanged.
func TestCells(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "a=b": "a=b", "=1": "'=1", "@x": "'@x", "\tx": "'\tx", "\rx": "'\rx", "-5": "-5", "+49": "+49", "-5x": "'-5x", "-": "'-", "+": "'+", "-1+1": "'-1+1", "é": "é",
		"＝1": "'＝1", "＠x": "'＠x", "＋1": "'＋1", "－1": "'－1", "\n=1": "'\n=1", "ａ＝": "ａ＝",
	} {
		require.Equal(t, want, csvCell(text), "%q", text)
	}
}
