package seal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
)

// TestCompareRecorded: the service's own record is a finding of its own, and one that says otherwise makes the document broken.
func TestCompareRecorded(t *testing.T) {
	t.Parallel()
	later := seal.Finding{Check: seal.CheckLaterChanges, Code: "later_changes.annotations", Status: seal.Failed}
	sound := seal.Finding{Check: seal.CheckDigest, Code: "digest.unchanged", Status: seal.Passed}
	same := seal.Recorded{OriginalSHA256: "o", SealedSHA256: "s", ChainHead: "h"}
	for name, c := range map[string]struct {
		verdict seal.Verdict
		before  seal.Finding
		rec     *seal.Recorded
		code    seal.Code // "": none
		after   seal.Verdict
	}{
		"the same file":            {seal.VerdictValid, sound, &same, "recorded.same", seal.VerdictValid},
		"renewed since":            {seal.VerdictValid, sound, &seal.Recorded{OriginalSHA256: "o", SealedSHA256: "x", ChainHead: "h"}, "recorded.earlier", seal.VerdictValid},
		"another original":         {seal.VerdictValid, sound, &seal.Recorded{OriginalSHA256: "x", SealedSHA256: "s", ChainHead: "h"}, "recorded.other", seal.VerdictBroken},
		"another chain":            {seal.VerdictValid, sound, &seal.Recorded{OriginalSHA256: "o", SealedSHA256: "s", ChainHead: "x"}, "recorded.other", seal.VerdictBroken},
		"a shorter chain":          {seal.VerdictValid, sound, &seal.Recorded{OriginalSHA256: "o", SealedSHA256: "s"}, "recorded.other", seal.VerdictBroken},
		"not on record":            {seal.VerdictValid, sound, nil, "recorded.unknown", seal.VerdictValid},
		"altered":                  {seal.VerdictAltered, later, &same, "recorded.same", seal.VerdictAltered},
		"altered and another":      {seal.VerdictAltered, later, &seal.Recorded{OriginalSHA256: "x", SealedSHA256: "s", ChainHead: "h"}, "recorded.other", seal.VerdictBroken},
		"an unknown sealer's":      {seal.VerdictUntrusted, sound, &same, "", seal.VerdictUntrusted},
		"broken":                   {seal.VerdictBroken, sound, &same, "", seal.VerdictBroken},
		"somebody else's, no seal": {seal.VerdictNotSealed, sound, nil, "", seal.VerdictNotSealed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := seal.Report{Verdict: c.verdict, Findings: []seal.Finding{c.before}, OriginalSHA256: "o", SHA256: "s", ChainHead: "h", Record: &seal.Record{}}
			r.CompareRecorded(c.rec)
			require.Equal(t, c.after, r.Verdict)
			if c.code == "" {
				require.Len(t, r.Findings, 1)
				return
			}
			require.Equal(t, c.code, r.Findings[1].Code)
			require.Equal(t, c.after == seal.VerdictValid, r.Record != nil)
		})
	}
}
