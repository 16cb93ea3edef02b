package api

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/internal/budget"
	"countersign/models"
	"countersign/pdf"
	"countersign/pdf/pagetext"
	"countersign/prepare"
	"countersign/seal/refusal"
)

// TestAnchorProblems checks that an anchor's error names its place in the request.
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
		var refused *models.Error
		require.ErrorAs(t, anchorProblem(c.err, fields, models.IndexedPath), &refused)
		require.Contains(t, refused.Fields, c.path)
	}
	for _, err := range []error{pagetext.ErrLimit, budget.ErrSpent} {
		require.Equal(t, "anchor_too_complex", codeOf(t, anchorProblem(err, fields, models.IndexedPath)))
	}
	for _, damage := range []error{pdf.ErrDamaged, pdf.ErrFilter} {
		var refused *refusal.Error
		require.ErrorAs(t, anchorProblem(fmt.Errorf("page 1: content: %w", damage), fields, models.IndexedPath), &refused)
		require.Equal(t, refusal.PDFNeedsRepair, refused.Code)
	}
	other := errors.New("the disk is gone")
	require.Equal(t, other, anchorProblem(other, fields, models.IndexedPath))
}
