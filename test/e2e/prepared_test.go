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

	countersign "countersign/clients/go"
	"countersign/test/kit"
)

// TestPreparedDocuments checks that a document with tags, a form and a script, with and without a password, is
// prepared, presented to the signer, sealed and verified. It also checks that verification fails if a byte of the
// original or the prepared file is changed.
func TestPreparedDocuments(t *testing.T) {
	t.Parallel()
	s, _ := dev(t, t.TempDir())
	c := s.app(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("script.pdf"), kit.TaggedPages(2, 1), 0o600))
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
			options := countersign.UploadOptions{Tags: countersign.Ptr(countersign.DetectTags), Form: countersign.Ptr(countersign.ImportForm)}
			if password != "" {
				options.XDocumentPassword = &password
			}
			email := strings.TrimSuffix(name, ".pdf") + "@example.com"
			e, err := c.Create(t.Context(), countersign.EnvelopeRequest{TenantID: "acme", Signers: []countersign.SignerRequest{person("Ada", email)}})
			require.NoError(t, err)
			_, err = c.UploadWith(t.Context(), e.ID, bytes.NewReader(file), options)
			require.NoError(t, err)
			require.Len(t, c.envelope(t, e.ID).Fields, 2+2+13, "tags, widgets, and the tags of the other file")
			_, err = c.Send(t.Context(), e.ID, "")
			require.NoError(t, err)
			link := s.signingLink(t, email)
			reader := &client{base: s.BaseURL}
			shown := reader.call(t, http.StatusOK, http.MethodGet, "/v1/signing/"+link, nil)
			prepared := c.download(t, e.ID, countersign.DownloadOptions{Kind: countersign.Ptr(countersign.Prepared)})
			s.sign(t, link, "")
			require.Len(t, shown.list("documents"), 1)
			c.completed(t, e.ID)
			sealed := c.sealed(t, e.ID)
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
			status, again := reader.do(t, http.MethodPost, "/v1/verify", "application/pdf", io.LimitReader(bytes.NewReader(sealed), int64(len(sealed)-9)))
			require.NotContains(t, string(again), `"verdict":"valid"`, status)
		})
	}
}
