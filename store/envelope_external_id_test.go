package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestExternalIDs checks that only one envelope of a tenant can hold an external ID, and that a failed envelope does
// not hold one.
func TestExternalIDs(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, other := newFixture(t, s, clock), newFixture(t, s, clock)
		id := ptr("case 7")
		in := models.Envelope{ExternalID: id}
		taken := func(by uuid.UUID) {
			t.Helper()
			_, err := f.draft(in)
			var rejection *models.Error
			require.ErrorAs(t, err, &rejection)
			assert.Equal(t, "external_id_taken", rejection.Code)
			assert.Equal(t, map[string]any{"envelopeId": by}, rejection.Details)
		}
		first, err := f.draft(in)
		require.NoError(t, err)
		taken(first.ID)
		_, err = f.draft(models.Envelope{ExternalID: ptr("case 8")})
		require.NoError(t, err)
		_, err = f.draft(models.Envelope{ExternalID: id, TenantID: "u"})
		require.NoError(t, err, "of another tenant")
		_, err = other.draft(in)
		require.NoError(t, err, "of another app")
		for _, end := range []func(*models.Envelope) error{
			func(e *models.Envelope) error { return e.Void(f.act(), nil) },
			func(e *models.Envelope) error { _, err := e.Delete(f.act()); return err },
		} {
			holder := first
			require.NoError(t, change(t.Context(), f, holder.ID, end))
			first, err = f.draft(in)
			require.NoError(t, err, "the previous envelope has ended")
			taken(first.ID)
		}
		list, _, err := s.Envelopes(t.Context(), store.EnvelopeFilter{App: f.app.ID, ExternalID: *id, Status: models.StatusDraft, Tenant: "t", Page: 1, Size: 9})
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, first.ID, list[0].ID)
	})
}
