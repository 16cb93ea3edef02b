package api_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/seal/admission"
)

// TestAnUploadKeepsItsFacts: what examining it found out for sealing it is kept
// with the document.
func TestAnUploadKeepsItsFacts(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		e, _ := s.client(t).sent(contract())
		stored, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
		require.NoError(t, err)
		info, err := admission.Admit(t.Context(), bytes.NewReader(testkit.OnePage()), int64(len(testkit.OnePage())), admission.DefaultLimits())
		require.NoError(t, err)
		require.NotEmpty(t, info.Facts.Encode())
		require.Equal(t, info.Facts.Encode(), stored.Originals()[0].SealFacts)
	})
}
