package pagetext

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Distances in multiples of the font size.
const (
	wordGap    = 0.15 // a wider gap is a space
	columnGap  = 2.0  // a wider gap ends a line, because another column or cell begins
	baseline   = 0.25 // a smaller difference between baselines is ignored
	lineHeight = 2.2  // maximum distance to a line that continues the one above
	bold       = 0.1  // maximum distance of a glyph that is drawn twice to appear bold
)

// line contains glyphs on one baseline without a wide gap, in reading order.
type line struct {
	glyphs     []int // glyph indexes; -1 for a space without a glyph
	angle      int
	across     float64
	start, end float64
	size       float64
	next       int  // index of the line that continues this one, or -1
	follows    bool // whether it continues another line
	row        int  // number shared by lines on the same baseline
}

// layout arranges the glyphs in lines.
func (p *Page) layout() {
	if p.laid {
		return
	}
	p.laid = true
	order := make([]int, len(p.Glyphs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		g, h := &p.Glyphs[a], &p.Glyphs[b]
		return cmp.Or(cmp.Compare(g.Angle, h.Angle), cmp.Compare(g.across, h.across))
	})
	row := 0
	for i := 0; i < len(order); {
		first := &p.Glyphs[order[i]]
		j := i + 1
		for j < len(order) {
			g := &p.Glyphs[order[j]]
			if g.Angle != first.Angle || g.across-first.across > baseline*min(first.Size, g.Size) {
				break
			}
			j++
		}
		p.split(order[i:j], row)
		row++
		i = j
	}
	p.join()
}

// split divides the glyphs on one baseline into lines.
func (p *Page) split(glyphs []int, row int) {
	slices.SortStableFunc(glyphs, func(a, b int) int { return cmp.Compare(p.Glyphs[a].along, p.Glyphs[b].along) })
	var l *line
	var previous *Glyph
	before := len(p.lines)
	last := 0 // index of previous
	for _, i := range glyphs {
		g := &p.Glyphs[i]
		if l != nil && g.Text == "" {
			p.attach(last, i)
			l.end = max(l.end, g.end)
			continue
		}
		if l != nil {
			gap := g.along - l.end
			size := max(l.size, g.Size)
			switch {
			case previous.Text == g.Text && g.Text != "" && g.along-previous.along < bold*size:
				p.attach(last, i)
				continue
			case gap > columnGap*size && !isSpace(g.Text):
				l = nil
			case gap > wordGap*min(l.size, g.Size) && !isSpace(g.Text) && !isSpace(previous.Text):
				l.glyphs = append(l.glyphs, -1)
			}
		}
		if l == nil {
			p.lines = append(p.lines, line{angle: g.Angle, across: g.across, start: g.along, end: g.end, next: -1, row: row})
			l = &p.lines[len(p.lines)-1]
		}
		l.glyphs = append(l.glyphs, i)
		l.end, l.size = max(l.end, g.end), max(l.size, g.Size)
		previous, last = g, i
	}
	for i := before; i < len(p.lines); i++ {
		p.closeUp(&p.lines[i])
		p.logical(p.lines[i].glyphs)
	}
}

// closeUp removes the spaces between the letters of a letterspaced word, in which gaps are wide and equal.
func (p *Page) closeUp(l *line) {
	const fewest, widest, equal = 6, 0.6, 0.08 // number of letters; gaps and differences in multiples of the font size
	gap := func(i int) float64 { return p.Glyphs[l.glyphs[i+1]].along - p.Glyphs[l.glyphs[i-1]].end }
	out := l.glyphs[:0:0]
	for i := 0; i < len(l.glyphs); {
		// letters at i, i+2, …, separated by spaces without a glyph
		last := i
		narrow := math.Inf(1)
		for last+2 < len(l.glyphs) && l.glyphs[last] >= 0 && l.glyphs[last+1] < 0 {
			narrow = min(narrow, gap(last+1))
			last += 2
		}
		if last == i {
			out = append(out, l.glyphs[i])
			i++
			continue
		}
		spaced := (last-i)/2+1 >= fewest && narrow <= widest*l.size
		for k := i; k < last; k++ {
			if l.glyphs[k] >= 0 || !spaced || gap(k) > narrow+equal*l.size {
				out = append(out, l.glyphs[k])
			}
		}
		i = last
	}
	l.glyphs = out
}

// attach records that the text of a glyph is already part of another glyph's text.
func (p *Page) attach(to, glyph int) {
	if p.attached == nil {
		p.attached = make(map[int][]int)
	}
	p.attached[to] = append(p.attached[to], glyph)
}

func isSpace(text string) bool { return text != "" && strings.TrimSpace(text) == "" }

// join finds, for each line, the line below that continues it.
func (p *Page) join() {
	slices.SortStableFunc(p.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.angle, b.angle), cmp.Compare(a.across, b.across), cmp.Compare(a.start, b.start))
	})
	const most = 200 // maximum number of lines examined
	for i := range p.lines {
		l := &p.lines[i]
		for j := i + 1; j < len(p.lines) && j <= i+most; j++ {
			m := &p.lines[j]
			d := m.across - l.across
			if m.angle != l.angle || d > lineHeight*max(l.size, m.size) {
				break
			}
			if m.row != l.row && d > baseline*l.size && !m.follows && m.start < l.end && l.start < m.end {
				l.next, m.follows = j, true
				break
			}
		}
	}
}

// Direction classes.
const (
	neutral = iota
	digit
	left  // left-to-right letters
	right // right-to-left letters
)

func (p *Page) class(i int) int {
	if i < 0 {
		return neutral
	}
	for _, r := range p.Glyphs[i].Text {
		switch {
		case unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko) && !unicode.IsDigit(r):
			return right
		case unicode.IsDigit(r):
			return digit
		case unicode.IsLetter(r):
			return left
		}
	}
	return neutral
}

// braces reports whether a line has braces, and whether the leftmost brace is an opening one.
func (p *Page) braces(glyphs []int) (opens, braces bool) {
	for _, g := range glyphs {
		if g >= 0 && (p.Glyphs[g].Text == "{" || p.Glyphs[g].Text == "}") {
			return p.Glyphs[g].Text == "{", true
		}
	}
	return false, false
}

// logical converts glyphs from visual to reading order. It reverses Hebrew and Arabic text, except for the numbers in
// it.
func (p *Page) logical(glyphs []int) {
	classes := make([]int, len(glyphs))
	rights, lefts := 0, 0
	for i, g := range glyphs {
		classes[i] = p.class(g)
		switch classes[i] {
		case right:
			rights++
		case left:
			lefts++
		}
	}
	if rights == 0 {
		return
	}
	// A file encodes either the meaning or the shape of a brace. The two differ in right-to-left text.
	switch opens, braces := p.braces(glyphs); {
	case braces && opens: // encoded as in a left-to-right line; braces have the direction of the letters between them
		for i, g := range glyphs {
			if g >= 0 && (p.Glyphs[g].Text == "{" || p.Glyphs[g].Text == "}") {
				classes[i] = left
			}
		}
	case braces:
		lefts = 0 // the line is right-to-left
	}
	turn := func(from, to int) {
		slices.Reverse(glyphs[from:to])
		slices.Reverse(classes[from:to])
	}
	// turnRuns reverses every run and returns the positions of the runs. The first and the last glyph of a run have
	// classes in the list begins. The run is as long as possible without containing a glyph of the class in breaks.
	turnRuns := func(from, to int, begins []int, breaks int) (runs [][2]int) {
		for i := from; i < to; i++ {
			if !slices.Contains(begins, classes[i]) {
				continue
			}
			end := i + 1
			for j := end; j < to && classes[j] != breaks; j++ {
				if slices.Contains(begins, classes[j]) {
					end = j + 1
				}
			}
			turn(i, end)
			runs = append(runs, [2]int{i, end})
			i = end - 1
		}
		return runs
	}
	if rights >= lefts {
		turn(0, len(glyphs))
		turnRuns(0, len(glyphs), []int{left, digit}, right)
		return
	}
	for _, r := range turnRuns(0, len(glyphs), []int{right}, left) {
		turnRuns(r[0], r[1], []int{digit}, right)
	}
}
