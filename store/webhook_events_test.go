package store_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

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

// TestEvents_AreInOneOrder checks that every reader receives the events of its app in the same order, regardless of
// filter and page size.
func TestEvents_AreInOneOrder(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
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
				assert.Contains(t, string(e.Body), e.EnvelopeID.String(), "the event can be read")
				names = append(names, e.Name)
			}
			return names, page
		}
		for _, latest := range []bool{false, true} {
			names, page := read(store.EventQuery{Latest: latest})
			assert.Empty(t, names)
			assert.Equal(t, store.EventPage{Events: page.Events}, *page, "no event exists yet")
		}
		began := clock.Now()
		first := f.sent(1, nil)
		clock.Add(time.Second)
		later := clock.Now()
		second := must(f.draft(models.Envelope{TenantID: "u"}))
		foreign := newEndpoint(other)
		other.sent(1, nil)
		foreign.ping()
		newEndpoint(f).ping() // belongs to no envelope, and is not in the feed

		all, page := read(store.EventQuery{})
		require.Equal(t, []models.EventName{models.EventEnvelopeCreated, models.EventEnvelopeSent, models.EventEnvelopeCreated}, all)
		end := page.Events[2].ID
		assert.Equal(t, []any{end, false}, []any{page.Cursor, page.More})
		assert.Equal(t, []uuid.UUID{first.ID, first.ID, second.ID}, []uuid.UUID{page.Events[0].EnvelopeID, page.Events[1].EnvelopeID, page.Events[2].EnvelopeID})
		for _, c := range []struct {
			q      store.EventQuery
			want   int // number of events
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
			assert.Equal(t, "cursor_expired", rejectionOf(t, err))
		}

		// Later events follow.
		require.NoError(t, change(ctx, f, second.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
		names, after := read(store.EventQuery{After: end})
		assert.Equal(t, []models.EventName{models.EventEnvelopeVoided}, names)
		last := after.Cursor

		// Events can be read for 90 days. After that, a reader can continue if no later event was deleted.
		clock.Add(later.Add(90 * 24 * time.Hour).Sub(clock.Now()))
		names, _ = read(store.EventQuery{})
		assert.Len(t, names, 2, "the first events are too old")
		names, _ = read(store.EventQuery{After: page.Events[1].ID})
		assert.Len(t, names, 2, "no event after the cursor was removed")
		_, err := s.Events(ctx, store.EventQuery{App: f.app.ID, After: page.Events[0].ID, Limit: 9})
		assert.Equal(t, "cursor_expired", rejectionOf(t, err))
		rows := func() (n int) {
			db, err := s.DB()
			require.NoError(t, err)
			require.NoError(t, db.QueryRowContext(ctx, "SELECT count(*) FROM webhook_events WHERE name <> 'ping' AND app_id = '"+f.app.ID.String()+"'").Scan(&n))
			return n
		}
		require.NoError(t, kit.RemoveExpired(ctx, s))
		assert.Equal(t, 4, rows(), "events are retained for one day longer than they can be read")
		clock.Add(24*time.Hour + time.Microsecond)
		require.NoError(t, kit.RemoveExpired(ctx, s))
		assert.Equal(t, 1, rows(), "only the newest event is retained")
		names, page = read(store.EventQuery{After: last})
		assert.Empty(t, names)
		assert.Equal(t, last, page.Cursor)
		theirs, page = read(store.EventQuery{App: other.app.ID})
		assert.Empty(t, theirs)
		assert.Equal(t, foreignPage.Cursor, page.Cursor, "the newest event is retained")
	})
}

// manyEvents adds n events with positions to an app's feed, one second apart, starting at the given time. It returns
// the position of the last event.
func (f *fixture) manyEvents(s *store.Store, like *models.Envelope, n int, oldest time.Time) (last int64) {
	f.t.Helper()
	_, err := s.Events(f.t.Context(), store.EventQuery{App: f.app.ID, Limit: 1}) // assigns positions to the existing events
	require.NoError(f.t, err)
	db, err := s.DB()
	require.NoError(f.t, err)
	where := fmt.Sprintf("app_id = '%s'", f.app.ID)
	require.NoError(f.t, db.QueryRowContext(f.t.Context(), "SELECT last_position FROM event_feeds WHERE "+where).Scan(&last))
	others := otherColumns(f.t, s, "webhook_events", "id", "seq", "position", "created_at")
	id, at := "gen_random_uuid()", fmt.Sprintf("'%s'::timestamptz + make_interval(secs => g)", oldest.Format(time.RFC3339Nano))
	if !s.HasPartitions() { // SQLite
		id, at = "lower(hex(randomblob(4)) || '-0000-4000-8000-' || hex(randomblob(6)))", fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%S', '%s', '+' || g || ' seconds') || '+00:00'", oldest.UTC().Format("2006-01-02 15:04:05"))
	}
	execute(f.t, s,
		fmt.Sprintf(`WITH RECURSIVE g(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM g WHERE g < %[1]d)
			INSERT INTO webhook_events (id, position, created_at, %[2]s)
			SELECT %[3]s, %[4]d + g, %[5]s, %[2]s FROM g, (SELECT * FROM webhook_events WHERE name = '%[6]s' AND envelope_id = '%[7]s' LIMIT 1) AS one`,
			n, others, id, last, at, models.EventEnvelopeCreated, like.ID),
		fmt.Sprintf("UPDATE event_feeds SET last_position = last_position + %d WHERE %s", n, where),
	)
	return last + int64(n)
}

// TestEvents_FindFewAmongMany checks that, with a selective filter, each page examines a limited number of events and
// has a cursor for the next page.
func TestEvents_FindFewAmongMany(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := must(f.draft(models.Envelope{}))
		f.manyEvents(s, e, 2*store.EventWindow, clock.Now())
		clock.Add(2 * store.EventWindow * time.Second)
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))

		q := store.EventQuery{App: f.app.ID, Name: models.EventEnvelopeVoided, Limit: 100}
		var found []*models.WebhookEvent
		pages := 0
		for more := true; more; pages++ {
			require.Less(t, pages, 10)
			page, err := s.Events(ctx, q)
			require.NoError(t, err)
			require.NotEqual(t, q.After, page.Cursor, "the list continues")
			found, q.After, more = append(found, page.Events...), page.Cursor, page.More
		}
		require.Len(t, found, 1)
		assert.Equal(t, 3, pages)
		assert.Equal(t, found[0].ID, q.After, "the last event")
	})
}

// TestEventsSince_UsesBinarySearch checks that finding a time near either end reads only a few events.
func TestEventsSince_UsesBinarySearch(t *testing.T) {
	t.Parallel()
	const n = 20_000
	kit.OnPostgres(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := must(f.draft(models.Envelope{}))
		oldest := clock.Now()
		last := f.manyEvents(s, e, n, oldest)
		execute(t, s, "ANALYZE webhook_events")
		for _, seconds := range []int{1, n / 2, n - 1} {
			since := oldest.Add(time.Duration(seconds) * time.Second)
			first, plan, err := s.FirstSince(ctx, f.app.ID, since, last)
			require.NoError(t, err)
			require.Equal(t, last-n+int64(seconds), first)
			for _, removed := range regexp.MustCompile(`"Rows Removed by Filter": (\d+)`).FindAllStringSubmatch(plan, -1) {
				require.LessOrEqual(t, must(strconv.Atoi(removed[1])), 3700, "the events of one hour: %s", plan)
			}
		}
		late := last - n/2 - 3500 // its position is 3,500 seconds too early
		execute(t, s, fmt.Sprintf(`UPDATE webhook_events SET created_at = created_at + interval '3500 seconds' WHERE app_id = '%s' AND position = %d`, f.app.ID, late))
		first, _, err := s.FirstSince(ctx, f.app.ID, oldest.Add(n/2*time.Second), last)
		require.NoError(t, err)
		require.Equal(t, late, first)
	})
}

// TestDeliveriesOfTenants_ReadTheirIndex checks that PostgreSQL reads a page in the order of the deliveries index, and
// looks up each event by its ID.
func TestDeliveriesOfTenants_ReadTheirIndex(t *testing.T) {
	t.Parallel()
	const n = 20_000
	kit.OnPostgres(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		newEndpoint(f).ping()
		const number = "(lpad(to_hex(g), 12, '0') || '7a00800000000000000a')::uuid"
		execute(t, s,
			fmt.Sprintf("INSERT INTO webhook_events (id, tenant_id, %[1]s) SELECT %[3]s, 'tenant ' || mod(g, 2), %[1]s FROM webhook_events, generate_series(1, %[2]d) AS g", otherColumns(t, s, "webhook_events", "id", "tenant_id", "seq", "position"), n, number),
			fmt.Sprintf("INSERT INTO webhook_deliveries (id, event_id, %[1]s) SELECT %[3]s, %[3]s, %[1]s FROM webhook_deliveries, generate_series(1, %[2]d) AS g", otherColumns(t, s, "webhook_deliveries", "id", "event_id"), n, number),
			"ANALYZE webhook_events", "ANALYZE webhook_deliveries",
		)
		plan, err := s.PlanOfDeliveries(t.Context(), store.DeliveryFilter{App: f.app.ID, Tenants: []string{"tenant 1"}, Size: 20})
		require.NoError(t, err)
		require.Contains(t, plan, `"webhook_events_pkey"`, plan)
		for _, dear := range []string{`"Sort"`, `"Hash"`, `"Materialize"`} {
			require.NotContains(t, plan, dear, plan)
		}
	})
}

// TestDeliveriesOfEvent_ReadTheirIndex checks that PostgreSQL reads a page of the deliveries of one event without a
// full scan.
func TestDeliveriesOfEvent_ReadTheirIndex(t *testing.T) {
	t.Parallel()
	kit.OnPostgres(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		newEndpoint(f).ping()
		others := otherColumns(t, s, "webhook_deliveries", "id", "event")
		execute(t, s,
			fmt.Sprintf("INSERT INTO webhook_deliveries (id, event, %[1]s) SELECT gen_random_uuid(), CASE WHEN mod(g, 2000) = 0 THEN 'bulk.completed' ELSE 'envelope.sent' END, %[1]s FROM webhook_deliveries, generate_series(1, 20000) AS g", others),
			"ANALYZE webhook_deliveries",
		)
		plan, err := s.PlanOfDeliveries(t.Context(), store.DeliveryFilter{App: f.app.ID, Event: models.EventBulkCompleted, Size: 20})
		require.NoError(t, err)
		require.Contains(t, plan, "_app_id_event_id_idx", plan)
	})
}

// TestValues_AreDeliveredOnRequest checks that only endpoints that request values receive them.
func TestValues_AreDeliveredOnRequest(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		plain := newEndpoint(f)
		with, err := s.CreateWebhook(ctx, f.app.ID, "https://example.com/values", models.WebhookEvents, "secret", models.IncludeValues)
		require.NoError(t, err)
		e := f.sent(1, nil)
		require.NoError(t, f.sign(e, 0))
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error {
			return e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Documents[0].ID, SHA256: "00", Size: 1, PageCount: 1, BlobKey: "s"}})
		}))
		list, _, err := s.Deliveries(ctx, store.DeliveryFilter{App: f.app.ID, Event: models.EventEnvelopeCompleted, Page: 1, Size: 9})
		require.NoError(t, err)
		require.Len(t, list, 2)
		for _, d := range list {
			job, err := s.DeliveryJob(ctx, d.ID)
			require.NoError(t, err)
			assert.Equal(t, d.WebhookID == with.ID, strings.Contains(string(job.Event.Body), `"values"`))
			assert.Contains(t, []uuid.UUID{plain.hook.ID, with.ID}, d.WebhookID)
			assert.Nil(t, job.Event.ValuesBody)
		}
	})
}
