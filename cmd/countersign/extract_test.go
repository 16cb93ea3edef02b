package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
)

// TestExitCodes: each verdict but valid ends the program with a number of its own.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	seen := map[int]seal.Verdict{0: seal.VerdictValid, 1: "an error"}
	for _, v := range seal.Verdicts() {
		err := errOf(seal.Report{Verdict: v})
		if v == seal.VerdictValid {
			require.NoError(t, err)
			continue
		}
		var coded interface{ ExitCode() int }
		require.ErrorAs(t, fmt.Errorf("there is nothing to extract: %w", err), &coded, v)
		require.NotContains(t, seen, coded.ExitCode(), v)
		seen[coded.ExitCode()] = v
	}
	require.Equal(t, map[int]seal.Verdict{
		0: "valid", 1: "an error", 2: seal.VerdictAltered, 3: seal.VerdictUntrusted, 4: seal.VerdictBroken, 5: seal.VerdictNotSealed,
	}, seen)
}
