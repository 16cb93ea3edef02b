package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/prepare/revision1"
	"countersign/seal/manifest"
)

// TestAttachedOriginals checks that the original of a rewritten file must be attached unchanged, after that file and
// before the signature, with the recorded length and hash.
func TestAttachedOriginals(t *testing.T) {
	t.Parallel()
	original := "an original of 27 characters"
	base := smallPDF(map[int]string{1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Kids[]/Count 0>>"})
	for name, c := range map[string]struct {
		stream string // entries of the stream's dictionary
		change func(s *signatureDict, m *manifest.Placement, at int64)
		want   string // empty if it is accepted
	}{
		"as it should be":         {"", func(*signatureDict, *manifest.Placement, int64) {}, ""},
		"right behind the file":   {"", func(s *signatureDict, _ *manifest.Placement, at int64) { s.To = at }, ""},
		"begins in the file":      {"", func(s *signatureDict, _ *manifest.Placement, at int64) { s.To = at + 1 }, "at the recorded position"},
		"ends in the signature":   {"", func(s *signatureDict, _ *manifest.Placement, _ int64) { s.contents-- }, "in the format of a seal"},
		"is longer than recorded": {"", func(_ *signatureDict, m *manifest.Placement, _ int64) { m.Size-- }, "in the format of a seal"},
		"is encoded":              {"/Filter/ASCIIHexDecode", func(*signatureDict, *manifest.Placement, int64) {}, "in the format of a seal"},
		"is no stream":            {"", func(_ *signatureDict, m *manifest.Placement, _ int64) { m.Prepared.Attachment = 1 }, "at the recorded position"},
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

// TestCheckAttachments_OtherName_IsMissing checks that, if the document has no attachment with the name in the record,
// the attachment is reported as missing rather than damaged.
func TestCheckAttachments_OtherName_IsMissing(t *testing.T) {
	t.Parallel()
	_, err := readEmbedded(nil, nil)
	require.ErrorIs(t, err, errNotEmbedded)
	f := opened(t, smallPDF(map[int]string{1: "<</Type/Catalog>>", 2: "<</EF<</F 3 0 R>>>>", 3: "<</Length 2>>\nstream\nab\nendstream", 4: "<</EF<</F 1 0 R>>>>", 5: "<</EF<</F(ab)>>>>", 6: "<</EF 7>>", 7: "[]"}))
	b, err := readEmbedded(f, pdf.Ref{Num: 2}.Value())
	require.NoError(t, err)
	require.Equal(t, "ab", string(b))
	for _, n := range []int{1, 4, 5, 6, 7} {
		b, err = readEmbedded(f, pdf.Ref{Num: n}.Value())
		require.Error(t, err, n)
		require.Empty(t, b, n)
	}
}

// TestCheckAttachments_TooMany_IsAContradiction checks the maximum number of attachments in a record.
func TestCheckAttachments_TooMany_IsAContradiction(t *testing.T) {
	t.Parallel()
	f := opened(t, smallPDF(map[int]string{1: "<</Type/Catalog>>"}))
	for n, code := range map[int]Code{maxAttachments: "attachments.missing", maxAttachments + 1: "manifest.contradiction"} {
		e := &examiner{examination: &Examination{}, seal: &sealedRevision{file: f}, record: &OpenedRecord{manifest: manifest.Manifest{Attachments: make([]manifest.Attachment, n)}}}
		require.NoError(t, e.checkAttachments(t.Context()))
		require.Equal(t, code, e.examination.report.Findings[0].Code)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if n == maxAttachments {
			require.ErrorIs(t, e.checkAttachments(ended), context.Canceled)
		}
	}
}

// TestCheckPrepared_AnotherPlace_IsMissing checks that the seal and the record must agree on where the prepared file
// ends.
func TestCheckPrepared_AnotherPlace_IsMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		to, size int64
		want     Code
	}{
		"agree":       {100, 1, "original.changed"}, // the hash differs
		"end":         {99, 1, "original.missing"},
		"no original": {100, 0, "original.missing"},
	} {
		e := &examiner{examination: &Examination{}, seal: &sealedRevision{signatureDict: signatureDict{SealMark: SealMark{To: c.to}}}}
		require.NoError(t, e.checkPrepared(t.Context(), manifest.Placement{Size: c.size, Prepared: &manifest.Prepared{Size: 100, SHA256: "00"}}), name)
		require.Len(t, e.examination.report.Findings, 1, name)
		require.Equal(t, c.want, e.examination.report.Findings[0].Code, name)
	}
}

// TestCheckPrepared_OtherForm_IsRejected checks that a prepared file is compared with its original only if the record
// describes it completely, in one of the two forms of a seal.
func TestCheckPrepared_OtherForm_IsRejected(t *testing.T) {
	t.Parallel()
	type form struct {
		as   string
		size int64
		manifest.Prepared
	}
	const prefix, attached = "prefix", "attached"
	plan := &revision1.Plan{}
	for name, c := range map[string]form{
		"appended, kept elsewhere":  {attached, 1, manifest.Prepared{As: manifest.Appended, Writer: revision1.Version, Plan: plan}},
		"appended, another writer":  {prefix, 1, manifest.Prepared{As: manifest.Appended, Writer: revision1.Version + 1, Plan: plan}},
		"appended, without a plan":  {prefix, 1, manifest.Prepared{As: manifest.Appended, Writer: revision1.Version}},
		"appended, nothing":         {prefix, 100, manifest.Prepared{As: manifest.Appended, Writer: revision1.Version, Plan: plan}},
		"derived in no known way":   {prefix, 1, manifest.Prepared{Writer: revision1.Version, Plan: plan}},
		"rewritten, kept elsewhere": {prefix, 1, manifest.Prepared{As: manifest.Rewritten}},
		"rewritten by a writer":     {attached, 1, manifest.Prepared{As: manifest.Rewritten, Writer: 1}},
		"rewritten with a plan":     {attached, 1, manifest.Prepared{As: manifest.Rewritten, Plan: plan}},
		"kept, but not rewritten":   {attached, 1, manifest.Prepared{}},
	} {
		c.Size, c.SHA256 = 100, "00"
		e := &examiner{examination: &Examination{}, digests: digests{original: []byte{0}}, seal: &sealedRevision{signatureDict: signatureDict{SealMark: SealMark{To: 100}}}}
		require.NoError(t, e.checkPrepared(t.Context(), manifest.Placement{As: c.as, Size: c.size, Prepared: &c.Prepared}), name)
		require.Len(t, e.examination.report.Findings, 1, name)
		require.Equal(t, Code("original.prepared_otherwise"), e.examination.report.Findings[0].Code, name)
	}
}

// TestAttachedRecord_OfDamagedFiles_IsNone checks that no record is found among the embedded files of a damaged file.
func TestAttachedRecord_OfDamagedFiles_IsNone(t *testing.T) {
	t.Parallel()
	const key = manifest.AttachmentKey
	find := func(objects map[int]string) *OpenedRecord {
		return attachedRecord(t.Context(), opened(t, smallPDF(objects)))
	}
	names := func(spec string) string {
		return "<</Type/Catalog/Names<</EmbeddedFiles<</Names[(" + key + ")" + spec + "]>>>>>>"
	}
	stream := "<</Length 2>>\nstream\nab\nendstream"
	found := find(map[int]string{1: names("<</EF<</F 2 0 R>>>>"), 2: stream})
	require.NotNil(t, found)
	require.Equal(t, []byte("ab"), found.raw)
	for name, objects := range map[string]map[int]string{
		"no names":         {1: "<</Type/Catalog>>"},
		"names of no kind": {1: "<</Type/Catalog/Names 7>>"},
		"another name":     {1: strings.Replace(names("<</EF<</F 2 0 R>>>>"), key, "other", 1), 2: stream},
		"no reference":     {1: names("<</EF<</F(ab)>>>>")},
		"no file":          {1: names("(ab)")},
		"no stream":        {1: names("<</EF<</F 2 0 R>>>>"), 2: "(ab)"},
		"another filter":   {1: names("<</EF<</F 2 0 R>>>>"), 2: strings.Replace(stream, "<<", "<</Filter/Other", 1)},
	} {
		require.Nil(t, find(objects), name)
	}
}

// TestReadRecord_ThatCannotBeRead_ConfirmsNothing checks that the content of an absent or malformed record is not
// reported, and that no later check passes because of it.
func TestReadRecord_ThatCannotBeRead_ConfirmsNothing(t *testing.T) {
	t.Parallel()
	f := opened(t, smallPDF(map[int]string{1: "<</Type/Catalog>>", 2: "<</Length 2>>\nstream\nab\nendstream"}))
	for num, code := range map[int]Code{1: "manifest.missing", 2: "manifest.malformed", 9: "manifest.missing"} {
		e := &examiner{examination: &Examination{}, seal: &sealedRevision{file: f, signatureDict: signatureDict{SealMark: SealMark{Record: pdf.Ref{Num: num}}}}}
		for _, check := range []func(context.Context) error{e.readRecord, e.checkOriginal, e.checkAttachments, e.checkRecord} {
			require.NoError(t, check(t.Context()))
		}
		var codes []Code
		for _, found := range e.examination.report.Findings {
			codes = append(codes, found.Code)
		}
		require.Equal(t, []Code{code, "original.missing", "audit_chain.missing"}, codes, num)
		require.Nil(t, e.examination.report.SealedAt)
		require.Nil(t, e.examination.trustInput.Key)
	}
}

// TestRecordsAreOpenedOnce checks that an opened record is reused only for the same bytes.
func TestRecordsAreOpenedOnce(t *testing.T) {
	t.Parallel()
	one := OpenRecord([]byte("one"))
	require.Same(t, one, one.of([]byte("one")))
	require.NotSame(t, one, one.of([]byte("other")))
	require.Equal(t, []byte("other"), one.of([]byte("other")).raw)
	require.Equal(t, []byte("one"), (*OpenedRecord)(nil).of([]byte("one")).raw)
}

// TestAdditions_WithoutObjects_AreUnknown checks that an increment that changes no object is reported as unknown.
func TestAdditions_WithoutObjects_AreUnknown(t *testing.T) {
	t.Parallel()
	base := smallPDF(map[int]string{1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Kids[]/Count 0>>"})
	b := fmt.Appendf(bytes.Clone(base), "xref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 9000/Root 1 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF\n", bytes.LastIndex(base, []byte("xref\n0 1")), len(base))
	kind, object := classifyAdditions(t.Context(), bytes.NewReader(b), int64(len(b)), int64(len(base)))
	require.Equal(t, additionUnknown, kind)
	require.Zero(t, object)
}
