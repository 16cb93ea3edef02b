package prepare

import (
	"context"
	"errors"
	"unicode"

	"countersign/pdf"
	"countersign/pdf/pagetext"
)

// leastCovered is the minimum number of letters and digits that a place must contain to count as covering text. Fewer
// can belong to an adjacent label, or to a short anchor text below.
const leastCovered = 5

// coveredPart is the minimum fraction of a glyph's box that must be within a place.
const coveredPart = 0.6

// maxCoverPages is the maximum number of pages that Covered reads.
const maxCoverPages = 20

// errPagesRead stops the iteration over the pages of a file.
var errPagesRead = errors.New("prepare: all pages have been read")

// Covered reports for each place whether it covers visible text on its page. Lines of dots or underscores do not count
// as text. Only the first 20 pages with places are examined, and the result is false for places on other pages and on
// pages without text. Covered returns pagetext.ErrLimit, pdf.ErrLimit, the context's error, or an error from reading
// the file.
func Covered(ctx context.Context, f *pdf.File, places []Position) ([]bool, error) {
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

func (p Position) covers(page *pagetext.Page) bool {
	n := 0
	for i := range page.Glyphs {
		g := &page.Glyphs[i]
		if g.Invisible && page.Images == 0 { // on a scanned page, invisible text represents the image
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
