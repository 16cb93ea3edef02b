package api

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/seal/appearance"
	"countersign/seal/rejection"
)

func TestPageError_EachCause_HasItsOwnResponse(t *testing.T) {
	t.Parallel()
	r := pageRequest{document: &models.Document{}, page: 7}
	require.Equal(t, rejection.PDFTooComplex, codeOf(t, pageError(r, rejection.New(rejection.PDFTooComplex, "Too complex."))))
	require.ErrorIs(t, pageError(r, fmt.Errorf("page 7: %w", appearance.ErrNoPage)), models.ErrNotFound)
	gone := errors.New("the process has exited")
	other := pageError(r, gone)
	require.ErrorIs(t, other, gone)
	require.ErrorContains(t, other, "render page 7")
	require.False(t, models.IsRejection(other))
}
