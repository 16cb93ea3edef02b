package sealing_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
	"countersign/seal"
	"countersign/seal/admission"
	"countersign/seal/manifest"
	"countersign/seal/rejection"
	"countersign/test/kit/sealkit"
)

// tagged returns a PDF with a script, and a text tag on each page.
func tagged() []byte {
	content := "BT /F1 12 Tf 72 700 Td (Sign {{signature}} here) Tj ET"
	return assembled(
		"<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(a)>>>>",
		"<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2/MediaBox[0 0 612 792]/Resources<</Font<</F1 5 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 6 0 R>>", "<</Type/Page/Parent 2 0 R/Contents 6 0 R>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content),
	)
}

func assembled(objects ...string) []byte {
	var b, table bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table.String(), len(objects)+1, start)
	return b.Bytes()
}

func hexOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// preparedJob returns the job of an envelope whose document was prepared. The prepared file is sealed instead of the
// original.
func preparedJob(t testing.TB, original, file []byte, p manifest.Prepared) seal.Job {
	t.Helper()
	p.SHA256, p.Size = hexOf(file), int64(len(file))
	if p.Changes == nil {
		p.Changes = []prepare.Change{}
	}
	j := sealkit.Job(t, original, map[string]any{"documentId": sealkit.DocumentID, "sha256": p.SHA256, "size": p.Size, "changes": p.Changes})
	j.Original, j.Size = bytes.NewReader(file), p.Size
	j.Document.PageCount, j.Document.PreparedSHA256 = sealkit.PagesOf(file), p.SHA256
	j.Documents = []seal.Document{j.Document}
	j.Prepared = &seal.Prepared{Prepared: p, UploadSize: int64(len(original)), Upload: bytes.NewReader(original)}
	return j
}

// appended prepares the original, and returns the prepared file and its description.
func appended(t testing.TB, original []byte) ([]byte, manifest.Prepared) {
	t.Helper()
	opt := prepare.Options{Tags: prepare.TagsDetect}
	_, rev, err := admission.AdmitPrepared(t.Context(), bytes.NewReader(original), int64(len(original)), sha256.Sum256(original), admission.DefaultLimits(), opt)
	require.NoError(t, err)
	return append(bytes.Clone(original), rev.Appended...), manifest.Prepared{As: manifest.Appended, Writer: rev.Writer, Options: opt, Changes: rev.Changes, Plan: &rev.Plan}
}

// TestSealPrepared checks that the sealed file begins with the prepared file, which begins with the original.
// Verification must reproduce the prepared file, and must fail if a byte of it is changed.
func TestSealPrepared(t *testing.T) {
	t.Parallel()
	original := tagged()
	file, p := appended(t, original)
	k := sealkit.NewFixture(t)
	j := preparedJob(t, original, file, p)
	name, b := sealkit.Sealed(t, k.Sealer(t), j)
	require.True(t, bytes.HasPrefix(b, file))
	require.True(t, bytes.HasPrefix(b, original))
	r := sealkit.Verified(t, b, k.Trust())
	require.True(t, r.OK(), sealkit.TextOf(t, r))
	require.True(t, r.Has("original.prepared"))
	require.Equal(t, j.OriginalSHA256, r.OriginalSHA256)

	for at := len(original) + 1; at < len(file); at += max(1, (len(file)-len(original))/60) {
		changed := bytes.Clone(b)
		changed[at] ^= 1
		require.False(t, sealkit.Verified(t, changed, k.Trust()).OK(), "byte %d", at)
	}
	text, err := sealkit.Run(t, "pdftotext", name, "-")
	require.NoError(t, err, text)
	require.NotContains(t, text, "{{")
	words := strings.Join(strings.Fields(text), " ")
	require.Contains(t, words, "the service removed the following from it: scripts (1), text tags (2). SHA-256 of the document that was read and signed:")
	require.Contains(t, words, "Document prepared for reading")
	out, err := sealkit.Run(t, "qpdf", "--check", name)
	require.NoError(t, err, out)
}

// TestSealPrepared_FalseRecord_IsRejected checks that a document is not sealed if the record's statements about its
// preparation are false.
func TestSealPrepared_FalseRecord_IsRejected(t *testing.T) {
	t.Parallel()
	original := tagged()
	file, p := appended(t, original)
	s := sealkit.NewFixture(t).Sealer(t)
	for name, c := range map[string]struct {
		change func(*seal.Job)
		want   string
	}{
		"another plan":                      {func(j *seal.Job) { j.Prepared.Plan.Active = false }, "does not produce the bytes that follow the original"},
		"a plan that does not fit":          {func(j *seal.Job) { j.Prepared.Plan.Cuts[0].Page = 9 }, "does not match the document"},
		"other changes":                     {func(j *seal.Job) { j.Prepared.Changes = j.Prepared.Changes[1:] }, "changes differ from the record"},
		"another version of the writer":     {func(j *seal.Job) { j.Prepared.Writer = 2 }, "different positions"},
		"no plan":                           {func(j *seal.Job) { j.Prepared.Plan = nil }, "different positions"},
		"another length of the original":    {func(j *seal.Job) { j.Prepared.UploadSize-- }, "does not match the seal record"},
		"beyond the prepared file":          {func(j *seal.Job) { j.Prepared.UploadSize = j.Size }, "different positions"},
		"another prepared file":             {func(j *seal.Job) { j.Prepared.SHA256 = strings.Repeat("0", 64) }, "hash has changed"},
		"the document names no preparation": {func(j *seal.Job) { j.Documents[0].PreparedSHA256 = "" }, "prepared"},
		"no such event": {func(j *seal.Job) {
			plain := sealkit.Job(t, original)
			j.Events, j.ChainHead = plain.Events, plain.ChainHead
		}, "prepared file of document 1 differs"},
	} {
		own := p
		plan := *p.Plan
		plan.Cuts = slices.Clone(plan.Cuts)
		own.Plan = &plan
		j := preparedJob(t, original, file, own)
		c.change(&j)
		out, err := os.Create(filepath.Join(t.TempDir(), "sealed.pdf"))
		require.NoError(t, err)
		_, err = s.Seal(t.Context(), out, j)
		require.ErrorContains(t, err, c.want, name)
		require.NoError(t, out.Close())
	}
	j := sealkit.Job(t, original, map[string]any{"documentId": sealkit.DocumentID, "sha256": hexOf(file)})
	out, err := os.Create(filepath.Join(t.TempDir(), "sealed.pdf"))
	require.NoError(t, err)
	_, err = s.Seal(t.Context(), out, j)
	require.ErrorContains(t, err, "prepared file of document 1 differs", "the original was sealed although a prepared file was read")
	require.NoError(t, out.Close())
}

// TestSealRewritten seals a document whose password was removed. The original must be attached unchanged under an
// unused name, and compared during verification.
func TestSealRewritten(t *testing.T) {
	t.Parallel()
	for name, tree := range map[string]string{"tree in the catalog": "<</Names[(original.pdf)4 0 R]>>", "tree of objects": "6 0 R"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sealRewritten(t, tree)
		})
	}
}

func sealRewritten(t *testing.T, tree string) {
	t.Helper()
	dir := t.TempDir()
	plain, locked, open := filepath.Join(dir, "plain.pdf"), filepath.Join(dir, "locked.pdf"), filepath.Join(dir, "open.pdf")
	require.NoError(t, os.WriteFile(plain, assembled(
		"<</Type/Catalog/Pages 2 0 R/Names<</EmbeddedFiles "+tree+">>>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 612 792]>>", "<</Type/Page/Parent 2 0 R>>",
		"<</Type/Filespec/F(other.pdf)/UF(Original-2.pdf)/EF<</F 5 0 R>>>>", "<</Type/EmbeddedFile/Length 2>>\nstream\nhi\nendstream",
		"<</Kids[7 0 R]>>", "<</Limits[(original.pdf)(original.pdf)]/Names[(original.pdf)4 0 R]>>",
	), 0o600))
	out, err := sealkit.Run(t, "qpdf", "--encrypt", "secret", "owner", "256", "--", plain, locked)
	require.NoError(t, err, out)
	out, err = sealkit.Run(t, "qpdf", "--password=secret", "--decrypt", locked, open)
	require.NoError(t, err, out)
	original, err := os.ReadFile(locked)
	require.NoError(t, err)
	file, err := os.ReadFile(open)
	require.NoError(t, err)
	k := sealkit.NewFixture(t)
	p := manifest.Prepared{As: manifest.Rewritten, Changes: []prepare.Change{{Kind: "password_removed", Count: 1}}}
	j := preparedJob(t, original, file, p)
	name, b := sealkit.Sealed(t, k.Sealer(t), j)
	require.True(t, bytes.HasPrefix(b, file))
	r := sealkit.Verified(t, b, k.Trust())
	require.True(t, r.OK(), sealkit.TextOf(t, r))
	require.True(t, r.Has("original.rewritten"))
	require.Equal(t, hexOf(original), r.OriginalSHA256)
	at := bytes.Index(b, original)
	require.Positive(t, at)
	b[at+len(original)/2] ^= 1
	require.False(t, sealkit.Verified(t, b, k.Trust()).OK())

	shown, err := sealkit.Run(t, "qpdf", "--list-attachments", name)
	require.NoError(t, err, shown)
	require.Contains(t, shown, "original-3.pdf")
	back, err := sealkit.Run(t, "qpdf", "--show-attachment=original-3.pdf", name)
	require.NoError(t, err)
	require.Equal(t, string(original), back)

	j = preparedJob(t, original, file, p)
	j.Prepared.Upload = bytes.NewReader(file)
	j.Prepared.UploadSize = int64(len(file))
	to, err := os.Create(filepath.Join(dir, "sealed.pdf"))
	require.NoError(t, err)
	_, err = k.Sealer(t).Seal(t.Context(), to, j)
	require.ErrorContains(t, err, "does not match the seal record")
	require.NoError(t, to.Close())
}

// TestAdmit_SealedFile_IsRejected checks that a document sealed by this service is rejected at upload, because it is
// signed.
func TestAdmit_SealedFile_IsRejected(t *testing.T) {
	t.Parallel()
	original := tagged()
	file, p := appended(t, original)
	k := sealkit.NewFixture(t)
	_, b := sealkit.Sealed(t, k.Sealer(t), preparedJob(t, original, file, p))
	_, _, err := admission.AdmitPrepared(t.Context(), bytes.NewReader(b), int64(len(b)), sha256.Sum256(b), admission.DefaultLimits(), prepare.Options{})
	require.Equal(t, rejection.DocumentSigned, sealkit.RejectionCode(t, err))
}

// TestSealRewritten_Signed checks that the certificate lists the signatures of an attached original, and that
// verification checks the original's hash.
func TestSealRewritten_Signed(t *testing.T) {
	t.Parallel()
	at := sealkit.Now
	original, file := tagged(), sealkit.SimplePDF(1)
	k := sealkit.NewFixture(t)
	j := preparedJob(t, original, file, manifest.Prepared{
		As: manifest.Rewritten, Changes: []prepare.Change{{Kind: manifest.Repaired, Count: 1, Detail: "a reason"}, {Kind: manifest.SignaturesRemoved, Count: 2}},
		Signatures: []manifest.Signature{{By: "Grace Hopper", At: &at}, {By: "Alan Turing"}},
	})
	name, b := sealkit.Sealed(t, k.Sealer(t), j)
	r := sealkit.Verified(t, b, k.Trust())
	require.True(t, r.OK(), sealkit.TextOf(t, r))
	require.True(t, r.Has("original.rewritten"))
	text, err := sealkit.Run(t, "pdftotext", name, "-")
	require.NoError(t, err, text)
	words := strings.Join(strings.Fields(text), " ")
	require.Contains(t, words, "The original file was damaged.")
	require.Contains(t, words, "did not verify: Grace Hopper (2026-11-21 07:00:00 UTC), Alan Turing. It is attached")
	changed := bytes.Clone(b)
	changed[bytes.LastIndex(b, []byte("{{signature}}"))] ^= 1
	require.False(t, sealkit.Verified(t, changed, k.Trust()).OK())
}
