package admission_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/seal/rejection"
)

// file returns a PDF with one page, the given catalog and page entries, and further objects.
func file(catalog, page string, more ...string) []byte {
	content := "BT /F1 12 Tf 72 700 Td (Sign {{signature;x}} here) Tj ET"
	if !strings.Contains(page, "TAG") {
		content = "BT /F1 12 Tf 72 700 Td (Sign {{signature}} here) Tj ET"
	}
	objects := append([]string{
		"<</Type/Catalog/Pages 2 0 R" + catalog + ">>",
		"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]/Resources<</Font<</F1 4 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 5 0 R" + strings.ReplaceAll(page, "TAG", "") + ">>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content),
	}, more...)
	return assembled(objects)
}

// pages returns a PDF with n empty pages and the given catalog entries.
func pages(catalog string, n int) []byte {
	objects, kids := []string{"<</Type/Catalog/Pages 2 0 R" + catalog + ">>", ""}, ""
	for range n {
		objects = append(objects, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]>>")
		kids += fmt.Sprintf("%d 0 R ", len(objects))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", kids, n)
	return assembled(objects)
}

// assembled returns a PDF with the given objects. The first object is the catalog.
func assembled(objects []string) []byte {
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

// TestAdmitPrepared checks that active content is removed and listed by default, and rejected on request. A signed PDF
// is always rejected. Tags and forms remain unless their removal is requested.
func TestAdmitPrepared(t *testing.T) {
	t.Parallel()
	const (
		script = "/OpenAction<</S/JavaScript/JS(a)>>"
		signed = "/AcroForm<</Fields[6 0 R]/SigFlags 3>>"
		form   = "/AcroForm<</Fields[6 0 R]>>"
		sig    = "<</Type/Annot/Subtype/Widget/FT/Sig/T(s)/Rect[0 0 0 0]/F 2/V<</Type/Sig/ByteRange[0 1 2 3]/Contents<00>>>>>"
		widget = "<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/Rect[100 500 200 520]>>"
	)
	tags, forms, reject := prepare.Options{Tags: prepare.TagsDetect}, prepare.Options{Form: prepare.FormImport}, prepare.Options{ActiveContent: prepare.ActiveReject}
	for name, c := range map[string]struct {
		file []byte
		opt  prepare.Options
		want string // code of the rejection and a part of its message, or kinds of changes
	}{
		"plain":                       {file("", ""), prepare.Options{}, ""},
		"script":                      {file(script, ""), prepare.Options{}, "javascript_removed"},
		"script refused":              {file(script, ""), reject, "!" + rejection.PDFJavaScript},
		"launch refused":              {file("/OpenAction<</S/Launch/F(x)>>", ""), reject, "!" + rejection.PDFLaunch},
		"additional actions":          {file("", "/AA<</O<</S/GoTo/D[3 0 R/Fit]>>>>"), prepare.Options{}, "additional_actions_removed"},
		"additional actions, refused": {file("", "/AA<</O<</S/GoTo/D[3 0 R/Fit]>>>>"), reject, "!" + rejection.PDFActiveContent},
		"something of that name":      {file("/X/JavaScript", ""), prepare.Options{}, ""},
		"XFA beside a form":           {file("/AcroForm<</Fields[6 0 R]/XFA(x)>>", "/Annots[6 0 R]", widget), prepare.Options{}, "xfa_removed"},
		"XFA refused":                 {file("/AcroForm<</Fields[6 0 R]/XFA(x)>>", "/Annots[6 0 R]", widget), reject, "!" + rejection.PDFXFA + ": contains an XFA form"},
		"XFA alone":                   {file("/AcroForm<</Fields[]/XFA(x)>>", ""), prepare.Options{}, "!" + rejection.PDFXFA + ": whose pages are part of the file"},
		"XFA of several pages":        {pages("/AcroForm<</Fields[]/XFA(x)>>", 2), prepare.Options{}, "xfa_removed"},
		"dynamic XFA, several pages":  {pages("/NeedsRendering true/AcroForm<</Fields[]/XFA(x)>>", 2), prepare.Options{}, "!" + rejection.PDFXFA},
		"XFA alone, with tags":        {file("/AcroForm<</Fields[]/XFA(x)>>", ""), tags, "!" + rejection.PDFXFA},
		"dynamic XFA":                 {file("/NeedsRendering true/AcroForm<</Fields[6 0 R]/XFA(x)>>", "/Annots[6 0 R]", widget), prepare.Options{}, "!" + rejection.PDFXFA + ": is a dynamic XFA form"},
		"tags":                        {file("", ""), tags, "tags_removed"},
		"a wrong tag":                 {file("", "TAG"), tags, "!" + rejection.TextTag},
		"form":                        {file(form, "/Annots[6 0 R]", widget), forms, "form_imported"},
		"form kept":                   {file(form, "/Annots[6 0 R]", widget), prepare.Options{}, ""},
		"everything":                  {file(form+script, "/Annots[6 0 R]", widget), prepare.Options{Tags: prepare.TagsDetect, Form: prepare.FormImport}, "form_imported javascript_removed tags_removed"},
		"signed":                      {file(signed, "/Annots[6 0 R]", sig), prepare.Options{}, "!" + rejection.DocumentSigned},
		"signed, with tags":           {file(signed, "/Annots[6 0 R]", sig), tags, "!" + rejection.DocumentSigned},
		"signed, with a script":       {file(signed+script, "/Annots[6 0 R]", sig), prepare.Options{}, "!" + rejection.DocumentSigned},
		"signed, script, form":        {file(signed+script, "/Annots[6 0 R]", sig), forms, "!" + rejection.DocumentSigned},
		"signed, script, refused":     {file(signed+script, "/Annots[6 0 R]", sig), reject, "!" + rejection.DocumentSigned},
		"signed in a direct field":    {file("/AcroForm<</Fields["+sig+"]/SigFlags 3>>", ""), prepare.Options{}, "!" + rejection.DocumentSigned},
		"signed on a page alone":      {file("", "/Annots[6 0 R]", sig), prepare.Options{}, "!" + rejection.DocumentSigned},
		"signed beside the form":      {file("/AcroForm<</Fields[]>>", "/Annots["+sig+"]"), forms, "!" + rejection.DocumentSigned},
		"signed above a widget":       {file("", "/Annots[6 0 R]", "<</Type/Annot/Subtype/Widget/Rect[0 0 0 0]/F 2/Parent 7 0 R>>", sig), tags, "!" + rejection.DocumentSigned},
		"a field to sign":             {file("", "/Annots[6 0 R]", "<</Type/Annot/Subtype/Widget/FT/Sig/T(s)/Rect[0 0 0 0]/F 2>>"), prepare.Options{}, ""},
		"certified":                   {file("/Perms<</DocMDP<</Type/Sig>>>>", ""), prepare.Options{}, "!" + rejection.DocumentSigned},
		"usage rights":                {file("/Perms<</UR3<</Type/Sig>>>>", ""), prepare.Options{}, "usage_rights_removed"},
		"usage rights, with tags":     {file("/Perms<</UR3<</Type/Sig>>>>", ""), tags, "tags_removed usage_rights_removed"},
		"usage rights, refused":       {file("/Perms<</UR3<</Type/Sig>>>>", ""), reject, "!" + rejection.PDFActiveContent},
		"not a PDF":                   {[]byte("hello"), tags, "!" + rejection.NotAPDF},
		"too large":                   {make([]byte, 26<<20), tags, "!" + rejection.PDFTooLarge},
	} {
		info, rev, err := admission.AdmitPrepared(t.Context(), bytes.NewReader(c.file), int64(len(c.file)), sha256.Sum256(c.file), admission.DefaultLimits(), c.opt)
		if code, ok := strings.CutPrefix(c.want, "!"); ok {
			var r *rejection.Error
			require.ErrorAs(t, err, &r, name)
			code, message, _ := strings.Cut(code, ": ")
			require.Equal(t, code, r.Code, name)
			require.Contains(t, r.Message, message, name)
			continue
		}
		require.NoError(t, err, name)
		require.NotEmpty(t, info.Pages, name)
		var kinds []string
		if rev != nil {
			require.NotEmpty(t, rev.Appended, name)
			for _, change := range rev.Changes {
				kinds = append(kinds, change.Kind)
			}
			whole := append(bytes.Clone(c.file), rev.Appended...)
			_, err := admission.Admit(t.Context(), bytes.NewReader(whole), int64(len(whole)), admission.DefaultLimits())
			require.NoError(t, err, name)
		}
		require.Equal(t, c.want, strings.Join(kinds, " "), name)
	}
}

type countingReader struct {
	io.ReaderAt

	n atomic.Int64
}

func (c *countingReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.n.Add(int64(n))
	return n, err
}

// TestAdmitPrepared_WithoutOptions_ReadsTheFileOnce checks that AdmitPrepared reads no more of a file than Admit if the
// file has no active content and no preparation of its pages is requested.
func TestAdmitPrepared_WithoutOptions_ReadsTheFileOnce(t *testing.T) {
	t.Parallel()
	b := file("", "")
	once, prepared := &countingReader{ReaderAt: bytes.NewReader(b)}, &countingReader{ReaderAt: bytes.NewReader(b)}
	_, err := admission.Admit(t.Context(), once, int64(len(b)), admission.DefaultLimits())
	require.NoError(t, err)
	_, _, err = admission.AdmitPrepared(t.Context(), prepared, int64(len(b)), sha256.Sum256(b), admission.DefaultLimits(), prepare.Options{})
	require.NoError(t, err)
	require.Equal(t, once.n.Load(), prepared.n.Load())
}

// watchedContext counts the contexts that are derived from it and not released.
type watchedContext struct {
	context.Context

	done chan struct{}
	open atomic.Int64
}

func (w *watchedContext) Done() <-chan struct{} { return w.done }

// AfterFunc is called by package context for each derived context.
func (w *watchedContext) AfterFunc(func()) func() bool {
	w.open.Add(1)
	return func() bool { w.open.Add(-1); return true }
}

// TestAdmit_ReleasesItsContext checks that examinations release their contexts, which also releases the threads to
// which they are locked.
func TestAdmit_ReleasesItsContext(t *testing.T) {
	t.Parallel()
	ctx := &watchedContext{Context: t.Context(), done: make(chan struct{})}
	b := file("", "")
	_, err := admission.Admit(ctx, bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
	require.NoError(t, err)
	require.Zero(t, ctx.open.Load(), "Admit")
	_, _, err = admission.AdmitPrepared(ctx, bytes.NewReader(b), int64(len(b)), sha256.Sum256(b), admission.DefaultLimits(), prepare.Options{Tags: prepare.TagsDetect})
	require.NoError(t, err)
	require.Zero(t, ctx.open.Load(), "AdmitPrepared")
}
