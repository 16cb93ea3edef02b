package pagetext

import (
	"cmp"
	"slices"
	"strings"
)

// containsBrace reports whether a text tag might begin or end in a string.
func containsBrace(text string) bool { return strings.ContainsAny(text, "{}[]") }

// expand creates the glyphs of the wanted runs, or of all runs if wanted is nil.
func (p *Page) expand(wanted []bool) {
	count := p.codes
	if wanted != nil {
		count = 0
		for i := range p.runs {
			if wanted[i] {
				count += len(p.runs[i].codes)
			}
		}
	}
	p.Glyphs = make([]Glyph, 0, min(count, maxGlyphs))
	first := make([]int, len(p.runs)+1)
	for i := range p.runs {
		if wanted == nil || wanted[i] {
			p.glyphs(&p.runs[i])
		}
		first[i+1] = len(p.Glyphs)
	}
	for _, r := range p.replaced {
		replace(p.Glyphs[first[r.first]:first[r.end]], r.text)
	}
	p.runs, p.replaced = nil, nil
}

// band is a strip of the page, delimited perpendicular to the writing direction.
type band struct {
	angle      int
	start, end float64
}

// nearBraces reports for each run whether a line with a brace or bracket might continue in that run. A line can
// continue only in a line within lineHeight (see join), so all runs within that distance are wanted. The runs between
// two such bands are also wanted if lines could continue from one band to the other.
func (p *Page) nearBraces() []bool {
	for _, r := range p.replaced {
		if containsBrace(r.text) {
			for i := r.first; i < r.end; i++ {
				p.runs[i].braces = true
			}
		}
	}
	reach := 0.0
	for i := range p.runs {
		reach = max(reach, p.runs[i].height)
	}
	reach *= lineHeight + baseline
	var bands []band
	for i := range p.runs {
		if r := &p.runs[i]; r.braces {
			bands = append(bands, band{r.angle, r.across - reach, r.across + reach})
		}
	}
	slices.SortFunc(bands, func(a, b band) int { return cmp.Or(cmp.Compare(a.angle, b.angle), cmp.Compare(a.start, b.start)) })
	joined := bands[:0]
	for _, b := range bands {
		if n := len(joined); n > 0 && joined[n-1].angle == b.angle && b.start-joined[n-1].end <= reach {
			joined[n-1].end = max(joined[n-1].end, b.end)
			continue
		}
		joined = append(joined, b)
	}
	wanted := make([]bool, len(p.runs))
	for i := range p.runs {
		r := &p.runs[i]
		at, ok := slices.BinarySearchFunc(joined, r, func(b band, r *run) int { return cmp.Or(cmp.Compare(b.angle, r.angle), cmp.Compare(b.start, r.across)) })
		wanted[i] = ok || at > 0 && joined[at-1].angle == r.angle && r.across <= joined[at-1].end
	}
	p.wholeReplacements(wanted)
	return wanted
}

// wholeReplacements also marks the runs whose text is replaced together with the text of a wanted run.
func (p *Page) wholeReplacements(wanted []bool) {
	for again := true; again; {
		again = false
		for _, r := range p.replaced {
			part := wanted[r.first:r.end]
			if slices.Contains(part, true) && slices.Contains(part, false) {
				for i := range part {
					part[i] = true
				}
				again = true
			}
		}
	}
}
