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

func TestPlanLimit(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		free, _, err := s.CreateApp(t.Context(), "Free", models.PlanFree, nil)
		require.NoError(t, err)
		f.app = free
		for range 5 {
			f.sent(1, nil)
		}
		e, err := models.NewEnvelope(f.act(), models.Envelope{AppID: free.ID, TenantID: "t", CreatedBy: "me"})
		require.NoError(t, err)
		e.Events = append(e.Events, models.Event{ID: uuid.New(), EnvelopeID: e.ID, Name: models.EventEnvelopeSent, Timestamp: clock.Now(), Actor: "system"})
		err = s.Create(t.Context(), e)
		var rejection *models.Error
		require.ErrorAs(t, err, &rejection)
		assert.Equal(t, "plan_limit_reached", rejection.Code)
		_, err = s.Envelope(t.Context(), free.ID, e.ID)
		require.ErrorIs(t, err, models.ErrNotFound, "no partial change was saved")
	})
}
