package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/pdf"
	"countersign/pdf/pagetext"
	"countersign/prepare"
	"countersign/seal/budget"
	"countersign/seal/rejection"
)

// TestAnchorProblems checks that the error for an anchor contains its path in the request.
func TestAnchorProblems(t *testing.T) {
	t.Parallel()
	fields := []models.FieldInput{{Name: "b"}, {Name: "a", Anchor: &models.Anchor{}}, {Anchor: &models.Anchor{}}, {Name: "b", Anchor: &models.Anchor{}}}
	require.Equal(t, 1, firstAnchor(fields))
	require.Negative(t, firstAnchor(fields[:1]))
	for _, c := range []struct {
		err  error
		path string
	}{
		{&prepare.AnchorError{Field: 0}, "fields[1].anchor"},
		{&prepare.PageError{Field: 0}, "fields[1].anchor"},
		{&prepare.AnchorError{Field: 1}, "fields[2].anchor"},
		{&prepare.AnchorError{Field: 2, Found: 1001}, "fields[3].anchor"},
	} {
		var rejected *models.Error
		require.ErrorAs(t, anchorProblem(c.err, fields, models.IndexedPath), &rejected)
		require.Contains(t, rejected.Fields, c.path)
	}
	for _, err := range []error{pagetext.ErrLimit, budget.ErrSpent} {
		require.Equal(t, "anchor_too_complex", codeOf(t, anchorProblem(err, fields, models.IndexedPath)))
	}
	for _, damage := range []error{pdf.ErrDamaged, pdf.ErrFilter} {
		var rejected *rejection.Error
		require.ErrorAs(t, anchorProblem(fmt.Errorf("page 1: content: %w", damage), fields, models.IndexedPath), &rejected)
		require.Equal(t, rejection.PDFNeedsRepair, rejected.Code)
	}
	other := errors.New("the disk is unavailable")
	require.Equal(t, other, anchorProblem(other, fields, models.IndexedPath))
}

func TestAnchor_Page_BeginsAtOne(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{`{}`: true, `{"page":1}`: true, `{"page":0}`: false, `{"page":-1}`: false} {
		o := objectOf(t, `{"anchor":`+strings.Replace(text, "{", `{"text":"Sign"`+map[bool]string{true: ",", false: ""}[text != "{}"], 1)+`}`)
		a := anchor(o)
		require.NotNil(t, a)
		require.Equal(t, ok, len(o.p) == 0, "%s: %v", text, o.p)
		if !ok {
			require.Contains(t, o.p, "anchor.page", text)
		}
	}
}

// TestPlace_FieldsBeyondTheirBound_AreRejected checks that too many fields are rejected, regardless of how they are
// placed.
func TestPlace_FieldsBeyondTheirBound_AreRejected(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{models.MaxFields: true, models.MaxFields + 1: false} {
		for name, place := range map[string]func() ([]models.FieldInput, []int, error){
			"in a file": func() ([]models.FieldInput, []int, error) {
				return new(uploads).placeAnchors(t.Context(), make([]models.FieldInput, n), nil, 0, models.IndexedPath)
			},
			"in a draft": func() ([]models.FieldInput, []int, error) {
				return new(uploads).placeOnDocuments(t.Context(), &models.Envelope{}, make([]models.FieldInput, n), true, models.IndexedPath)
			},
		} {
			placed, at, err := place()
			if ok {
				require.NoError(t, err, name)
				require.Len(t, placed, n, name)
				require.Equal(t, n-1, at[n-1], name)
				continue
			}
			var rejected *models.Error
			require.ErrorAs(t, err, &rejected, name)
			require.Contains(t, rejected.Fields, "fields", name)
		}
	}
}
