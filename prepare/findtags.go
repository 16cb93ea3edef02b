package prepare

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"countersign/pdf"
	"countersign/pdf/pagetext"
)

// FoundTag is a tag found in a document, with its position.
type FoundTag struct {
	Tag

	Text  string // as written, in NFC
	Place Place  // of the field: the tag's box, unless the tag says another size
	// Lines are the boxes of its lines.
	Lines []pagetext.Box
	// Glyphs are its glyphs' positions in the content.
	Glyphs []pagetext.Position
	uses   []pagetext.Use // of the page
}

// TagError reports that a tag cannot be read or removed.
type TagError struct {
	Text string
	Page int // from 1
	Err  error
}

// Error prints the tag, its page and its problem.
func (e *TagError) Error() string {
	return fmt.Sprintf("the tag %q on page %d cannot be read: %v", e.Text, e.Page, e.Err)
}

// Unwrap returns what parseTag expected, or one of the errors below.
func (e *TagError) Unwrap() error { return e.Err }

// What else can be wrong with a tag.
var (
	// ErrInvisibleTag reports a tag in text that is not painted, as text recognition puts it over a scanned page: if
	// it were removed, the picture would still show it.
	ErrInvisibleTag = errors.New("its text is invisible, perhaps because it lies over an image of the tag")
	// ErrUnclosedTag is about a tag without end.
	ErrUnclosedTag = errors.New(`expected "}}" after it`)
	// ErrFormTag reports a tag in the value of a form's field, which programs redraw.
	ErrFormTag = errors.New("it is the value of a form field; import the form, or clear the field")
	// ErrUndrawnTag is about a tag in an annotation without an appearance, which each program draws in its own way.
	ErrUndrawnTag  = errors.New("it is in an annotation without an appearance; move it to the page's text")
	errTooManyTags = fmt.Errorf("%w: more than %d tags", pagetext.ErrLimit, maxTags)
)

const (
	maxTags     = 5000 // of a document
	maxTagStart = 32   // bytes of what tagStart looks for, at most
)

// tagStart is where a tag begins: two braces, or a bracket with a type and a bar.
//
//nolint:gochecknoglobals // a constant pattern
var tagStart = regexp.MustCompile(`\{\{|(?i:\[\s?(?:sig|signature|init|initials?|date|text|check|checkbox|name|fullname|email|company|title|` +
	`signed_date|number|select|dropdown|radio|attachment|stamp)\s?\|)`)

// FindTags returns the tags of a document in the order in which they are read, but for
// those in the widgets of a form. One that cannot be read is a *TagError; else it fails
// with pagetext.ErrLimit, the context's error, or one of reading the file.
func FindTags(ctx context.Context, f *pdf.File) ([]FoundTag, error) {
	found, err := findTags(ctx, f)
	return found.tags, err
}

// foundTags are the tags of a document, and how often its pages paint each form XObject.
type foundTags struct {
	tags    []FoundTag
	painted map[pdf.Ref]int
}

func findTags(ctx context.Context, f *pdf.File) (foundTags, error) {
	r := pagetext.NewReader(f)
	all := foundTags{painted: make(map[pdf.Ref]int)}
	_, err := f.Walk(func(p *pdf.Page) error {
		page, partial, err := r.NearBraces(ctx, p)
		if err != nil {
			return err
		}
		for _, use := range page.Uses[1:] {
			all.painted[use.Form]++
		}
		for _, text := range page.Undrawn {
			if at := tagStart.FindStringIndex(text); at != nil {
				return &TagError{excerpt(text[at[0]:]), p.Index + 1, ErrUndrawnTag}
			}
		}
		found, sure, err := pageTags(page)
		if partial && (err != nil || !sure) { // the omitted text may change the result
			if page, err = r.Page(ctx, p); err != nil {
				return err
			}
			found, _, err = pageTags(page)
		}
		if err != nil {
			return err
		}
		if all.tags = append(all.tags, found...); len(all.tags) > maxTags {
			return errTooManyTags
		}
		return ctx.Err()
	})
	if err != nil {
		return foundTags{}, err
	}
	return all, nil
}

// pageTags returns the tags of a page; sure is false if something begins like one and does not end.
func pageTags(page *pagetext.Page) (all []FoundTag, sure bool, err error) {
	sure = true
	for _, q := range page.Passages() {
		found, ends, err := passageTags(page, q)
		if err != nil {
			return nil, false, err
		}
		sure = sure && ends
		if all = append(all, found...); len(all) > maxTags {
			return nil, false, errTooManyTags
		}
	}
	return all, sure, nil
}

// passageTags returns the tags of one passage; sure is false if something begins like one and does not end.
func passageTags(page *pagetext.Page, q *pagetext.Passage) (all []FoundTag, sure bool, err error) {
	sure = true
	for from := 0; ; {
		next := strings.IndexAny(q.Text[from:], "{[")
		if next < 0 {
			return all, sure, nil
		}
		from += next
		at := tagStart.FindStringIndex(q.Text[from:min(len(q.Text), from+maxTagStart)])
		if (at == nil || at[0] > 0) && !bracesAt(q, from, '{') {
			from++
			continue
		}
		start := from
		end, ok := tagEnd(q, start)
		if !ok {
			if q.Text[start] == '[' { // text in brackets, perhaps
				from, sure = start+1, false
				continue
			}
			return nil, false, &TagError{excerpt(q.Text[start:]), page.Index + 1, ErrUnclosedTag}
		}
		t, err := readTag(page, q, start, end)
		if err != nil {
			return nil, false, err
		}
		all = append(all, t)
		from = end
	}
}

// bracesAt reports whether two braces begin at a place, also across the end of a line.
func bracesAt(q *pagetext.Passage, at int, brace byte) bool {
	text := q.Text[at:]
	switch {
	case len(text) < 2 || text[0] != brace:
		return false
	case text[1] == brace:
		return true
	}
	return len(text) > 2 && text[2] == brace && q.LineBreak(at+1)
}

// tagEnd returns where the tag ends that begins at start.
func tagEnd(q *pagetext.Passage, start int) (int, bool) {
	last := min(len(q.Text), start+4*maxTag)
	if q.Text[start] == '[' {
		i := strings.IndexByte(q.Text[start:last], ']')
		return start + i + 1, i >= 0
	}
	for i := start; i < last; i++ {
		if bracesAt(q, i, '}') {
			return i + 1 + strings.IndexByte(q.Text[i+1:], '}') + 1, true
		}
	}
	return 0, false
}

func excerpt(text string) string {
	runes := []rune(norm.NFC.String(text))
	return string(runes[:min(len(runes), 60)])
}

// readTag reads the tag at a place. Where a line ends, there may be a space or not:
// a tag is broken wherever the line is full.
func readTag(page *pagetext.Page, q *pagetext.Passage, start, end int) (FoundTag, error) {
	text := norm.NFC.String(q.Text[start:end])
	t, err := parseTag(text)
	if err != nil {
		var joined strings.Builder
		for i := start; i < end; i++ {
			if !q.LineBreak(i) {
				joined.WriteByte(q.Text[i])
			}
		}
		var again error
		if t, again = parseTag(norm.NFC.String(joined.String())); again != nil {
			return FoundTag{}, &TagError{text, page.Index + 1, err}
		}
		text = norm.NFC.String(joined.String())
	}
	m := q.Match(start, end)
	out := FoundTag{Tag: t, Text: text, Lines: m.Lines, uses: page.Uses, Place: Place{page.Index + 1, m.Box.X, m.Box.Y, m.Box.W, m.Box.H}}
	if t.W > 0 {
		out.Place.W = t.W
	}
	if t.H > 0 {
		out.Place.H = t.H
	}
	for _, g := range m.Glyphs {
		if page.Glyphs[g].Invisible {
			return FoundTag{}, &TagError{text, page.Index + 1, ErrInvisibleTag}
		}
		out.Glyphs = append(out.Glyphs, page.Glyphs[g].Position)
	}
	return out, nil
}
