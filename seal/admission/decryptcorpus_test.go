package admission_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/test/kit"
)

// TestDecryptedFilesOfOtherPrograms checks that a decrypted file has the same pages, text, form and attachments as
// before encryption, even if pdfcpu's validator would reject it.
func TestDecryptedFilesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"../testdata/corpus/*.pdf", "../testdata/form.pdf", "../../prepare/testdata/corpus/*.pdf"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found)
		files = append(files, found...)
	}
	made := filepath.Join(t.TempDir(), "made.pdf")
	require.NoError(t, os.WriteFile(made, kit.TaggedPages(2, 1), 0o600))
	attached := filepath.Join(t.TempDir(), "attached.pdf")
	tool(t, "qpdf", made, "--add-attachment", "../testdata/corpus/README.md", "--filename=read.md", "--", attached)
	for _, name := range append(files, made, attached) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			locked, open := filepath.Join(dir, "locked.pdf"), filepath.Join(dir, "open.pdf")
			tool(t, "qpdf", "--encrypt", "secret", "owner", "256", "--", name, locked)
			b, err := os.ReadFile(locked)
			require.NoError(t, err)
			password := "secret"
			u := admission.Upload{File: bytes.NewReader(b), Size: int64(len(b)), SHA256: sha256.Sum256(b), Password: &password}
			_, p, err := admission.AdmitUpload(t.Context(), u, admission.DefaultLimits(), prepare.Options{})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(open, p.Rewritten, 0o600))
			require.Equal(t, tool(t, "pdftotext", "-layout", name, "-"), tool(t, "pdftotext", "-layout", open, "-"))
			require.Equal(t, strings.ReplaceAll(tool(t, "qpdf", "--list-attachments", name), name, open), tool(t, "qpdf", "--list-attachments", open))
			require.Equal(t, tool(t, "mutool", "draw", "-q", "-r", "40", "-F", "pnm", "-o", "-", name), tool(t, "mutool", "draw", "-q", "-r", "40", "-F", "pnm", "-o", "-", open))
			require.Equal(t, formOf(t, name), formOf(t, open))
		})
	}
}

func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	var exit *exec.ExitError
	if name == "qpdf" && errors.As(err, &exit) && exit.ExitCode() == 3 { // qpdf warns about the trailer's Size as written by pdfcpu
		err = nil
	}
	require.NoError(t, err, "%s %v", name, args)
	return string(out)
}

// formOf returns the form fields of a file, without their object numbers.
func formOf(t *testing.T, name string) []prepare.FormField {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	require.NoError(t, err)
	fields, err := prepare.ReadForm(t.Context(), f)
	require.NoError(t, err)
	for i := range fields {
		fields[i].Widget = pdf.Ref{}
	}
	return fields
}
