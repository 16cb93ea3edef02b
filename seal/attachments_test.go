package seal_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/rejection"
	"countersign/seal/verify"
	"countersign/test/kit/sealkit"
)

// random returns incompressible data.
func random(n int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// attached returns a job with files attached by the first signer.
func attached(t *testing.T, original []byte, files map[string][]byte, names ...string) seal.Job {
	t.Helper()
	j := sealkit.Job(t, original)
	var events []map[string]any
	for i, name := range names {
		b := files[name]
		sum := sha256.Sum256(b)
		a := seal.AttachedFile{
			ID: "11111111-2222-4333-8444-00000000000" + string(rune('0'+i)), FieldID: "a" + string(rune('0'+i)), SignerID: sealkit.AdaID,
			Name: strings.SplitN(name, "#", 2)[0], MimeType: "application/pdf", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(b)), Content: bytes.NewReader(b),
		}
		j.Attachments = append(j.Attachments, a)
		j.Values = append(j.Values, seal.Value{
			FieldID: a.FieldID, SignerID: sealkit.AdaID, Kind: seal.Attachment, Page: 1, X: 72, Y: 300 + 30*float64(i), W: 200, H: 20, Text: a.Name,
		})
		events = append(events, map[string]any{
			"event": "attachment.added", "actor": "signer:" + sealkit.AdaID, "timestamp": sealkit.Now.Format("2006-01-02T15:04:05.000000Z"),
			"detail": map[string]any{"attachmentId": a.ID, "fieldId": a.FieldID, "sha256": a.SHA256},
		})
	}
	j.Events, j.ChainHead = appendEvents(t, j.Events, events...)
	return j
}

// appendEvents rebuilds an audit chain with additional events before the first signature.
func appendEvents(t *testing.T, raw []json.RawMessage, more ...map[string]any) ([]json.RawMessage, string) {
	t.Helper()
	var all []map[string]any
	for _, r := range raw {
		var e map[string]any
		require.NoError(t, json.Unmarshal(r, &e))
		delete(e, "hash")
		if e["event"] == "signer.signed" {
			all = append(all, more...)
			more = nil
		}
		all = append(all, e)
	}
	return sealkit.Chain(t, all...)
}

// withNameTree returns a file with an embedded file in a name tree whose nodes are indirect objects.
func withNameTree() []byte {
	return sealkit.ClassicPDF(sealkit.Layout{Catalog: "/Names<</EmbeddedFiles 1000 0 R>>", Pages: sealkit.LetterPage(""), Objects: []string{
		"<</Kids[1001 0 R 1002 0 R]>>", "<</Limits[(a)(b)]/Names[(a)1003 0 R(b)1003 0 R]>>", "<</Limits[(x)(z)]/Names[(x)1003 0 R(z)1003 0 R]>>",
		"<</Type/Filespec/F(other.txt)/UF(other.txt)/EF<</F 1004 0 R>>>>", "<</Type/EmbeddedFile/Length 2>>\nstream\nhi\nendstream",
	}})
}

func withAttachmentByQPDF(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	in, more, file := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "invoice.xml"), filepath.Join(dir, "out.pdf")
	require.NoError(t, os.WriteFile(in, sealkit.SimplePDF(1), 0o600))
	require.NoError(t, os.WriteFile(more, []byte("<invoice/>"), 0o600))
	out, err := sealkit.Run(t, "qpdf", in, "--add-attachment", more, "--", file)
	require.NoError(t, err, out)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Regexp(t, `/EmbeddedFiles \d+ 0 R`, string(b))
	return b
}

// TestAttachmentsAreEmbedded checks, with other programs as well, that attachments are embedded byte for byte under
// unique names, and that nothing in an attachment counts as part of the document.
func TestAttachmentsAreEmbedded(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	_, sealedBefore := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, sealkit.SimplePDF(2)))
	evil := append(random(70_000), "\n7 0 obj\n<</Type/Sig/CSGN_Seal<</V 1 endobj\nstartxref\n0\n%%EOF\n"...)
	evil = append(evil, random(200_000)...)
	files := map[string][]byte{
		"scan.pdf": sealkit.SimplePDF(1), "scan.pdf#2": sealedBefore, "original.pdf": evil, "seal.json": []byte("{}"), "Größe 大.pdf": random(3),
	}
	names := []string{"scan.pdf", "scan.pdf#2", "original.pdf", "seal.json", "Größe 大.pdf"}
	for name, original := range map[string][]byte{
		"prefix": sealkit.SimplePDF(3), "tree of objects": withNameTree(), "added by qpdf": withAttachmentByQPDF(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := attached(t, original, files, names...)
			file, b := sealkit.Sealed(t, k.Sealer(t), j)
			r := sealkit.Verified(t, b, k.Trust())
			require.True(t, r.OK(), sealkit.TextOf(t, r))
			require.True(t, r.Has("attachments.found"))
			require.Len(t, r.Record.Attachments, len(names))
			sealkit.CheckIndependently(t, k, file, b)
			dir := t.TempDir()
			out, err := sealkit.Run(t, "pdfdetach", "-saveall", "-o", dir, file)
			require.NoError(t, err, out)
			for i, want := range []string{"scan.pdf", "scan (2).pdf", "original (2).pdf", "seal (2).json", "Größe 大.pdf"} {
				got, err := os.ReadFile(filepath.Join(dir, want))
				require.NoError(t, err)
				require.Equal(t, files[names[i]], got, want)
				require.Equal(t, want, r.Record.Attachments[i].Name)
			}
			out, err = sealkit.Run(t, "pdftotext", "-layout", file, "-")
			require.NoError(t, err)
			require.Contains(t, out, "Attached files")
			for i, a := range j.Attachments {
				require.Contains(t, out, a.SHA256)
				require.Regexp(t, regexp.QuoteMeta(r.Record.Attachments[i].Name)+`, attached by .+ \(`+strconv.FormatInt(a.Size, 10)+` bytes\)`, out)
			}
			if name == "prefix" {
				require.NotContains(t, string(b[len(original):]), "CSGN_Seal<</V 1 endobj")
			}
		})
	}
}

// TestAttachments_MustMatchTheJob checks that sealing rejects a file that differs from the attached one or is
// not recorded in the chain.
func TestAttachments_MustMatchTheJob(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	files := map[string][]byte{"scan.pdf": sealkit.SimplePDF(1)}
	rejected := func(change func(*seal.Job)) error {
		j := attached(t, sealkit.SimplePDF(1), files, "scan.pdf")
		change(&j)
		out, err := os.Create(filepath.Join(t.TempDir(), "sealed.pdf"))
		require.NoError(t, err)
		defer func() { _ = out.Close() }()
		_, err = k.Sealer(t).Seal(t.Context(), out, j)
		require.Error(t, err)
		return err
	}
	var r *rejection.Error
	require.ErrorAs(t, rejected(func(j *seal.Job) { j.Attachments[0].Content = bytes.NewReader(sealkit.SimplePDF(2)) }), &r)
	require.Equal(t, rejection.OriginalChanged, r.Code)
	require.ErrorContains(t, rejected(func(j *seal.Job) { j.Attachments[0].Size += 1 << 20 }), "reading attachment")
	for _, change := range []func(*seal.Job){
		func(j *seal.Job) { j.Attachments[0].FieldID = "another" },
		func(j *seal.Job) { j.Attachments[0].SignerID = sealkit.JomoID },
		func(j *seal.Job) { j.Attachments[0].ID = "another" },
		func(j *seal.Job) { // a different file with matching hash and size
			other := sealkit.SimplePDF(2)
			sum := sha256.Sum256(other)
			a := &j.Attachments[0]
			a.Content, a.Size, a.SHA256 = bytes.NewReader(other), int64(len(other)), hex.EncodeToString(sum[:])
		},
	} {
		require.ErrorContains(t, rejected(change), "differs from the one added")
	}
}

// TestChangedAttachmentsAreFound checks that a change to an attachment is reported as a separate finding, although the
// signature covers attachments too.
func TestChangedAttachmentsAreFound(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	j := attached(t, sealkit.SimplePDF(1), map[string][]byte{"scan.pdf": random(5000)}, "scan.pdf")
	_, b := sealkit.Sealed(t, k.Sealer(t), j)
	at := bytes.Index(b, random(5000)[1000:1020])
	require.Positive(t, at, "stored unchanged, because it cannot be compressed")
	for name, change := range map[string]func([]byte){
		"attachments.changed": func(c []byte) { c[at] ^= 1 },
		"attachments.missing": func(c []byte) {
			key := bytes.Index(c, []byte(strings.ToUpper(hex.EncodeToString([]byte("countersign-attachment-")))))
			require.Positive(t, key)
			c[key+1] = '4'
		},
	} {
		c := bytes.Clone(b)
		change(c)
		r := sealkit.Verified(t, c, k.Trust())
		require.Equal(t, verify.VerdictBroken, r.Verdict)
		require.True(t, r.Has(verify.Code(name)) || name == "attachments.changed" && r.Has("attachments.missing"), sealkit.TextOf(t, r)) // the change can also invalidate the checksum of Flate
		require.False(t, r.Has("attachments.found"))
	}
}
