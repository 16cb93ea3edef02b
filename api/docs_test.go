package api_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInterfacePage_NamesEveryEvent: the page lists every event, and each test
// that it names exists.
func TestInterfacePage_NamesEveryEvent(t *testing.T) {
	t.Parallel()
	const coveragePage = "../docs/build/api.md"
	text, err := os.ReadFile(coveragePage)
	require.NoError(t, err)
	there := make(map[string]bool)
	define := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (d.Name() == "node_modules" || d.Name() == ".git") {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range define.FindAllSubmatch(b, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	require.NoError(t, err)
	there["TestMain"] = true
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(text), -1) {
		require.True(t, there[name], "%s names %s, which is not there", coveragePage, name)
	}
	suite, err := os.ReadFile("../test/conformance/interface_test.go")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`conformance ([a-z]+)\b`).FindAllStringSubmatch(string(text), -1) {
		if m[1] != "suite" {
			require.Contains(t, string(suite), `"`+m[1]+`": `, "%s names conformance %s, which is not there", coveragePage, m[1])
		}
	}
	events, err := os.ReadFile("../models/event.go")
	require.NoError(t, err)
	found := regexp.MustCompile(`EventName = "([a-z_.]+)"`).FindAllStringSubmatch(string(events), -1)
	require.Greater(t, len(found), 20)
	for _, m := range found {
		require.Contains(t, string(text), "`"+m[1]+"`")
	}
}
