package admission_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/seal/rejection"
	"countersign/seal/verify"
	"countersign/test/kit"
)

// rendering returns limits with a renderer.
func rendering() admission.Limits {
	lim := admission.DefaultLimits()
	lim.Renderer = kit.Renderer{}
	return lim
}

func uploadOf(b []byte) admission.Upload {
	return admission.Upload{File: bytes.NewReader(b), Size: int64(len(b)), SHA256: sha256.Sum256(b)}
}

// signed returns a PDF with permissions and two signature fields, one of which has an appearance.
func signed() []byte {
	sig := "<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/adbe.pkcs7.detached/ByteRange[0 1 2 3]/Contents<00>/M(D:20260102030405Z)>>"
	return file("/AcroForm<</Fields[6 0 R 7 0 R]/SigFlags 3>>/Perms<</DocMDP 8 0 R>>/DSS<</Certs[]>>", "/Annots[6 0 R 7 0 R]",
		"<</Type/Annot/Subtype/Widget/FT/Sig/T(a)/F 4/Rect[100 100 200 150]/V 8 0 R/AP<</N 10 0 R>>>>",
		"<</Type/Annot/Subtype/Widget/FT/Sig/T(b)/F 4/Rect[0 0 0 0]/V 9 0 R>>", sig, sig,
		"<</Type/XObject/Subtype/Form/BBox[0 0 100 50]/Length 21>>\nstream\n1 0 0 rg 0 0 90 40 re f\nendstream")
}

func TestAdmitUpload_Damaged_IsRepaired(t *testing.T) {
	t.Parallel()
	good := file("", "")
	own := "/MediaBox[0 0 600 800]/Resources<</Font<</F1 4 0 R>>>>" // so that the page inherits nothing
	for name, c := range map[string]struct {
		b    []byte
		code string
	}{
		"another parent":      {bytes.Replace(file("", own), []byte("/Parent 2 0 R"), []byte("/Parent 1 0 R"), 1), rejection.PDFAmbiguous},
		"a node without type": {bytes.Replace(good, []byte("/Type/Pages"), []byte("           "), 1), rejection.PDFNeedsRepair},
		"a null box":          {file("", "/CropBox null"), rejection.PDFAmbiguous},
		"a reference to a reference": {
			file("", "/MediaBox[0 0 600 800]/Resources<</Font<</F1 6 0 R>>>>", "4 0 R"), rejection.PDFAmbiguous,
		},
		"another position in startxref": {bytes.Replace(good, []byte("startxref\n"), []byte("startxref\n1"), 1), rejection.PDFNeedsRepair},
		"bytes in front":                {append([]byte("HTTP/1.1 200 OK\r\n\r\n"), good...), rejection.PDFNeedsRepair},
		"no end":                        {bytes.TrimSuffix(good, []byte("%%EOF\n")), rejection.PDFTruncated},
		"wrong Length":                  {bytes.Replace(good, []byte("<</Length 5"), []byte("<</Length 6"), 1), rejection.PDFAmbiguous},
		"a key twice":                   {bytes.Replace(good, []byte("/Type/Pages"), []byte("/Kids[]/Type/Pages"), 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := uploadOf(c.b)
			u.Repair = admission.RepairReject
			_, _, err := admission.AdmitUpload(t.Context(), u, rendering(), prepare.Options{})
			var cause *rejection.Error
			require.ErrorAs(t, err, &cause)
			if c.code != "" {
				require.Equal(t, c.code, cause.Code)
			}
			u.Repair = admission.RepairAuto
			info, p, err := admission.AdmitUpload(t.Context(), u, rendering(), prepare.Options{Tags: prepare.TagsDetect})
			require.NoError(t, err)
			require.Len(t, info.Pages, 1)
			require.Equal(t, prepare.Change{Kind: "repaired", Count: 1, Detail: cause.Message}, p.Changes[0])
			require.Equal(t, prepare.TagsRemoved, p.Changes[1].Kind, "the new file is prepared like any other file")
			require.Equal(t, "repaired", info.Warnings[len(info.Warnings)-1].Code)
			whole := append(bytes.Clone(p.Rewritten), p.Appended...)
			_, err = admission.Admit(t.Context(), bytes.NewReader(whole), int64(len(whole)), rendering())
			require.NoError(t, err)
			same, err := kit.Renderer{}.SameAppearance(t.Context(), bytes.NewReader(c.b), int64(len(c.b)), bytes.NewReader(p.Rewritten), int64(len(p.Rewritten)))
			require.NoError(t, err)
			require.True(t, same)
		})
	}
}

// TestAdmitUpload_PageTwice_IsCopied checks that a page that the page tree contains repeatedly becomes several pages.
func TestAdmitUpload_PageTwice_IsCopied(t *testing.T) {
	t.Parallel()
	b := bytes.Replace(file("", ""), []byte("/Kids[3 0 R]/Count 1/"), []byte("/Kids[3 0 R 3 0 R]/Count 2/"), 1)
	info, p, err := admission.AdmitUpload(t.Context(), uploadOf(b), rendering(), prepare.Options{})
	require.NoError(t, err)
	require.Len(t, info.Pages, 2)
	require.Equal(t, "repaired", p.Changes[0].Kind)
	f, err := pdf.Open(bytes.NewReader(p.Rewritten), int64(len(p.Rewritten)), pdf.DefaultLimits())
	require.NoError(t, err)
	pages := map[pdf.Ref]bool{}
	_, err = f.Walk(func(p *pdf.Page) error { pages[p.Ref] = true; return nil })
	require.NoError(t, err)
	require.Len(t, pages, 2)

	nodes := []string{"<</Type/Catalog/Pages 2 0 R>>"} // each node twice contains the next one
	for n := 3; n < 30; n++ {
		nodes = append(nodes, fmt.Sprintf("<</Type/Pages/Kids[%d 0 R %d 0 R]/Count %d>>", n, n, 1<<(30-n)))
	}
	_, _, err = admission.AdmitUpload(t.Context(), uploadOf(assembled(append(nodes, "<</Type/Page/MediaBox[0 0 9 9]>>"))), rendering(), prepare.Options{})
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
}

// TestAdmitUpload_OtherParentChangesThePage_IsRejected checks that a page tree is not corrected if the page inherits
// other attributes as a result.
func TestAdmitUpload_OtherParentChangesThePage_IsRejected(t *testing.T) {
	t.Parallel()
	b := bytes.Replace(file("", "", "<</Type/Pages/Kids[]/Count 0/MediaBox[0 0 300 400]/Resources<</Font<</F1 4 0 R>>>>>>"),
		[]byte("/Parent 2 0 R"), []byte("/Parent 6 0 R"), 1)
	_, _, err := admission.AdmitUpload(t.Context(), uploadOf(b), rendering(), prepare.Options{})
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.PDFAmbiguous, rejected.Code)
	require.Contains(t, rejected.Message, "would look different")
}

// TestAdmitUpload_EncryptedOtherwise_IsSavedByTheRenderer checks that a file without a password is admitted if only the
// renderer can decrypt it.
func TestAdmitUpload_EncryptedOtherwise_IsSavedByTheRenderer(t *testing.T) {
	t.Parallel()
	b := withShortStream(t, encrypted(t, file("", ""), "", "128", "--use-aes=y"))
	_, p, err := admission.AdmitUpload(t.Context(), uploadOf(b), rendering(), prepare.Options{})
	require.NoError(t, err)
	require.Equal(t, []prepare.Change{{Kind: "password_removed", Count: 1}}, p.Changes)
	require.NotContains(t, string(p.Rewritten), "/Encrypt")

	password := "user"
	b = withShortStream(t, encrypted(t, file("", ""), password, "128", "--use-aes=y"))
	u := uploadOf(b)
	u.Password = &password
	_, _, err = admission.AdmitUpload(t.Context(), u, rendering(), prepare.Options{})
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, "The PDF cannot be decrypted. Only encryption with a password, using RC4 or AES, is supported.", rejected.Message)
}

// nonSavingRenderer is a renderer that must not save a file again.
type nonSavingRenderer struct{ admission.Renderer }

func (nonSavingRenderer) Save(context.Context, io.ReaderAt, int64) ([]byte, error) {
	return nil, errors.New("saved again")
}

// TestAdmitUpload_RejectedForItsContent_IsNotRepaired checks that a file is not saved again if doing so cannot fix the
// reason for its rejection.
func TestAdmitUpload_RejectedForItsContent_IsNotRepaired(t *testing.T) {
	t.Parallel()
	lim := rendering()
	lim.Renderer, lim.MaxPages = nonSavingRenderer{lim.Renderer}, 0
	_, _, err := admission.AdmitUpload(t.Context(), uploadOf(file("", "")), lim, prepare.Options{})
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.PDFTooComplex, rejected.Code)
	_, _, err = admission.AdmitUpload(t.Context(), uploadOf(signed()), lim, prepare.Options{})
	require.ErrorContains(t, err, "saved again", "a signed file must be saved again")
}

func TestAdmitUpload_Signed_LosesItsSignatures(t *testing.T) {
	t.Parallel()
	b := signed()
	u := uploadOf(b)
	u.Repair = admission.RepairReject
	_, _, err := admission.AdmitUpload(t.Context(), u, rendering(), prepare.Options{})
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.DocumentSigned, rejected.Code)

	reserved := 0
	u.Repair, u.Reserve = "", func(context.Context) (func(), error) { reserved++; return func() { reserved += 10 }, nil }
	info, p, err := admission.AdmitUpload(t.Context(), u, rendering(), prepare.Options{})
	require.NoError(t, err)
	require.Equal(t, 11, reserved, "memory must be reserved and released")
	require.Equal(t, []prepare.Change{{Kind: "signatures_removed", Count: 2}}, p.Changes)
	require.Len(t, p.Signatures, 2)
	require.Equal(t, "2026-01-02 03:04:05 UTC", verify.Moment(*p.Signatures[0].At))
	require.Equal(t, "signatures_removed", info.Warnings[len(info.Warnings)-1].Code)
	f, err := pdf.Open(bytes.NewReader(p.Rewritten), int64(len(p.Rewritten)), pdf.DefaultLimits())
	require.NoError(t, err)
	catalog, _, err := f.Catalog()
	require.NoError(t, err)
	require.Nil(t, catalog.Get("Perms"))
	require.Nil(t, catalog.Get("DSS"))
	require.NotContains(t, string(p.Rewritten), "/ByteRange")
	require.NotContains(t, string(p.Rewritten), "/SigFlags")
	require.Contains(t, string(p.Rewritten), "/T (a)", "the fields are retained")
	a, err := kit.Renderer{}.Page(t.Context(), bytes.NewReader(b), int64(len(b)), 1, 2)
	require.NoError(t, err)
	c, err := kit.Renderer{}.Page(t.Context(), bytes.NewReader(p.Rewritten), int64(len(p.Rewritten)), 1, 2)
	require.NoError(t, err)
	require.Equal(t, a.Hash, c.Hash, "the red appearance is retained")
}

// manyPages returns a file with n pages that this package's own parser cannot find, because the cross-reference table
// is wrong.
func manyPages(n int) []byte {
	kids := &strings.Builder{}
	objects := []string{}
	for i := range n {
		fmt.Fprintf(kids, "%d 0 R ", 6+i)
		objects = append(objects, fmt.Sprintf("<</Type/Page/Parent 2 0 R/Contents 5 0 R/Rotate %d>>", i%4*90))
	}
	return bytes.Replace(file("", "", objects...), []byte("/Kids[3 0 R]/Count 1"), fmt.Appendf(nil, "/Kids[%s]/Count %d", kids, n), 1)
}

// TestAdmitUpload_OfManyPages_IsRepaired checks that a file whose repair requires several tasks is repaired.
func TestAdmitUpload_OfManyPages_IsRepaired(t *testing.T) {
	t.Parallel()
	info, p, err := admission.AdmitUpload(t.Context(), uploadOf(manyPages(205)), rendering(), prepare.Options{})
	require.NoError(t, err)
	require.Len(t, info.Pages, 205)
	require.NotEmpty(t, p.Rewritten)
}

// TestAdmitUpload_WhatCannotBeRepaired checks that a file that cannot be repaired is rejected with the original code,
// and that the message contains the reason.
func TestAdmitUpload_WhatCannotBeRepaired(t *testing.T) {
	t.Parallel()
	sealed := append([]byte("junk"), file("", "", "<</Length 100>>\nstream\n/CSGN_Seal<</V 1/Record 1 0 R\nendstream")...)
	for name, c := range map[string]struct {
		b          []byte
		code, says string
	}{
		"2001 pages": {manyPages(2001), rejection.PDFNeedsRepair, "up to 2000 pages"},
		"no pages":   {[]byte("%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"), rejection.PDFNeedsRepair, "It could not be repaired: the PDF"},
		"a seal":     {sealed, rejection.DocumentSigned, "contains a seal of this service"},
	} {
		_, _, err := admission.AdmitUpload(t.Context(), uploadOf(c.b), rendering(), prepare.Options{})
		var rejected *rejection.Error
		require.ErrorAs(t, err, &rejected, name)
		require.Equal(t, c.code, rejected.Code, name)
		require.Contains(t, rejected.Message, c.says, name)
	}
}

// alteringRenderer is a renderer that saves a file with a different appearance.
type alteringRenderer struct{ kit.Renderer }

func (alteringRenderer) Save(context.Context, io.ReaderAt, int64) ([]byte, error) {
	return bytes.ReplaceAll(file("", ""), []byte("here"), []byte("hero")), nil
}

func TestAdmitUpload_RepairThatChangesAPage_IsRejected(t *testing.T) {
	t.Parallel()
	lim := rendering()
	lim.Renderer = alteringRenderer{}
	_, _, err := admission.AdmitUpload(t.Context(), uploadOf(append([]byte("junk"), file("", "")...)), lim, prepare.Options{})
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.PDFNeedsRepair, rejected.Code)
	require.Contains(t, rejected.Message, "would look different")
}

// TestAdmit_TextWithoutGlyphs_IsRejected checks that a PDF is rejected if signers would not see some of its text.
func TestAdmit_TextWithoutGlyphs_IsRejected(t *testing.T) {
	t.Parallel()
	content := func(font, text, mode string) []byte {
		c := "BT /F1 12 Tf " + mode + " Tr 72 700 Td (" + text + ") Tj ET"
		return assembled([]string{
			"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]/Resources<</Font<</F1 4 0 R>>>>>>",
			"<</Type/Page/Parent 2 0 R/Contents 5 0 R>>", "<</Type/Font/Subtype/Type1/BaseFont/" + font + "/Encoding<</Differences[97/alpha/Acyrillic]>>>>",
			fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(c), c),
		})
	}
	admit := func(b []byte) error {
		_, p, err := admission.AdmitUpload(t.Context(), uploadOf(b), rendering(), prepare.Options{})
		require.Nil(t, p)
		return err
	}
	require.NoError(t, admit(content("Unheard", "c", "0")))
	require.NoError(t, admit(content("Unheard", "ab", "3")), "invisible")
	var rejected *rejection.Error
	require.ErrorAs(t, admit(content("Unheard", "ab", "0")), &rejected)
	require.Equal(t, rejection.GlyphMissing, rejected.Code)
	require.Contains(t, rejected.Message, "Page 1 contains the character “α” (U+03B1) in the font Unheard, which is not embedded")
	require.ErrorAs(t, admit(content("Times-Roman", "c\x11c", "0")), &rejected)
	require.Contains(t, rejected.Message, "Page 1 contains characters without a name in the font Times-Roman, which is not embedded")
}
