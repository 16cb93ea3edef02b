package sealing_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/prepare"
	"countersign/seal"
	"countersign/seal/admission"
	"countersign/seal/rejection"
	"countersign/seal/sandbox"
	"countersign/test/kit/sealkit"
)

// TestMain runs the test binary as the validating process of Admit if requested.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "validate-pdf" {
		os.Exit(sandbox.Serve(context.Background(), os.Stdin, os.Stdout, admission.Tasks()))
	}
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	// Use -rapid.checks=1000 to try more.
	for name, value := range map[string]string{"rapid.checks": "20", "rapid.nofailfile": "true"} {
		if !given[name] {
			_ = flag.Set(name, value) // both flags are defined
		}
	}
	os.Exit(m.Run())
}

func isolated(t *testing.T) admission.Limits {
	t.Helper()
	lim := admission.DefaultLimits()
	lim.Validators = sandbox.New(os.Args[0], "validate-pdf")
	t.Cleanup(lim.Validators.Close)
	return lim
}

func TestAdmitRejects(t *testing.T) {
	t.Parallel()
	encrypted := func(args ...string) []byte {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "out.pdf")
		require.NoError(t, os.WriteFile(in, sealkit.SimplePDF(1), 0o600))
		msg, err := sealkit.Run(t, "qpdf", append(args, in, out)...)
		require.NoError(t, err, msg)
		b, err := os.ReadFile(out)
		require.NoError(t, err)
		return b
	}
	good := sealkit.SimplePDF(2)
	many := admission.DefaultLimits()
	many.MaxPages = 3
	few := admission.DefaultLimits()
	few.MaxObjects = 10
	tiny := admission.DefaultLimits()
	tiny.MaxBytes = 100
	tests := []struct {
		name string
		pdf  []byte
		lim  admission.Limits
		code string
	}{
		{"empty", nil, admission.Limits{}, rejection.NotAPDF},
		{"text", []byte("hello, world"), admission.Limits{}, rejection.NotAPDF},
		{"a picture", sealkit.SignaturePNG(t, 20, 20), admission.Limits{}, rejection.NotAPDF},
		{"cut off", good[:len(good)-300], admission.Limits{}, rejection.PDFTruncated},
		{"followed by other bytes", append(good[:len(good):len(good)], bytes.Repeat([]byte("padding "), 400)...), admission.Limits{}, rejection.PDFNeedsRepair},
		{"an update that is cut off", append(good[:len(good):len(good)], []byte("10 0 obj\n<<"+strings.Repeat("/A 1", 400))...), admission.Limits{}, rejection.PDFTruncated},
		{"only a header", []byte("%PDF-1.7\n%%EOF\n"), admission.Limits{}, rejection.PDFNeedsRepair},
		{"bytes in front", append([]byte("HTTP/1.1 200 OK\r\n\r\n"), good...), admission.Limits{}, rejection.PDFNeedsRepair},
		{"shifted cross-reference table", bytes.Replace(good, []byte("startxref\n"), []byte("startxref\n1"), 1), admission.Limits{}, rejection.PDFNeedsRepair},
		{"lost object", bytes.Replace(good, []byte("\n10 0 obj"), []byte("\n99 0 obj"), 1), admission.Limits{}, rejection.PDFNeedsRepair},
		{"password", encrypted("--encrypt", "user", "owner", "256", "--"), admission.Limits{}, rejection.PDFEncrypted},
		{"restrictions", encrypted("--encrypt", "", "owner", "256", "--"), admission.Limits{}, rejection.PDFEncrypted},
		{"XFA", sealkit.ClassicPDF(sealkit.Layout{Catalog: "/AcroForm<</Fields[]/XFA[]>>", Pages: sealkit.LetterPage("")}), admission.Limits{}, rejection.PDFXFA},
		{"XFA beside fields", sealkit.ClassicPDF(sealkit.Layout{
			Catalog: "/AcroForm<</Fields[1000 0 R]/XFA[]>>", Pages: sealkit.LetterPage(""), Objects: []string{"<</FT/Tx/T(a)>>"},
		}), admission.Limits{}, rejection.PDFXFA},
		{"JavaScript at opening", sealkit.ClassicPDF(sealkit.Layout{
			Catalog: "/OpenAction<</S/JavaScript/JS(app.alert(1))>>", Pages: sealkit.LetterPage(""),
		}), admission.Limits{}, rejection.PDFJavaScript},
		{"JavaScript, written in another way", sealkit.ClassicPDF(sealkit.Layout{
			Catalog: "/OpenAction 1000 0 R", Pages: sealkit.LetterPage(""), Objects: []string{"<</S 1001 0 R/JS(x)>>", "/Java#53cript"},
		}), admission.Limits{}, rejection.PDFJavaScript},
		{"JavaScript of a form field", sealkit.ClassicPDF(sealkit.Layout{
			Catalog: "/AcroForm<</Fields[1000 0 R]>>", Pages: sealkit.LetterPage("/Annots[1000 0 R]"),
			Objects: []string{"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/Rect[0 0 9 9]/AA<</K<</S/JavaScript/JS(AFNumber_Keystroke\\(2\\))>>>>>>"},
		}), admission.Limits{}, rejection.PDFJavaScript},
		{"page that is its own tree", []byte(strings.Replace(string(sealkit.SimplePDF(1)), "/Type/Pages/Kids", "/Type/Page /Kids", 1)), admission.Limits{}, rejection.PDFNeedsRepair},
		{"form that is the catalog", sealkit.ClassicPDF(sealkit.Layout{Catalog: "/AcroForm 1 0 R", Pages: sealkit.LetterPage("")}), admission.Limits{}, rejection.PDFNeedsRepair},
		{"launch action", sealkit.ClassicPDF(sealkit.Layout{
			Pages:   sealkit.LetterPage("/Annots[1000 0 R]"),
			Objects: []string{"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/Launch/F(cmd.exe)>>>>"},
		}), admission.Limits{}, rejection.PDFLaunch},
		{"too many pages", sealkit.SimplePDF(4), many, rejection.PDFTooManyPages},
		{"too many objects", sealkit.SimplePDF(9), few, rejection.PDFTooComplex},
		{"too many bytes", good, tiny, rejection.PDFTooLarge},
		{"no pages", sealkit.ClassicPDF(sealkit.Layout{}), admission.Limits{}, rejection.PDFNoPages},
		{"page tree in a circle", bytes.Replace(sealkit.SimplePDF(1), []byte("/Kids[10 0 R]"), []byte("/Kids[2 0 R] "), 1), admission.Limits{}, rejection.PDFNeedsRepair},
		{"nested without end", sealkit.ClassicPDF(sealkit.Layout{Pages: sealkit.LetterPage("/X " + strings.Repeat("[", 500) + strings.Repeat("]", 500))}), admission.Limits{}, rejection.PDFNeedsRepair},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.lim.MaxBytes == 0 {
				tt.lim = admission.DefaultLimits()
			}
			_, err := admission.Admit(t.Context(), bytes.NewReader(tt.pdf), int64(len(tt.pdf)), tt.lim)
			var rejected *rejection.Error
			require.ErrorAs(t, err, &rejected)
			require.Equal(t, tt.code, rejected.Code, rejected.Message)
			require.NotEmpty(t, rejected.Message)
		})
	}
}

// locked returns a file that has an owner password and can be opened without a password.
func locked(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "out.pdf")
	require.NoError(t, os.WriteFile(in, sealkit.SimplePDF(2), 0o600))
	msg, err := sealkit.Run(t, "qpdf", "--encrypt", "", "owner", "256", "--", in, out)
	require.NoError(t, err, msg)
	b, err := os.ReadFile(out)
	require.NoError(t, err)
	return b
}

// upload admits a file with the default options.
func upload(t *testing.T, b []byte, lim admission.Limits) (admission.Info, error) {
	t.Helper()
	info, _, err := admission.AdmitUpload(t.Context(), admission.Upload{File: bytes.NewReader(b), Size: int64(len(b)), SHA256: sha256.Sum256(b)}, lim, prepare.Options{})
	return info, err
}

func TestAdmitIsolated(t *testing.T) {
	t.Parallel()
	b := locked(t)
	info, err := upload(t, b, isolated(t))
	require.NoError(t, err)
	require.Len(t, info.Pages, 2)

	lim := isolated(t)
	lim.MaxMemory = 1 << 20 // less memory than the process needs to start
	_, err = upload(t, b, lim)
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Contains(t, rejected.Message, "too much memory")

	lim = isolated(t)
	lim.Validators = sandbox.New("/nonexistent/validator")
	_, err = upload(t, b, lim)
	require.Error(t, err)
	require.NotErrorAs(t, err, &rejected, "an internal error must not be reported as a rejection")
}

// TestValidatorsAreKept checks that a process validates one file after another, and that a process that exits is
// replaced.
func TestValidatorsAreKept(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	validators := sandbox.New("/bin/sh", "-c", `echo $$ >> "$0"; exec "$1" validate-pdf`, starts, os.Args[0])
	t.Cleanup(validators.Close)
	lim := admission.DefaultLimits()
	lim.Validators = validators
	started := func() []string { // returns the process IDs
		b, err := os.ReadFile(starts)
		require.NoError(t, err)
		return strings.Fields(string(b))
	}
	b := locked(t)
	for range 3 {
		_, err := upload(t, b, lim)
		require.NoError(t, err)
	}
	require.Len(t, started(), 1)

	// Kill the idle process. No caller must be affected.
	var pid int
	_, err := fmt.Sscan(started()[0], &pid)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	_, err = upload(t, b, lim)
	require.NoError(t, err)
	require.Len(t, started(), 2)
}

// TestAdmit_CPULimit_ExcludesWaiting checks that the limit applies to the CPU time used to validate a file, and not to
// the time during which the file waits.
func TestAdmit_CPULimit_ExcludesWaiting(t *testing.T) {
	t.Parallel()
	b := locked(t)
	admit := func(script string) error {
		lim := admission.DefaultLimits()
		lim.Timeout = 3 * time.Second
		lim.Validators = sandbox.New("/bin/sh", "-c", script+`; exec "$0" validate-pdf`, os.Args[0])
		t.Cleanup(lim.Validators.Close)
		_, err := upload(t, b, lim)
		return err
	}
	require.NoError(t, admit("sleep 4"))
	require.ErrorContains(t, admit("export COUNTERSIGN_ADMIT_CPU=1ns"), "too long")
}

// TestAdmitOldVersionNumber checks that a file with version number 1.2 may contain a transparency state.
func TestAdmitOldVersionNumber(t *testing.T) {
	t.Parallel()
	b := sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]/Contents null/Resources<</ExtGState<</G<</LW 2/ca 0.5>>>>>>"}}})
	b = bytes.Replace(b, []byte("%PDF-1.4"), []byte("%PDF-1.2"), 1)
	_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
	require.NoError(t, err)
}

// bomb returns a PDF with an object stream that inflates to n bytes.
func bomb(t *testing.T, n int) []byte {
	t.Helper()
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, err := w.Write([]byte("6 0 <<>> "))
	require.NoError(t, err)
	blank := make([]byte, 1<<20)
	for range n >> 20 {
		_, err := w.Write(blank)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	b := sealkit.HybridPDF()
	i := bytes.Index(b, []byte("5 0 obj"))
	j := bytes.Index(b[i:], []byte("endobj"))
	stream := fmt.Sprintf("5 0 obj\n<</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream\n", z.Len(), z.String())
	shift := len(stream) - j
	out := append(append(bytes.Clone(b[:i]), stream...), b[i+j:]...)
	return shiftOffsets(out, i, shift)
}

// shiftOffsets corrects the offsets in a file from HybridPDF after its size has changed.
func shiftOffsets(b []byte, from, by int) []byte {
	at := bytes.LastIndex(b, []byte("xref\n0 8"))
	self := bytes.Index(b, []byte("7 0 obj"))
	entry := fmt.Appendf(nil, "%010d", self-by)
	b = bytes.Replace(b, entry, fmt.Appendf(nil, "%010d", self), 1)
	b = bytes.Replace(b, fmt.Appendf(nil, "/XRefStm %d", self-by), fmt.Appendf(nil, "/XRefStm %d", self), 1)
	i := bytes.LastIndex(b, []byte("startxref"))
	_ = from
	return fmt.Appendf(b[:i], "startxref\n%d\n%%%%EOF\n", at)
}

func TestBombs(t *testing.T) {
	t.Parallel()
	b := bomb(t, 128<<20)
	require.Less(t, len(b), 1<<20)
	_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), isolated(t))
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.PDFTooComplex, rejected.Code, rejected.Message)
}

// TestInheritedResources checks that inherited resources of any size are written only once, although each page is
// rewritten.
func TestInheritedResources(t *testing.T) {
	t.Parallel()
	const large = 100 << 10
	original := sealkit.ClassicPDF(sealkit.Layout{
		Pages: make([]sealkit.Page, 300), Tree: "/MediaBox[0 0 612 792]/Resources<</Properties<</P<</Large(" + strings.Repeat("x", large) + ")>>>>>>",
	})
	_, b := sealkit.Sealed(t, sealkit.NewFixture(t).Sealer(t), sealkit.Job(t, original))
	require.Less(t, len(b)-len(original), 5*large, "the page tree, the shared objects, and the modified page")
}

// manyFields returns a file whose pages share one list of form fields. If a value overlaps the fields, each of them is
// rewritten, which adds 3 MB per page.
func manyFields(pages int) []byte {
	l := sealkit.Layout{Objects: []string{
		"[" + strings.Repeat("1001 0 R ", 20_000) + "]", "<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/F 4/Rect[0 0 600 700]/AP<</N 1002 0 R>>>>",
		"<</Subtype/Form/BBox[0 0 9 9]/Length 0>>\nstream\n\nendstream",
	}}
	for range pages {
		l.Pages = append(l.Pages, sealkit.LetterPage("/Annots 1000 0 R")[0])
	}
	return sealkit.ClassicPDF(l)
}

// TestAddedIsBounded checks that a file is rejected, both at upload and at sealing, if more than 32 MB would be added,
// because the added bytes are held in memory.
func TestAddedIsBounded(t *testing.T) {
	t.Parallel()
	large := manyFields(15) // 45 MB
	require.Less(t, len(large), 1<<20)
	_, err := admission.Admit(t.Context(), bytes.NewReader(large), int64(len(large)), admission.DefaultLimits())
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
	require.Equal(t, rejection.PDFTooComplex, rejected.Code)

	out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	larger := manyFields(60) // 130 MB
	j := sealkit.Job(t, larger)
	for n := range 60 {
		v := j.Values[1]
		v.FieldID, v.Page = fmt.Sprint(n), n+1
		j.Values = append(j.Values, v)
	}
	_, err = sealkit.NewFixture(t).Sealer(t).Seal(t.Context(), out, j)
	require.ErrorIs(t, err, pdf.ErrLimit)

	_, b := sealkit.Sealed(t, sealkit.NewFixture(t).Sealer(t), sealkit.Job(t, manyFields(2)))
	require.Greater(t, len(b), 2<<20, "a page of the file is sealed")
}

func TestCheckText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "Ada Lovelace", "Þórður Ærøskøbing", "Ελληνικά", "Кириллица", "עברית", "العربية", "देवनागरी", "中文", "日本語かな", "한국어", "ภาษาไทย",
		"Հայերեն", "ქართული", "বাংলা", "தமிழ்", "አማርኛ", "🎉 𠮷", "two\nlines", "€ ½ № → ✓",
	} {
		require.NoError(t, seal.CheckText(s), s)
	}
	for s, want := range map[string]string{
		"a \U00030000": "U+30000", "bell \a": "U+0007", "reversed \u202Eabc": "U+202E", "\xff": "Unicode", "\uE000": "U+E000",
	} {
		var rejected *rejection.Error
		require.ErrorAs(t, seal.CheckText(s), &rejected)
		require.Equal(t, rejection.GlyphMissing, rejected.Code)
		require.Contains(t, rejected.Message, want)
	}
	require.Error(t, seal.CheckText(strings.Repeat("a", 4001)))
}
