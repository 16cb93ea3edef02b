package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
)

// TestPreparedDocuments: a document with tags, a form and a script, with a password and without one, is prepared, signed by a person who
// reads the prepared file, sealed and verified; with one other byte, of the original or of what was prepared, it is not valid.
func TestPreparedDocuments(t *testing.T) {
	t.Parallel()
	s, _ := dev(t, t.TempDir())
	c := s.login(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("script.pdf"), testkit.TaggedPages(2, 1), 0o600))
	for _, args := range [][]string{
		{at("script.pdf"), "--pages", ".", "../../prepare/testdata/corpus/libreoffice-tags-pdfa.pdf", "--", at("plain.pdf")},
		{"--encrypt", "secret", "owner", "256", "--", at("plain.pdf"), at("locked.pdf")},
	} {
		out, err := exec.CommandContext(t.Context(), "qpdf", args...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	for name, password := range map[string]string{"plain.pdf": "", "locked.pdf": "secret"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := os.ReadFile(at(name))
			require.NoError(t, err)
			options := object{"tags": "detect", "form": "import"}
			if password != "" {
				options["password"] = password
			}
			person := strings.TrimSuffix(name, ".pdf") + "@example.com"
			e := c.create(t, http.StatusCreated, object{
				"tenantId": "acme", "signers": []object{{"name": "Ada", "email": person, "authMethod": "none"}}, "documentOptions": options,
			}, file)
			path := "/v1/envelopes/" + e.str("id")
			e = c.call(t, http.StatusOK, http.MethodGet, path, nil)
			require.Len(t, e.list("fields"), 2+2+13, "tags, widgets, and the tags of the other file")
			c.call(t, http.StatusOK, http.MethodPost, path+"/send", nil)
			link := s.signingLink(t, person)
			reader := &client{base: s.BaseURL}
			shown := reader.call(t, http.StatusOK, http.MethodGet, "/v1/signing/"+link, nil)
			_, prepared := c.do(t, http.MethodGet, path+"/document?kind=prepared", "", nil)
			s.sign(t, link, "")
			require.Len(t, shown.list("documents"), 1)
			eventually(t, "completed", func() bool {
				e = c.call(t, http.StatusOK, http.MethodGet, path, nil)
				return e.str("status") == "completed"
			})
			_, sealed := c.do(t, http.MethodGet, path+"/document?kind=sealed", "", nil)
			require.True(t, bytes.HasPrefix(sealed, prepared))
			text := exec.CommandContext(t.Context(), "pdftotext", "-", "-")
			text.Stdin = bytes.NewReader(sealed)
			words, err := text.Output()
			require.NoError(t, err)
			require.NotContains(t, string(words), "{{")
			require.Contains(t, string(words), "Zoë Łukasz")

			verify := func(b []byte) string {
				status, report := reader.do(t, http.MethodPost, "/v1/verify", "application/pdf", bytes.NewReader(b))
				require.Equal(t, http.StatusOK, status, string(report))
				return string(report)
			}
			report := verify(sealed)
			require.Contains(t, report, `"verdict":"valid"`, report)
			if password == "" {
				require.True(t, bytes.HasPrefix(sealed, file))
				require.Contains(t, report, "original.prepared")
			} else {
				require.Contains(t, report, "original.rewritten")
				require.NotContains(t, report, password)
			}
			for _, place := range []int{len(prepared) / 3, len(prepared) - 40, len(prepared) + 400, len(sealed) / 2} {
				changed := bytes.Clone(sealed)
				changed[place] ^= 1
				require.NotContains(t, verify(changed), `"verdict":"valid"`, "byte %d", place)
			}
			status, again := c.do(t, http.MethodPost, "/v1/verify", "application/pdf", io.LimitReader(bytes.NewReader(sealed), int64(len(sealed)-9)))
			require.NotContains(t, string(again), `"verdict":"valid"`, status)
		})
	}
}
