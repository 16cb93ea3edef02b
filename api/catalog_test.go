package api_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// commandOnlyCodes contains the codes that only the command line or the worker returns.
var commandOnlyCodes = map[string]bool{
	"envelope_not_sealing": true, "document_not_sealed": true, "document_replaced": true, "unknown_action": true,
	"envelope_not_due": true, "retention_not_due": true, "envelope_not_stuck": true, "key_revoked": true, "key_not_revocable": true,
}

// sourceCodes returns every error code that appears in the packages whose errors the API returns.
func sourceCodes(t *testing.T) map[string]bool {
	t.Helper()
	codes := make(map[string]bool)
	written := []*regexp.Regexp{
		regexp.MustCompile(`Reject\((?:models\.)?[Kk]ind\w*,\s*"([a-z0-9_]*[a-z0-9])"`), regexp.MustCompile(`Code:\s*"([a-z0-9_]+)"`),
		regexp.MustCompile(`"([a-z]+_rate_limited)"`),
	}
	constants := regexp.MustCompile(`(?m)^\t[A-Z]\w+ += "([a-z0-9_]+)"`)
	for _, dir := range []string{".", "../models", "../store", "../prepare", "../seal/rejection"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			for _, re := range written {
				for _, m := range re.FindAllSubmatch(b, -1) {
					codes[string(m[1])] = true
				}
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
	for code := range commandOnlyCodes {
		require.True(t, codes[code], "%s is no longer a code", code)
		delete(codes, code)
	}
	// The code for a bulk send that cannot be changed is built from its status.
	codes["bulk_send_completed"], codes["bulk_send_cancelled"] = true, true
	return codes
}

type catalogRow struct {
	Code         string
	Statuses     []int
	When, Action string
}

// TestCatalogHasEveryCode checks that the error catalog lists exactly the codes in the source files, that the page
// shows the whole catalog, and that no advice refers users to another program.
func TestCatalogHasEveryCode(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("errors.yaml")
	require.NoError(t, err)
	var groups []struct{ Errors []catalogRow }
	require.NoError(t, yaml.Unmarshal(b, &groups))
	s := onSQLite(t, nil)
	page := (&client{t: t, s: s}).get("/docs/errors").want(200)
	require.Contains(t, page.header.Get("Content-Type"), "text/html")
	require.NotContains(t, string(page.raw), "http://", "the page must not load external resources")
	missing, listed := sourceCodes(t), 0
	for _, g := range groups {
		for _, e := range g.Errors {
			require.True(t, missing[e.Code], "%s is listed twice, or is not a code", e.Code)
			delete(missing, e.Code)
			require.NotEmpty(t, e.Statuses, e.Code)
			require.NotEmpty(t, e.When, e.Code)
			require.NotEmpty(t, e.Action, e.Code)
			require.NotRegexp(t, `(?i)\bprint|another program|PDF program|convert`, e.Action, "%s: the advice must not require another program", e.Code)
			require.Contains(t, string(page.raw), `id="`+e.Code+`"`)
			listed++
		}
	}
	require.Empty(t, missing, "codes that api/errors.yaml does not list")
	require.Greater(t, listed, 100)
	rejected := (&client{t: t, s: s}).get("/v1/envelopes").rejected(401, "unauthorized")
	require.Equal(t, "https://sign.example.com/docs/errors#unauthorized", rejected.str("type"))
}

// codesOutsideOperations contains the codes that are returned before the operation is known, or for a page of an
// embedded session.
var codesOutsideOperations = map[string]bool{
	"method_not_allowed": true, "bad_request": true, "request_timeout": true, "expectation_failed": true, "headers_too_large": true,
	"unsupported_transfer_encoding": true, "unsupported_version": true, "origin_forbidden": true,
}

// TestOperationsListTheirCodes checks that the error codes of each operation in the contract match the catalog.
// checkContract compares them with actual responses.
func TestOperationsListTheirCodes(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("errors.yaml")
	require.NoError(t, err)
	var groups []struct{ Errors []catalogRow }
	require.NoError(t, yaml.Unmarshal(b, &groups))
	rows, unused := make(map[string]catalogRow), make(map[string]bool)
	for _, g := range groups {
		for _, e := range g.Errors {
			rows[e.Code], unused[e.Code] = e, !codesOutsideOperations[e.Code]
		}
	}
	doc, err := contractDocument()
	require.NoError(t, err)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for text, response := range op.Responses.Map() {
				status, err := strconv.Atoi(text)
				require.NoError(t, err)
				if status < 400 || path == "/readyz" {
					continue
				}
				at := method + " " + path + " " + text
				codes := response.Value.Content["application/json"].Schema.Value.Properties["error"]
				require.NotNil(t, codes, at)
				require.NotEmpty(t, codes.Value.Enum, at)
				for _, v := range codes.Value.Enum {
					code, _ := v.(string)
					require.Contains(t, rows, code, at)
					require.Contains(t, rows[code].Statuses, status, "%s: %s", at, code)
					delete(unused, code)
				}
			}
		}
	}
	for code, is := range unused {
		require.False(t, is, "no operation lists %s", code)
	}
}
