package prepare

import (
	"context"
	"errors"
	"unicode"

	"countersign/pdf"
	"countersign/pdf/pagetext"
)

// leastCovered is how many letters and digits a place must cover: fewer belong to a label that it touches, or to a short
// anchor text below it.
const leastCovered = 5

// coveredPart is how much of a glyph's box must lie within a place.
const coveredPart = 0.6

// maxCoverPages bounds how many pages Covered reads.
const maxCoverPages = 20

// errPagesRead ends the walk through a file.
var errPagesRead = errors.New("prepare: all pages are read")

// Covered reports for each place whether it covers text that its page shows. Lines of dots or underscores are no text,
// and pages without text, or beyond the first 20 with places, have none. It fails with pagetext.ErrLimit, pdf.ErrLimit, the
// context's error, or one of reading the file.
func Covered(ctx context.Context, f *pdf.File, places []Place) ([]bool, error) {
	onPage := make(map[int][]int)
	for i, p := range places {
		onPage[p.Page] = append(onPage[p.Page], i)
	}
	covered := make([]bool, len(places))
	left := min(len(onPage), maxCoverPages)
	r := pagetext.NewReader(f)
	_, err := f.Walk(func(p *pdf.Page) error {
		here := onPage[p.Index+1]
		if len(here) == 0 {
			return ctx.Err()
		}
		page, err := r.Page(ctx, p)
		if err != nil {
			return err
		}
		for _, i := range here {
			covered[i] = places[i].covers(page)
		}
		if left--; left == 0 {
			return errPagesRead
		}
		return nil
	})
	if errors.Is(err, errPagesRead) {
		err = nil
	}
	return covered, err
}

// covers reports whether the place covers text of its page.
func (p Place) covers(page *pagetext.Page) bool {
	n := 0
	for i := range page.Glyphs {
		g := &page.Glyphs[i]
		if g.Invisible && page.Images == 0 { // on a scanned page, invisible text represents its picture
			continue
		}
		w := min(p.X+p.W, g.Box.X+g.Box.W) - max(p.X, g.Box.X)
		h := min(p.Y+p.H, g.Box.Y+g.Box.H) - max(p.Y, g.Box.Y)
		if w <= 0 || h <= 0 || w*h < coveredPart*g.Box.W*g.Box.H {
			continue
		}
		for _, c := range g.Text {
			if unicode.IsLetter(c) || unicode.IsDigit(c) || c == unicode.ReplacementChar {
				n++
			}
		}
		if n >= leastCovered {
			return true
		}
	}
	return false
}
