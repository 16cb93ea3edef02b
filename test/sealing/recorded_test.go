package sealing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/verify"
)

// TestCompareRecorded checks that the comparison with the service's own record results in a separate finding, and that
// a different record results in the verdict "broken".
func TestCompareRecorded(t *testing.T) {
	t.Parallel()
	later := verify.Finding{Check: verify.CheckLaterChanges, Code: "later_changes.annotations", Status: verify.Failed}
	sound := verify.Finding{Check: verify.CheckDigest, Code: "digest.unchanged", Status: verify.Passed}
	same := verify.Recorded{OriginalSHA256: "o", SealedSHA256: "s", ChainHead: "h"}
	for name, c := range map[string]struct {
		verdict verify.Verdict
		before  verify.Finding
		rec     *verify.Recorded
		code    verify.Code // empty if there is no finding
		after   verify.Verdict
	}{
		"the same file":           {verify.VerdictValid, sound, &same, "recorded.same", verify.VerdictValid},
		"renewed since":           {verify.VerdictValid, sound, &verify.Recorded{OriginalSHA256: "o", SealedSHA256: "x", ChainHead: "h"}, "recorded.earlier", verify.VerdictValid},
		"another original":        {verify.VerdictValid, sound, &verify.Recorded{OriginalSHA256: "x", SealedSHA256: "s", ChainHead: "h"}, "recorded.other", verify.VerdictBroken},
		"another chain":           {verify.VerdictValid, sound, &verify.Recorded{OriginalSHA256: "o", SealedSHA256: "s", ChainHead: "x"}, "recorded.other", verify.VerdictBroken},
		"a shorter chain":         {verify.VerdictValid, sound, &verify.Recorded{OriginalSHA256: "o", SealedSHA256: "s"}, "recorded.other", verify.VerdictBroken},
		"not on record":           {verify.VerdictValid, sound, nil, "recorded.unknown", verify.VerdictValid},
		"altered":                 {verify.VerdictAltered, later, &same, "recorded.same", verify.VerdictAltered},
		"altered, another record": {verify.VerdictAltered, later, &verify.Recorded{OriginalSHA256: "x", SealedSHA256: "s", ChainHead: "h"}, "recorded.other", verify.VerdictBroken},
		"an unknown sealer's":     {verify.VerdictUntrusted, sound, &same, "", verify.VerdictUntrusted},
		"broken":                  {verify.VerdictBroken, sound, &same, "", verify.VerdictBroken},
		"no seal of this service": {verify.VerdictNotSealed, sound, nil, "", verify.VerdictNotSealed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := verify.Report{Verdict: c.verdict, Findings: []verify.Finding{c.before}, OriginalSHA256: "o", SHA256: "s", ChainHead: "h", Record: &verify.Record{}}
			r.CompareRecorded(c.rec)
			require.Equal(t, c.after, r.Verdict)
			if c.code == "" {
				require.Len(t, r.Findings, 1)
				return
			}
			require.Equal(t, c.code, r.Findings[1].Code)
			require.Equal(t, c.after == verify.VerdictValid, r.Record != nil)
		})
	}
}
