package browser_test

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// printed returns the PDF to which Chromium prints an HTML page.
func printed(t *testing.T, html string) []byte {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, 2*waitTimeout)
	defer stop()
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("data:text/html;charset=utf-8;base64,"+base64.StdEncoding.EncodeToString([]byte("<!doctype html><meta charset=utf-8>"+html)))))
	b := &tab{t: t, ctx: ctx}
	made := call(b, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: new(true), PrintBackground: new(true)})
	return made.Data
}

// filed writes a file for the test, and returns its path.
func filed(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

const sheetStyle = `<style>@page { size: 595pt 842pt; margin: 60pt } body { font: 11pt/1.5 serif; margin: 0 } h1 { font-size: 18pt }
	.break { break-after: page } table { border-collapse: collapse; width: 100% } td { border: 1px solid #000; height: 26pt; padding: 2pt 4pt; font-size: 8pt }
	.line { display: inline-block; width: 200pt; border-bottom: 1px solid #000 } .box { display: inline-block; width: 11pt; height: 11pt; border: 1px solid #000; vertical-align: middle }
	.comb i { display: inline-block; width: 15pt; height: 18pt; border: 1px solid #000; margin-left: -1px; vertical-align: middle }</style>`

func contract(t *testing.T, pages int) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteString(sheetStyle)
	for i := 1; i <= pages; i++ {
		fmt.Fprintf(&b, `<div class="break"><h1>Supply contract, part %d</h1>`, i)
		for j := 1; j <= 6; j++ {
			fmt.Fprintf(&b, "<p>%d.%d The supplier delivers the goods of this part in working order within four weeks of the order, and bears their risk until they are unloaded at the place that the buyer has named.</p>", i, j)
		}
		b.WriteString("<p>Initials of the parties:</p></div>")
	}
	return printed(t, b.String())
}

const declaration = `<h1>Income declaration</h1>
	<table><tr><td>Family name</td><td style="width:160pt"></td></tr><tr><td>Street and number</td><td></td></tr></table>
	<p class="comb">Tax number: <i></i><i></i><i></i><i></i><i></i><i></i><i></i><i></i></p>
	<p><span class="box"></span> I have income from abroad</p><p><span class="box"></span> I keep books</p>
	<table><tr><td style="width:50%;vertical-align:top;height:36pt;font-size:7pt">1 Wages</td><td style="vertical-align:top;height:36pt;font-size:7pt">2 Interest</td></tr></table>
	<p style="margin-top:60pt">Signature: <span class="line"></span></p><p>Place and date: ____________________</p>`

// taxForm returns a form with captioned boxes, checkboxes, a row of boxes for a number, and lines to write on.
func taxForm(t *testing.T) []byte {
	t.Helper()
	return printed(t, sheetStyle+declaration)
}

// turned returns the tax form, rotated as scanners and office programs rotate pages: it is drawn sideways, and an entry
// in the page dictionary rotates it.
func turned(t *testing.T) []byte {
	t.Helper()
	lying := strings.Replace(sheetStyle, "595pt 842pt; margin: 60pt", "842pt 595pt; margin: 0", 1)
	return rotated(t, printed(t, lying+`<div style="position:absolute;left:0;top:0;width:475pt;transform-origin:0 0;transform:translate(782pt,60pt) rotate(90deg)">`+declaration+`</div>`), "+270")
}

// rightToLeft returns a lease in Arabic and Hebrew.
func rightToLeft(t *testing.T) []byte {
	t.Helper()
	return printed(t, sheetStyle+`<div dir="rtl" style="font-family:'Noto Sans Arabic','Noto Naskh Arabic','Noto Sans Hebrew','Noto Sans',sans-serif"><h1>عقد إيجار</h1>
		<p>يؤجر المالك للمستأجر الورشة في الطابق الأرضي لمدة ثلاث سنوات.</p><p>הצדדים קראו את החוזה ומסכימים לו.</p>
		<p style="margin-top:50pt">التوقيع: <span class="line"></span></p><p style="margin-top:40pt">חתימה: <span class="line"></span></p></div>`)
}

// landscape returns a document with a table on landscape pages.
func landscape(t *testing.T) []byte {
	t.Helper()
	return printed(t, strings.Replace(sheetStyle, "595pt 842pt", "842pt 595pt", 1)+`<h1>Schedule of works</h1><table><tr><td>Roof</td><td>June</td></tr><tr><td>Floor</td><td>July</td></tr></table>
		<p style="margin-top:60pt">Name: <span class="line"></span> Signature: <span class="line"></span></p>`)
}

// rotated rotates the pages of a file in the same way as scanners and office programs.
func rotated(t *testing.T, file []byte, angle string) []byte {
	t.Helper()
	from, to := filed(t, "upright.pdf", file), filepath.Join(t.TempDir(), "rotated.pdf")
	out, err := exec.CommandContext(t.Context(), "qpdf", from, to, "--rotate="+angle).CombinedOutput()
	require.NoError(t, err, "%s", out)
	turned, err := os.ReadFile(to)
	require.NoError(t, err)
	return turned
}

// scanned returns the first page of a file as an image, without text or lines.
func scanned(t *testing.T, file []byte) []byte {
	t.Helper()
	stem := filepath.Join(t.TempDir(), "scan")
	out, err := exec.CommandContext(t.Context(), "pdftoppm", "-r", "100", "-f", "1", "-l", "1", "-singlefile", "-gray", "-jpeg", filed(t, "paper.pdf", file), stem).CombinedOutput()
	require.NoError(t, err, "%s", out)
	picture, err := os.ReadFile(stem + ".jpg")
	require.NoError(t, err)
	return pdfOf(leaf{picture: picture})
}

// word is a word in a file and its position as reported by Poppler, in points from the upper left corner of the
// displayed page.
type word struct {
	XMin float64 `xml:"xMin,attr"`
	YMin float64 `xml:"yMin,attr"`
	XMax float64 `xml:"xMax,attr"`
	YMax float64 `xml:"yMax,attr"`
	Text string  `xml:",chardata"`
	Page int     `xml:"-"`
}

func wordsOf(t *testing.T, file []byte) []word {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-bbox", "-cropbox", filed(t, "sealed.pdf", file), "-").Output()
	require.NoError(t, err)
	var doc struct {
		Pages []struct {
			Words []word `xml:"word"`
		} `xml:"body>doc>page"`
	}
	decoder := xml.NewDecoder(strings.NewReader(string(out)))
	decoder.Strict, decoder.Entity, decoder.AutoClose = false, xml.HTMLEntity, []string{"meta"}
	require.NoError(t, decoder.Decode(&doc))
	var words []word
	for i, p := range doc.Pages {
		for _, w := range p.Words {
			w.Page = i + 1
			words = append(words, w)
		}
	}
	return words
}
