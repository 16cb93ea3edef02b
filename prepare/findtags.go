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

	Text  string   // text as written, in NFC
	Place Position // position of the field: the tag's box unless the tag specifies another size
	// Lines contains the boxes of the tag's lines.
	Lines []pagetext.Box
	// Glyphs contains the positions of the tag's glyphs in the content.
	Glyphs []pagetext.Position
	uses   []pagetext.Use // uses of forms on the page
}

// TagError reports that a tag cannot be read or removed.
type TagError struct {
	Text string
	Page int // starting at 1
	Err  error
}

// Error returns a message with the tag, its page and the problem.
func (e *TagError) Error() string {
	return fmt.Sprintf("the tag %q on page %d cannot be read: %v", e.Text, e.Page, e.Err)
}

// Unwrap returns the error from parseTag, or one of the errors below.
func (e *TagError) Unwrap() error { return e.Err }

// Other problems with a tag.
var (
	// errInvisibleTag reports a tag in text that is not painted, such as the recognized text of a scanned page.
	// Removing the text would not remove the tag from the image.
	errInvisibleTag = errors.New("the text of the tag is invisible, possibly because it is a text layer over an image that shows the tag")
	errUnclosedTag  = errors.New(`expected "}}" after the tag`)
	// ErrFormTag reports a tag in the value of a form field. Programs redraw such values.
	ErrFormTag = errors.New("the tag is the value of a form field; import the form, or clear the field")
	// ErrUndrawnTag reports a tag in an annotation without an appearance. Each program draws such an annotation
	// differently.
	ErrUndrawnTag  = errors.New("the tag is in an annotation without an appearance; move the tag to the page content")
	errTooManyTags = fmt.Errorf("%w: more than %d tags", pagetext.ErrLimit, maxTags)
)

const (
	maxTags     = 5000 // maximum number of tags in a document
	maxTagStart = 32   // maximum length of a match of tagStart, in bytes
)

// tagStart matches the start of a tag, which is two braces, or a bracket with a type and a bar.
//
//nolint:gochecknoglobals // a constant pattern
var tagStart = regexp.MustCompile(`\{\{|(?i:\[\s?(?:sig|signature|init|initials?|date|text|check|checkbox|name|fullname|email|company|title|` +
	`signed_date|number|select|dropdown|radio|attachment|stamp)\s?\|)`)

// FindTags returns the tags in a document in reading order, except those in form widgets. It returns a *TagError if a
// tag cannot be read. Other errors are pagetext.ErrLimit, the context's error, and errors from reading the file.
func FindTags(ctx context.Context, f *pdf.File) ([]FoundTag, error) {
	found, err := findTags(ctx, f)
	return found.tags, err
}

// foundTags contains the tags in a document, and the number of times that its pages paint each form XObject.
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

// pageTags returns the tags on a page. The result sure is false if the page contains the start of a possible tag but
// not its end.
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

// passageTags returns the tags in one passage. The result sure is false if the passage contains the start of a possible
// tag but not its end.
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
			if q.Text[start] == '[' { // possibly text in brackets that is not a tag
				from, sure = start+1, false
				continue
			}
			return nil, false, &TagError{excerpt(q.Text[start:]), page.Index + 1, errUnclosedTag}
		}
		t, err := readTag(page, q, start, end)
		if err != nil {
			return nil, false, err
		}
		all = append(all, t)
		from = end
	}
}

// bracesAt reports whether there are two braces at an index. They can be on different lines.
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

// tagEnd returns the end of the tag that begins at start.
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

// readTag reads the tag in the given range. A tag is broken wherever a line is full, so the end of a line may or may
// not represent a space.
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
	out := FoundTag{Tag: t, Text: text, Lines: m.Lines, uses: page.Uses, Place: Position{page.Index + 1, m.Box.X, m.Box.Y, m.Box.W, m.Box.H}}
	if t.W > 0 {
		out.Place.W = t.W
	}
	if t.H > 0 {
		out.Place.H = t.H
	}
	for _, g := range m.Glyphs {
		if page.Glyphs[g].Invisible {
			return FoundTag{}, &TagError{text, page.Index + 1, errInvisibleTag}
		}
		out.Glyphs = append(out.Glyphs, page.Glyphs[g].Position)
	}
	return out, nil
}
