package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLinkedHeadingsExist checks that every link to a heading of a document refers to an existing heading.
func TestLinkedHeadingsExist(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]*)#([^)\s]+)\)`)
	checked := 0
	for _, page := range trackedFiles(t) {
		if path.Ext(page) != ".md" || strings.HasPrefix(page, "web/") || page == "CHANGELOG.md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", page))
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := page
			if m[1] != "" {
				target = path.Join(path.Dir(page), m[1])
			}
			if path.Ext(target) == ".md" {
				checked++
				assert.True(t, anchors(t, target)[m[2]], "%s links to %s#%s, but that page has no such heading", page, target, m[2])
			}
		}
	}
	require.Greater(t, checked, 20)
}

// TestPagesNamedInCodeExist checks that paths of documents in other files, such as help texts, comments, settings and
// alerts, refer to existing pages and headings.
func TestPagesNamedInCodeExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`\bdocs/[\w/-]+\.md(?:#([\w-]+))?`)
	checked := 0
	for _, name := range trackedFiles(t) {
		switch path.Ext(name) {
		case ".go", ".ts", ".tsx", ".yaml", ".yml", ".json", ".sql", ".example", "":
		default:
			continue
		}
		if name == "clients/published.yaml" { // the contract as published
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			checked++
			page, _, _ := strings.Cut(m[0], "#")
			if assert.FileExists(t, filepath.Join("..", page), "named in %s", name) && m[1] != "" {
				assert.True(t, anchors(t, page)[m[1]], "%s refers to %s, but that page has no such heading", name, m[0])
			}
		}
	}
	require.Greater(t, checked, 20)
}

// anchors returns the anchors that GitHub generates for the headings of a page.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", page))
	if err != nil {
		return nil
	}
	var (
		heading = regexp.MustCompile(`^#+ +(.+?)\s*$`)
		linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
		dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
		found   = make(map[string]bool)
		fenced  = false
	)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		m := heading.FindStringSubmatch(line)
		if fenced || m == nil {
			continue
		}
		base := dropped.ReplaceAllString(strings.ToLower(linked.ReplaceAllString(m[1], "$1")), "")
		base = strings.ReplaceAll(base, " ", "-")
		anchor := base
		for i := 1; found[anchor]; i++ {
			anchor = base + "-" + strconv.Itoa(i)
		}
		found[anchor] = true
	}
	return found
}

// TestDocumentMap_ListsEveryPage checks that docs/README.md links to every page except the decision records.
func TestDocumentMap_ListsEveryPage(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	pages, err := filepath.Glob("*/*.md")
	require.NoError(t, err)
	require.Greater(t, len(pages), 30)
	for _, page := range pages {
		if page = filepath.ToSlash(page); !strings.HasPrefix(page, "adr/") {
			assert.Contains(t, string(readme), "]("+page+")", "the index lacks %s", page)
		}
	}
}
