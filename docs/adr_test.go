package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	recordTitle  = regexp.MustCompile(`^# ([1-9][0-9]*)\. (\S.*)\n\n- Status: (accepted|proposed|superseded by [0-9]+)(; extends [0-9 ,and]+)?\n- Date: 20[0-9]{2}-[0-9]{2}-[0-9]{2}\n\n`)
	recordName   = regexp.MustCompile(`^(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.md$`)
	recordNumber = regexp.MustCompile(`\bADR ([1-9][0-9]*)\b`)
)

// TestDecisionRecords checks that each record in docs/adr has a title, a status, a date and four nonempty sections in
// order, and is listed in the index.
func TestDecisionRecords(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("adr/README.md")
	require.NoError(t, err)
	files := decisionRecords(t)
	for number, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		title := recordTitle.FindStringSubmatch(string(text))
		if !assert.NotNil(t, title, "%s must begin with a title, a status and a date", file) {
			continue
		}
		assert.Equal(t, number, title[1], "%s has a different number in its title", file)
		assert.Contains(t, string(index), "["+number+"]("+filepath.Base(file)+") | "+title[2]+" |", "the index lacks %s", file)

		rest := string(text)
		for _, section := range []string{"Context", "Decision", "Consequences", "Rejected"} {
			_, after, found := strings.Cut(rest, "\n## "+section+"\n")
			if !assert.True(t, found, "%s lacks the section %q, or contains it in a different position", file, section) {
				break
			}
			first, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
			assert.False(t, first == "" || strings.HasPrefix(first, "#"), "the section %[2]q of %[1]s is empty", file, section)
			rest = "\n" + after
		}
	}
	for _, link := range regexp.MustCompile(`\((\d{4}-[^)]*)\)`).FindAllStringSubmatch(string(index), -1) {
		assert.FileExists(t, filepath.Join("adr", link[1]), "named in the index")
	}
}

// TestDecisionNumbersExist checks that the code and the documents refer only to existing decision records ("ADR n").
func TestDecisionNumbersExist(t *testing.T) {
	t.Parallel()
	files := decisionRecords(t)
	for _, name := range trackedFiles(t) {
		switch filepath.Ext(name) {
		case ".go", ".md", ".sql", ".ts", ".yml", ".yaml":
		default:
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", name))
		if os.IsNotExist(err) {
			continue // deleted and not committed yet
		}
		require.NoError(t, err)
		for _, m := range recordNumber.FindAllStringSubmatch(string(text), -1) {
			assert.Contains(t, files, m[1], "%s speaks of ADR %s", name, m[1])
		}
	}
}

// decisionRecords maps the number of each record to its file.
func decisionRecords(t *testing.T) map[string]string {
	t.Helper()
	entries, err := os.ReadDir("adr")
	require.NoError(t, err)
	files := make(map[string]string)
	for _, e := range entries {
		if e.Name() == "README.md" {
			continue
		}
		name := recordName.FindStringSubmatch(e.Name())
		if !assert.NotNil(t, name, "%s is not named NNNN-short-title.md", e.Name()) {
			continue
		}
		number := strings.TrimLeft(name[1], "0")
		assert.NotContains(t, files, number, "several records have the number %s", number)
		files[number] = filepath.Join("adr", e.Name())
	}
	require.NotEmpty(t, files)
	return files
}
