package api_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// ofCommands are codes that only the command line reports.
var ofCommands = map[string]bool{
	"envelope_not_due": true, "retention_not_due": true, "envelope_not_stuck": true, "key_revoked": true, "key_not_revocable": true,
}

// codesOfSources returns every error code in the sources of the packages that the API answers with.
func codesOfSources(t *testing.T) map[string]bool {
	t.Helper()
	codes := make(map[string]bool)
	written := []*regexp.Regexp{
		regexp.MustCompile(`Refuse\((?:models\.)?[Kk]ind\w*,\s*"([a-z0-9_]*[a-z0-9])"`), regexp.MustCompile(`Code:\s*"([a-z0-9_]+)"`),
	}
	constants := regexp.MustCompile(`(?m)^\t[A-Z]\w+ += "([a-z0-9_]+)"`)
	for _, dir := range []string{".", "../models", "../store", "../prepare", "../seal/refusal"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			for _, m := range written[0].FindAllSubmatch(b, -1) {
				codes[string(m[1])] = true
			}
			for _, m := range written[1].FindAllSubmatch(b, -1) {
				codes[string(m[1])] = true
			}
			if strings.HasPrefix(dir, "../seal") {
				for _, m := range constants.FindAllSubmatch(b, -1) {
					codes[string(m[1])] = true
				}
			}
			return err
		})
		require.NoError(t, err)
	}
	for code := range ofCommands {
		require.True(t, codes[code], "%s is no code anymore", code)
		delete(codes, code)
	}
	// The code of a bulk send that cannot be changed ends with its status.
	codes["bulk_send_completed"], codes["bulk_send_cancelled"] = true, true
	return codes
}

// TestCatalogHasEveryCode compares the catalog of errors with the codes in the sources, and the page with the catalog.
func TestCatalogHasEveryCode(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("errors.yaml")
	require.NoError(t, err)
	var groups []struct {
		Errors []struct {
			Code         string
			Statuses     []int
			When, Action string
		}
	}
	require.NoError(t, yaml.Unmarshal(b, &groups))
	s := onSQLite(t, nil)
	page := (&client{t: t, s: s}).get("/docs/errors").want(200)
	require.Contains(t, page.header.Get("Content-Type"), "text/html")
	require.NotContains(t, string(page.raw), "http://", "nothing is loaded from elsewhere")
	missing, listed := codesOfSources(t), 0
	for _, g := range groups {
		for _, e := range g.Errors {
			require.True(t, missing[e.Code], "%s is listed twice, or is no code", e.Code)
			delete(missing, e.Code)
			require.NotEmpty(t, e.Statuses, e.Code)
			require.NotEmpty(t, e.When, e.Code)
			require.NotEmpty(t, e.Action, e.Code)
			require.Contains(t, string(page.raw), `id="`+e.Code+`"`)
			listed++
		}
	}
	require.Empty(t, missing, "codes that api/errors.yaml does not list")
	require.Greater(t, listed, 100)
	refused := (&client{t: t, s: s}).get("/v1/envelopes").refused(401, "unauthorized")
	require.Equal(t, "https://sign.example.com/docs/errors#unauthorized", refused.str("type"))
}
