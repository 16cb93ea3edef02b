package store_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestExecute_IsOneTransaction checks that all calls for a request share a single transaction. Each call sees the
// writes of earlier calls. Other transactions see the writes, and hooks run, only after the commit.
func TestExecute_IsOneTransaction(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		_, ada, _ := newUsers(t, s)
		e := f.sent(2, nil)
		f.awake()
		var inside *models.Envelope
		response, err := s.Execute(ctx, uuid.Nil, func(tx *store.Store) (*store.StoredResponse, error) {
			hook, err := tx.CreateWebhook(ctx, f.app.ID, "https://example.com", models.WebhookEvents, "") // uses GORM
			require.NoError(t, err)
			inside, err = tx.Change(ctx, f.app.ID, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }) // uses a batch
			require.NoError(t, err)
			require.NotEmpty(t, inside.Events, "the values may be used for a response")
			again, err := tx.Envelope(ctx, f.app.ID, e.ID)
			require.NoError(t, err)
			assert.Equal(t, models.StatusVoided, again.Status)
			own, _, err := tx.Deliveries(ctx, store.DeliveryFilter{App: f.app.ID, Page: 1, Size: 9})
			require.NoError(t, err)
			require.Len(t, own, 1, "the endpoint must be found")
			assert.Equal(t, hook.ID, own[0].WebhookID)
			_, err = tx.EnrollFactor(ctx, ada) // uses no separate transaction
			require.NoError(t, err)

			others, err := s.Envelope(ctx, f.app.ID, e.ID)
			require.NoError(t, err)
			assert.Equal(t, models.StatusInProgress, others.Status)
			assert.False(t, f.awake())
			return &store.StoredResponse{Status: 202}, nil
		})
		require.NoError(t, err)
		assert.Equal(t, 202, response.Status)
		assert.Empty(t, inside.Events)
		assert.True(t, f.awake())
		after, _ := f.check(e.ID)
		assert.Equal(t, models.StatusVoided, after.Status)
		assert.Equal(t, 1, rowsIn(t, s, "console_factors"))
	})
}

// TestExecute_RollsBack checks that all changes of a request are rolled back if a call fails, even if its error is
// ignored, or if rendering the response fails.
func TestExecute_RollsBack(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.sent(1, nil)
		drainOutbox(t, s)
		f.awake()
		before, log := f.check(e.ID)
		boom := errors.New("boom")
		void := func(tx *store.Store) error {
			return errOf(tx.Change(ctx, f.app.ID, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
		}
		fail := func(tx *store.Store) error {
			return errOf(tx.Change(ctx, f.app.ID, e.ID, func(*models.Envelope) error { return boom }))
		}
		for name, c := range map[string]struct {
			fn   func(tx *store.Store) error
			want error
		}{
			"the response":             {func(tx *store.Store) error { require.NoError(t, void(tx)); return boom }, boom},
			"the second call":          {func(tx *store.Store) error { require.NoError(t, void(tx)); return fail(tx) }, boom},
			"a call that was ignored":  {func(tx *store.Store) error { require.NoError(t, void(tx)); _ = fail(tx); return nil }, boom},
			"a query that was ignored": {func(tx *store.Store) error { _ = errOf(tx.Template(ctx, f.app.ID, uuid.New(), 0)); return void(tx) }, models.ErrNotFound},
		} {
			response, err := s.Execute(ctx, uuid.Nil, func(tx *store.Store) (*store.StoredResponse, error) {
				return &store.StoredResponse{Status: 200}, c.fn(tx)
			})
			require.ErrorIs(t, err, c.want, name)
			assert.Nil(t, response, name)
			after, logAfter := f.check(e.ID)
			assert.Equal(t, before, after, name)
			assert.Equal(t, log, logAfter, name)
			assert.Empty(t, drainOutbox(t, s), name)
			assert.False(t, f.awake(), name)
		}
		require.NoError(t, withIdempotencyKey(ctx, s, uuid.Nil, void), "the connection's state has not changed")
	})
}
