// Package prepare finds the places of fields in a PDF: text at which the sender places fields, text tags that describe
// fields, and the fields of an interactive form. It also removes tags, forms and active content from a PDF.
//
// The package does not depend on envelopes or signers. As in the HTTP API, boxes are in points from the top left
// corner of the displayed page, and pages are numbered from 1.
package prepare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"countersign/pdf"
	"countersign/pdf/pagetext"
)

// Occurrence selects occurrences of an anchor's text.
type Occurrence int

// First, Last and All are the occurrences that have names in JSON. A positive number selects an occurrence, counted
// from the start of the document.
const (
	First Occurrence = 0
	Last  Occurrence = -1
	All   Occurrence = -2
)

// maxOccurrence is the highest occurrence number that can be selected.
const maxOccurrence = 10_000

// UnmarshalJSON accepts "first", "last", "all" or a number starting at 1.
func (w *Occurrence) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"first"`, "null":
		*w = First
	case `"last"`:
		*w = Last
	case `"all"`:
		*w = All
	default:
		n, err := strconv.Atoi(string(b))
		if err != nil || n < 1 || n > maxOccurrence {
			return errors.New(`match must be "first", "last", "all" or a positive integer`)
		}
		*w = Occurrence(n)
	}
	return nil
}

// MarshalJSON writes the format that UnmarshalJSON accepts.
func (w Occurrence) MarshalJSON() ([]byte, error) {
	switch w {
	case First:
		return []byte(`"first"`), nil
	case Last:
		return []byte(`"last"`), nil
	case All:
		return []byte(`"all"`), nil
	}
	return json.Marshal(int(w))
}

// Values of Anchor.At, the position of a field relative to its anchor's text.
const (
	After = "after" // after the text, centered on its last line; for right-to-left text, to the left of the text
	Over  = "over"  // the top left corners of the field and the text coincide
	Below = "below" // below the last line of the text, left-aligned
)

// Values of Anchor.IfMissing, the behavior if the text is missing.
const (
	Reject = "refuse"
	Skip   = "skip"
)

// Anchor specifies the text at which to place a field.
type Anchor struct {
	Text       string     `json:"text"`
	Match      Occurrence `json:"match"`
	Page       int        `json:"page,omitempty"` // 0 means any page
	DX         float64    `json:"dx,omitempty"`   // points to the right
	DY         float64    `json:"dy,omitempty"`   // points down
	At         string     `json:"at,omitempty"`   // defaults to after
	WholeWord  bool       `json:"wholeWord,omitempty"`
	IgnoreCase bool       `json:"ignoreCase,omitempty"`
	IfMissing  string     `json:"ifMissing,omitempty"` // defaults to refuse
}

// maxAnchorText is the maximum length of an anchor's text, in characters.
const maxAnchorText = 200

// Validate returns an error that describes a problem with the anchor, or nil if it is valid.
func (a Anchor) Validate() error {
	switch {
	case strings.TrimSpace(a.Text) == "":
		return errors.New("anchor.text must not be empty")
	case len([]rune(a.Text)) > maxAnchorText:
		return fmt.Errorf("anchor.text must have at most %d characters", maxAnchorText)
	case a.Match < All || a.Match > maxOccurrence:
		return errors.New(`anchor.match must be "first", "last", "all" or a positive integer`)
	case a.Page < 0:
		return errors.New("anchor.page must be a positive integer")
	case a.At != "" && a.At != After && a.At != Over && a.At != Below:
		return fmt.Errorf("anchor.at must be %q, %q or %q", After, Over, Below)
	case a.IfMissing != "" && a.IfMissing != Reject && a.IfMissing != Skip:
		return fmt.Errorf("anchor.ifMissing must be %q or %q", Reject, Skip)
	case !(math.Abs(a.DX) <= maxSide) || !(math.Abs(a.DY) <= maxSide):
		return fmt.Errorf("anchor.dx and anchor.dy must be between -%d and %d", maxSide, maxSide)
	}
	return nil
}

// AnchoredField is a field that is placed at an anchor.
type AnchoredField struct {
	Anchor Anchor
	W, H   float64
}

// Position is a box on a page.
type Position struct {
	Page       int // starting at 1
	X, Y, W, H float64
}

// AnchorError reports that the text of an anchor is missing, or occurs too rarely or too often.
type AnchorError struct {
	Field   int // index of the field
	Text    string
	Page    int      // page that was searched; 0 for all pages
	Found   int      // number of occurrences found, which is too low or too high
	Similar []string // similar strings in the document, most similar first
	Scanned bool     // whether the pages contain images and no text
}

// Error returns the problem, with similar strings in the document.
func (e *AnchorError) Error() string {
	where := "in the document"
	if e.Page > 0 {
		where = fmt.Sprintf("on page %d", e.Page)
	}
	text := fmt.Sprintf("the anchor text %q was not found %s", e.Text, where)
	switch {
	case e.Found > maxPlaces:
		return fmt.Sprintf("the anchor text %q occurs more than %d times %s", e.Text, maxPlaces, where)
	case e.Found == 1:
		return fmt.Sprintf("the anchor text %q occurs only once %s", e.Text, where)
	case e.Found > 0:
		return fmt.Sprintf("the anchor text %q occurs only %d times %s", e.Text, e.Found, where)
	case e.Scanned && e.Page > 0:
		return text + ": the page is an image without text (a scan)"
	case e.Scanned:
		return text + ": its pages are images without text (scans)"
	case len(e.Similar) > 0:
		quoted := make([]string, len(e.Similar))
		for i, s := range e.Similar {
			quoted[i] = strconv.Quote(s)
		}
		return text + "; there is " + strings.Join(quoted, ", ")
	}
	return text
}

// PageError reports that an anchor specifies a nonexistent page.
type PageError struct {
	Field       int // index of the field
	Page, Pages int
}

// Error returns a message with the page and the number of pages.
func (e *PageError) Error() string {
	return fmt.Sprintf("the anchor refers to page %d, but the document has %d page(s)", e.Page, e.Pages)
}

// maxPlaces is the maximum number of fields created by one anchor.
const maxPlaces = 1000

// anchorSearch is the state of the search for one field.
type anchorSearch struct {
	AnchoredField

	field   int        // index of the field
	places  []Position // all occurrences, or only the last one
	count   int
	similar similar
}

// needsPage reports whether the search needs to examine a page.
func (s *anchorSearch) needsPage(page int) bool {
	match := s.Anchor.Match
	return (s.Anchor.Page == 0 || s.Anchor.Page == page) && (match == Last || match == All || s.count < max(1, int(match)))
}

// Resolve returns the positions of each field, or none for a skipped field. It reads every page at most once. It
// returns *AnchorError, *PageError, pagetext.ErrLimit, an error from Validate, the context's error, or an error from
// reading the file.
func Resolve(ctx context.Context, f *pdf.File, fields []AnchoredField) ([][]Position, error) {
	all := make([]anchorSearch, len(fields))
	for i, field := range fields {
		if err := field.Anchor.Validate(); err != nil {
			return nil, fmt.Errorf("field %d: %w", i, err)
		}
		all[i] = anchorSearch{AnchoredField: field, field: i, similar: newSimilar(field.Anchor.Text)}
	}
	r := pagetext.NewReader(f)
	scans := make(map[int]bool) // the pages that were read, and whether each contains images but no text
	pages, err := f.Walk(func(p *pdf.Page) error {
		var page *pagetext.Page
		for i := range all {
			s := &all[i]
			if !s.needsPage(p.Index + 1) {
				continue
			}
			if page == nil {
				var err error
				if page, err = r.Page(ctx, p); err != nil {
					return err
				}
				scans[p.Index+1] = len(page.Glyphs) == 0 && page.Images > 0
			}
			if err := s.searchPage(page); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	places := make([][]Position, len(all))
	for i := range all {
		s := &all[i]
		if s.Anchor.Page > pages {
			return nil, &PageError{i, s.Anchor.Page, pages}
		}
		if places[i], err = s.result(scans); err != nil {
			return nil, err
		}
	}
	return places, nil
}

func (s *anchorSearch) searchPage(p *pagetext.Page) error {
	a := s.Anchor
	for _, m := range p.Find(a.Text, pagetext.FindOptions{WholeWord: a.WholeWord, IgnoreCase: a.IgnoreCase}) {
		s.count++
		place := s.position(p, m)
		switch {
		case a.Match == Last:
			s.places = append(s.places[:0], place)
		case a.Match == First && s.count > 1 || a.Match > 0 && s.count != int(a.Match):
		case len(s.places) == maxPlaces:
			return &AnchorError{Field: s.field, Text: a.Text, Page: a.Page, Found: s.count}
		default:
			s.places = append(s.places, place)
		}
	}
	if s.count == 0 {
		s.similar.comparePage(p)
	}
	return nil
}

func (s *anchorSearch) position(p *pagetext.Page, m pagetext.Match) Position {
	a, last := s.Anchor, m.Lines[len(m.Lines)-1]
	out := Position{Page: p.Index + 1, W: s.W, H: s.H}
	switch a.At {
	case Over:
		out.X, out.Y = m.Box.X, m.Box.Y
	case Below:
		out.X, out.Y = m.Box.X, m.Box.Y+m.Box.H
	default:
		out.X, out.Y = last.X+last.W, last.Y+(last.H-s.H)/2
		if m.RightToLeft {
			out.X = last.X - s.W
		}
	}
	out.X += a.DX
	out.Y += a.DY
	return out
}

func (s *anchorSearch) result(scans map[int]bool) ([]Position, error) {
	if len(s.places) > 0 || s.Anchor.IfMissing == Skip {
		return s.places, nil
	}
	e := &AnchorError{Field: s.field, Text: s.Anchor.Text, Page: s.Anchor.Page, Found: s.count, Similar: s.similar.texts()}
	if s.Anchor.Page > 0 {
		e.Scanned = scans[s.Anchor.Page]
	} else {
		e.Scanned = len(scans) > 0 && !slices.Contains(slices.Collect(maps.Values(scans)), false)
	}
	return nil, e
}
