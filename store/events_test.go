package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// draft stores a draft of a tenant.
func (f *fixture) draft(in models.Envelope) (*models.Envelope, error) {
	f.t.Helper()
	in.AppID, in.CreatedBy = f.app.ID, "me"
	if in.TenantID == "" {
		in.TenantID = "t"
	}
	e, err := models.NewEnvelope(f.act(), in)
	require.NoError(f.t, err)
	return e, f.Create(f.t.Context(), e)
}

// TestEventsOfAnApp: every reader sees the events of its app in one order, whatever
// it selects and however long its pages are.
func TestEventsOfAnApp(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, other, ctx := newFixture(t, s, clock), newFixture(t, s, clock), t.Context()
		read := func(q store.EventQuery) (names []models.EventName, page *store.EventPage) {
			if q.App == uuid.Nil {
				q.App = f.app.ID
			}
			if q.Limit == 0 {
				q.Limit = 100
			}
			page, err := s.Events(ctx, q)
			require.NoError(t, err)
			for _, e := range page.Events {
				assert.Equal(t, q.App, e.AppID)
				assert.Contains(t, string(e.Body), e.EnvelopeID.String(), "it can be read")
				names = append(names, e.Name)
			}
			return names, page
		}
		for _, latest := range []bool{false, true} {
			names, page := read(store.EventQuery{Latest: latest})
			assert.Empty(t, names)
			assert.Equal(t, store.EventPage{Events: page.Events}, *page, "nothing has happened")
		}
		began := clock.Now()
		first := f.sent(1, nil)
		clock.Add(time.Second)
		later := clock.Now()
		second := must(f.draft(models.Envelope{TenantID: "u"}))
		foreign := newEndpoint(other)
		other.sent(1, nil)
		foreign.ping()
		newEndpoint(f).ping() // belongs to no envelope, and to no reader

		all, page := read(store.EventQuery{})
		require.Equal(t, []models.EventName{models.EventEnvelopeCreated, models.EventEnvelopeSent, models.EventEnvelopeCreated}, all)
		end := page.Events[2].ID
		assert.Equal(t, []any{end, false}, []any{page.Cursor, page.More})
		assert.Equal(t, []uuid.UUID{first.ID, first.ID, second.ID}, []uuid.UUID{page.Events[0].EnvelopeID, page.Events[1].EnvelopeID, page.Events[2].EnvelopeID})
		for _, c := range []struct {
			q      store.EventQuery
			want   int // how many
			cursor uuid.UUID
			more   bool
		}{
			{store.EventQuery{Limit: 3}, 3, end, false},
			{store.EventQuery{Limit: 2}, 2, page.Events[1].ID, true},
			{store.EventQuery{Limit: 1, After: page.Events[0].ID}, 1, page.Events[1].ID, true},
			{store.EventQuery{Limit: 1, After: page.Events[1].ID}, 1, end, false},
			{store.EventQuery{After: end}, 0, end, false},
			{store.EventQuery{Latest: true}, 0, end, false},
			{store.EventQuery{Name: models.EventEnvelopeSent}, 1, end, false},
			{store.EventQuery{Name: models.EventEnvelopeVoided}, 0, end, false},
			{store.EventQuery{Tenants: []string{"u"}}, 1, end, false},
			{store.EventQuery{Tenants: []string{"u", "t"}, Name: models.EventEnvelopeCreated}, 2, end, false},
			{store.EventQuery{Tenants: []string{"v"}}, 0, end, false},
			{store.EventQuery{Since: began}, 3, end, false},
			{store.EventQuery{Since: later}, 1, end, false},
			{store.EventQuery{Since: later.Add(time.Microsecond)}, 0, end, false},
		} {
			names, got := read(c.q)
			assert.Len(t, names, c.want, "%+v", c.q)
			assert.Equal(t, []any{c.cursor, c.more}, []any{got.Cursor, got.More}, "%+v", c.q)
		}
		theirs, foreignPage := read(store.EventQuery{App: other.app.ID})
		require.Len(t, theirs, 2)
		for _, id := range []uuid.UUID{foreignPage.Cursor, uuid.New()} {
			_, err := s.Events(ctx, store.EventQuery{App: f.app.ID, After: id, Limit: 9})
			assert.Equal(t, "cursor_expired", refusalOf(t, err))
		}

		// What happens afterwards follows.
		require.NoError(t, change(ctx, f, second.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
		names, after := read(store.EventQuery{After: end})
		assert.Equal(t, []models.EventName{models.EventEnvelopeVoided}, names)
		last := after.Cursor

		// Events are read for 90 days; a reader goes on as long as nothing that followed is gone.
		clock.Add(later.Add(90 * 24 * time.Hour).Sub(clock.Now()))
		names, _ = read(store.EventQuery{})
		assert.Len(t, names, 2, "those of the first moment are too old")
		names, _ = read(store.EventQuery{After: page.Events[1].ID})
		assert.Len(t, names, 2, "nothing between is gone")
		_, err := s.Events(ctx, store.EventQuery{App: f.app.ID, After: page.Events[0].ID, Limit: 9})
		assert.Equal(t, "cursor_expired", refusalOf(t, err))
		rows := func() (n int) {
			db, err := s.DB()
			require.NoError(t, err)
			require.NoError(t, db.QueryRowContext(ctx, "SELECT count(*) FROM webhook_events WHERE name <> 'ping' AND app_id = '"+f.app.ID.String()+"'").Scan(&n))
			return n
		}
		require.NoError(t, s.DeleteExpired(ctx))
		assert.Equal(t, 4, rows(), "they are kept for a day longer than they are read")
		clock.Add(24*time.Hour + time.Microsecond)
		require.NoError(t, s.DeleteExpired(ctx))
		assert.Equal(t, 1, rows(), "but for the newest")
		names, page = read(store.EventQuery{After: last})
		assert.Empty(t, names)
		assert.Equal(t, last, page.Cursor)
		theirs, page = read(store.EventQuery{App: other.app.ID})
		assert.Empty(t, theirs)
		assert.Equal(t, foreignPage.Cursor, page.Cursor, "the newest is kept")
	})
}
