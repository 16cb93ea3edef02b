package appearance

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/tetratelabs/wazero/api"
)

// Text is the extracted text of a page, for screen readers, selection and search.
type Text struct {
	Page int `json:"page"`
	// Width and Height are the size of the displayed page, in points.
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	// Words is in logical order, including in right-to-left scripts.
	Words []Word `json:"words"`
	// Headings lists the headings of a tagged PDF by their lines, in the order of Words.
	Headings []Heading `json:"headings,omitempty"`
	// Truncated reports whether the page has more text than Words contains.
	Truncated bool `json:"truncated,omitempty"`
}

// Word is a run of characters without white space, in logical order.
type Word struct {
	Text string `json:"text"`
	// X and Y are the upper left corner of the word's axis-aligned bounding box, in points from the upper left corner
	// of the displayed page. W and H are the box's size.
	X float64 `json:"x"`
	Y float64 `json:"y"`
	W float64 `json:"w"`
	H float64 `json:"h"`
	// Angle is the writing direction on the displayed page, in degrees clockwise, from 0 to less than 360.
	Angle float64 `json:"angle,omitempty"`
	// Line is the number of the line on the page, starting at 1.
	Line int `json:"line"`

	heading int // number of the word's heading, starting at 1; 0 if there is none
}

// maxCharacters is the maximum number of characters read from a page.
const maxCharacters = 200_000

// Encode returns the text as JSON, and its SHA-256 hash.
func (t *Text) Encode() ([]byte, Hash, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return nil, Hash{}, fmt.Errorf("appearance: encode text: %w", err)
	}
	return b, sha256.Sum256(b), nil
}

// Text returns the text of a page by its number, starting at 1.
func (d *Document) Text(number int) (*Text, error) {
	t := &Text{Page: number, Words: []Word{}}
	err := d.characters(number, func(r *textReader) {
		w := wordBuilder{text: t, headings: r.headings()}
		t.Width, t.Height, t.Truncated = round(r.width), round(r.height), r.truncated
		for line := range r.lines() {
			w.broken = true
			for _, c := range r.logical(line) {
				w.add(c)
			}
		}
		w.end()
		w.headings.add(t)
	})
	return t, err
}

// characters calls its callback with a reader of a page's characters.
func (d *Document) characters(number int, read func(*textReader)) error {
	page, closePage, err := d.page(number)
	if err != nil {
		return err
	}
	defer closePage()
	r := &textReader{d: d, page: page, scratch: uint32(d.call("malloc", 64)), text: d.call("FPDFText_LoadPage", page)} //nolint:gosec // a 32-bit address
	r.width, r.height = d.size(page, number)
	if r.scratch == 0 || r.text == 0 {
		return d.fault(ErrMemory)
	}
	r.count = int(int32(d.call("FPDFText_CountChars", r.text))) //nolint:gosec // an int
	if r.count > maxCharacters {
		r.count, r.truncated = maxCharacters, true
	}
	r.display(page)
	read(r)
	d.call("FPDFText_ClosePage", r.text)
	return d.fault(nil)
}

// textReader reads the characters of a page.
type textReader struct {
	d             *Document
	page, text    uint64
	scratch       uint32 // address, in the instance's memory, for results
	count         int
	truncated     bool
	width, height float64
	matrix        [6]float64 // from user space to the displayed page, in points, y downward
}

// displaySize is the size of the page, in the integer device units to which PDFium maps points.
const displaySize = 1 << 20

// display derives the page's matrix from the device coordinates to which PDFium maps three points.
func (r *textReader) display(page uint64) {
	place := func(x, y float64) (float64, float64) {
		at := uint64(r.scratch)
		r.d.call("FPDF_PageToDevice", page, 0, 0, displaySize, displaySize, 0, api.EncodeF64(x), api.EncodeF64(y), at, at+4)
		m := r.d.module.Memory()
		dx, _ := m.ReadUint32Le(r.scratch)
		dy, _ := m.ReadUint32Le(r.scratch + 4)
		return float64(int32(dx)) * r.width / displaySize, float64(int32(dy)) * r.height / displaySize //nolint:gosec // ints
	}
	const far = 1000
	x0, y0 := place(0, 0)
	x1, y1 := place(far, 0)
	x2, y2 := place(0, far)
	r.matrix = [6]float64{(x1 - x0) / far, (y1 - y0) / far, (x2 - x0) / far, (y2 - y0) / far, x0, y0}
}

type character struct {
	code           rune
	x0, y0, x1, y1 float64 // axis-aligned box on the displayed page
	size           float64 // font size in points; set by logical
	index          uint64  // position in PDFium's text
	angle          float64 // writing direction in degrees, clockwise
	divides        bool    // whether it is a hyphen that divides a word at the end of a line
}

// lineHyphen is PDFium's code for the hyphen of a word divided at the end of a line.
const lineHyphen = 2

// code returns the code point of a character, and whether it is a hyphen that divides a word at the end of a line.
func (r *textReader) code(index uint64) (code rune, divides bool) {
	code = rune(uint32(r.d.call("FPDFText_GetUnicode", r.text, index))) //nolint:gosec // 32 bits
	if code == lineHyphen && r.d.call("FPDFText_IsHyphen", r.text, index) == 1 {
		return '-', true
	}
	return code, false
}

func (r *textReader) at(i int) (c character) {
	index := uint64(i) //nolint:gosec // not negative
	c.index = index
	c.code, c.divides = r.code(index)
	if unicode.IsSpace(c.code) {
		return c
	}
	if r.d.call("FPDFText_GetLooseCharBox", r.text, index, uint64(r.scratch)) != 0 {
		left, top, right, bottom := r.float(0), r.float(1), r.float(2), r.float(3)
		ax, ay := r.apply(left, top)
		bx, by := r.apply(right, bottom)
		c.x0, c.y0, c.x1, c.y1 = min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)
	}
	if r.d.call("FPDFText_GetMatrix", r.text, index, uint64(r.scratch)) != 0 {
		a, b := r.float(0), r.float(1)
		dx := float64(r.matrix[0]*a) + float64(r.matrix[2]*b)
		dy := float64(r.matrix[1]*a) + float64(r.matrix[3]*b)
		c.size = math.Hypot(dx, dy)
		c.angle = math.Round(math.Atan2(dy, dx)*1800/math.Pi) / 10
		if c.angle = math.Mod(c.angle+360, 360); c.angle == 360 {
			c.angle = 0
		}
	}
	return c
}

// lines returns the characters of a page, divided into lines by PDFium.
func (r *textReader) lines() iter.Seq[[]character] {
	return func(yield func([]character) bool) {
		var line []character
		for i := range r.count {
			c := r.at(i)
			switch n := len(line); {
			case c.code == '\n' || c.code == '\r':
			case n > 0 && utf16.IsSurrogate(line[n-1].code) && utf16.IsSurrogate(c.code):
				line[n-1].code = utf16.DecodeRune(line[n-1].code, c.code)
			default:
				line = append(line, c)
			}
			if ends := c.divides || c.code == '\n' || c.code == '\r'; ends && len(line) > 0 {
				if !yield(line) {
					return
				}
				line = line[:0]
			}
		}
		if len(line) > 0 {
			yield(line)
		}
	}
}

func (r *textReader) float(i uint32) float64 {
	f, _ := r.d.module.Memory().ReadFloat32Le(r.scratch + 4*i)
	return float64(f)
}

// apply maps a point to the displayed page. The conversions prevent fused multiply-add operations, which would round
// differently.
func (r *textReader) apply(x, y float64) (float64, float64) {
	m := r.matrix
	return float64(m[0]*x) + float64(m[2]*y) + m[4], float64(m[1]*x) + float64(m[3]*y) + m[5]
}

// wordBuilder joins characters into words.
type wordBuilder struct {
	text     *Text
	headings *headings
	word     []character
	box      character
	last     character
	line     int // number of completed lines
	// broken reports whether PDFium reported the end of a line. For rotated text and vertical writing, PDFium reports
	// one after each character.
	broken bool
	turned bool // whether the word contains characters from several of PDFium's lines
}

// Relations of a character to the previous one.
const (
	apart = iota
	onLine
	joins
)

// resume starts the new line reported by PDFium, unless the character continues the current line or word.
func (w *wordBuilder) resume(c character) {
	w.broken = false
	how := apart
	if w.last.code != 0 {
		how = w.last.before(c, w.box)
	}
	if how != joins {
		w.end()
	}
	w.turned = how == joins && c.angle != 0
	if n := len(w.text.Words); n > 0 && how == apart {
		w.line = w.text.Words[n-1].Line
	}
}

// before returns the relation of b to the preceding character a, in rotated text or vertical writing. The argument word
// is the bounding box of the current word.
func (a character) before(b, word character) int {
	if a.angle != b.angle {
		return apart
	}
	width, height := max(a.x1-a.x0, b.x1-b.x0), max(a.y1-a.y0, b.y1-b.y0)
	if a.angle == 0 {
		aside, gap := math.Abs(a.x0+a.x1-b.x0-b.x1)/2, b.y0-a.y1
		if isStacked(a.code) && isStacked(b.code) && word.x1-word.x0 < 1.5*width && aside < 0.4*width && gap > -0.3*height && gap < 0.9*height {
			return joins
		}
		return apart
	}
	sin, cos := math.Sincos(a.angle * math.Pi / 180)
	dx, dy := (b.x0+b.x1-a.x0-a.x1)/2, (b.y0+b.y1-a.y0-a.y1)/2
	along, across := float64(dx*cos)+float64(dy*sin), math.Abs(float64(dx*sin)-float64(dy*cos))
	// Along the line, the distance between adjacent centers is half the combined size of the two characters.
	reach := (a.extent(sin, cos) + b.extent(sin, cos)) / 2
	size := max(a.extent(cos, sin), b.extent(cos, sin))
	switch gap := along - reach; {
	case across > size/2 || along < 0 || gap > size:
		return apart
	case gap > 0.15*size:
		return onLine
	}
	return joins
}

// extent returns the length of a character's box along a direction.
func (a character) extent(sin, cos float64) float64 {
	return math.Abs((a.x1-a.x0)*cos) + math.Abs((a.y1-a.y0)*sin)
}

// isStacked reports whether a character belongs to a script that can be written vertically.
func isStacked(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) || r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF || r == 0x30FC
}

func (w *wordBuilder) add(c character) {
	if unicode.IsSpace(c.code) || c.code == 0 {
		w.end()
		return
	}
	if w.broken {
		w.resume(c)
	}
	w.last = c
	if len(w.word) > 0 && c.angle != w.box.angle {
		w.end()
	}
	if len(w.word) == 0 {
		w.box = c
	} else {
		b := &w.box
		b.x0, b.y0, b.x1, b.y1 = min(b.x0, c.x0), min(b.y0, c.y0), max(b.x1, c.x1), max(b.y1, c.y1)
	}
	w.word = append(w.word, c)
}

func (w *wordBuilder) end() {
	if len(w.word) == 0 {
		return
	}
	b := w.box
	if w.turned && hasRightToLeft(w.word) { // PDFium returned each character as a line
		w.word = logicalOrder(w.word)
	}
	w.turned = false
	var text strings.Builder
	for _, c := range w.word {
		text.WriteRune(c.code)
	}
	w.text.Words = append(w.text.Words, Word{
		Text: strings.ToValidUTF8(text.String(), "\uFFFD"), X: round(b.x0), Y: round(b.y0), W: round(b.x1 - b.x0), H: round(b.y1 - b.y0),
		Angle: b.angle, Line: w.line + 1, heading: w.headings.of(w.word[0]),
	})
	w.word = w.word[:0]
}

// round rounds to hundredths of a point.
func round(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	if v = math.Round(v*100) / 100; v == 0 {
		return 0 // not -0
	}
	return v
}
