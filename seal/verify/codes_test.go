package verify

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCodesAreDocumented checks that docs/learn/findings.md lists every code in the row of its check and the column of
// its status.
func TestCodesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/learn/findings.md")
	require.NoError(t, err)
	var checks []string
	codes := map[string]map[Status][]string{}
	for _, f := range findings {
		check, _, _ := strings.Cut(string(f.code), ".")
		if codes[check] == nil {
			checks, codes[check] = append(checks, check), map[Status][]string{}
		}
		codes[check][f.status] = append(codes[check][f.status], "`"+string(f.code)+"`")
	}
	var table strings.Builder
	for _, check := range checks {
		for _, s := range []Status{Passed, Absent, Untrusted, Failed} {
			table.WriteString("| ")
			if cell := strings.Join(codes[check][s], ", "); cell != "" {
				table.WriteString(cell + " ")
			}
		}
		table.WriteString("|\n")
	}
	if !strings.Contains(string(page), table.String()) {
		t.Fatalf("the table in docs/learn/findings.md must be:\n%s", table.String())
	}
}

// TestCodesAreUsed checks that the table contains exactly the codes used by the verifier.
func TestCodesAreUsed(t *testing.T) {
	t.Parallel()
	known, used := map[Code]bool{}, map[Code]bool{}
	for _, f := range findings {
		require.False(t, known[f.code], "%s is defined twice", f.code)
		known[f.code] = true
	}
	named := regexp.MustCompile(`(?:add|stop)\("([a-z_]+\.[a-z_]+)"`)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range named.FindAllStringSubmatch(string(source), -1) {
			require.True(t, known[Code(m[1])], "the code %s in %s is missing from the table", m[1], name)
			used[Code(m[1])] = true
		}
	}
	for _, kind := range []string{additionAnnotations, additionForm, additionSignature, additionPages, additionSaved, additionUnknown} {
		used[Code(CheckLaterChanges+"."+kind)] = true
	}
	for code := range known {
		switch check, _, _ := strings.Cut(string(code), "."); check {
		case CheckCertificate, CheckManifestKey, CheckTimestamp, CheckArchive, CheckRevocation: // codes from package trust
		default:
			require.True(t, used[code], "the code %s is never reported", code)
		}
	}
}

// TestSentencesAreComplete checks that every placeholder in a message is replaced, and that values from a file cannot
// break the line.
func TestSentencesAreComplete(t *testing.T) {
	t.Parallel()
	for _, f := range findings {
		v := values{}
		for _, m := range regexp.MustCompile(`\{([a-z0-9]+)\}`).FindAllStringSubmatch(f.text, -1) {
			v[m[1]] = "x\n\x1b[31m\u202e{reason}" + strings.Repeat("y", 1000)
		}
		detail := newFinding(f.code, v).Detail
		require.NotContains(t, detail, "\n")
		require.NotContains(t, detail, "\x1b")
		require.NotContains(t, detail, "\u202e")
		require.Less(t, len(detail), 3000)
	}
}

// TestSentencesOfOne checks that a message uses the singular for the number 1.
func TestSentencesOfOne(t *testing.T) {
	t.Parallel()
	for code, want := range map[Code]string{
		"later_changes.unknown": "Starting at byte 1, 1 byte was added that this service does not write: r.",
		"later_changes.saved":   "Starting at byte 1, another program added 1 byte when it saved the file (object 1).",
		"byte_range.earlier":    "The signature covers the first byte (the file as it was sealed) except the signature itself; 1 byte was added later.",
		"attachments.found":     "1 file attached by a signer matches the seal record.",
		"signature.several":     "The file contains 1 signature that claims to be its seal.",
		"audit_chain.complete":  "The chain of 1 event is intact and ends in h.",
		"structure.readable":    "A readable PDF of 1 byte.",
	} {
		one := values{"bytes": 1, "offset": 1, "object": "1", "count": 1, "end": 1, "events": 1, "reason": "r", "head": "h"}
		require.Equal(t, want, newFinding(code, one).Detail)
		one["bytes"], one["count"], one["events"], one["end"] = 2, 2, 2, 2
		require.NotContains(t, newFinding(code, one).Detail, "byte was")
	}
}
