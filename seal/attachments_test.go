package seal_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/picture"
	"countersign/seal/refusal"
	"countersign/seal/verify"
)

// random does not compress.
func random(n int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// attached is a job whose first signer gave files.
func attached(t *testing.T, original []byte, files map[string][]byte, names ...string) seal.Job {
	t.Helper()
	j := job(t, original)
	var events []map[string]any
	for i, name := range names {
		b := files[name]
		sum := sha256.Sum256(b)
		a := seal.AttachedFile{
			ID: "11111111-2222-4333-8444-00000000000" + string(rune('0'+i)), FieldID: "a" + string(rune('0'+i)), SignerID: adaID,
			Name: strings.SplitN(name, "#", 2)[0], MimeType: "application/pdf", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(b)), Content: bytes.NewReader(b),
		}
		j.Attachments = append(j.Attachments, a)
		j.Values = append(j.Values, seal.Value{
			FieldID: a.FieldID, SignerID: adaID, Kind: seal.Attachment, Page: 1, X: 72, Y: 300 + 30*float64(i), W: 200, H: 20, Text: a.Name,
		})
		events = append(events, map[string]any{
			"event": "attachment.added", "actor": "signer:" + adaID, "timestamp": now.Format("2006-01-02T15:04:05.000000Z"),
			"detail": map[string]any{"attachmentId": a.ID, "fieldId": a.FieldID, "sha256": a.SHA256},
		})
	}
	j.Events, j.ChainHead = appendEvents(t, j.Events, events...)
	return j
}

// appendEvents rebuilds a chain with more events before the first signature.
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
	return chain(t, all...)
}

// withNameTree returns a file with an embedded file in a name tree whose nodes are indirect objects.
func withNameTree() []byte {
	return classicPDF(layout{catalog: "/Names<</EmbeddedFiles 1000 0 R>>", pages: letterPage(""), objects: []string{
		"<</Kids[1001 0 R 1002 0 R]>>", "<</Limits[(a)(b)]/Names[(a)1003 0 R(b)1003 0 R]>>", "<</Limits[(x)(z)]/Names[(x)1003 0 R(z)1003 0 R]>>",
		"<</Type/Filespec/F(other.txt)/UF(other.txt)/EF<</F 1004 0 R>>>>", "<</Type/EmbeddedFile/Length 2>>\nstream\nhi\nendstream",
	}})
}

func withAttachmentByQPDF(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	in, more, file := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "invoice.xml"), filepath.Join(dir, "out.pdf")
	require.NoError(t, os.WriteFile(in, simplePDF(1), 0o600))
	require.NoError(t, os.WriteFile(more, []byte("<invoice/>"), 0o600))
	out, err := run(t, "qpdf", in, "--add-attachment", more, "--", file)
	require.NoError(t, err, out)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Regexp(t, `/EmbeddedFiles \d+ 0 R`, string(b))
	return b
}

// TestAttachmentsAreEmbedded: attachments are embedded byte for byte, under unique names, so that neither a seal
// inside one of them nor a part of a file is taken for the document's. Other programs agree.
func TestAttachmentsAreEmbedded(t *testing.T) {
	t.Parallel()
	k := newSealerFixture(t)
	_, sealedBefore := sealed(t, k.sealer(t), job(t, simplePDF(2)))
	evil := append(random(70_000), "\n7 0 obj\n<</Type/Sig/CSGN_Seal<</V 1 endobj\nstartxref\n0\n%%EOF\n"...)
	evil = append(evil, random(200_000)...)
	files := map[string][]byte{
		"scan.pdf": simplePDF(1), "scan.pdf#2": sealedBefore, "original.pdf": evil, "seal.json": []byte("{}"), "Größe 大.pdf": random(3),
	}
	names := []string{"scan.pdf", "scan.pdf#2", "original.pdf", "seal.json", "Größe 大.pdf"}
	for name, original := range map[string][]byte{
		"prefix": simplePDF(3), "tree of objects": withNameTree(), "added by qpdf": withAttachmentByQPDF(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := attached(t, original, files, names...)
			file, b := sealed(t, k.sealer(t), j)
			r := verified(t, b, k.trust())
			require.True(t, r.OK(), textOf(t, r))
			require.True(t, r.Has("attachments.found"))
			require.Len(t, r.Record.Attachments, len(names))
			checkIndependently(t, k, file, b)
			dir := t.TempDir()
			out, err := run(t, "pdfdetach", "-saveall", "-o", dir, file)
			require.NoError(t, err, out)
			for i, want := range []string{"scan.pdf", "scan (2).pdf", "original (2).pdf", "seal (2).json", "Größe 大.pdf"} {
				got, err := os.ReadFile(filepath.Join(dir, want))
				require.NoError(t, err)
				require.Equal(t, files[names[i]], got, want)
				require.Equal(t, want, r.Record.Attachments[i].Name)
			}
			out, err = run(t, "pdftotext", "-layout", file, "-")
			require.NoError(t, err)
			require.Contains(t, out, "Attached files")
			for i, a := range j.Attachments {
				require.Contains(t, out, a.SHA256)
				require.Regexp(t, regexp.QuoteMeta(r.Record.Attachments[i].Name)+`, given by .+ \(`+strconv.FormatInt(a.Size, 10)+` bytes\)`, out)
			}
			if name == "prefix" {
				require.NotContains(t, string(b[len(original):]), "CSGN_Seal<</V 1 endobj")
			}
		})
	}
}

// TestAttachmentsMustBeTheOnesThatWereGiven: another file, or one that the chain does not mention, is not sealed.
func TestAttachmentsMustBeTheOnesThatWereGiven(t *testing.T) {
	t.Parallel()
	k := newSealerFixture(t)
	files := map[string][]byte{"scan.pdf": simplePDF(1)}
	refused := func(change func(*seal.Job)) error {
		j := attached(t, simplePDF(1), files, "scan.pdf")
		change(&j)
		out, err := os.Create(filepath.Join(t.TempDir(), "sealed.pdf"))
		require.NoError(t, err)
		defer func() { _ = out.Close() }()
		_, err = k.sealer(t).Seal(t.Context(), out, j)
		require.Error(t, err)
		return err
	}
	var r *refusal.Error
	require.ErrorAs(t, refused(func(j *seal.Job) { j.Attachments[0].Content = bytes.NewReader(simplePDF(2)) }), &r)
	require.Equal(t, refusal.OriginalChanged, r.Code)
	require.ErrorContains(t, refused(func(j *seal.Job) { j.Attachments[0].Size += 1 << 20 }), "reading attachment")
	for _, change := range []func(*seal.Job){
		func(j *seal.Job) { j.Attachments[0].FieldID = "another" },
		func(j *seal.Job) { j.Attachments[0].SignerID = jomoID },
		func(j *seal.Job) { j.Attachments[0].ID = "another" },
		func(j *seal.Job) { // another file, with its own hash and size
			other := simplePDF(2)
			sum := sha256.Sum256(other)
			a := &j.Attachments[0]
			a.Content, a.Size, a.SHA256 = bytes.NewReader(other), int64(len(other)), hex.EncodeToString(sum[:])
		},
	} {
		require.ErrorContains(t, refused(change), "is not the one that was added")
	}
}

// TestChangedAttachmentsAreFound, though a signature covers them as well.
func TestChangedAttachmentsAreFound(t *testing.T) {
	t.Parallel()
	k := newSealerFixture(t)
	j := attached(t, simplePDF(1), map[string][]byte{"scan.pdf": random(5000)}, "scan.pdf")
	_, b := sealed(t, k.sealer(t), j)
	at := bytes.Index(b, random(5000)[1000:1020])
	require.Positive(t, at, "kept as it is: it does not compress")
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
		r := verified(t, c, k.trust())
		require.Equal(t, verify.VerdictBroken, r.Verdict)
		require.True(t, r.Has(verify.Code(name)) || name == "attachments.changed" && r.Has("attachments.missing"), textOf(t, r)) // Flate has a checksum of its own
		require.False(t, r.Has("attachments.found"))
	}
}

// TestPhotos: each orientation is turned upright, large photos become smaller, and incomplete pictures are rejected.
func TestPhotos(t *testing.T) {
	t.Parallel()
	img := image.NewNRGBA(image.Rect(0, 0, 32, 16)) // red at the left, its top green
	for y := range 16 {
		for x := range 32 {
			c := color.NRGBA{0, 0, 255, 255}
			switch {
			case x < 16 && y < 8:
				c = color.NRGBA{0, 255, 0, 255}
			case x < 16:
				c = color.NRGBA{255, 0, 0, 255}
			}
			img.Set(x, y, c)
		}
	}
	var plain bytes.Buffer
	require.NoError(t, jpeg.Encode(&plain, img, &jpeg.Options{Quality: 100}))
	oriented := func(orientation byte) []byte {
		exif := "\xff\xe1\x00\x22Exif\x00\x00II\x2a\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00" + string(rune(orientation)) + "\x00\x00\x00\x00\x00\x00\x00"
		return append([]byte("\xff\xd8"+exif), plain.Bytes()[2:]...)
	}
	// Where, in eighths of width and height, the green corner is to be seen.
	for orientation, green := range map[byte][2]int{1: {1, 1}, 2: {7, 1}, 3: {7, 7}, 4: {1, 7}, 5: {1, 1}, 6: {7, 1}, 7: {7, 7}, 8: {1, 7}} {
		b, err := picture.Photo(oriented(orientation))
		require.NoError(t, err)
		require.NotContains(t, string(b), "Exif")
		got, err := jpeg.Decode(bytes.NewReader(b))
		require.NoError(t, err)
		size := image.Pt(32, 16)
		if orientation >= 5 {
			size = image.Pt(16, 32)
		}
		require.Equal(t, size, got.Bounds().Size(), orientation)
		r, g, bl, _ := got.At(green[0]*size.X/8, green[1]*size.Y/8).RGBA()
		require.Greater(t, g, max(r, bl), "orientation %d", orientation)
	}
	for _, cut := range []int{0, 3, 20, 40, 60, plain.Len() / 2} {
		_, err := picture.Photo(oriented(6)[:cut])
		var r *refusal.Error
		require.ErrorAs(t, err, &r, cut)
	}
	var large bytes.Buffer
	require.NoError(t, png.Encode(&large, image.NewGray(image.Rect(0, 0, 6000, 4000))))
	b, err := picture.Photo(large.Bytes())
	require.NoError(t, err)
	cfg, err := png.DecodeConfig(bytes.NewReader(b))
	require.NoError(t, err)
	require.LessOrEqual(t, cfg.Width*cfg.Height, 8_000_000)
	require.InDelta(t, 1.5, float64(cfg.Width)/float64(cfg.Height), 0.01)
	var r *refusal.Error
	_, err = picture.Photo([]byte("GIF89a"))
	require.ErrorAs(t, err, &r)
	require.Equal(t, refusal.PictureInvalid, r.Code)
	claims := bytes.Clone(large.Bytes())
	copy(claims[16:], "\x00\x00\x40\x00\x00\x00\x40\x00")
	_, err = picture.Photo(claims)
	require.ErrorAs(t, err, &r)
}
