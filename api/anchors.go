package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"countersign/models"
	"countersign/prepare"
	"countersign/prepare/pagetext"
	"countersign/seal/pdf"
)

// firstAnchor is the index of the first field that stands at a text; negative if none does.
func firstAnchor(fields []models.FieldInput) int {
	return slices.IndexFunc(fields, func(in models.FieldInput) bool { return in.Anchor != nil })
}

// anchor reads the text at which a field stands; nil: it stands at coordinates.
func anchor(o *object) *models.Anchor {
	o = o.sub("anchor")
	if o == nil {
		return nil
	}
	a := models.Anchor{
		Text: o.str("text"), Match: o.textOrNumber("match"), At: o.text("at"), WholeWord: o.flag("wholeWord", false),
		IgnoreCase: o.flag("ignoreCase", false), IfMissing: o.text("ifMissing"),
	}
	if n := o.optInt("page"); n != nil {
		a.Page = *n
		if *n < 1 {
			o.bad("page", "must be 1 or more")
		}
	}
	if o.get("dx") != nil {
		a.DX = o.num("dx")
	}
	if o.get("dy") != nil {
		a.DY = o.num("dy")
	}
	if p, err := prepareAnchor(a); err != nil {
		o.bad("match", "%s", err.Error())
	} else if err := p.Validate(); err != nil && len(o.p) == 0 {
		o.p.Add(o.path[:len(o.path)-1], "%s", err.Error())
	}
	return &a
}

// prepareAnchor is an anchor as package prepare knows it.
func prepareAnchor(a models.Anchor) (prepare.Anchor, error) {
	out := prepare.Anchor{
		Text: a.Text, Page: a.Page, DX: a.DX, DY: a.DY, At: a.At, WholeWord: a.WholeWord, IgnoreCase: a.IgnoreCase, IfMissing: a.IfMissing,
	}
	if a.Match == "" {
		return out, nil
	}
	match := []byte(a.Match)
	switch a.Match {
	case "first", "last", "all":
		var err error
		if match, err = json.Marshal(a.Match); err != nil {
			return out, err
		}
	}
	return out, out.Match.UnmarshalJSON(match)
}

// placeAnchors finds the texts at which fields stand in a document, and returns the
// fields with their places. A field whose text counts in several places becomes as
// many fields; one that may be missing, none. at has the index of the request's field
// for each; path names that in problems.
func (s *Server) placeAnchors(ctx context.Context, fields []models.FieldInput, r io.ReaderAt, size int64, path func(int) string) (placed []models.FieldInput, at []int, err error) {
	var anchored []prepare.AnchoredField
	for i, in := range fields {
		if in.Anchor == nil {
			continue
		}
		a, err := prepareAnchor(*in.Anchor)
		if err != nil {
			return nil, nil, err
		}
		anchored = append(anchored, prepare.AnchoredField{Name: anchoredName(in, i), Anchor: a, W: in.W, H: in.H})
	}
	var places [][]prepare.Place
	if len(anchored) > 0 {
		if places, err = s.resolveAnchors(ctx, r, size, anchored); err != nil {
			return nil, nil, anchorProblem(err, fields, path)
		}
	}
	for i, in := range fields {
		if in.Anchor == nil {
			placed, at = append(placed, in), append(at, i)
			continue
		}
		for n, place := range places[0] {
			one := in
			one.Anchor, one.Origin = nil, models.OriginTopLeft
			one.Page, one.X, one.Y, one.W, one.H = place.Page, place.X, place.Y, place.W, place.H
			if n > 0 && one.Name != "" {
				one.Name += "_" + strconv.Itoa(n+1)
			}
			placed, at = append(placed, one), append(at, i)
		}
		places = places[1:]
	}
	if len(placed) > models.MaxFields {
		return nil, nil, models.InvalidField("fields", "an envelope can have at most %d fields, and the anchors make %d", models.MaxFields, len(placed))
	}
	return placed, at, nil
}

// resolveAnchors reads the document when its turn among those that are examined has come.
func (s *Server) resolveAnchors(ctx context.Context, r io.ReaderAt, size int64, fields []prepare.AnchoredField) ([][]prepare.Place, error) {
	select {
	case s.admissionSlots <- struct{}{}:
		defer func() { <-s.admissionSlots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, s.Admission.Timeout)
	defer cancel()
	f, err := pdf.Open(r, size, pdf.DefaultLimits())
	if err != nil {
		return nil, err
	}
	return prepare.Resolve(ctx, f, fields)
}

// anchoredName is what problems call a field.
func anchoredName(in models.FieldInput, i int) string {
	if in.Name != "" {
		return in.Name
	}
	return fmt.Sprintf("fields[%d]", i)
}

// anchorProblem makes of what is wrong with an anchor the refusal that names its field.
func anchorProblem(err error, fields []models.FieldInput, path func(int) string) error {
	var missing *prepare.AnchorError
	var page *prepare.PageError
	var name string
	switch {
	case errors.As(err, &missing):
		name = missing.Field
	case errors.As(err, &page):
		name = page.Field
	case errors.Is(err, pagetext.ErrLimit), errors.Is(err, context.DeadlineExceeded):
		return models.Refuse(models.KindInvalid, "anchor_too_complex", "The document's text is too large to look for anchors in it.")
	default:
		return err
	}
	for i, in := range fields {
		if in.Anchor != nil && anchoredName(in, i) == name {
			return models.InvalidField(path(i)+"anchor", "%s", err.Error())
		}
	}
	return models.InvalidField("fields", "%s", err.Error())
}

// placeOnDocument is placeAnchors for fields of a draft: on the document that each
// names, and otherwise on the first.
func (s *Server) placeOnDocument(ctx context.Context, e *models.Envelope, in models.FieldInput) (models.FieldInput, error) {
	id := e.FirstDocumentID
	if in.DocumentID != nil {
		id = *in.DocumentID
	}
	d := e.Document(id)
	switch {
	case d == nil && in.DocumentID == nil:
		return in, models.ErrAnchorNeedsDocument("")
	case d == nil || d.Kind != models.DocumentOriginal:
		return in, models.InvalidField("documentId", "names no document of this envelope")
	case in.Anchor.Match == "all":
		return in, models.InvalidField("anchor.match", "all makes several fields: it is for creating an envelope")
	}
	f, err := s.openFile(ctx, e, d.Presented())
	if err != nil {
		return in, err
	}
	defer func() { _ = f.Close() }() // read only
	placed, _, err := s.placeAnchors(ctx, []models.FieldInput{in}, f, f.Size(), models.NoPrefix)
	if err != nil {
		return in, err
	}
	if len(placed) == 0 {
		return in, models.InvalidField("anchor", "the text is missing, and skipping it would make no field: leave ifMissing out, or the field")
	}
	return placed[0], nil
}
