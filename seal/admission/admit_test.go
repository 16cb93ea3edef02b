package admission_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/seal/appearance"
	"countersign/seal/manifest"
	"countersign/seal/rejection"
	"countersign/test/kit"
)

// requireRejected checks the code of a rejection and part of its message.
func requireRejected(t *testing.T, err error, code, says string) {
	t.Helper()
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, code, rejected.Code, rejected.Message)
	require.Contains(t, rejected.Message, says)
}

func admit(t *testing.T, b []byte, lim admission.Limits) (admission.Info, error) {
	t.Helper()
	return admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), lim)
}

// TestAdmit_CanceledAtAnyCheck_StopsThere checks that an examination fails with context.Canceled regardless of which
// function detects that the context is canceled.
func TestAdmit_CanceledAtAnyCheck_StopsThere(t *testing.T) {
	t.Parallel()
	b := file("/OCProperties<</OCGs[6 0 R]/D<</AS[<</Event/View/OCGs[6 0 R]/Category[/Zoom]>>]>>>>/Names<</EmbeddedFiles<</Names[(a)7 0 R]>>>>", "",
		append([]string{"<</Type/OCG/Name(layer)>>", "<</Type/Filespec/F(a)>>"}, repeated("[]", 64)...)...)
	examine := func(function string) (map[string]bool, error) {
		ctx := &kit.CanceledIn{Context: t.Context(), Function: function}
		_, err := admission.Examine(ctx, bytes.NewReader(b), int64(len(b)), admission.DefaultLimits(), false)
		return ctx.Checked(), err
	}
	checked, err := examine("")
	require.NoError(t, err)
	for _, function := range []string{
		"verify.ReadRange", "admission.attachmentKeys.func1", "admission.(*inspector).optionalContent", "admission.(*inspector).pages.func1",
		"admission.(*inspector).checkPageTree", "admission.(*inspector).objects.func1", "admission.(*inspector).object.func1",
	} {
		require.Contains(t, checked, function)
	}
	for function := range checked {
		_, err := examine(function)
		require.ErrorIs(t, err, context.Canceled, function)
	}
}

func repeated(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

// TestAdmit_EndFarFromTheEnd_IsNamed checks that the end marker is found far from the end of the file, even if the
// marker spans two of the 1 MB pieces that are searched.
func TestAdmit_EndFarFromTheEnd_IsNamed(t *testing.T) {
	t.Parallel()
	good := bytes.TrimSuffix(file("", ""), []byte("\n"))
	for _, after := range []int{1<<20 - 2, 1 << 20, 2<<20 + 7} {
		_, err := admit(t, append(bytes.Clone(good), make([]byte, after)...), admission.DefaultLimits())
		requireRejected(t, err, rejection.PDFNeedsRepair, fmt.Sprintf("followed by %d bytes", after))
	}
	cut := bytes.TrimSuffix(good, []byte("%%EOF"))
	_, err := admit(t, append(bytes.Clone(cut), make([]byte, 2<<20)...), admission.DefaultLimits())
	requireRejected(t, err, rejection.PDFTruncated, "")
}

func TestAdmit_ObjectStreams(t *testing.T) {
	t.Parallel()
	stream := func(more, data string) string {
		return fmt.Sprintf("<</Type/ObjStm/N 0/First 0%s/Length %d>>\nstream\n%s\nendstream", more, len(data), data)
	}
	info, err := admit(t, file("", "", stream("/Extends 7 0 R", ""), stream("", "")), admission.DefaultLimits())
	require.NoError(t, err)
	require.Contains(t, info.Warnings, admission.Warning{Code: admission.WarnExtends, Count: 1, Detail: "object 6"})
	_, err = admit(t, file("", "", stream("", "  "), stream("", "")), admission.DefaultLimits())
	require.NoError(t, err, "the object streams do not overlap")
}

func TestAdmit_Portfolio_IsWarned(t *testing.T) {
	t.Parallel()
	info, err := admit(t, file("/Collection<</View/D>>", ""), admission.DefaultLimits())
	require.NoError(t, err)
	require.Contains(t, info.Warnings, admission.Warning{Code: admission.WarnPortfolio, Count: 1, Detail: "the file is a portfolio"})
}

func TestAdmitUpload_PasswordOfAFileThatCannotBeDecrypted_IsRejected(t *testing.T) {
	t.Parallel()
	locked := bytes.Replace(file("", "", "<</Filter/Standard/V 9/R 9/O(x)/U(y)/P -4>>"), []byte("/Root 1 0 R"), []byte("/Root 1 0 R/Encrypt 6 0 R"), 1)
	password := "secret"
	for code, b := range map[string][]byte{rejection.NotAPDF: []byte("hello"), rejection.PDFEncrypted: locked} {
		u := uploadOf(b)
		u.Password = &password
		_, p, err := admission.AdmitUpload(t.Context(), u, admission.DefaultLimits(), prepare.Options{})
		requireRejected(t, err, code, "")
		require.NotContains(t, err.Error(), password)
		require.Nil(t, p)
	}
}

func TestSuggest_FileThatCannotBeRead_IsRejected(t *testing.T) {
	t.Parallel()
	for code, b := range map[string][]byte{
		rejection.NotAPDF:        []byte("hello"),
		rejection.PDFNeedsRepair: bytes.Replace(file("", ""), []byte("/Kids[3 0 R]"), []byte("/Kids[2 0 R]"), 1),
	} {
		_, _, err := admission.Suggest(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
		requireRejected(t, err, code, "")
	}
	b := bytes.Replace(file("/AcroForm 6 0 R", "", "<</Fields[]>>"), []byte("6 0 obj"), []byte("9 0 obj"), 1)
	_, _, err := admission.Suggest(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
	requireRejected(t, err, rejection.PDFNeedsRepair, "")
}

// differingRenderer is a renderer that interprets a file differently.
type differingRenderer struct {
	kit.Renderer

	pages [][2]float64
	err   error
}

func (r differingRenderer) Inspect(context.Context, io.ReaderAt, int64, bool) (*appearance.Inspection, error) {
	return &appearance.Inspection{Pages: r.pages}, r.err
}

// TestAdmit_RendererReadsOtherPages_IsRejected checks that a file is rejected if signers would see pages other than the
// sealed ones.
func TestAdmit_RendererReadsOtherPages_IsRejected(t *testing.T) {
	t.Parallel()
	page, failed := [2]float64{600, 800}, errors.New("no memory")
	for name, c := range map[string]struct {
		by         differingRenderer
		code, says string
	}{
		"same":                 {differingRenderer{pages: [][2]float64{page}}, "", ""},
		"single precision":     {differingRenderer{pages: [][2]float64{{600.006, 799.992}}}, "", ""},
		"no page":              {differingRenderer{}, rejection.PDFAmbiguous, "the number of pages is 1 or 0"},
		"two pages":            {differingRenderer{pages: [][2]float64{page, page}}, rejection.PDFAmbiguous, "the number of pages is 1 or 2"},
		"another width":        {differingRenderer{pages: [][2]float64{{600.01, 800}}}, rejection.PDFAmbiguous, "page 1 measures 600 × 800 or 600.01 × 800 points"},
		"another height":       {differingRenderer{pages: [][2]float64{{600, 801}}}, rejection.PDFAmbiguous, "page 1 measures 600 × 800 or 600 × 801 points"},
		"not rendered":         {differingRenderer{err: rejection.New(rejection.DocumentNotRendered, "It cannot be drawn.")}, rejection.PDFNeedsRepair, "It cannot be drawn."},
		"a page not rendered":  {differingRenderer{err: rejection.New(rejection.PageNotRendered, "Page 1 cannot be drawn.")}, rejection.PDFNeedsRepair, "Page 1 cannot be drawn."},
		"refused for a reason": {differingRenderer{err: rejection.New(rejection.PDFTooComplex, "Too complex.")}, rejection.PDFTooComplex, "Too complex."},
		"renderer fails":       {differingRenderer{err: failed}, "failed", ""},
	} {
		lim := admission.DefaultLimits()
		lim.Renderer = c.by
		_, err := admit(t, file("", ""), lim)
		switch c.code {
		case "":
			require.NoError(t, err, name)
		case "failed":
			require.ErrorIs(t, err, failed, name)
		default:
			requireRejected(t, err, c.code, c.says)
		}
	}
}

// TestAdmit_PageTooLargeToDisplay_IsRejected checks that a page that cannot be displayed legibly to signers is rejected
// at upload.
func TestAdmit_PageTooLargeToDisplay_IsRejected(t *testing.T) {
	t.Parallel()
	admit := func(unit string) error {
		b := assembled([]string{
			"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2/MediaBox[0 0 600 800]/Resources<<>>>>",
			"<</Type/Page/Parent 2 0 R>>", "<</Type/Page/Parent 2 0 R/UserUnit " + unit + ">>",
		})
		_, _, err := admission.AdmitUpload(t.Context(), uploadOf(b), rendering(), prepare.Options{})
		return err
	}
	require.NoError(t, admit("10"))
	requireRejected(t, admit("12"), rejection.PageTooLarge, "Page 2 measures 7200 × 9600 points, which is too large to display legibly.")
}

// fixedSaveRenderer is a renderer that saves the same file for every document, and reports that the appearance is the
// same.
type fixedSaveRenderer struct {
	kit.Renderer

	b   []byte
	err error
}

func (s fixedSaveRenderer) Save(context.Context, io.ReaderAt, int64) ([]byte, error) {
	return s.b, s.err
}

func (fixedSaveRenderer) SameAppearance(context.Context, io.ReaderAt, int64, io.ReaderAt, int64) (bool, error) {
	return true, nil
}

// TestAdmitUpload_RepairFails_KeepsTheCause checks that the error has the code for the upload, and that its message
// contains the reason why the repair failed.
func TestAdmitUpload_RepairFails_KeepsTheCause(t *testing.T) {
	t.Parallel()
	twice := bytes.Replace(file("", ""), []byte("/Type/Pages"), []byte("/Count 1/Type/Pages"), 1)
	failed := errors.New("no memory")
	for name, c := range map[string]struct {
		by   fixedSaveRenderer
		says string
	}{
		"saved file cannot be read":    {fixedSaveRenderer{b: []byte("hello")}, "It could not be repaired: the file is"},
		"saved file is rejected again": {fixedSaveRenderer{b: twice}, "It could not be repaired: the PDF"},
		"refused by the renderer":      {fixedSaveRenderer{err: rejection.New(rejection.PDFTooComplex, "PDF pages are too complex.")}, "It could not be repaired: PDF pages"},
		"renderer fails":               {fixedSaveRenderer{err: failed}, ""},
	} {
		lim := rendering()
		lim.Renderer = c.by
		_, p, err := admission.AdmitUpload(t.Context(), uploadOf(append([]byte("junk"), file("", "")...)), lim, prepare.Options{})
		require.Nil(t, p, name)
		if c.says == "" {
			require.ErrorIs(t, err, failed, name)
			continue
		}
		requireRejected(t, err, rejection.PDFNeedsRepair, c.says)
	}
}

func TestAdmitUpload_SignedInAFormOfItsOwn_LosesItsSignatures(t *testing.T) {
	t.Parallel()
	sig := "<</Type/Sig/Filter/Adobe.PPKLite/ByteRange[0 1 2 3]/Contents<00>>>"
	b := file("/AcroForm 8 0 R", "/Annots[6 0 R]",
		"<</Type/Annot/Subtype/Widget/FT/Sig/T(a)/F 4/Rect[0 0 0 0]/V 7 0 R>>", sig, "<</Fields[6 0 R]/SigFlags 3>>")
	_, p, err := admission.AdmitUpload(t.Context(), uploadOf(b), rendering(), prepare.Options{})
	require.NoError(t, err)
	require.Equal(t, []prepare.Change{{Kind: "signatures_removed", Count: 1}}, p.Changes)
	require.NotContains(t, string(p.Rewritten), "/SigFlags", "the entry must be removed although the form is a separate object")
}

func TestSigners_AreNamedOnce(t *testing.T) {
	t.Parallel()
	by := func(names ...string) (out []manifest.Signature) {
		for _, n := range names {
			out = append(out, manifest.Signature{By: n})
		}
		return out
	}
	require.Equal(t, "Ada, Bo", admission.Signers(by("Ada", "", "Bo", "Ada")))
	require.Empty(t, admission.Signers(by("")))
	exact := strings.Repeat("ä", admission.MaxSigners)
	require.Equal(t, exact, admission.Signers(by(exact)))
	require.Equal(t, exact, admission.Signers(by(exact+"x")))
}

// TestAdmit_UnknownResource_IsIgnored checks that a resource dictionary can contain an entry that programs ignore, such
// as the subtype that a scanner writes.
func TestAdmit_UnknownResource_IsIgnored(t *testing.T) {
	t.Parallel()
	admit := func(resources string) error {
		b := file("", "/Resources<</Font<</F1 4 0 R>>"+resources+">>")
		_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
		return err
	}
	require.NoError(t, admit("/Subtype 5 0 R"))
	require.Error(t, admit("/XObject 5 0 R"))
}

// TestAdmit_FieldsAreNotAnArray_IsRejected checks that a value of another type is reported as damage.
func TestAdmit_FieldsAreNotAnArray_IsRejected(t *testing.T) {
	t.Parallel()
	b := file("/AcroForm<</Fields/None>>", "")
	_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.PDFNeedsRepair, rejected.Code)
	require.Equal(t, "The PDF is damaged (not an array).", rejected.Message)
}
