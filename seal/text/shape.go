// Package text sets text: it finds fonts, shapes, breaks lines, and embeds
// subsets of the fonts into a PDF, so that text stays text.
package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// Style is the font that is tried first.
type Style int

// The styles.
const (
	Sans Style = iota
	Bold
	Mono
)

// MissingGlyphError names a character that no font can draw.
type MissingGlyphError struct{ Rune rune }

// Error names the character by its code point: it cannot be shown.
func (e *MissingGlyphError) Error() string {
	return fmt.Sprintf("no font can draw the character U+%04X", e.Rune)
}

// Glyph is one glyph of a run. Measures are in thousandths of an em.
type Glyph struct {
	ID      uint16
	Advance float64
	DX, DY  float64
	Text    string // what it stands for; empty for all but the first of a cluster
}

// Run is a sequence of glyphs of one font, from left to right.
type Run struct {
	Font   *fonts.Font
	Glyphs []Glyph
	Text   string // in logical order
	// Plain tells that a reader gets the run's text from the glyphs' own texts:
	// left to right, or, for right-to-left scripts, in reverse, as readers do.
	Plain   bool
	Advance float64
}

// Line is one line of text, its runs from left to right.
type Line struct {
	Runs  []Run
	Width float64 // in thousandths of an em
}

// Library sets text with the bundled fonts. It is safe for concurrent use.
type Library struct {
	set   *fonts.Set
	idle  chan *shaper
	mu    sync.Mutex
	known map[lineKey]Line
}

// NewLibrary returns a library of the given fonts.
func NewLibrary(set *fonts.Set) *Library {
	return &Library{set: set, known: map[lineKey]Line{}, idle: make(chan *shaper, maxIdle)}
}

// maxIdle is how many shapers are kept for the next text. One has some hundred
// kilobytes of caches, costly to build.
const maxIdle = 4

func (l *Library) acquire() *shaper {
	select {
	case sh := <-l.idle:
		return sh
	default:
		return &shaper{set: l.set, faces: map[*fonts.Font]*font.Face{}, byFace: map[*font.Face]*fonts.Font{}}
	}
}

func (l *Library) release(sh *shaper) {
	select {
	case l.idle <- sh:
	default:
	}
}

const em = 1000

// Check returns a *MissingGlyphError for the first character that cannot be drawn.
func (l *Library) Check(s string) error {
	sans, err := l.set.Sans.Font()
	if err != nil {
		return err
	}
	if !utf8.ValidString(s) {
		return &MissingGlyphError{utf8.RuneError}
	}
	for _, r := range s {
		if r == '\n' || r == '\t' || ignorable(r) {
			continue
		}
		if unseen(r) {
			return &MissingGlyphError{r}
		}
		f, err := l.set.Find(sans, r)
		if err != nil {
			return err
		}
		if f == nil {
			return &MissingGlyphError{r}
		}
	}
	return nil
}

// Replace returns s with each character that cannot be drawn written as its
// code point, so that nothing vanishes silently.
func (l *Library) Replace(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if l.Check(s) == nil {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if l.Check(string(r)) != nil {
			fmt.Fprintf(&b, "[U+%04X]", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unseen characters are refused even if a font has a glyph for them: controls,
// those of private use, and those that reorder what follows, because they can
// make a text look like another one.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Co) || unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Arabic, r)
}

// ignorable characters steer shaping and have no shape of their own.
func ignorable(r rune) bool {
	switch {
	case r == 0x200B || r == 0x200C || r == 0x200D || r == 0x00AD || r == 0x034F || r == 0x2060 || r == 0xFEFF || r == 0x200E || r == 0x200F:
		return true
	case r >= 0xFE00 && r <= 0xFE0F:
		return true
	}
	return false
}

// Line sets s on one line. The line must not be changed.
func (l *Library) Line(style Style, s string) (Line, error) {
	if line, ok := l.recall(style, s); ok {
		return line, nil
	}
	lines, err := l.Wrap(style, s, 0, 1)
	if err != nil || len(lines) == 0 {
		return Line{}, err
	}
	if len(s) <= maxKnown {
		l.mu.Lock()
		if len(l.known) >= mostKnown {
			clear(l.known)
		}
		l.known[lineKey{style, s}] = lines[0]
		l.mu.Unlock()
	}
	return lines[0], nil
}

func (l *Library) recall(style Style, s string) (Line, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, ok := l.known[lineKey{style, s}]
	return line, ok
}

// LineOf is Line of a text in which what cannot be drawn is written as code points.
func (l *Library) LineOf(style Style, s string) (Line, error) {
	if line, ok := l.recall(style, s); ok {
		return line, nil
	}
	return l.Line(style, l.Replace(s))
}

// WrapOf is Wrap of a text in which what cannot be drawn is written as code points.
func (l *Library) WrapOf(style Style, s string, width float64, limit int) ([]Line, error) {
	if len(s) <= maxKnown && !strings.Contains(s, "\n") {
		line, err := l.LineOf(style, s)
		if err != nil || line.Width <= width {
			return []Line{line}, err
		}
	}
	return l.Wrap(style, l.Replace(s), width, limit)
}

// Short lines are remembered: most of what a certificate says is the same in
// every document.
const (
	maxKnown  = 48 // bytes
	mostKnown = 512
)

type lineKey struct {
	style Style
	text  string
}

// Wrap sets s on lines of at most width thousandths of an em; 0 means any
// width. Line feeds break lines. With limit > 0 the text is cut after so many
// lines, visibly.
func (l *Library) Wrap(style Style, s string, width float64, limit int) ([]Line, error) {
	if err := l.Check(s); err != nil {
		return nil, err
	}
	sh := l.acquire()
	defer l.release(sh)
	var out []Line
	for para := range strings.SplitSeq(strings.ReplaceAll(s, "\t", " "), "\n") {
		left := 0
		if limit > 0 {
			if left = limit - len(out); left == 0 {
				break
			}
		}
		lines, err := sh.paragraph(style, []rune(para), width, left)
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
	}
	return out, nil
}

// shaper holds what shaping needs and must not share.
type shaper struct {
	set    *fonts.Set
	faces  map[*fonts.Font]*font.Face
	byFace map[*font.Face]*fonts.Font
	hb     shaping.HarfbuzzShaper
	seg    shaping.Segmenter
	wrap   shaping.LineWrapper
	bidi   bidi.Paragraph

	preferred *fonts.Font
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

// ResolveFace implements shaping.Fontmap: marks, spaces and punctuation stay
// with the font of the letters before them where it has them.
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

func (sh *shaper) paragraph(style Style, text []rune, width float64, limit int) ([]Line, error) {
	if len(text) == 0 {
		return []Line{{}}, nil
	}
	lazy := map[Style]*fonts.Lazy{Sans: sh.set.Sans, Bold: sh.set.Bold, Mono: sh.set.Mono}[style]
	f, err := lazy.Font()
	if err != nil {
		return nil, err
	}
	sh.preferred, sh.last, sh.err = f, nil, nil
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
		// It takes glyphs without extents for white space, and we ask for none.
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

// direction is that of the first strong character.
func direction(text []rune) di.Direction {
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana):
			return di.DirectionRTL
		case unicode.IsLetter(r):
			return di.DirectionLTR
		}
	}
	return di.DirectionLTR
}

// levels returns the embedding level of each character (UAX #9), with that of
// the paragraph at the end.
func (sh *shaper) levels(text []rune, d di.Direction) []bidi.Level {
	dir, base := bidi.LeftToRight, bidi.Level(0)
	if d == di.DirectionRTL {
		dir, base = bidi.RightToLeft, 1
	}
	levels := make([]bidi.Level, len(text)+1)
	levels[len(text)] = base
	runs := sh.bidi.Segment(text, dir)
	for i := range runs.NumRuns() {
		r := runs.Run(i)
		for k := r.Start; k < r.End; k++ {
			levels[k] = r.Level
		}
	}
	return levels
}

// reorder brings runs into the order in which they are seen (UAX #9, rule L2).
// The line breaker's own order looks at directions only and gets numbers
// within right-to-left text wrong.
func reorder(parts []shaping.Output, levels []bidi.Level) {
	level := func(i int) bidi.Level {
		at := parts[i].Runes.Offset
		if at < 0 || at >= len(levels) {
			at = len(levels) - 1
		}
		return levels[at]
	}
	order := make([]bidi.Level, len(parts))
	highest := bidi.Level(0)
	for i := range parts {
		order[i] = level(i)
		highest = max(highest, order[i])
	}
	for l := highest; l > 0; l-- {
		for i := 0; i < len(parts); i++ {
			j := i
			for j < len(parts) && order[j] >= l {
				j++
			}
			if j > i {
				slices.Reverse(parts[i:j])
				slices.Reverse(order[i:j])
				i = j
			}
		}
	}
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
	// The mark for cut-off text is a run of its own, with a text of its own.
	cut := len(o.Glyphs) == 1 && o.Runes.Count != 1 && o.Glyphs[0].TextIndex() == 0 && o.Glyphs[0].RunesCount() == 1
	run := Run{Font: sh.byFace[o.Face], Plain: true}
	if run.Font == nil {
		return run, fmt.Errorf("text: a run without a font")
	}
	if cut {
		run.Text = "…"
	} else if from >= 0 && to <= len(text) {
		run.Text = string(text[from:to])
	}
	next, rtl := from, o.Direction == di.DirectionRTL
	for i, g := range o.Glyphs {
		if g.GlyphID == font.EmptyGlyph { // takes room but has no shape
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
			r := utf8.RuneError
			for _, c := range out.Text {
				r = c
				break
			}
			return run, &MissingGlyphError{r}
		}
		run.Plain = run.Plain && (rtl || first)
		run.Advance += out.Advance
		run.Glyphs = append(run.Glyphs, out)
	}
	return run, nil
}
