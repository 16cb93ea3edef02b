package seal_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/pdf"
)

// TestMain lets the test binary be the validating process of Admit.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "validate-pdf" {
		os.Exit(seal.RunValidator(context.Background(), os.Stdin, os.Stdout))
	}
	if len(os.Args) > 1 && os.Args[1] == "measure-validator" {
		os.Exit(measureValidator())
	}
	os.Exit(m.Run())
}

// measureValidator runs the validating process and writes on standard error how
// many KiB it had resident. Linux counts to a process what its parent held when
// it was started: here that is little, in the middle of all tests it is not.
func measureValidator() int {
	cmd := exec.CommandContext(context.Background(), os.Args[0], "validate-pdf")
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	_ = cmd.Run() // its exit code says it
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		_, _ = fmt.Fprint(os.Stderr, usage.Maxrss)
	}
	return cmd.ProcessState.ExitCode()
}

func isolated(t *testing.T) seal.Limits {
	t.Helper()
	lim := seal.DefaultLimits()
	lim.Validators = seal.NewValidators(os.Args[0], "validate-pdf")
	t.Cleanup(lim.Validators.Close)
	return lim
}

func letterPage(extra string) []page {
	return []page{{extra: "/MediaBox[0 0 612 792]" + ownResources + extra}}
}

func TestAdmitRefuses(t *testing.T) {
	t.Parallel()
	encrypted := func(args ...string) []byte {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "out.pdf")
		require.NoError(t, os.WriteFile(in, simplePDF(1), 0o600))
		msg, err := run(t, "qpdf", append(args, in, out)...)
		require.NoError(t, err, msg)
		b, err := os.ReadFile(out)
		require.NoError(t, err)
		return b
	}
	good := simplePDF(2)
	many := seal.DefaultLimits()
	many.MaxPages = 3
	few := seal.DefaultLimits()
	few.MaxObjects = 10
	tiny := seal.DefaultLimits()
	tiny.MaxBytes = 100
	tests := []struct {
		name string
		pdf  []byte
		lim  seal.Limits
		code string
	}{
		{"empty", nil, seal.Limits{}, seal.NotAPDF},
		{"text", []byte("hello, world"), seal.Limits{}, seal.NotAPDF},
		{"a picture", scrawl(t, 20, 20), seal.Limits{}, seal.NotAPDF},
		{"cut off", good[:len(good)-300], seal.Limits{}, seal.PDFTruncated},
		{"only a header", []byte("%PDF-1.7\n%%EOF\n"), seal.Limits{}, seal.PDFNeedsRepair},
		{"bytes in front", append([]byte("HTTP/1.1 200 OK\r\n\r\n"), good...), seal.Limits{}, seal.PDFNeedsRepair},
		{"shifted cross-reference table", bytes.Replace(good, []byte("startxref\n"), []byte("startxref\n1"), 1), seal.Limits{}, seal.PDFNeedsRepair},
		{"lost object", bytes.Replace(good, []byte("\n10 0 obj"), []byte("\n99 0 obj"), 1), seal.Limits{}, seal.PDFNeedsRepair},
		{"password", encrypted("--encrypt", "user", "owner", "256", "--"), seal.Limits{}, seal.PDFEncrypted},
		{"restrictions", encrypted("--encrypt", "", "owner", "256", "--"), seal.Limits{}, seal.PDFEncrypted},
		{"XFA", classicPDF(layout{catalog: "/AcroForm<</Fields[]/XFA[]>>", pages: letterPage("")}), seal.Limits{}, seal.PDFXFA},
		{"JavaScript at opening", classicPDF(layout{
			catalog: "/OpenAction<</S/JavaScript/JS(app.alert(1))>>", pages: letterPage(""),
		}), seal.Limits{}, seal.PDFJavaScript},
		{"JavaScript, written in another way", classicPDF(layout{
			catalog: "/OpenAction 1000 0 R", pages: letterPage(""), objects: []string{"<</S 1001 0 R/JS(x)>>", "/Java#53cript"},
		}), seal.Limits{}, seal.PDFJavaScript},
		{"JavaScript of a form field", classicPDF(layout{
			catalog: "/AcroForm<</Fields[1000 0 R]>>", pages: letterPage("/Annots[1000 0 R]"),
			objects: []string{"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/Rect[0 0 9 9]/AA<</K<</S/JavaScript/JS(AFNumber_Keystroke\\(2\\))>>>>>>"},
		}), seal.Limits{}, seal.PDFJavaScript},
		{"page that is its own tree", []byte(strings.Replace(string(simplePDF(1)), "/Type/Pages/Kids", "/Type/Page /Kids", 1)), seal.Limits{}, seal.PDFNeedsRepair},
		{"form that is the catalog", classicPDF(layout{catalog: "/AcroForm 1 0 R", pages: letterPage("")}), seal.Limits{}, seal.PDFNeedsRepair},
		{"launch action", classicPDF(layout{
			pages:   letterPage("/Annots[1000 0 R]"),
			objects: []string{"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/Launch/F(cmd.exe)>>>>"},
		}), seal.Limits{}, seal.PDFLaunch},
		{"too many pages", simplePDF(4), many, seal.PDFTooManyPages},
		{"too many objects", simplePDF(9), few, seal.PDFTooComplex},
		{"too many bytes", good, tiny, seal.PDFTooLarge},
		{"no pages", classicPDF(layout{}), seal.Limits{}, seal.PDFNoPages},
		{"page tree in a circle", bytes.Replace(simplePDF(1), []byte("/Kids[10 0 R]"), []byte("/Kids[2 0 R] "), 1), seal.Limits{}, seal.PDFNeedsRepair},
		{"nested without end", classicPDF(layout{pages: letterPage("/X " + strings.Repeat("[", 500) + strings.Repeat("]", 500))}), seal.Limits{}, seal.PDFNeedsRepair},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.lim.MaxBytes == 0 {
				tt.lim = seal.DefaultLimits()
			}
			_, err := seal.Admit(t.Context(), bytes.NewReader(tt.pdf), int64(len(tt.pdf)), tt.lim)
			var refusal *seal.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, tt.code, refusal.Code, refusal.Message)
			require.NotEmpty(t, refusal.Message)
		})
	}
}

func TestAdmitIsolated(t *testing.T) {
	t.Parallel()
	good := simplePDF(2)
	info, err := seal.Admit(t.Context(), bytes.NewReader(good), int64(len(good)), isolated(t))
	require.NoError(t, err)
	require.Equal(t, []seal.PageSize{{Width: 612, Height: 792}, {Width: 612, Height: 792}}, info.Pages)

	bad := classicPDF(layout{catalog: "/ViewerPreferences 5", pages: letterPage("")})
	info, err = seal.Admit(t.Context(), bytes.NewReader(bad), int64(len(bad)), isolated(t))
	require.NoError(t, err, "the validator advises, our own reader decides")
	require.Contains(t, objection(info), "does not follow the standard")

	lim := isolated(t)
	lim.MaxMemory = 1 << 20 // less than the process needs to start
	info, err = seal.Admit(t.Context(), bytes.NewReader(good), int64(len(good)), lim)
	require.NoError(t, err)
	require.Contains(t, objection(info), "too much memory")

	lim = isolated(t)
	lim.Validators = seal.NewValidators("/nonexistent/validator")
	_, err = seal.Admit(t.Context(), bytes.NewReader(good), int64(len(good)), lim)
	require.Error(t, err)
	var refusal *seal.Refusal
	require.NotErrorAs(t, err, &refusal, "the service's own fault is no refusal")
}

// objection returns what the validator says about a file.
func objection(info seal.Info) string {
	for _, w := range info.Warnings {
		if w.Code == seal.WarnStandard {
			return w.Detail
		}
	}
	return ""
}

// TestValidatorsAreKept: a process examines file after file; one that dies is
// replaced.
func TestValidatorsAreKept(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	validators := seal.NewValidators("/bin/sh", "-c", `echo $$ >> "$0"; exec "$1" validate-pdf`, starts, os.Args[0])
	t.Cleanup(validators.Close)
	lim := seal.DefaultLimits()
	lim.Validators = validators
	started := func() []string { // their process ids
		b, err := os.ReadFile(starts)
		require.NoError(t, err)
		return strings.Fields(string(b))
	}
	good := simplePDF(2)
	bad := classicPDF(layout{catalog: "/ViewerPreferences 5", pages: letterPage("")})
	for range 3 {
		_, err := seal.Admit(t.Context(), bytes.NewReader(good), int64(len(good)), lim)
		require.NoError(t, err)
		info, err := seal.Admit(t.Context(), bytes.NewReader(bad), int64(len(bad)), lim)
		require.NoError(t, err)
		require.NotEmpty(t, objection(info))
	}
	require.Len(t, started(), 1)

	// The process that waits is ended from outside: nobody notices.
	var pid int
	_, err := fmt.Sscan(started()[0], &pid)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	_, err = seal.Admit(t.Context(), bytes.NewReader(good), int64(len(good)), lim)
	require.NoError(t, err)
	require.Len(t, started(), 2)
}

// TestTimeOfTheProcessor: a file is judged by the time that examining it takes
// of the processors, not by how long it has to wait for them.
func TestTimeOfTheProcessor(t *testing.T) {
	t.Parallel()
	good := simplePDF(2)
	admit := func(script string) string {
		lim := seal.DefaultLimits()
		lim.Timeout = 3 * time.Second
		lim.Validators = seal.NewValidators("/bin/sh", "-c", script+`; exec "$0" validate-pdf`, os.Args[0])
		t.Cleanup(lim.Validators.Close)
		info, err := seal.Admit(t.Context(), bytes.NewReader(good), int64(len(good)), lim)
		require.NoError(t, err)
		return objection(info)
	}
	require.Empty(t, admit("sleep 4"))
	require.Contains(t, admit("export COUNTERSIGN_ADMIT_CPU=1ns"), "too long")
}

// TestAdmitOldVersionNumber: a transparency state under the number 1.2.
func TestAdmitOldVersionNumber(t *testing.T) {
	t.Parallel()
	b := classicPDF(layout{pages: []page{{extra: "/MediaBox[0 0 612 792]/Contents null/Resources<</ExtGState<</G<</LW 2/ca 0.5>>>>>>"}}})
	b = bytes.Replace(b, []byte("%PDF-1.4"), []byte("%PDF-1.2"), 1)
	_, err := seal.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), seal.DefaultLimits())
	require.NoError(t, err)
}

// bomb is a PDF whose object stream inflates to n bytes.
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
	b := hybridPDF()
	i := bytes.Index(b, []byte("5 0 obj"))
	j := bytes.Index(b[i:], []byte("endobj"))
	stream := fmt.Sprintf("5 0 obj\n<</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream\n", z.Len(), z.String())
	shift := len(stream) - j
	out := append(append(bytes.Clone(b[:i]), stream...), b[i+j:]...)
	return shiftOffsets(out, i, shift)
}

// shiftOffsets corrects the offsets of hybridPDF after a change of size.
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
	_, err := seal.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), isolated(t))
	var refusal *seal.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, seal.PDFTooComplex, refusal.Code, refusal.Message)

	// The validator alone, in a process that may use 96 MB.
	var out, resident bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], "measure-validator")
	cmd.Env = []string{"COUNTERSIGN_ADMIT_MEMORY=100663296"}
	size := binary.BigEndian.AppendUint64([]byte{'v'}, uint64(len(b)))
	cmd.Stdin, cmd.Stdout = io.MultiReader(bytes.NewReader(size), bytes.NewReader(b)), &out
	cmd.Stderr = &resident
	if err := cmd.Run(); err != nil { // it may end itself
		require.Equal(t, 3, cmd.ProcessState.ExitCode())
	}
	if !raceDetector {
		kib, err := strconv.Atoi(resident.String())
		require.NoError(t, err)
		require.Less(t, kib, 160<<10, "KiB resident")
	}
}

// TestInheritedResources: each page is written anew, but what all inherit is
// written once, however large.
func TestInheritedResources(t *testing.T) {
	t.Parallel()
	const large = 100 << 10
	original := classicPDF(layout{
		pages: make([]page, 300), tree: "/MediaBox[0 0 612 792]/Resources<</Properties<</P<</Large(" + strings.Repeat("x", large) + ")>>>>>>",
	})
	_, b := sealed(t, newKeys(t).sealer(t), job(t, original))
	require.Less(t, len(b)-len(original), 5*large, "the tree, what the pages share, and the page that is drawn on")
}

// manyContents has pages that share one array of content streams. Each of them
// has to be written anew with all of it: 140 KB a page.
func manyContents(pages int) []byte {
	l := layout{objects: []string{"[" + strings.Repeat("11 0 R ", 20_000) + "]"}}
	for range pages {
		l.pages = append(l.pages, letterPage("/Contents 1000 0 R")[0])
	}
	return classicPDF(l)
}

// TestAddedIsBounded: what is added is made in memory, so that more than 32 MB
// are refused, at the upload and when sealing.
func TestAddedIsBounded(t *testing.T) {
	t.Parallel()
	large := manyContents(250) // 35 MB
	require.Less(t, len(large), 1<<20)
	_, err := seal.Admit(t.Context(), bytes.NewReader(large), int64(len(large)), seal.DefaultLimits())
	var refusal *seal.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, seal.PDFTooComplex, refusal.Code)

	out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	_, err = newKeys(t).sealer(t).Seal(t.Context(), out, job(t, large))
	require.ErrorIs(t, err, pdf.ErrLimit)

	_, b := sealed(t, newKeys(t).sealer(t), job(t, manyContents(20)))
	require.Greater(t, len(b), 2<<20, "a tenth of it is sealed")
}

func TestCheckPNG(t *testing.T) {
	t.Parallel()
	var huge bytes.Buffer
	require.NoError(t, png.Encode(&huge, image.NewGray(image.Rect(0, 0, 8000, 8000))))
	claims := bytes.Clone(scrawl(t, 10, 10))
	copy(claims[16:24], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // 65536 × 65536
	var blank bytes.Buffer
	require.NoError(t, png.Encode(&blank, image.NewNRGBA(image.Rect(0, 0, 10, 10))))
	for name, tt := range map[string]struct {
		b    []byte
		code string
	}{
		"no picture":     {[]byte("GIF89a"), seal.PNGInvalid},
		"empty":          {nil, seal.PNGInvalid},
		"cut off":        {scrawl(t, 100, 50)[:200], seal.PNGInvalid},
		"too many":       {huge.Bytes(), seal.PNGTooLarge},
		"wrong claim":    {claims, seal.PNGInvalid},
		"too many bytes": {make([]byte, 3<<20), seal.PNGTooLarge},
		"nothing on it":  {blank.Bytes(), seal.PNGInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := seal.CheckPNG(tt.b)
			var refusal *seal.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, tt.code, refusal.Code)
		})
	}
	out, err := seal.CheckPNG(scrawl(t, 600, 160))
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(out))
	require.NoError(t, err)
	_, _, _, a := img.At(0, 0).RGBA()
	require.Zero(t, a, "transparency is kept")
	out, err = seal.CheckPNG(scrawl(t, 3000, 1500))
	require.NoError(t, err)
	cfg, err := png.DecodeConfig(bytes.NewReader(out))
	require.NoError(t, err)
	require.LessOrEqual(t, cfg.Width*cfg.Height, 1<<20)
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
		var refusal *seal.Refusal
		require.ErrorAs(t, seal.CheckText(s), &refusal)
		require.Equal(t, seal.GlyphMissing, refusal.Code)
		require.Contains(t, refusal.Message, want)
	}
	require.Error(t, seal.CheckText(strings.Repeat("a", 4001)))
}
