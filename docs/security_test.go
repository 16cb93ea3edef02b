// Package docs_test checks that the documents speak of what there is.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNamedTestsExist: the list of requirements names a test for each that can
// be tested.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("security.md")
	require.NoError(t, err)
	defined := make(map[string]bool)
	function := regexp.MustCompile(`(?m)^func (Test\w+|check\w+)\(`)
	require.NoError(t, filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git" || e.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(source), -1) {
			defined[m[1]] = true
		}
		return err
	}))
	named := regexp.MustCompile("`((?:Test|check)[A-Z]\\w+)`").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, named)
	for _, n := range named {
		assert.True(t, defined[n[1]], "%s is named in security.md, but there is none", n[1])
	}
}

// requirements is how many of each section of OWASP ASVS 5.0.0 are of level 1 or
// 2: in every section they come first. Chapter 17 does not apply.
var requirements = map[string]int{
	"1.1": 2, "1.2": 9, "1.3": 11, "1.4": 3, "1.5": 2, "2.1": 3, "2.2": 3, "2.3": 4, "2.4": 1, "3.2": 2, "3.3": 4, "3.4": 6, "3.5": 5, "3.7": 2,
	"4.1": 3, "4.2": 1, "4.3": 2, "4.4": 4, "5.1": 1, "5.2": 3, "5.3": 2, "5.4": 3, "6.1": 3, "6.2": 12, "6.3": 4, "6.4": 4, "6.5": 5, "6.6": 3, "6.8": 4,
	"7.1": 3, "7.2": 4, "7.3": 2, "7.4": 5, "7.5": 2, "7.6": 2, "8.1": 2, "8.2": 3, "8.3": 1, "8.4": 1, "9.1": 3, "9.2": 4,
	"10.1": 2, "10.2": 2, "10.3": 4, "10.4": 11, "10.5": 5, "10.6": 2, "10.7": 3, "11.1": 2, "11.2": 3, "11.3": 3, "11.4": 4, "11.5": 1, "11.6": 1,
	"12.1": 3, "12.2": 2, "12.3": 4, "13.1": 1, "13.2": 5, "13.3": 2, "13.4": 5, "14.1": 2, "14.2": 4, "14.3": 3,
	"15.1": 3, "15.2": 3, "15.3": 7, "16.1": 1, "16.2": 5, "16.3": 4, "16.4": 3, "16.5": 3,
}

// TestEveryRequirementIsListed: each requirement of the two levels is in a row or
// among those that do not apply, and no row has one that there is not.
func TestEveryRequirementIsListed(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("security.md")
	require.NoError(t, err)
	_, page, _ := strings.Cut(string(b), "## OWASP ASVS")
	head, rows, _ := strings.Cut(page, "### V1 ")
	_, head, _ = strings.Cut(head, "nothing of it")
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
			assert.Equal(t, 1, listed[id], "%s is to be in one place", id)
			delete(listed, id)
		}
	}
	assert.Empty(t, listed, "there is no such requirement at level 1 or 2")
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}
