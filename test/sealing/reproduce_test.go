package sealing_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/admission"
	"countersign/seal/cms"
	"countersign/seal/rejection"
	"countersign/seal/sandbox"
	"countersign/seal/verify"
	"countersign/test/kit/sealkit"
)

// TestExaminedInAnotherProcess checks that the findings of a separate process result in the same verdict as the
// findings of this process.
func TestExaminedInAnotherProcess(t *testing.T) {
	t.Parallel()
	validators := sandbox.New(os.Args[0], "validate-pdf")
	t.Cleanup(validators.Close)
	a := sealkit.NewAuthority(t)
	k := a.Keys(t)
	k.Config.LongTerm = true
	_, archived := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, sealkit.SimplePDF(2)))
	plain := sealkit.NewFixture(t)
	_, b := sealkit.Sealed(t, plain.Sealer(t), sealkit.Job(t, sealkit.SimplePDF(2)))
	for name, tt := range map[string]struct {
		bytes []byte
		opt   verify.Options
		want  verify.Verdict
	}{
		"B-LTA":      {archived, k.Trust(), verify.VerdictValid},
		"B-B":        {b, plain.Trust(), verify.VerdictValid},
		"untrusted":  {b, verify.Options{Now: sealkit.Clock}, verify.VerdictUntrusted},
		"altered":    {append(bytes.Clone(archived), "more"...), k.Trust(), verify.VerdictAltered},
		"broken":     {append(append([]byte{}, b[:200]...), append([]byte("x"), b[201:]...)...), plain.Trust(), verify.VerdictBroken},
		"not sealed": {sealkit.SimplePDF(1), plain.Trust(), verify.VerdictNotSealed},
		"no PDF":     {[]byte("hello"), plain.Trust(), verify.VerdictNotSealed},
	} {
		x, err := verify.ExamineIn(t.Context(), validators, bytes.NewReader(tt.bytes), int64(len(tt.bytes)))
		require.NoError(t, err, name)
		there, here := x.Report(tt.opt), sealkit.Verified(t, tt.bytes, tt.opt)
		require.Equal(t, tt.want, there.Verdict, "%s\n%s", name, sealkit.TextOf(t, there))
		is, err := json.Marshal(there)
		require.NoError(t, err)
		was, err := json.Marshal(here)
		require.NoError(t, err)
		require.JSONEq(t, string(was), string(is), name)
	}
}

// TestExaminingIsBounded checks that a process that exceeds a limit while examining a file is stopped, and that the
// file is rejected.
func TestExaminingIsBounded(t *testing.T) {
	t.Parallel()
	validators := sandbox.New("/bin/sh", "-c", `COUNTERSIGN_ADMIT_MEMORY=8000000 exec "$0" validate-pdf`, os.Args[0])
	t.Cleanup(validators.Close)
	b := sealkit.SimplePDF(1)
	_, err := verify.ExamineIn(t.Context(), validators, bytes.NewReader(b), int64(len(b)))
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.PDFTooComplex, rejected.Code)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = verify.ExamineIn(ctx, validators, bytes.NewReader(b), int64(len(b)))
	require.Error(t, err)
	_, err = verify.Examine(ctx, bytes.NewReader(b), int64(len(b)))
	require.ErrorIs(t, err, context.Canceled)
}

// TestAdditionsByOthers checks that additions by other programs result in the verdict "altered" rather than "broken",
// and that their kind is reported. The bytes before them are still valid.
func TestAdditionsByOthers(t *testing.T) {
	t.Parallel()
	a := sealkit.NewAuthority(t)
	k := a.Keys(t)
	k.Config.LongTerm = true
	_, archived := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, sealkit.SimplePDF(2)))
	plain := sealkit.NewFixture(t)
	_, b := sealkit.Sealed(t, plain.Sealer(t), sealkit.Job(t, sealkit.SimplePDF(2)))
	for _, file := range []struct {
		bytes []byte
		opt   verify.Options
		level string
	}{{b, plain.Trust(), "B-B"}, {archived, k.Trust(), "B-LTA"}} {
		for _, tt := range []struct {
			name, kind string
			bytes      []byte
		}{
			{"comment", "annotations", increment(t, file.bytes, map[int]string{4000: "<</Type/Annot/Subtype/Text/Rect[0 0 9 9]/Contents(x)>>"})},
			{"form", "form", increment(t, file.bytes, map[int]string{4000: "<</Subtype/Widget/FT/Tx/T(a)/V(b)/Rect[0 0 9 9]>>"})},
			{"signature", "signature", increment(t, file.bytes, map[int]string{4000: "<</Type/Sig/Filter/Adobe.PPKLite/ByteRange[0 1 2 3]/Contents<00>>>"})},
			{"page", "pages", increment(t, file.bytes, map[int]string{4000: "<</Type/Page>>"})},
			{"saved", "saved", increment(t, file.bytes, map[int]string{4000: "<</Producer(x)>>"})},
			{"text", "unknown", append(bytes.Clone(file.bytes), "% more\n"...)},
			{"a byte", "unknown", append(bytes.Clone(file.bytes), ' ')},
			{"an object that nobody lists", "unknown", append(bytes.Clone(file.bytes), "3 0 obj\n<</Type/Page>>\nendobj\n"...)},
		} {
			r := sealkit.Verified(t, tt.bytes, file.opt)
			require.Equal(t, verify.VerdictAltered, r.Verdict, "%s\n%s", tt.name, sealkit.TextOf(t, r))
			require.True(t, r.Has(verify.Code("later_changes."+tt.kind)), "%s\n%s", tt.name, sealkit.TextOf(t, r))
			require.Equal(t, &verify.Additions{From: int64(len(file.bytes)), Bytes: int64(len(tt.bytes) - len(file.bytes)), Kind: tt.kind}, r.Additions, tt.name)
			require.Nil(t, r.Record, "no signers may be listed")
			extracted := sealkit.Verified(t, tt.bytes[:r.Additions.From], file.opt)
			require.True(t, extracted.OK(), sealkit.TextOf(t, extracted))
			require.Equal(t, file.level, extracted.Level)
			require.NotNil(t, extracted.Record)
		}
	}
}

// TestSignaturesByOthers checks that the signatures of a file without a seal are reported without a verdict.
func TestSignaturesByOthers(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	signer, err := cms.NewSigner(k.Config.Signer, k.Config.Chain, k.Config.Rand)
	require.NoError(t, err)
	der, err := signer.Sign(t.Context(), [32]byte{}, nil)
	require.NoError(t, err)
	b := sealkit.SimplePDF(1)
	b = increment(t, b, map[int]string{
		1: "<</Type/Catalog/Pages 2 0 R/AcroForm<</SigFlags 3/Fields[50 0 R]>>>>", 50: "<</FT/Sig/T(Approved)/V 51 0 R>>",
		51: fmt.Sprintf("<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/adbe.pkcs7.detached/M(D:20260102030405+01'00')/ByteRange[0 100 200 %d]/Contents<%s>>>", 300, hex.EncodeToString(der)),
	})
	r := sealkit.Verified(t, b, k.Trust())
	require.Equal(t, verify.VerdictNotSealed, r.Verdict)
	at := time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC)
	require.Len(t, r.Signatures, 1)
	require.Contains(t, r.Signatures[0].By, "Countersign")
	require.Contains(t, r.Signatures[0].Issuer, "development authority")
	require.Equal(t, "Approved", r.Signatures[0].Field)
	require.Equal(t, "adbe.pkcs7.detached", r.Signatures[0].Format)
	require.EqualValues(t, 500, r.Signatures[0].Covers)
	require.Equal(t, &at, r.Signatures[0].At)
	require.Contains(t, r.Summary, "contains other signatures")
}

// TestContradictions checks that contradictory records are not sealed.
func TestContradictions(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	s := k.Sealer(t)
	for name, tt := range map[string]struct {
		change func(j *seal.Job)
		want   string
	}{
		"another document":     {func(j *seal.Job) { j.Document.ID = "other" }, "listed 0 times"},
		"the document twice":   {func(j *seal.Job) { j.Documents = append(j.Documents, j.Documents[0]) }, "number 1"},
		"one document more":    {func(j *seal.Job) { j.Documents = append(j.Documents, seal.Document{ID: "x", Order: 2}) }, "hash of all"},
		"no documents":         {func(j *seal.Job) { j.Documents = nil }, "listed 0 times"},
		"another hash":         {func(j *seal.Job) { j.Documents[0].SHA256 = strings.Repeat("0", 64) }, "hash of the original"},
		"another hash of all":  {func(j *seal.Job) { j.Envelope.OriginalHash = strings.Repeat("0", 64) }, "hash of all"},
		"fewer pages":          {func(j *seal.Job) { j.Documents[0].PageCount++ }, "number of pages"},
		"another envelope":     {func(j *seal.Job) { j.Envelope.ID = "other" }, "another envelope"},
		"no events":            {func(j *seal.Job) { j.Events, j.ChainHead = nil, strings.Repeat("0", 64) }, "do not complete the envelope"},
		"no signing time":      {func(j *seal.Job) { j.Signers[1].SignedAt = time.Time{} }, "the status or signing time"},
		"another signing time": {func(j *seal.Job) { j.Signers[1].SignedAt = sealkit.Now }, "the status or signing time"},
		"an unlisted signer":   {func(j *seal.Job) { j.Signers = j.Signers[:1] }, "not listed as a signer"},
		"an unknown signer":    {func(j *seal.Job) { j.Signers[0].ID = "other" }, "the status or signing time"},
	} {
		j := sealkit.Job(t, sealkit.SimplePDF(1))
		tt.change(&j)
		out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
		require.NoError(t, err)
		_, err = s.Seal(t.Context(), out, j)
		require.NoError(t, out.Close())
		require.ErrorContains(t, err, tt.want, name)
	}
}

// TestTextOfTheMark checks that an original that contains the text of a seal's signature dictionary can be sealed and
// verified, wherever the text occurs. An ambiguous file is rejected at upload.
func TestTextOfTheMark(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	s := k.Sealer(t)
	const mark = "/CSGN_Seal<</V 1/Record 1 0 R/Original[0 1]"
	for _, gap := range []int{0, 1<<18 - 700, 1<<18 - 5, 1<<18 + 3, 1<<19 - 900} {
		content := "% " + strings.Repeat(" ", gap) + mark + "\n"
		b := sealkit.ClassicPDF(sealkit.Layout{Pages: sealkit.LetterPage(""), Objects: []string{fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content)}})
		require.Contains(t, string(b), mark)
		_, file := sealkit.Sealed(t, s, sealkit.Job(t, b))
		r := sealkit.Verified(t, file, k.Trust())
		require.True(t, r.OK(), sealkit.TextOf(t, r))
	}
	many := "% " + strings.Repeat(mark+" ", 8) + "\n"
	b := sealkit.ClassicPDF(sealkit.Layout{Pages: sealkit.LetterPage(""), Objects: []string{fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(many), many)}})
	_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.DocumentSigned, rejected.Code)

	_, file := sealkit.Sealed(t, s, sealkit.Job(t, sealkit.SimplePDF(1)))
	// The catalog's form is missing, but the seal is not.
	hidden := increment(t, file, map[int]string{1: "<</Type/Catalog/Pages 2 0 R>>"})
	_, err = admission.Admit(t.Context(), bytes.NewReader(hidden), int64(len(hidden)), admission.DefaultLimits())
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.DocumentSigned, rejected.Code)
}

// TestEnteredTextOfTheMark checks that entered values and names are never interpreted as parts of the file, wherever
// sealing writes them.
func TestEnteredTextOfTheMark(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	s := k.Sealer(t)
	text := strings.Repeat("_Seal<</V ", 8)
	for name, l := range map[string]sealkit.Layout{
		"form":    {Catalog: "/AcroForm<</Fields[1000 0 R]>>", Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]" + sealkit.OwnResources + "/Annots[1000 0 R]"}}, Objects: []string{"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/F 4/Rect[0 0 612 792]>>"}},
		"unclean": {Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]" + sealkit.OwnResources, Content: "q Q Q"}}},
		"tagged": {
			Catalog: "/MarkInfo<</Marked true>>/StructTreeRoot 1000 0 R", Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]" + sealkit.OwnResources}},
			Objects: []string{"<</Type/StructTreeRoot/K[]/ParentTree 1001 0 R/ParentTreeNextKey 1>>", "<</Nums[]>>"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := sealkit.Job(t, sealkit.ClassicPDF(l))
			for i := range j.Signers {
				j.Signers[i].Name = text
			}
			j.Values = []seal.Value{
				{FieldID: "t", SignerID: sealkit.AdaID, Kind: seal.Text, Page: 1, X: 20, Y: 60, W: 560, H: 20, Text: text},
				{FieldID: "s", SignerID: sealkit.AdaID, Kind: seal.Signature, Page: 1, X: 20, Y: 100, W: 80, H: 40, PNG: sealkit.Marker(t)},
			}
			_, file := sealkit.Sealed(t, s, j)
			require.Equal(t, 1, bytes.Count(file, []byte("_Seal<</V ")))
			r := sealkit.Verified(t, file, k.Trust())
			require.True(t, r.OK(), sealkit.TextOf(t, r))
		})
	}
}
