package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/pdf"
	"countersign/pdf/pagetext"
	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/seal/budget"
)

// firstAnchor returns the index of the first field that has an anchor, or -1 if there is none.
func firstAnchor(fields []models.FieldInput) int {
	return slices.IndexFunc(fields, func(in models.FieldInput) bool { return in.Anchor != nil })
}

// anchor reads the text anchor of a field. It returns nil if the field has none.
func anchor(o *object) *models.Anchor {
	o = o.sub("anchor")
	if o == nil {
		return nil
	}
	a := models.Anchor{
		Text: o.str("text"), Match: o.textOrNumber("match"), At: o.text("at"), WholeWord: o.flag("wholeWord", false),
		IgnoreCase: o.flag("ignoreCase", false), IfMissing: o.text("ifMissing"),
		DX: o.numOr("dx", 0), DY: o.numOr("dy", 0),
	}
	if n := o.optInt("page"); n != nil {
		if a.Page = *n; *n < 1 {
			o.bad("page", "must be 1 or more")
		}
	}
	if p, err := prepareAnchor(a); err != nil {
		o.bad("match", "%s", err.Error())
	} else if err := p.Validate(); err != nil && len(o.p) == 0 {
		o.p.Add(o.path[:len(o.path)-1], "%s", err.Error())
	}
	return &a
}

// prepareAnchor converts an anchor to the type used by package prepare.
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

// addDraftFields adds fields to a new draft. If a field has an anchor, it is placed at the anchor's text in the given
// file or, without a file, in the first document.
func (s *uploads) addDraftFields(c *gin.Context, e *models.Envelope, act models.ActionContext, fields []models.FieldInput, path func(int) string, file *upload) error {
	if i := firstAnchor(fields); i >= 0 {
		var content io.ReaderAt
		var size int64
		switch {
		case file != nil:
			content, size = file.presented()
		case len(e.Documents) > 0:
			f, err := s.openFile(c.Request.Context(), e, e.Documents[0].Presented())
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }() // opened only for reading
			content, size = f, f.Size()
		default:
			return models.ErrAnchorNeedsDocument(path(i))
		}
		placed, at, err := s.placeAnchors(c.Request.Context(), fields, content, size, path)
		if err != nil {
			return err
		}
		whole := path
		fields, path = placed, func(i int) string { return whole(at[i]) }
	}
	if len(fields) == 0 {
		return nil
	}
	_, err := e.AddFields(act, fields, path)
	return err
}

// placeAnchors finds the anchor texts of fields in a document, and returns the fields with their positions. A field
// whose anchor matches several occurrences becomes several fields. An optional field without any match is omitted. For
// each returned field, placeAnchors also returns its index in the request. It calls path to convert an index to a JSON
// path for a problem.
func (s *uploads) placeAnchors(ctx context.Context, fields []models.FieldInput, r io.ReaderAt, size int64, path func(int) string) (placed []models.FieldInput, at []int, err error) {
	var anchored []prepare.AnchoredField
	for _, in := range fields {
		if in.Anchor == nil {
			continue
		}
		a, err := prepareAnchor(*in.Anchor)
		if err != nil {
			return nil, nil, err
		}
		anchored = append(anchored, prepare.AnchoredField{Anchor: a, W: in.W, H: in.H})
	}
	var places [][]prepare.Position
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
		return nil, nil, models.InvalidField("fields", "an envelope can have at most %d fields, but the anchors create %d", models.MaxFields, len(placed))
	}
	return placed, at, nil
}

// resolveAnchors finds anchor texts in a document, subject to the concurrency limit of examinations.
func (s *uploads) resolveAnchors(ctx context.Context, r io.ReaderAt, size int64, fields []prepare.AnchoredField) ([][]prepare.Position, error) {
	done, err := s.admissions.Acquire(ctx, 1, 0)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, release := s.admission.Reading(ctx)
	defer release()
	f, err := pdf.Open(r, size, pdf.DefaultLimits())
	if err != nil {
		return nil, err
	}
	return prepare.Resolve(ctx, f, fields)
}

// anchorProblem converts an error of an anchor to a validation error that names the field.
func anchorProblem(err error, fields []models.FieldInput, path func(int) string) error {
	var nth int // index among the fields that have an anchor
	if missing, ok := errors.AsType[*prepare.AnchorError](err); ok {
		nth = missing.Field
	} else if page, ok := errors.AsType[*prepare.PageError](err); ok {
		nth = page.Field
	} else if errors.Is(err, pagetext.ErrLimit) || errors.Is(err, budget.ErrSpent) {
		return models.Reject(models.KindInvalid, "anchor_too_complex", "The document contains too much text to be searched for anchors.")
	} else {
		return admission.RejectionOf(err)
	}
	for i, in := range fields {
		if in.Anchor == nil {
			continue
		}
		if nth--; nth < 0 {
			if in.Name != "" {
				err = fmt.Errorf("field %s: %w", in.Name, err)
			}
			return models.InvalidField(path(i)+"anchor", "%s", err.Error())
		}
	}
	return err
}

// placeOnDocuments is like placeAnchors, but the fields may be on several documents of a draft. The default is the
// first document. If the parameter listed is set, the request contains a list of fields, each of which can become
// several fields or none.
func (s *uploads) placeOnDocuments(ctx context.Context, e *models.Envelope, ins []models.FieldInput, listed bool, path func(int) string) (placed []models.FieldInput, at []int, err error) {
	of := make(map[uuid.UUID][]int) // indices of fields with an anchor, by document ID
	var documents []*models.Document
	for i, in := range ins {
		if in.Anchor == nil {
			continue
		}
		d, err := anchoredDocument(e, in, listed, path(i))
		if err != nil {
			return nil, nil, err
		}
		if of[d.ID] == nil {
			documents = append(documents, d)
		}
		of[d.ID] = append(of[d.ID], i)
	}
	made := make([][]models.FieldInput, len(ins))
	for _, d := range documents {
		if err := s.placeOnDocument(ctx, e, d, ins, of[d.ID], made, path); err != nil {
			return nil, nil, err
		}
	}
	for i, in := range ins {
		if in.Anchor == nil {
			made[i] = []models.FieldInput{in}
		}
		if !listed && len(made[i]) == 0 {
			return nil, nil, models.InvalidField("anchor", "the text was not found, so ifMissing would leave no field to create: remove ifMissing, or remove the field")
		}
		for _, one := range made[i] {
			placed, at = append(placed, one), append(at, i)
		}
	}
	if len(placed) > models.MaxFields {
		return nil, nil, models.InvalidField("fields", "an envelope can have at most %d fields, but the anchors create %d", models.MaxFields, len(placed))
	}
	return placed, at, nil
}

// anchoredDocument returns the document in which to find an anchor's text.
func anchoredDocument(e *models.Envelope, in models.FieldInput, listed bool, path string) (*models.Document, error) {
	id := e.FirstDocumentID
	if in.DocumentID != nil {
		id = *in.DocumentID
	}
	d := e.Document(id)
	switch {
	case d == nil && in.DocumentID == nil:
		return nil, models.ErrAnchorNeedsDocument(path)
	case d == nil || d.Kind != models.DocumentOriginal:
		return nil, models.InvalidField(path+"documentId", "must be the id of a document of this envelope")
	case in.Anchor.Match == "all" && !listed:
		return nil, models.InvalidField("anchor.match", "\"all\" can create several fields: send a list of fields, or define the field when you create the envelope")
	}
	return d, nil
}

// placeOnDocument places fields on one document, which it reads only once. It appends the results for field i to
// made[i].
func (s *uploads) placeOnDocument(ctx context.Context, e *models.Envelope, d *models.Document, ins []models.FieldInput, which []int, made [][]models.FieldInput, path func(int) string) error {
	f, err := s.openFile(ctx, e, d.Presented())
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	fields := make([]models.FieldInput, 0, len(which))
	for _, i := range which {
		fields = append(fields, ins[i])
	}
	placed, at, err := s.placeAnchors(ctx, fields, f, f.Size(), func(n int) string { return path(which[n]) })
	if err != nil {
		return err
	}
	for n, one := range placed {
		i := which[at[n]]
		made[i] = append(made[i], one)
	}
	return nil
}
