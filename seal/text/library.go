package text

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-text/typesetting/font"

	"countersign/seal/fonts"
)

// Library lays out text in the bundled fonts. It is safe for concurrent use.
type Library struct {
	set   *fonts.Set
	idle  chan *shaper
	mu    sync.Mutex
	known map[lineKey]Line

	paragraphs map[paragraphKey][]Line
}

// NewLibrary returns a Library for the given fonts.
func NewLibrary(set *fonts.Set) *Library {
	return &Library{set: set, known: map[lineKey]Line{}, paragraphs: map[paragraphKey][]Line{}, idle: make(chan *shaper, maxIdle)}
}

// maxIdle is the maximum number of idle shapers that are retained for reuse. Each shaper has several hundred kilobytes
// of caches, which are slow to build.
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
		if isRejected(r) {
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

// Replace returns s with each character that cannot be drawn replaced by its code point, so that no character is lost.
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

// isRejected reports whether a character is rejected even if a font contains a glyph for it. The rejected characters
// are control characters, private-use characters, and characters that reorder the text that follows, because they could
// disguise one text as another.
func isRejected(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Co) || unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Arabic, r)
}

// ignorable reports whether a character only controls shaping and is invisible.
func ignorable(r rune) bool {
	return r >= 0x200B && r <= 0x200F || r >= 0xFE00 && r <= 0xFE0F || r == 0x00AD || r == 0x034F || r == 0x2060 || r == 0xFEFF
}

// Line lays out s on one line. The result must not be modified.
func (l *Library) Line(style Style, s string) (Line, error) {
	if line, ok := l.cachedLine(style, s); ok {
		return line, nil
	}
	lines, err := l.Wrap(style, s, 0, 1)
	if err != nil || len(lines) == 0 {
		return Line{}, err
	}
	if len(s) <= maxCachedParagraphs {
		l.mu.Lock()
		if len(l.known) >= maxCachedLines {
			clear(l.known)
		}
		l.known[lineKey{style, s}] = lines[0]
		l.mu.Unlock()
	}
	return lines[0], nil
}

func (l *Library) cachedLine(style Style, s string) (Line, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, ok := l.known[lineKey{style, s}]
	return line, ok
}

// LineOf is like Line, but replaces each character that cannot be drawn with its code point.
func (l *Library) LineOf(style Style, s string) (Line, error) {
	if line, ok := l.cachedLine(style, s); ok {
		return line, nil
	}
	return l.Line(style, l.Replace(s))
}

// WrapOf is like Wrap, but replaces each character that cannot be drawn with its code point.
func (l *Library) WrapOf(style Style, s string, width float64, limit int) ([]Line, error) {
	if len(s) <= maxCachedParagraphs && !strings.Contains(s, "\n") {
		line, err := l.LineOf(style, s)
		if err != nil || line.Width <= width {
			return []Line{line}, err
		}
	}
	return l.Wrap(style, l.Replace(s), width, limit)
}

// Constant is like WrapOf, for a string that is the same in every document. The result is cached and must not be
// modified.
func (l *Library) Constant(style Style, s string, width float64) ([]Line, error) {
	key := paragraphKey{style, s, width}
	l.mu.Lock()
	lines, ok := l.paragraphs[key]
	l.mu.Unlock()
	if ok {
		return lines, nil
	}
	lines, err := l.WrapOf(style, s, width, 0)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	if len(l.paragraphs) >= mostParagraphs {
		clear(l.paragraphs)
	}
	l.paragraphs[key] = lines
	l.mu.Unlock()
	return lines, nil
}

const mostParagraphs = 32

type paragraphKey struct {
	style Style
	text  string
	width float64
}

// Short lines are cached, because most of a certificate's text is the same in every document.
const (
	maxCachedParagraphs = 48 // in bytes
	maxCachedLines      = 512
)

type lineKey struct {
	style Style
	text  string
}

// Wrap breaks s into lines of at most the given width, in thousandths of an em. A width of 0 means unlimited. Line
// feeds also break lines. If limit is greater than 0, the text is truncated after that many lines, with an ellipsis.
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
		lines, err := sh.fitting(style, []rune(para), width, left)
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
	}
	return out, nil
}
