// Package fonts contains the bundled fonts and reads their glyphs. README.md documents their sources and licenses.
package fonts

import (
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

//go:embed *.ttf
var files embed.FS

// Font is one bundled TrueType font. Its methods are safe for concurrent use.
type Font struct {
	Name string // PostScript name, for BaseFont in a PDF

	file   io.ReaderAt
	shape  *font.Font // for shaping, without outlines
	tables map[string]tableRange

	unitsPerEm int
	longLoca   bool
	numGlyphs  int
	numHMetric int
	bbox       [4]int
	ascent     int
	descent    int
	capHeight  int
}

type tableRange struct{ offset, length int64 }

// Set contains the bundled fonts. Each font is read on first use.
type Set struct {
	Sans, Bold, Mono *Lazy
	fallback         []*Lazy
}

// Lazy is a font that is read on first use.
type Lazy struct {
	name string
	once sync.Once
	font *Font
	err  error
}

// Font returns the font.
func (l *Lazy) Font() (*Font, error) {
	l.once.Do(func() {
		if l.font, l.err = open(l.name); l.err != nil {
			l.err = fmt.Errorf("fonts: %s: %w", l.name, l.err)
		}
	})
	return l.font, l.err
}

// Bundled returns the bundled fonts. Fallback fonts are in order of preference.
func Bundled() *Set {
	s := &Set{Sans: &Lazy{name: "NotoSans-Regular"}, Bold: &Lazy{name: "NotoSans-Bold"}, Mono: &Lazy{name: "NotoMono-Regular"}}
	s.fallback = append(s.fallback, s.Sans)
	for _, script := range []string{
		"Arabic", "Hebrew", "Devanagari", "Bengali", "Gujarati", "Gurmukhi", "Kannada", "Malayalam", "Sinhala", "Tamil",
		"Telugu", "Khmer", "Lao", "Myanmar", "Thai", "Armenian", "Georgian", "Ethiopic", "Math", "Symbols2",
	} {
		s.fallback = append(s.fallback, &Lazy{name: "NotoSans" + script + "-Regular"})
	}
	s.fallback = append(s.fallback, &Lazy{name: "CountersignHangul-Regular"}, &Lazy{name: "DroidSansFallback"},
		&Lazy{name: "Symbola"}, &Lazy{name: "CountersignHanB-Regular"})
	return s
}

// Find returns the first font that contains a glyph for r, starting with preferred. It returns nil if no font contains
// one.
func (s *Set) Find(preferred *Font, r rune) (*Font, error) {
	if preferred.Has(r) {
		return preferred, nil
	}
	for _, l := range s.fallback {
		if !l.mayHave(r) {
			continue
		}
		f, err := l.Font()
		if err != nil {
			return nil, err
		}
		if f.Has(r) {
			return f, nil
		}
	}
	return nil, nil //nolint:nilnil // nil is a valid result
}

// mayHave reports whether the font might contain a character. It does not read the font.
func (l *Lazy) mayHave(r rune) bool {
	switch l.name {
	case "DroidSansFallback", "NotoSansSymbols2-Regular", "NotoSansMath-Regular", "NotoSans-Regular":
		return true
	case "CountersignHangul-Regular":
		return r >= 0x1100
	case "Symbola":
		return r >= 0x20E3
	case "CountersignHanB-Regular":
		return r >= 0x20000
	}
	return r < 0x3000 || r >= 0xA000
}

// Has reports whether the font contains a glyph for r.
func (f *Font) Has(r rune) bool {
	g, ok := f.shape.NominalGlyph(r)
	return ok && g != 0
}

// Face returns a view of the font for use by a single shaper. It is not safe for concurrent use.
func (f *Font) Face() *font.Face { return font.NewFace(f.shape) }

// UnitsPerEm returns the number of font units per em.
func (f *Font) UnitsPerEm() int { return f.unitsPerEm }

// Metrics contains the metrics of a font, in thousandths of an em.
type Metrics struct {
	Ascent, Descent, CapHeight int // Descent is negative
	BBox                       [4]int
}

// Metrics returns the metrics required for a font descriptor.
func (f *Font) Metrics() Metrics {
	m := Metrics{Ascent: f.thousandths(f.ascent), Descent: f.thousandths(f.descent), CapHeight: f.thousandths(f.capHeight)}
	for i, n := range f.bbox {
		m.BBox[i] = f.thousandths(n)
	}
	return m
}

func (f *Font) thousandths(n int) int { return n * 1000 / f.unitsPerEm }

func open(name string) (*Font, error) {
	file, err := files.Open(name + ".ttf")
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	at, ok := file.(io.ReaderAt)
	if !ok {
		return nil, errors.New("does not support random access")
	}
	f := &Font{Name: name, file: at, tables: map[string]tableRange{}}
	header := make([]byte, 12)
	if _, err := at.ReadAt(header, 0); err != nil {
		return nil, err
	}
	header = make([]byte, 12+16*int(binary.BigEndian.Uint16(header[4:])))
	if _, err := at.ReadAt(header, 0); err != nil {
		return nil, err
	}
	for d := header[12:]; len(d) >= 16; d = d[16:] {
		f.tables[string(d[:4])] = tableRange{int64(binary.BigEndian.Uint32(d[8:])), int64(binary.BigEndian.Uint32(d[12:]))}
		if t := string(d[:4]); t == "glyf" || t == "loca" {
			// Hide outlines from the shaper, which does not need them, because parsing them takes up tens of megabytes.
			d[0] = 'x'
		}
	}
	ld, err := opentype.NewLoader(io.NewSectionReader(&overlay{at, header}, 0, info.Size()))
	if err != nil {
		return nil, err
	}
	if f.shape, err = font.NewFont(ld); err != nil {
		return nil, err
	}
	return f, f.readMetrics()
}

// overlay replaces the beginning of a file.
type overlay struct {
	io.ReaderAt
	head []byte
}

func (o *overlay) ReadAt(b []byte, off int64) (int, error) {
	n, err := o.ReaderAt.ReadAt(b, off)
	if off < int64(len(o.head)) {
		copy(b[:n], o.head[off:])
	}
	return n, err
}

func (f *Font) readMetrics() error {
	head, err1 := f.table("head", 54)
	hhea, err2 := f.table("hhea", 36)
	maxp, err3 := f.table("maxp", 6)
	os2, err4 := f.table("OS/2", 78)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	i16 := func(b []byte) int { return int(int16(binary.BigEndian.Uint16(b))) } //nolint:gosec // a signed field
	f.unitsPerEm = int(binary.BigEndian.Uint16(head[18:]))
	for i := range f.bbox {
		f.bbox[i] = i16(head[36+2*i:])
	}
	f.longLoca = binary.BigEndian.Uint16(head[50:]) == 1
	f.ascent, f.descent = i16(hhea[4:]), i16(hhea[6:])
	f.numHMetric = int(binary.BigEndian.Uint16(hhea[34:]))
	f.numGlyphs = int(binary.BigEndian.Uint16(maxp[4:]))
	f.capHeight = f.unitsPerEm * 7 / 10
	if binary.BigEndian.Uint16(os2) >= 2 && len(os2) >= 90 && i16(os2[88:]) > 0 {
		f.capHeight = i16(os2[88:])
	}
	if f.unitsPerEm == 0 || f.numHMetric == 0 {
		return errors.New("invalid metrics")
	}
	return nil
}

// table returns a table. It fails if the table is shorter than the given minimum, in bytes.
func (f *Font) table(tag string, least int64) ([]byte, error) {
	t := f.tables[tag]
	if t.length < least {
		return nil, fmt.Errorf("missing table %s", tag)
	}
	b := make([]byte, t.length)
	_, err := f.file.ReadAt(b, t.offset)
	return b, err
}
