package appearance_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/appearance"
)

// childArgument makes the test program run as a rendering process. The next argument is the directory of the compiled
// module.
const childArgument = "render-pages"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childArgument {
		e, err := appearance.NewEngine(context.Background(), appearance.EngineOptions{CacheDir: os.Args[2]})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(appearance.Serve(context.Background(), e, os.Stdin, os.Stdout))
	}
	if len(os.Args) > 2 && os.Args[1] == hashArgument {
		if err := printHashes(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// hashArgument makes the test program print the hashes of the pinned pages and exit.
const hashArgument = "print-hashes"

func printHashes(dir string) error {
	e, err := appearance.NewEngine(context.Background(), appearance.EngineOptions{CacheDir: dir})
	if err != nil {
		return err
	}
	form, err := os.ReadFile(filepath.Join("..", "testdata", "form.pdf"))
	if err != nil {
		return err
	}
	for _, b := range [][]byte{form, scanPage(300), textPage()} {
		for _, level := range appearance.Levels {
			d, err := e.Open(context.Background(), bytes.NewReader(b), int64(len(b)))
			if err != nil {
				return err
			}
			p, err := d.Render(1, level)
			if err != nil {
				return err
			}
			fmt.Printf("%x\n", p.Hash())
			if err := d.Close(); err != nil {
				return err
			}
		}
	}
	return e.Close(context.Background())
}

// cacheDir returns the directory that stores the compiled module between test runs.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = filepath.Join(os.TempDir(), fmt.Sprint("countersign-", os.Getuid()))
	}
	return filepath.Join(dir, "countersign", "renderer")
}

// engine returns an engine that is compiled once for all tests.
var engine = sync.OnceValues(func() (*appearance.Engine, error) {
	return appearance.NewEngine(context.Background(), appearance.EngineOptions{CacheDir: cacheDir()})
})

func open(t testing.TB, b []byte) *appearance.Document {
	t.Helper()
	e, err := engine()
	require.NoError(t, err)
	return openIn(t, e, b)
}

func openIn(t testing.TB, e *appearance.Engine, b []byte) *appearance.Document {
	t.Helper()
	d, err := e.Open(t.Context(), bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// pdf returns a PDF with one page. Its arguments are the content of the page, page entries in addition to Contents, and
// further objects, whose numbers start at 5.
func pdf(content, page string, objects ...string) []byte {
	return catalogPDF("/AcroForm<</Fields[]/DA(/Helv 0 Tf)>>", content, page, objects...)
}

// catalogPDF is like pdf, but with the given catalog entries in addition to Pages.
func catalogPDF(catalog, content, page string, objects ...string) []byte {
	all := append([]string{
		"<</Type/Catalog/Pages 2 0 R" + catalog + ">>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/Contents 4 0 R " + page + ">>", stream("", content),
	}, objects...)
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var table strings.Builder
	for i, o := range all {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(all)+1, table.String(), len(all)+1, at)
	return b.Bytes()
}

func stream(dict, data string) string {
	return fmt.Sprintf("<<%s/Length %d>>stream\n%s\nendstream", dict, len(data), data)
}

const letter = "/MediaBox[0 0 612 792]"

// fontList returns resources with n fonts, whose object numbers start at 5.
func fontList(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "/F%d %d 0 R", i+1, i+5)
	}
	return "/Resources<</Font<<" + s.String() + ">>>>"
}

const helvetica = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"

// cid returns a font for an East Asian script. The font is not embedded.
func cid(encoding, ordering string) string {
	return "<</Type/Font/Subtype/Type0/BaseFont/Any/Encoding/" + encoding + "/DescendantFonts[<</Type/Font/Subtype/CIDFontType0/BaseFont/Any/CIDSystemInfo<</Registry(Adobe)/Ordering(" +
		ordering + ")/Supplement 2>>/DW 1000/FontDescriptor<</Type/FontDescriptor/FontName/Any/Flags 4/FontBBox[0 -200 1000 900]/ItalicAngle 0/Ascent 880/Descent -120/CapHeight 700/StemV 80>>>>]>>"
}

// textPage returns a page of text in Latin and four East Asian scripts.
func textPage() []byte {
	var c strings.Builder
	c.WriteString("BT /F1 10 Tf 12 TL 50 740 Td ")
	for i := range 40 {
		fmt.Fprintf(&c, "(%d. The tenant pays the rent of 1,%03d euros on the first day of each month.) ' ", i+1, i)
	}
	c.WriteString("/F2 16 Tf 20 TL <4e2d6587> ' /F3 16 Tf <3042304430a230a4> ' /F4 16 Tf <d55cae00> ' ET BT /F5 16 Tf 500 200 Td <65e5672c8a9e> Tj ET")
	return pdf(c.String(), letter+fontList(5), helvetica, cid("UniGB-UCS2-H", "GB1"), cid("UniJIS-UCS2-H", "Japan1"), cid("UniKS-UCS2-H", "Korea1"), cid("UniJIS-UCS2-V", "Japan1"))
}

// scanPage returns a page with one square picture of the given side length in pixels.
func scanPage(side int) []byte {
	row := bytes.Repeat([]byte{0x00, 0x80, 0xFF}, side)
	data := string(bytes.Repeat(row, side))
	return pdf("q 612 0 0 792 0 0 cm /I Do Q", letter+"/Resources<</XObject<</I 5 0 R>>>>",
		stream(fmt.Sprintf("/Type/XObject/Subtype/Image/Width %d/Height %d/BitsPerComponent 8/ColorSpace/DeviceRGB", side, side), data))
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	require.NoError(t, err)
	return b
}
