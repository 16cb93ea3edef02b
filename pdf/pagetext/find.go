package pagetext

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FindOptions specifies how text is compared.
type FindOptions struct {
	WholeWord  bool // no letter or digit immediately before or after the match
	IgnoreCase bool
}

// Match is an occurrence of text on a page.
type Match struct {
	// Box is the bounding box of the match. Lines contains the boxes of its parts, by line.
	Box   Box
	Lines []Box
	// RightToLeft reports whether the text is read from right to left.
	RightToLeft bool
	// Glyphs contains the indexes in Page.Glyphs of the matched glyphs, in reading order. They are followed by the
	// indexes of glyphs that draw a matched glyph a second time, or that belong to the same replaced text.
	Glyphs []int
}

// Passage is continuous text, such as the lines of a paragraph or cell, joined by spaces.
type Passage struct {
	Text string
	page *Page
	at   []int32 // glyph index of each byte of Text, or -1
}

// Passages returns the text of the page by paragraph.
func (p *Page) Passages() []*Passage { return p.passages(paragraphs, false) }

// These constants specify how lines are joined.
const (
	paragraphs   = iota
	unhyphenated // paragraphs; words that are hyphenated at the end of a line are rejoined
	rows         // text on the same baseline
)

func (p *Page) passages(way int, fold bool) []*Passage {
	p.layout()
	var all []*Passage
	for i := range p.lines {
		l := &p.lines[i]
		t := textBuilder{page: p, fold: fold}
		switch {
		case way == rows && (i == 0 || p.lines[i-1].row != l.row):
			for j := i; j < len(p.lines) && p.lines[j].row == l.row; j++ {
				t.line(&p.lines[j])
				t.lineEnd(false)
			}
		case way != rows && !l.follows:
			for j := i; j >= 0; j = p.lines[j].next {
				t.line(&p.lines[j])
				t.lineEnd(way == unhyphenated)
			}
		default:
			continue
		}
		if q := t.passage(); q.Text != "" {
			all = append(all, q)
		}
	}
	return all
}

// textBuilder joins the text of glyphs.
type textBuilder struct {
	page *Page
	fold bool
	text []byte
	at   []int32
}

const softHyphen = "\u00ad"

func (t *textBuilder) line(l *line) {
	for _, g := range l.glyphs {
		if g < 0 {
			t.space(g)
			continue
		}
		switch text := t.page.Glyphs[g].Text; {
		case text == "":
		case isSpace(text):
			t.space(g)
		default:
			if t.fold {
				text = strings.ToLower(text)
			}
			t.text = append(t.text, text...)
			for range len(text) {
				t.at = append(t.at, int32(g)) //nolint:gosec // at most maxGlyphs
			}
		}
	}
}

// space adds a space unless the text already ends with one.
func (t *textBuilder) space(glyph int) {
	if n := len(t.text); n > 0 && t.text[n-1] != ' ' {
		t.text = append(t.text, ' ')
		t.at = append(t.at, int32(glyph)) //nolint:gosec // at most maxGlyphs
	}
}

// lineEnd adds the separator between two lines. It adds nothing after a soft hyphen, which divides a word. If join is
// set, it adds nothing after any hyphen. Otherwise it adds a space.
func (t *textBuilder) lineEnd(join bool) {
	text := bytes.TrimRight(t.text, " ")
	for i, hyphen := range []string{softHyphen, "-", "\u2010"} {
		before, ok := bytes.CutSuffix(text, []byte(hyphen))
		if !ok || i > 0 && !join {
			continue
		}
		glyph, last := int(t.at[len(text)-1]), len(before)-1
		t.text, t.at = before, t.at[:len(before)]
		if hyphen == softHyphen && last >= 0 && t.at[last] >= 0 && !slices.Contains(t.page.attached[int(t.at[last])], glyph) {
			t.page.attach(int(t.at[last]), glyph)
		}
		return
	}
	t.space(lineBreak)
}

// lineBreak is the glyph index for a space between two lines, which has no glyph.
const lineBreak = -2

// LineBreak reports whether the byte of Text at an index is a space that represents the end of a line.
func (q *Passage) LineBreak(at int) bool { return q.at[at] == lineBreak }

// passage returns the collected text. A soft hyphen within a line becomes a hyphen.
func (t *textBuilder) passage() *Passage {
	q := &Passage{page: t.page}
	text := bytes.TrimRight(t.text, " ")
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		out, q.at = append(out, text[i]), append(q.at, t.at[i])
		if bytes.HasPrefix(text[i:], []byte(softHyphen)) {
			out[len(out)-1] = '-'
			i++
		}
	}
	q.Text = string(out)
	return q
}

// Match returns the occurrence of Text[from:to] on the page.
func (q *Passage) Match(from, to int) Match {
	var m Match
	last := int32(-1)
	row := math.NaN()
	direction := 0
	for _, g := range q.at[from:to] {
		if g < 0 || g == last {
			continue
		}
		last = g
		glyph := &q.page.Glyphs[g]
		m.Glyphs = append(m.Glyphs, int(g))
		switch q.page.class(int(g)) {
		case right:
			direction++
		case left:
			direction--
		}
		if len(m.Lines) == 0 || math.Abs(glyph.across-row) > glyph.Size*baseline {
			m.Lines = append(m.Lines, Box{})
			row = glyph.across
		}
		m.Lines[len(m.Lines)-1] = m.Lines[len(m.Lines)-1].Union(glyph.Box)
		m.Box = m.Box.Union(glyph.Box)
	}
	m.RightToLeft = direction > 0
	for _, g := range m.Glyphs { // does not iterate over the glyphs added here
		m.Glyphs = append(m.Glyphs, q.page.attached[g]...)
	}
	return m
}

// key returns text normalized for searches, which means decomposed and with single spaces between words.
func key(text string, fold bool) string {
	text = strings.Join(strings.Fields(normal(text)), " ")
	if fold {
		text = strings.ToLower(text)
	}
	return text
}

// Find returns the occurrences of a string, ordered from top to bottom and from left to right. At most one occurrence
// begins at each glyph. The comparison uses NFKD and treats all spaces as equal. An occurrence may continue on the next
// line, even after a hyphen.
func (p *Page) Find(text string, o FindOptions) []Match {
	want := key(text, o.IgnoreCase)
	if want == "" {
		return nil
	}
	var found []Match
	seen := make(map[int]bool) // first glyphs of matches found so far
	for _, way := range []int{paragraphs, unhyphenated, rows} {
		for _, q := range p.passages(way, o.IgnoreCase) {
			for from := 0; ; {
				i := strings.Index(q.Text[from:], want)
				if i < 0 {
					break
				}
				i += from
				from = i + len(want)
				if o.WholeWord && !q.wholeWord(i, from) || q.splitsCharacter(from) {
					from = i + 1
					continue
				}
				m := q.Match(i, from)
				if len(m.Glyphs) > 0 && !seen[m.Glyphs[0]] {
					seen[m.Glyphs[0]] = true
					found = append(found, m)
				}
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Match) int {
		if math.Abs(a.Box.Y-b.Box.Y) < min(a.Box.H, b.Box.H)/4 {
			return cmp.Compare(a.Box.X, b.Box.X)
		}
		return cmp.Compare(a.Box.Y, b.Box.Y)
	})
	return found
}

// wholeWord reports whether a part of the text is not immediately preceded or followed by a letter or digit.
func (q *Passage) wholeWord(from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(q.Text[:from])
	behind, _ := utf8.DecodeRuneInString(q.Text[to:])
	first, _ := utf8.DecodeRuneInString(q.Text[from:])
	last, _ := utf8.DecodeLastRuneInString(q.Text[:to])
	return (!isWord(first) || !isWord(before)) && (!isWord(last) || !isWord(behind))
}

// splitsCharacter reports whether the character at an index is an accent of the preceding character. With this check,
// "e" is not found in "é".
func (q *Passage) splitsCharacter(at int) bool {
	r, _ := utf8.DecodeRuneInString(q.Text[at:])
	return unicode.Is(unicode.Mn, r) && !unicode.In(r, unicode.Hebrew, unicode.Arabic)
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r))
}
