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

func TestCredentials(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		app, secret, err := s.CreateApp(t.Context(), "A", models.PlanFree, []string{"t1"})
		require.NoError(t, err)
		require.NotEqual(t, app.ID, app.ClientID, "the id in records must differ from the client id")
		got, err := s.Authenticate(t.Context(), app.ClientID.String(), secret)
		require.NoError(t, err)
		assert.Equal(t, app.ID, got.ID)
		assert.Equal(t, []string{"t1"}, got.Tenants)
		for _, c := range [][2]string{{app.ClientID.String(), "wrong"}, {app.ID.String(), secret}, {uuid.NewString(), secret}, {"nonsense", secret}, {"", ""}} {
			_, err := s.Authenticate(t.Context(), c[0], c[1])
			require.ErrorIs(t, err, models.ErrNotFound)
		}
		_, _, err = s.CreateApp(t.Context(), "", "gold", nil)
		var rejection *models.Error
		require.ErrorAs(t, err, &rejection)
		assert.Contains(t, rejection.Fields, "name")
		assert.Contains(t, rejection.Fields, "plan")
	})
}
