package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/verify"
)

// TestExitCodes checks that each verdict except valid has a distinct exit code.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	seen := map[int]verify.Verdict{0: verify.VerdictValid, 1: "an error"}
	for _, v := range []verify.Verdict{verify.VerdictNotSealed, verify.VerdictBroken, verify.VerdictUntrusted, verify.VerdictAltered, verify.VerdictValid} {
		err := exitError(verify.Report{Verdict: v})
		if v == verify.VerdictValid {
			require.NoError(t, err)
			continue
		}
		var coded interface{ ExitCode() int }
		require.ErrorAs(t, fmt.Errorf("nothing to extract: %w", err), &coded, v)
		require.NotContains(t, seen, coded.ExitCode(), v)
		seen[coded.ExitCode()] = v
	}
	require.Equal(t, map[int]verify.Verdict{
		0: "valid", 1: "an error", 2: verify.VerdictAltered, 3: verify.VerdictUntrusted, 4: verify.VerdictBroken, 5: verify.VerdictNotSealed,
	}, seen)
}
