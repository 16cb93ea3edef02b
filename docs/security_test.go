// Package docs_test checks the documents against the code and the files of the repository.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestNamedTestsExist checks that every test named in a document or in test/evidence.yaml exists, and that
// learn/security.md and learn/faults.md contain the rows of test/evidence.yaml.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	var (
		defined  = make(map[string]bool)
		function = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|check)\w+)\(`)
		named    = regexp.MustCompile("`((?:Test|Fuzz|Benchmark|check)[A-Z]\\w+)`|-run (Test[A-Z]\\w+)")
		pages    []string
	)
	for _, name := range trackedFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			source, err := os.ReadFile(filepath.Join("..", name))
			require.NoError(t, err)
			for _, m := range function.FindAllStringSubmatch(string(source), -1) {
				defined[m[1]] = true
			}
		}
		if filepath.Ext(name) == ".md" && name != "CHANGELOG.md" {
			pages = append(pages, name)
		}
	}
	for _, name := range pages {
		text, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			test := m[1] + m[2]
			assert.True(t, defined[test] || beginsOne(defined, m[2]), "%s is mentioned in %s, but does not exist", test, name)
		}
	}

	var listed struct{ Threats, Requirements, Faults map[string][]string }
	b, err := os.ReadFile("../test/evidence.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(b, &listed))
	for _, of := range []struct {
		page string
		rows map[string][]string
	}{
		{"learn/security.md", listed.Threats},
		{"learn/security.md", listed.Requirements},
		{"learn/faults.md", listed.Faults},
	} {
		text, err := os.ReadFile(of.page)
		require.NoError(t, err)
		require.NotEmpty(t, of.rows, of.page)
		for row, tests := range of.rows {
			assert.Contains(t, string(text), "\n| "+row+" ", "test/evidence.yaml contains a row that %s lacks", of.page)
			for _, test := range tests {
				assert.True(t, defined[test], "%s is mentioned in test/evidence.yaml, but does not exist", test)
			}
		}
	}
}

// beginsOne reports whether a name begins with the given prefix, which is an argument of -run. It returns false for an
// empty prefix.
func beginsOne(names map[string]bool, prefix string) bool {
	for name := range names {
		if prefix != "" && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// requirements maps each section of OWASP ASVS 5.0.0 to the number of its requirements of levels 1 and 2, which are
// the first ones in each section. Chapter 17 does not apply.
var requirements = map[string]int{
	"1.1": 2, "1.2": 9, "1.3": 11, "1.4": 3, "1.5": 2, "2.1": 3, "2.2": 3, "2.3": 4, "2.4": 1, "3.2": 2, "3.3": 4, "3.4": 6, "3.5": 5, "3.7": 2,
	"4.1": 3, "4.2": 1, "4.3": 2, "4.4": 4, "5.1": 1, "5.2": 3, "5.3": 2, "5.4": 3, "6.1": 3, "6.2": 12, "6.3": 4, "6.4": 4, "6.5": 5, "6.6": 3, "6.8": 4,
	"7.1": 3, "7.2": 4, "7.3": 2, "7.4": 5, "7.5": 2, "7.6": 2, "8.1": 2, "8.2": 3, "8.3": 1, "8.4": 1, "9.1": 3, "9.2": 4,
	"10.1": 2, "10.2": 2, "10.3": 4, "10.4": 11, "10.5": 5, "10.6": 2, "10.7": 3, "11.1": 2, "11.2": 3, "11.3": 3, "11.4": 4, "11.5": 1, "11.6": 1,
	"12.1": 3, "12.2": 2, "12.3": 4, "13.1": 1, "13.2": 5, "13.3": 2, "13.4": 5, "14.1": 2, "14.2": 4, "14.3": 3,
	"15.1": 3, "15.2": 3, "15.3": 7, "16.1": 1, "16.2": 5, "16.3": 4, "16.4": 3, "16.5": 3,
}

// TestEveryRequirementIsListed checks that security.md lists every requirement of levels 1 and 2 exactly once, either
// in a row or as not applicable.
func TestEveryRequirementIsListed(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("learn/security.md")
	require.NoError(t, err)
	_, page, _ := strings.Cut(string(b), "## OWASP ASVS")
	head, rows, _ := strings.Cut(page, "### V1 ")
	_, head, _ = strings.Cut(head, "does not use")
	listed := make(map[string]int)
	note := func(text string) {
		number := regexp.MustCompile(`(\d+\.\d+)(?:\.(\d+))?(?:–(?:(\d+\.\d+)(?:\.(\d+))?))?`)
		for _, m := range number.FindAllStringSubmatch(text, -1) {
			switch {
			case m[2] == "" && m[3] == "": // a whole section
				for i := range requirements[m[1]] {
					listed[m[1]+"."+strconv.Itoa(i+1)]++
				}
			case m[2] == "": // several sections of a chapter
				chapter, first, _ := strings.Cut(m[1], ".")
				_, last, _ := strings.Cut(m[3], ".")
				for n := atoi(t, first); n <= atoi(t, last); n++ {
					section := chapter + "." + strconv.Itoa(n)
					for i := range requirements[section] {
						listed[section+"."+strconv.Itoa(i+1)]++
					}
				}
			default:
				last := m[2]
				if m[4] != "" {
					require.Equal(t, m[1], m[3], m[0])
					last = m[4]
				}
				for i := atoi(t, m[2]); i <= atoi(t, last); i++ {
					listed[m[1]+"."+strconv.Itoa(i)]++
				}
			}
		}
	}
	note(head)
	for line := range strings.Lines(rows) {
		if cell, ok := strings.CutPrefix(line, "| "); ok && cell[0] >= '0' && cell[0] <= '9' {
			cell, _, _ = strings.Cut(cell, " | ")
			note(regexp.MustCompile(`^[\d., –]+`).FindString(cell))
		}
	}
	for section, n := range requirements {
		for i := range n {
			id := section + "." + strconv.Itoa(i+1)
			assert.Equal(t, 1, listed[id], "%s must be listed exactly once", id)
			delete(listed, id)
		}
	}
	assert.Empty(t, listed, "level 1 and 2 contain no such requirement")
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

// TestDocuments_WarnAgainstTokensInBrowsers checks that the documents warn against using an access token in a browser.
// A token has all permissions of its application.
func TestDocuments_WarnAgainstTokensInBrowsers(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"docs/learn/security.md":              "access tokens are issued only to the app's server",
		"clients/typescript/README.md":        "neither belongs in a browser",
		"clients/typescript/src/transport.ts": "must not be used in a browser",
	} {
		text, err := os.ReadFile(filepath.Join("..", file))
		require.NoError(t, err)
		assert.Contains(t, strings.Join(strings.Fields(string(text)), " "), want, file)
	}
}
