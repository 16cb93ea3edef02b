package pagetext

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/pdfcpu/pdfcpu/pkg/font"
	"golang.org/x/text/encoding/charmap"

	"countersign/pdf"
)

// face contains the properties of a font that are needed to read text (9.5).
type face struct {
	composite bool
	vertical  bool
	toUnicode *cmap
	encoding  *cmap      // embedded encoding of a composite font, if any
	named     predefined // predefined encoding otherwise
	cid       map[int]float64
	cidRanges []widthRange
	cidWidth  float64    // default width (DW)
	down      [2]float64 // DW2, position and advance
	table     *table     // encoding of a simple font
	widths    [256]float64
	matrix    pdf.Matrix // from glyph space to text space
	ascent    float64
	descent   float64
	simple    [256]*codeInfo       // cache of codes of a simple font
	codes     map[uint32]*codeInfo // cache of codes of a composite font, at most maxCMap
}

type widthRange struct {
	lo, hi int
	width  float64
}

// codeInfo is the normalized text and the width of a code.
type codeInfo struct {
	text  string
	brace bool // whether the text contains a brace or bracket
	width float64
}

// readFont reads a font dictionary. For missing or invalid values, it uses the same defaults as PDF readers. It returns
// an error only if the file cannot be read.
func readFont(f *pdf.File, d pdf.Dict) (*face, error) {
	a := &face{matrix: pdf.Matrix{0.001, 0, 0, 0.001, 0, 0}, ascent: 0.9, descent: -0.25, codes: make(map[uint32]*codeInfo)}
	if o, ok := stream(f, d.Get("ToUnicode")); ok {
		if b, err := f.StreamData(o); err == nil {
			a.toUnicode = parseCMap(b)
		}
	}
	if d.Get("Subtype").IsName("Type0") {
		return a, a.readComposite(f, d)
	}
	return a, a.readSimple(f, d)
}

// stream returns the stream that v refers to.
func stream(f *pdf.File, v pdf.Value) (pdf.Object, bool) {
	ref, ok := v.Ref()
	if !ok {
		return pdf.Object{}, false
	}
	o, err := f.Object(ref)
	return o, err == nil && o.IsStream()
}

// dict resolves v and returns it as a dictionary, or nil if it is not a dictionary.
func dict(f *pdf.File, v pdf.Value) pdf.Dict {
	v, err := f.Resolve(v)
	if err != nil || !v.IsDict() {
		return nil
	}
	d, err := v.Dict()
	if err != nil {
		return nil
	}
	return d
}

func array(f *pdf.File, v pdf.Value) []pdf.Value {
	a, err := f.Array(v)
	if err != nil {
		return nil
	}
	return a
}

func num(f *pdf.File, v pdf.Value) (float64, bool) {
	v, err := f.Resolve(v)
	if err != nil {
		return 0, false
	}
	return decimal(v)
}

// readMetrics reads the ascent and descent from a font descriptor (9.8).
func (a *face) readMetrics(f *pdf.File, descriptor pdf.Dict) {
	up, _ := num(f, descriptor.Get("Ascent"))
	down, _ := num(f, descriptor.Get("Descent"))
	if down > 0 { // some programs omit the sign
		down = -down
	}
	if up > 100 && up < 2500 {
		a.ascent = min(up/1000, 1.05)
	}
	if down < -10 && down > -1500 {
		a.descent = max(down/1000, -0.4)
	}
}

func (a *face) readSimple(f *pdf.File, d pdf.Dict) error {
	base, _ := d.Get("BaseFont").Name()
	if len(base) > 7 && base[6] == '+' {
		base = base[7:]
	}
	descriptor := dict(f, d.Get("FontDescriptor"))
	a.readMetrics(f, descriptor)
	if err := a.readEncoding(f, d, descriptor, base); err != nil {
		return err
	}
	if d.Get("Subtype").IsName("Type3") {
		a.matrix = matrix(f, d.Get("FontMatrix"), a.matrix)
		if b := array(f, d.Get("FontBBox")); len(b) == 4 {
			low, _ := num(f, b[1])
			high, _ := num(f, b[3])
			low, high = low*a.matrix[3], high*a.matrix[3]
			if high > low && high-low < 4 {
				a.ascent, a.descent = high, low
			}
		}
	}
	missing, _ := num(f, descriptor.Get("MissingWidth"))
	for i := range a.widths {
		a.widths[i] = missing
	}
	widths := array(f, d.Get("Widths"))
	first, _ := num(f, d.Get("FirstChar"))
	if widths == nil {
		a.coreWidths(base)
	}
	for i, v := range widths {
		if code := int(first) + i; code >= 0 && code < 256 {
			a.widths[code], _ = num(f, v)
		}
	}
	return nil
}

// coreWidths uses the widths of one of the 14 standard fonts (9.6.2.2).
func (a *face) coreWidths(base string) {
	if !font.IsCoreFont(base) {
		name := strings.ToLower(base)
		style := ""
		if strings.Contains(name, "bold") {
			style = "Bold"
		}
		if strings.Contains(name, "italic") || strings.Contains(name, "oblique") {
			style += "Oblique"
		}
		base = strings.TrimSuffix("Helvetica-"+style, "-")
	}
	for i, text := range a.table {
		r, _ := utf8.DecodeRuneInString(text)
		code, ok := charmap.Windows1252.EncodeRune(r)
		if text == "" || !ok && base != "Symbol" && base != "ZapfDingbats" {
			continue
		}
		if base == "Symbol" || base == "ZapfDingbats" {
			code = byte(i)
		}
		if w, err := font.CharWidth(base, rune(code)); err == nil {
			a.widths[i] = float64(w)
		}
	}
}

// readEncoding determines the Unicode text of every code (9.6.5, 9.10.2).
func (a *face) readEncoding(f *pdf.File, d, descriptor pdf.Dict, base string) error {
	var t table
	flags, _ := num(f, descriptor.Get("Flags"))
	symbolic := int(flags)&4 != 0
	switch {
	case base == "Symbol":
		t = *symbolEncoding()
	case d.Get("Subtype").IsName("TrueType"):
		t = *winAnsiEncoding()
	case d.Get("Subtype").IsName("Type3"):
	default:
		t = *standardEncoding()
	}
	encoding, err := f.Resolve(d.Get("Encoding"))
	if err != nil {
		return err
	}
	if name, ok := encoding.Name(); ok {
		if b := baseEncoding(name); b != nil && (!symbolic || base != "Symbol") {
			t = *b
		}
	} else if o, ok := stream(f, descriptor.Get("FontFile")); ok {
		builtIn(f, o, &t)
	}
	if encoding.IsDict() {
		e := dict(f, encoding)
		if name, ok := e.Get("BaseEncoding").Name(); ok {
			if b := baseEncoding(name); b != nil {
				t = *b
			}
		}
		code := 0
		for _, v := range array(f, e.Get("Differences")) {
			if n, ok := v.Int(); ok {
				code = int(max(0, min(n, 256)))
			} else if name, ok := v.Name(); ok && code < 256 {
				t[code], _ = nameText(name)
				code++
			}
		}
	}
	a.table = &t
	return nil
}

// builtIn reads the encoding of a Type 1 font program, such as "dup 65 /A put" in its unencrypted portion.
func builtIn(f *pdf.File, o pdf.Object, t *table) {
	b, err := f.StreamData(o)
	if err != nil {
		return
	}
	if i := bytes.Index(b, []byte("eexec")); i > 0 {
		b = b[:i]
	}
	i := bytes.Index(b, []byte("/Encoding"))
	if i < 0 {
		return
	}
	b = b[i+len("/Encoding"):]
	if bytes.HasPrefix(bytes.TrimLeft(b, " "), []byte("StandardEncoding")) {
		return
	}
	if end := bytes.Index(b, []byte("readonly")); end >= 0 {
		b = b[:end]
	}
	*t = table{}
	words := bytes.Fields(bytes.ReplaceAll(b, []byte("/"), []byte(" /")))
	for i := 0; i+2 < len(words); i++ {
		if string(words[i]) != "dup" || words[i+2][0] != '/' {
			continue
		}
		if n, ok := decimal(words[i+1]); ok && n >= 0 && n < 256 {
			t[int(n)], _ = nameText(string(words[i+2][1:]))
		}
	}
}

// width returns the advance of a code in text space.
func (a *face) width(code []byte) float64 {
	if !a.composite {
		return a.widths[code[0]] * a.matrix[0]
	}
	n := int(number(code))
	switch {
	case a.encoding != nil:
		n = a.encoding.cid(number(code))
	case a.named.identity:
	default: // CIDs of a character collection, where one-byte codes are half as wide as two-byte codes
		if len(code) == 1 {
			return 0.5
		}
		return a.cidWidth / 1000
	}
	if w, ok := a.cid[n]; ok {
		return w / 1000
	}
	for _, r := range a.cidRanges {
		if n >= r.lo && n <= r.hi {
			return r.width / 1000
		}
	}
	return a.cidWidth / 1000
}

// code returns the code at the start of b and its length. The slice b must not be empty.
func (a *face) code(b []byte) (int, *codeInfo) {
	if !a.composite {
		c := a.simple[b[0]]
		if c == nil {
			c = a.info(b[:1])
			a.simple[b[0]] = c
		}
		return 1, c
	}
	var n int
	if a.encoding != nil {
		n = a.encoding.next(b)
	} else {
		n = a.named.next(b)
	}
	key := number(b[:n]) | uint32(n)<<29 //nolint:gosec // at most 4
	c := a.codes[key]
	if c == nil {
		c = a.info(b[:n])
		if len(a.codes) < maxCMap {
			a.codes[key] = c
		}
	}
	return n, c
}

func (a *face) info(code []byte) *codeInfo {
	text, known := a.lookup(code)
	c := &codeInfo{text: normal(text), width: a.width(code)}
	if !known {
		c.text = "\uFFFD"
	}
	c.brace = containsBrace(c.text)
	return c
}

func (a *face) lookup(code []byte) (string, bool) {
	if a.toUnicode != nil {
		if t, ok := a.toUnicode.text(number(code)); ok && t != "" && t != "\x00" && t != "\uFFFD" {
			return t, true
		}
	}
	if !a.composite {
		t := a.table[code[0]]
		return t, t != ""
	}
	if a.encoding == nil {
		return a.named.text(code)
	}
	return "", false
}
