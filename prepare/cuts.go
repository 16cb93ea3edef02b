package prepare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"countersign/pdf"
	"countersign/pdf/pagetext"
	"countersign/prepare/revision1"
)

// errFormUses reports that a tag cannot be removed from the appearance of an annotation, because the appearance, or a
// form that it paints, is also used elsewhere.
var errFormUses = errors.New("several annotations share an appearance that contains part of the tag")

// useKey identifies the content of a page, or one use of a form XObject on a page.
type useKey struct{ page, use int }

// cutter converts tags to cuts.
type cutter struct {
	codes  map[useKey][]pagetext.Position
	uses   map[int][]pagetext.Use // painted forms by page
	text   map[int]string         // text of a tag on each page
	tags   map[int]int            // number of tags on each page
	within map[pdf.Ref]bool       // forms whose glyphs are removed for every use
	clones map[string]int         // by form and cut
	out    []revision1.Cut        // cuts of clones
}

// cuts returns what to cut from pages and forms in order to remove the tags. If every use of a form shows the same tags, glyphs are
// removed from the form itself. Otherwise, the uses that show tags paint a clone of the form.
func cuts(found foundTags) ([]revision1.Cut, error) {
	c := cutter{
		codes: make(map[useKey][]pagetext.Position), uses: make(map[int][]pagetext.Use), text: make(map[int]string), tags: make(map[int]int),
		within: make(map[pdf.Ref]bool), clones: make(map[string]int),
	}
	for _, t := range found.tags {
		page := t.Place.Page
		c.uses[page], c.text[page] = t.uses, t.Text
		c.tags[page]++
		for _, g := range t.Glyphs {
			key := useKey{page, g.Use}
			c.codes[key] = append(c.codes[key], g)
		}
	}
	forms := c.formsInPlace(found.painted)
	var out []revision1.Cut
	for _, page := range slices.Sorted(maps.Keys(c.uses)) {
		cut, err := c.page(page)
		if err != nil {
			return nil, err
		}
		out = append(out, cut)
	}
	return slices.Concat(out, c.out, forms), nil
}

// formsInPlace returns the cuts of forms that lose the same glyphs in every use.
func (c *cutter) formsInPlace(painted map[pdf.Ref]int) []revision1.Cut {
	type losses struct {
		uses int
		runs [][4]float64
		same bool
	}
	forms := make(map[pdf.Ref]*losses)
	for key, glyphs := range c.codes {
		if key.use == 0 {
			continue
		}
		form := c.uses[key.page][key.use].Form
		own := runs(glyphs)
		if forms[form] == nil {
			forms[form] = &losses{runs: own, same: true}
		}
		l := forms[form]
		l.uses++
		l.same = l.same && slices.Equal(l.runs, own)
	}
	var out []revision1.Cut
	for form, l := range forms {
		if l.same && l.uses >= painted[form] {
			c.within[form] = true
			out = append(out, revision1.Cut{Form: form.Num, Codes: l.runs})
		}
	}
	slices.SortFunc(out, func(a, b revision1.Cut) int { return cmp.Compare(a.Form, b.Form) })
	return out
}

// page returns the cut of a page, and creates the clones that the page paints.
func (c *cutter) page(page int) (revision1.Cut, error) {
	uses := c.uses[page]
	painting := make(map[int][][2]int) // clones by the use that paints them
	for use := len(uses) - 1; use > 0; use-- {
		glyphs := c.codes[useKey{page, use}]
		if len(painting[use]) == 0 && (len(glyphs) == 0 || c.within[uses[use].Form]) {
			continue
		}
		if uses[use].At < 0 {
			return revision1.Cut{}, &TagError{c.text[page], page, errFormUses}
		}
		clone := c.clone(revision1.Cut{Form: uses[use].Form.Num, Codes: runs(glyphs), Uses: inOrder(painting[use])})
		painting[uses[use].Parent] = append(painting[uses[use].Parent], [2]int{uses[use].At, clone})
	}
	return revision1.Cut{Page: page, Tags: c.tags[page], Codes: runs(c.codes[useKey{page, 0}]), Uses: inOrder(painting[0])}, nil
}

// clone returns the number of the clone with the given cut.
func (c *cutter) clone(cut revision1.Cut) int {
	key := fmt.Sprint(cut.Form, cut.Codes, cut.Uses)
	n, ok := c.clones[key]
	if !ok {
		n = len(c.out) + 1
		c.clones[key] = n
		cut.Clone = n
		c.out = append(c.out, cut)
	}
	return n
}

func inOrder(uses [][2]int) [][2]int {
	slices.SortFunc(uses, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	return uses
}

// runs joins codes that are consecutive in a string.
func runs(glyphs []pagetext.Position) [][4]float64 {
	glyphs = slices.Clone(glyphs)
	slices.SortFunc(glyphs, func(a, b pagetext.Position) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Code, b.Code))
	})
	glyphs = slices.Compact(glyphs)
	var out [][4]float64
	for _, g := range glyphs {
		if n := len(out); n > 0 && int(out[n-1][0]) == g.Start && int(out[n-1][1]+out[n-1][2]) == g.Code {
			out[n-1][2] += float64(g.Length)
			out[n-1][3] += g.Advance
			continue
		}
		out = append(out, [4]float64{float64(g.Start), float64(g.Code), float64(g.Length), g.Advance})
	}
	return out
}
