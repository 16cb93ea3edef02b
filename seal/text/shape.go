// Package text lays out text. It selects fonts, shapes glyphs, breaks lines, and embeds font subsets in a PDF, so that
// the text can be searched and copied.
package text

import (
	"cmp"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/go-text/typesetting/bidi"
	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/language"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"

	"countersign/seal/fonts"
)

// Style selects the preferred font.
type Style int

// Values of Style.
const (
	Sans Style = iota
	Bold
	Mono
)

// MissingGlyphError reports a character that no font can draw.
type MissingGlyphError struct{ Rune rune }

// Error identifies the character by its code point, because the character might not be displayable.
func (e *MissingGlyphError) Error() string {
	return fmt.Sprintf("no font can draw the character U+%04X", e.Rune)
}

// Glyph is one glyph of a run. Dimensions are in thousandths of an em.
type Glyph struct {
	ID      uint16
	Advance float64
	DX, DY  float64
	Text    string // its text; empty except for the first glyph of a cluster
}

// Run is a sequence of glyphs of one font, from left to right.
type Run struct {
	Font   *fonts.Font
	Glyphs []Glyph
	Text   string // in logical order
	// Plain reports whether PDF readers can derive the run's text from the text of its glyphs: in order for
	// left-to-right scripts, and in reverse order for right-to-left scripts.
	Plain   bool
	Advance float64
	// Embolden reports whether bold text was requested but only a regular font is available. The text is then drawn
	// with a stroke around it.
	Embolden bool
}

// Line is one line of text, with its runs from left to right.
type Line struct {
	Runs  []Run
	Width float64 // in thousandths of an em
}

const em = 1000

// shaper contains the shaping state that cannot be shared between goroutines.
type shaper struct {
	set    *fonts.Set
	faces  map[*fonts.Font]*font.Face
	byFace map[*font.Face]*fonts.Font
	hb     shaping.HarfbuzzShaper
	seg    shaping.Segmenter
	wrap   shaping.LineWrapper
	bidi   bidi.Paragraph

	preferred *fonts.Font
	bold      bool
	last      *fonts.Font
	err       error
}

func (sh *shaper) face(f *fonts.Font) *font.Face {
	face, ok := sh.faces[f]
	if !ok {
		face = f.Face()
		sh.faces[f], sh.byFace[face] = face, f
	}
	return face
}

// ResolveFace implements shaping.Fontmap. Marks, spaces and punctuation use the font of the preceding letters if it
// contains them.
func (sh *shaper) ResolveFace(r rune) *font.Face {
	if sh.last != nil && !unicode.IsLetter(r) && !unicode.IsDigit(r) && (sh.last.Has(r) || ignorable(r)) {
		return sh.face(sh.last)
	}
	f, err := sh.set.Find(sh.preferred, r)
	if err != nil {
		sh.err = err
	}
	if f == nil {
		f = sh.preferred
	}
	sh.last = f
	return sh.face(f)
}

// fitting is like paragraph, but its lines never exceed the requested width. The wrapper can exceed the width by up to
// one character if fonts alternate. In that case, fitting retries with a smaller width.
func (sh *shaper) fitting(style Style, text []rune, width float64, limit int) (lines []Line, err error) {
	const tries, less = 4, em / 2
	for try := range tries {
		lines, err = sh.paragraph(style, text, width-float64(try*less), limit)
		if err != nil || width <= 0 || !slices.ContainsFunc(lines, func(l Line) bool { return l.Width > width }) {
			break
		}
	}
	return lines, err
}

func (sh *shaper) paragraph(style Style, text []rune, width float64, limit int) ([]Line, error) {
	if len(text) == 0 {
		return []Line{{}}, nil
	}
	lazy := map[Style]*fonts.Lazy{Sans: sh.set.Sans, Bold: sh.set.Bold, Mono: sh.set.Mono}[style]
	f, err := lazy.Font()
	if err != nil {
		return nil, err
	}
	sh.preferred, sh.bold, sh.last, sh.err = f, style == Bold, nil, nil
	in := shaping.Input{
		Text: text, RunEnd: len(text), Direction: direction(text), Face: sh.face(f),
		Size: fixed.I(em), Language: language.NewLanguage("en"), Script: language.Latin,
	}
	inputs := sh.seg.Split(in, sh)
	if sh.err != nil {
		return nil, sh.err
	}
	outs := make([]shaping.Output, len(inputs))
	for i, part := range inputs {
		outs[i] = sh.hb.ShapeNoExtents(part)
	}
	levels := sh.levels(text, in.Direction)
	config := shaping.WrapConfig{
		Direction: in.Direction, TruncateAfterLines: limit, BreakPolicy: shaping.WhenNecessary,
		// The shaper treats glyphs without extents as white space, and extents are not computed here.
		DisableTrailingWhitespaceTrim: true,
	}
	if limit > 0 {
		dots := in
		dots.Text, dots.RunEnd = []rune("…"), 1
		config.Truncator = sh.hb.ShapeNoExtents(dots)
	}
	most := fixed.Int26_6(1<<31 - 1)
	if width > 0 && width < 1e6 {
		most = fixed.Int26_6(width * 64)
	}
	wrapped, _ := sh.wrap.WrapParagraphF(config, most, text, shaping.NewSliceIterator(outs))
	lines := make([]Line, 0, len(wrapped))
	for _, w := range wrapped {
		line, err := sh.line(w, text, levels)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func (sh *shaper) line(w shaping.Line, text []rune, levels []bidi.Level) (Line, error) {
	parts := slices.Clone(w)
	slices.SortStableFunc(parts, func(a, b shaping.Output) int { return cmp.Compare(a.Runes.Offset, b.Runes.Offset) })
	reorder(parts, levels)
	var line Line
	for i := range parts {
		run, err := sh.run(&parts[i], text)
		if err != nil {
			return line, err
		}
		line.Width += run.Advance
		line.Runs = append(line.Runs, run)
	}
	return line, nil
}

func (sh *shaper) run(o *shaping.Output, text []rune) (Run, error) {
	from, to := o.Runes.Offset, o.Runes.Offset+o.Runes.Count
	// The ellipsis of truncated text is a separate run with its own text.
	cut := len(o.Glyphs) == 1 && o.Runes.Count != 1 && o.Glyphs[0].TextIndex() == 0 && o.Glyphs[0].RunesCount() == 1
	run := Run{Font: sh.byFace[o.Face], Plain: true}
	if run.Font == nil {
		return run, fmt.Errorf("text: a run without a font")
	}
	run.Embolden = sh.bold && run.Font != sh.preferred
	if cut {
		run.Text = "…"
	} else if from >= 0 && to <= len(text) {
		run.Text = string(text[from:to])
	}
	next, rtl := from, o.Direction == di.DirectionRTL
	for i, g := range o.Glyphs {
		if g.GlyphID == font.EmptyGlyph { // has a width but no shape
			if n := len(run.Glyphs); n > 0 {
				run.Glyphs[n-1].Advance += float64(g.Advance) / 64
				run.Advance += float64(g.Advance) / 64
			}
			next = max(next, g.TextIndex()+g.RunesCount())
			continue
		}
		out := Glyph{
			ID: uint16(g.GlyphID), Advance: float64(g.Advance) / 64, //nolint:gosec // TrueType glyphs are 16 bits
			DX: float64(g.XOffset) / 64, DY: float64(g.YOffset) / 64,
		}
		first := i == 0 || o.Glyphs[i-1].TextIndex() != g.TextIndex()
		start, count := g.TextIndex(), g.RunesCount()
		if cut {
			out.Text = "…"
		} else if first && start >= 0 && start+count <= len(text) {
			out.Text = string(text[start : start+count])
			run.Plain = run.Plain && (rtl || start == next)
			next = start + count
		}
		if g.GlyphID == 0 {
			r, _ := utf8.DecodeRuneInString(out.Text)
			return run, &MissingGlyphError{r}
		}
		run.Plain = run.Plain && (rtl || first)
		run.Advance += out.Advance
		run.Glyphs = append(run.Glyphs, out)
	}
	return run, nil
}
