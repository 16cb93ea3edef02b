package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/seal/manifest"
)

// TestAttachedOriginals: the original of a rewritten file is attached after that file and before the signature,
// unchanged, with the length and hash in the record.
func TestAttachedOriginals(t *testing.T) {
	t.Parallel()
	original := "an original of 27 characters"
	base := smallPDF(map[int]string{1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Kids[]/Count 0>>"})
	for name, c := range map[string]struct {
		stream string // its dictionary
		change func(s *signatureDict, m *manifest.Placement, at int64)
		want   string // "": it is right
	}{
		"as it should be":         {"", func(*signatureDict, *manifest.Placement, int64) {}, ""},
		"right behind the file":   {"", func(s *signatureDict, _ *manifest.Placement, at int64) { s.To = at }, ""},
		"begins in the file":      {"", func(s *signatureDict, _ *manifest.Placement, at int64) { s.To = at + 1 }, "where the record says"},
		"ends in the signature":   {"", func(s *signatureDict, _ *manifest.Placement, _ int64) { s.contents-- }, "as the seal does"},
		"is longer than recorded": {"", func(_ *signatureDict, m *manifest.Placement, _ int64) { m.Size-- }, "as the seal does"},
		"is encoded":              {"/Filter/ASCIIHexDecode", func(*signatureDict, *manifest.Placement, int64) {}, "as the seal does"},
		"is no stream":            {"", func(_ *signatureDict, m *manifest.Placement, _ int64) { m.Prepared.Attachment = 1 }, "where the record says"},
		"has another hash": {"", func(_ *signatureDict, m *manifest.Placement, _ int64) {
			m.SHA256 = strings.Repeat("0", 64)
		}, errOtherOriginal.Error()},
	} {
		b := addObjects(base, map[int]string{5: fmt.Sprintf("<</Length %d%s>>\nstream\n%s\nendstream", len(original), c.stream, original)})
		f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
		require.NoError(t, err)
		at := int64(bytes.Index(b, []byte(original)))
		sum := sha256.Sum256([]byte(original))
		s := signatureDict{SealMark: SealMark{To: int64(len(base))}, contents: at + int64(len(original))}
		m := manifest.Placement{Size: int64(len(original)), SHA256: hex.EncodeToString(sum[:]), Prepared: &manifest.Prepared{Attachment: 5}}
		c.change(&s, &m, at)
		e := &examiner{r: bytes.NewReader(b), size: int64(len(b)), seal: &sealedRevision{signatureDict: s, file: f}}
		err = e.checkAttached(t.Context(), m)
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.want, name)
		}
	}
}

// TestAnAttachmentThatIsNotNamed: a record's attachment that the document has not under its name is called so, not damaged.
func TestAnAttachmentThatIsNotNamed(t *testing.T) {
	t.Parallel()
	_, err := readEmbedded(nil, nil)
	require.ErrorIs(t, err, errNotEmbedded)
}

// TestRecordsAreOpenedOnce: an opened record is reused only for the same bytes.
func TestRecordsAreOpenedOnce(t *testing.T) {
	t.Parallel()
	one := OpenRecord([]byte("one"))
	require.Same(t, one, one.of([]byte("one")))
	require.NotSame(t, one, one.of([]byte("other")))
	require.Equal(t, []byte("other"), one.of([]byte("other")).raw)
	require.Equal(t, []byte("one"), (*OpenedRecord)(nil).of([]byte("one")).raw)
}

// TestAdditionsOfNothing: an increment that changes no object does not show what it is.
func TestAdditionsOfNothing(t *testing.T) {
	t.Parallel()
	base := smallPDF(map[int]string{1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Kids[]/Count 0>>"})
	b := fmt.Appendf(bytes.Clone(base), "xref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 9000/Root 1 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF\n", bytes.LastIndex(base, []byte("xref\n0 1")), len(base))
	kind, object := classifyAdditions(t.Context(), bytes.NewReader(b), int64(len(b)), int64(len(base)))
	require.Equal(t, additionUnknown, kind)
	require.Zero(t, object)
}
