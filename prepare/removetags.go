package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"countersign/prepare/pagetext"
	"countersign/seal/pdf"
)

// Change is something that a revision takes out of a document, in numbers.
type Change struct {
	Kind   string `json:"kind"`
	Page   int    `json:"page"` // from 1
	Count  int    `json:"count"`
	Detail string `json:"detail,omitempty"`
}

// TagsRemoved is the kind of change that RemoveTags makes.
const TagsRemoved = "tags_removed"

// ErrFormUses says that a form XObject shows a tag that is set in another way where
// the form is used again, so that it cannot be taken out for both.
var ErrFormUses = errors.New("a form XObject shows it in several ways")

// RemoveTags writes to w the objects that the document has without the glyphs of
// tags that FindTags found in it; w is an update of f that the caller finishes. The
// page's content becomes one stream; a form XObject that is used several times
// shows the tag, and loses it, each time. It returns a change for each page, in
// order. The same tags give the same bytes. It fails with *TagError
// (ErrFormUses, pagetext.ErrReplacedText), the context's error, or one of reading the file.
func RemoveTags(ctx context.Context, f *pdf.File, w *pdf.Increment, tags []FoundTag) ([]Change, error) {
	pages, forms, err := byStream(tags)
	if err != nil {
		return nil, err
	}
	counts, first := make(map[int]int), make(map[int]FoundTag)
	for _, t := range tags {
		if counts[t.Place.Page]++; counts[t.Place.Page] == 1 {
			first[t.Place.Page] = t
		}
	}
	r := pagetext.NewReader(f)
	var changes []Change
	_, err = f.Walk(func(p *pdf.Page) error {
		page := p.Index + 1
		if n := counts[page]; n > 0 {
			changes = append(changes, Change{Kind: TagsRemoved, Page: page, Count: n})
		}
		glyphs := pages[page]
		if len(glyphs) == 0 {
			return ctx.Err()
		}
		content, err := r.Content(p)
		if err != nil {
			return err
		}
		if content, err = pagetext.Remove(content, glyphs); err != nil {
			return &TagError{first[page].Text, page, err}
		}
		d := p.Dict.Clone()
		d.Set("Contents", w.AddStream(nil, content).Value())
		w.PutDict(p.Ref, d)
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	for _, form := range forms {
		if err := form.remove(f, w); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// formGlyphs are glyphs in a form XObject, and a tag that has some of them.
type formGlyphs struct {
	ref    pdf.Ref
	tag    FoundTag
	glyphs map[[2]int]pagetext.Position
}

// byStream sorts glyphs by the page or the form in whose content they stand.
func byStream(tags []FoundTag) (map[int][]pagetext.Position, []*formGlyphs, error) {
	pages, byRef := make(map[int][]pagetext.Position), make(map[pdf.Ref]*formGlyphs)
	for _, t := range tags {
		for _, g := range t.Glyphs {
			if g.Form == (pdf.Ref{}) {
				pages[t.Place.Page] = append(pages[t.Place.Page], g)
				continue
			}
			form := byRef[g.Form]
			if form == nil {
				form = &formGlyphs{g.Form, t, make(map[[2]int]pagetext.Position)}
				byRef[g.Form] = form
			}
			key := [2]int{g.Start, g.Code}
			if other, ok := form.glyphs[key]; ok && other != g {
				return nil, nil, &TagError{t.Text, t.Place.Page, ErrFormUses}
			}
			form.glyphs[key] = g
		}
	}
	forms := make([]*formGlyphs, 0, len(byRef))
	for _, form := range byRef {
		forms = append(forms, form)
	}
	slices.SortFunc(forms, func(a, b *formGlyphs) int { return cmp.Compare(a.ref.Num, b.ref.Num) })
	return pages, forms, nil
}

func (g *formGlyphs) remove(f *pdf.File, w *pdf.Increment) error {
	o, err := f.Object(g.ref)
	if err != nil {
		return err
	}
	content, err := f.StreamData(o)
	if err != nil {
		return fmt.Errorf("form %d: %w", g.ref.Num, err)
	}
	glyphs := make([]pagetext.Position, 0, len(g.glyphs))
	for _, at := range g.glyphs {
		glyphs = append(glyphs, at)
	}
	if content, err = pagetext.Remove(content, glyphs); err != nil {
		return &TagError{g.tag.Text, g.tag.Place.Page, err}
	}
	d, err := o.Value.Dict()
	if err != nil {
		return err
	}
	for _, key := range []string{"Filter", "DecodeParms", "DL"} {
		d.Delete(key)
	}
	w.PutStream(g.ref, d, content)
	return nil
}
