package store_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// envelope returns a sent envelope without storing it.
func (f *fixture) envelope(externalID *string) *models.Envelope {
	f.t.Helper()
	act := f.act()
	e, err := models.NewEnvelope(act, models.Envelope{AppID: f.app.ID, TenantID: "t", CreatedBy: "me", ExternalID: externalID})
	require.NoError(f.t, err)
	_, err = e.AddDocument(act, models.DocumentInput{Document: models.Document{
		Name: "a.pdf", SHA256: strings.Repeat("0", 64), Size: 9, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: "k",
	}}, 1)
	require.NoError(f.t, err)
	s, err := e.AddSigner(act, models.SignerInput{Name: "S", Email: "s@example.com", RoutingOrder: 1, AuthMethod: models.AuthNone})
	require.NoError(f.t, err)
	_, err = e.AddFields(act, []models.FieldInput{{
		SignerRef: s.ID.String(), Type: models.FieldText, Page: 1, X: 1, Y: 1, W: 10, H: 10, Required: true, Origin: models.OriginTopLeft,
	}}, models.NoPrefix)
	require.NoError(f.t, err)
	require.NoError(f.t, e.Send(act, nil))
	return e
}

func (f *fixture) bulk(n, perMinute int) (*models.BulkSend, error) {
	b := &models.BulkSend{
		ID: newID(), AppID: f.app.ID, TenantID: "t", TemplateID: newID(), TemplateVersion: 1, Name: "Leases", Status: models.BulkQueued,
		PerMinute: perMinute, Total: n, Actor: models.AppActor(f.app.ID), CreatedBy: "me", CreatedAt: f.clock.Now(),
	}
	var rows []*models.BulkRow
	for i := range n {
		id := "row " + strconv.Itoa(i+1)
		rows = append(rows, &models.BulkRow{ID: newID(), Row: i + 1, ExternalID: &id, Status: models.BulkRowPending, Data: `{"of":"` + id + `"}`})
	}
	return b, f.CreateBulkSend(f.t.Context(), b, rows)
}

func (f *fixture) work(b *models.BulkSend, n int) *store.BulkWork {
	f.t.Helper()
	w, err := f.BulkWork(f.t.Context(), f.app.ID, b.ID, n, 1000)
	require.NoError(f.t, err)
	return w
}

func (f *fixture) counts(b *models.BulkSend) models.BulkCounts {
	f.t.Helper()
	got, err := f.BulkSend(f.t.Context(), f.app.ID, b.ID)
	require.NoError(f.t, err)
	return got.Counts
}

func (f *fixture) usage() (used, reserved int) {
	f.t.Helper()
	used, err := f.EnvelopesUsed(f.t.Context(), f.app.ID)
	require.NoError(f.t, err)
	reserved, err = f.EnvelopesReserved(f.t.Context(), f.app.ID)
	require.NoError(f.t, err)
	return used, reserved
}

// onPlan creates an app with the given plan and uses it as the fixture's app.
func (f *fixture) onPlan(p models.Plan) {
	f.t.Helper()
	app, _, err := f.CreateApp(f.t.Context(), "On a plan", p, nil)
	require.NoError(f.t, err)
	f.app = app
}

// TestBulkRows_AreSentOnce checks that concurrent processes send each row exactly once and in order, and that a single
// transaction writes the envelope, its usage and its outbox row.
func TestBulkRows_AreSentOnce(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		b, err := f.bulk(6, 0)
		require.NoError(t, err)
		w := f.work(b, 4)
		require.Equal(t, models.BulkRunning, w.Status)
		require.Len(t, w.Rows, 4)
		for i, r := range w.Rows {
			assert.Equal(t, []any{i + 1, `{"of":"row ` + strconv.Itoa(i+1) + `"}`}, []any{r.Row, r.Data})
		}
		var wg sync.WaitGroup
		var sent, taken atomic.Int32
		for range 4 {
			for _, r := range w.Rows {
				e := f.envelope(nil)
				wg.Go(func() {
					switch err := s.SendBulkRow(ctx, r, e); {
					case err == nil:
						sent.Add(1)
					case errors.Is(err, store.ErrBulkRowNotPending):
						taken.Add(1)
					default:
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		assert.Equal(t, []int32{4, 12}, []int32{sent.Load(), taken.Load()})
		assert.Equal(t, models.BulkCounts{Pending: 2, Sent: 4}, f.counts(b))
		used, reserved := f.usage()
		assert.Equal(t, []int{4, 0}, []int{used, reserved}, "a plan without a limit reserves nothing")
		rows, err := s.BulkRows(ctx, b.ID, models.BulkRowSent, 0, 100)
		require.NoError(t, err)
		assert.Len(t, rows, 4)
		ids := make(map[uuid.UUID]bool)
		for _, r := range rows {
			f.check(*r.EnvelopeID)
			ids[*r.EnvelopeID] = true
		}
		assert.Len(t, ids, 4)
		found, n, err := s.Envelopes(ctx, store.EnvelopeFilter{App: f.app.ID, Tenant: "t", BulkSend: b.ID, Page: 1, Size: 10})
		require.NoError(t, err)
		assert.EqualValues(t, 4, n)
		assert.Len(t, found, 4)

		var lanes []uuid.UUID
		for {
			claimed, err := s.ClaimOutbox(ctx, 100, time.Minute)
			require.NoError(t, err)
			if len(claimed) == 0 {
				break
			}
			for _, r := range claimed {
				require.NoError(t, s.FinishOutbox(ctx, r.Seq))
				if r.Kind == models.OutboxStart {
					lanes = append(lanes, r.FairnessKey)
				} else {
					assert.Equal(t, []any{models.OutboxBulk, b.ID, f.app.ID}, []any{r.Kind, r.Key, r.FairnessKey})
				}
			}
		}
		own := models.BulkFairnessKey(f.app.ID)
		assert.Equal(t, []uuid.UUID{own, own, own, own}, lanes, "the rows take turns with the app's other work")
		assert.NotEqual(t, own, f.app.ID)
	})
}

// TestBulkSends_FollowTheirState checks that a paused or canceled bulk send sends nothing, and that an ended bulk send
// resumes only when its rows are retried.
func TestBulkSends_FollowTheirState(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		change := func(b *models.BulkSend, a models.BulkAction) models.BulkStatus {
			got, err := s.ChangeBulkSend(ctx, f.app.ID, b.ID, a, nil)
			if err != nil {
				return models.BulkStatus(rejectionOf(t, err))
			}
			return got.Status
		}
		b, err := f.bulk(4, 0)
		require.NoError(t, err)
		rows := f.work(b, 4).Rows
		require.NoError(t, s.SendBulkRow(ctx, rows[0], f.envelope(nil)))
		assert.Equal(t, models.BulkPaused, change(b, models.BulkPause))
		assert.Equal(t, models.BulkPaused, change(b, models.BulkPause), "repeating the call changes nothing")
		require.ErrorIs(t, s.SendBulkRow(ctx, rows[1], f.envelope(nil)), store.ErrBulkRowNotPending)
		assert.Empty(t, f.work(b, 4).Rows)
		done, err := s.FinishBulkSend(ctx, f.app.ID, b.ID)
		require.NoError(t, err)
		assert.False(t, done)
		assert.Equal(t, models.BulkRunning, change(b, models.BulkResume))
		require.NoError(t, s.SendBulkRow(ctx, rows[1], f.envelope(nil)))
		rejection := models.Reject(models.KindConflict, "external_id_taken", "Another envelope has it.")
		require.NoError(t, s.FailBulkRow(ctx, f.app.ID, rows[2], rejection))
		require.ErrorIs(t, s.FailBulkRow(ctx, f.app.ID, rows[1], rejection), store.ErrBulkRowNotPending)
		assert.Equal(t, models.BulkCanceled, change(b, models.BulkCancel))
		require.ErrorIs(t, s.SendBulkRow(ctx, rows[3], f.envelope(nil)), store.ErrBulkRowNotPending)
		assert.Equal(t, models.BulkCounts{Sent: 2, Failed: 1, Canceled: 1}, f.counts(b))
		for _, a := range []models.BulkAction{models.BulkPause, models.BulkResume, models.BulkRetry} {
			assert.Equal(t, models.BulkStatus("bulk_send_cancelled"), change(b, a))
		}
		_, err = s.ChangeBulkSend(ctx, newID(), b.ID, models.BulkPause, nil)
		require.ErrorIs(t, err, models.ErrNotFound, "another app's")
		_, err = s.BulkSend(ctx, newID(), b.ID)
		require.ErrorIs(t, err, models.ErrNotFound)
		assert.Equal(t, "not_mine", rejectionOf(t, func() error {
			_, err := s.ChangeBulkSend(ctx, f.app.ID, b.ID, models.BulkCancel, func(*models.BulkSend) error { return models.Reject(models.KindForbidden, "not_mine", "no") })
			return err
		}()))
	})
}

// TestBulkSends_Complete checks that a bulk send completes with an event when no row is pending, and that failed rows
// can be retried with their data.
func TestBulkSends_Complete(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		hook, err := s.CreateWebhook(ctx, f.app.ID, "https://example.com", []models.EventName{models.EventBulkCompleted}, "")
		require.NoError(t, err)
		b, err := f.bulk(2, 0)
		require.NoError(t, err)
		rows := f.work(b, 2).Rows
		require.NoError(t, s.SendBulkRow(ctx, rows[0], f.envelope(nil)))
		finish := func() bool {
			done, err := s.FinishBulkSend(ctx, f.app.ID, b.ID)
			require.NoError(t, err)
			return done
		}
		assert.False(t, finish(), "a row is pending")
		require.NoError(t, s.FailBulkRow(ctx, f.app.ID, rows[1], models.Reject(models.KindConflict, "external_id_taken", "Another envelope has it.")))
		assert.True(t, finish())
		assert.True(t, finish(), "the bulk send is completed")
		events := func() (bodies []string) {
			page, err := s.Events(ctx, store.EventQuery{App: f.app.ID, Name: models.EventBulkCompleted, Limit: 10})
			require.NoError(t, err)
			for _, ev := range page.Events {
				var body struct{ Data json.RawMessage }
				require.NoError(t, json.Unmarshal(ev.Body, &body))
				bodies = append(bodies, string(body.Data))
			}
			return bodies
		}
		first := `{"bulkSendId":"` + b.ID.String() + `","counts":{"pending":0,"sent":1,"failed":1,"cancelled":0}}`
		assert.Equal(t, []string{first}, events())
		deliveries, _, err := s.Deliveries(ctx, store.DeliveryFilter{App: f.app.ID, Webhook: hook.ID, Page: 1, Size: 10})
		require.NoError(t, err)
		assert.Len(t, deliveries, 1)

		got, err := s.ChangeBulkSend(ctx, f.app.ID, b.ID, models.BulkRetry, nil)
		require.NoError(t, err)
		assert.Equal(t, []any{models.BulkRunning, models.BulkCounts{Pending: 1, Sent: 1}}, []any{got.Status, got.Counts})
		assert.Nil(t, got.CompletedAt)
		rows = f.work(b, 2).Rows
		require.Len(t, rows, 1)
		assert.Equal(t, []any{2, `{"of":"row 2"}`, ""}, []any{rows[0].Row, rows[0].Data, rows[0].ErrorCode})
		_, err = s.ChangeBulkSend(ctx, f.app.ID, b.ID, models.BulkRetry, nil)
		assert.Equal(t, "bulk_send_no_failed_rows", rejectionOf(t, err))
		require.NoError(t, s.SendBulkRow(ctx, rows[0], f.envelope(nil)))
		assert.True(t, finish())
		assert.Len(t, events(), 2)
	})
}

// TestBulkSends_ReserveEnvelopes checks that, under a limited plan, a bulk send reserves an envelope for each row. A
// row that is sent, fails or is canceled releases its reservation.
func TestBulkSends_ReserveEnvelopes(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		f.onPlan(models.PlanFree)
		limit := s.PlanLimits(models.PlanFree).EnvelopesPerMonth
		require.Positive(t, limit)
		_, err := f.bulk(limit+1, 0)
		assert.Equal(t, "plan_limit_reached", rejectionOf(t, err))
		used, reserved := f.usage()
		assert.Equal(t, []int{0, 0}, []int{used, reserved}, "a rejected bulk send reserves nothing")
		b, err := f.bulk(limit-1, 0)
		require.NoError(t, err)
		require.NoError(t, s.Create(ctx, f.envelope(nil)), "one envelope remains")
		assert.Equal(t, "plan_limit_reached", rejectionOf(t, s.Create(ctx, f.envelope(nil))))
		_, err = f.bulk(1, 0)
		assert.Equal(t, "plan_limit_reached", rejectionOf(t, err))
		used, reserved = f.usage()
		assert.Equal(t, []int{1, limit - 1}, []int{used, reserved})

		rows := f.work(b, limit).Rows
		require.NoError(t, s.SendBulkRow(ctx, rows[0], f.envelope(nil)))
		require.NoError(t, s.FailBulkRow(ctx, f.app.ID, rows[1], models.Reject(models.KindInvalid, "x", "y")))
		used, reserved = f.usage()
		assert.Equal(t, []int{2, limit - 3}, []int{used, reserved})
		require.NoError(t, s.Create(ctx, f.envelope(nil)), "failed rows release their reservation")
		_, err = s.ChangeBulkSend(ctx, f.app.ID, b.ID, models.BulkRetry, nil)
		assert.Equal(t, "plan_limit_reached", rejectionOf(t, err), "a retry must reserve capacity again")
		assert.Equal(t, 1, f.counts(b).Failed)

		first := clock.Now()
		clock.Add(store.PeriodStart(first).AddDate(0, 1, 0).Sub(first) + time.Hour)
		used, reserved = f.usage()
		assert.Equal(t, []int{0, 0}, []int{used, reserved}, "another month")
		require.NoError(t, s.SendBulkRow(ctx, rows[2], f.envelope(nil)))
		used, _ = f.usage()
		assert.Zero(t, used, "the envelope counts in the period of its reservation")
		_, err = s.ChangeBulkSend(ctx, f.app.ID, b.ID, models.BulkRetry, nil)
		require.NoError(t, err)
		used, reserved = f.usage()
		assert.Equal(t, []int{0, 1}, []int{used, reserved})
		_, err = s.ChangeBulkSend(ctx, f.app.ID, b.ID, models.BulkCancel, nil)
		require.NoError(t, err)
		used, reserved = f.usage()
		assert.Equal(t, []int{0, 0}, []int{used, reserved})
		assert.Equal(t, models.BulkCounts{Sent: 2, Canceled: limit - 3}, f.counts(b))
	})
}

// TestBulkRows_AreEncrypted checks that the data of a row is encrypted while the row is pending, and is removed when
// the row is sent or canceled.
func TestBulkRows_AreEncrypted(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		s := d.open(t, 1)
		f, ctx := newFixture(t, s, d.clock), t.Context()
		b, err := f.bulk(3, 0)
		require.NoError(t, err)
		stored := func() (out []string) {
			rows, err := openRaw(t, d.kind, d.url).QueryContext(ctx, "SELECT data FROM bulk_send_rows ORDER BY position")
			require.NoError(t, err)
			defer func() { require.NoError(t, rows.Close()) }()
			for rows.Next() {
				var data string
				require.NoError(t, rows.Scan(&data))
				out = append(out, data)
			}
			require.NoError(t, rows.Err())
			return out
		}
		for _, data := range stored() {
			assert.NotEmpty(t, data)
			assert.NotContains(t, data, "row ")
		}
		rows := f.work(b, 3).Rows
		_, err = d.open(t, 2, 1).Rewrap(ctx)
		require.NoError(t, err)
		renewed, err := d.open(t, 2).BulkWork(ctx, f.app.ID, b.ID, 3, 1000)
		require.NoError(t, err, "the rows can be decrypted with the new key")
		require.Equal(t, rows[0].Data, renewed.Rows[0].Data)
		require.NoError(t, s.SendBulkRow(ctx, rows[0], f.envelope(nil)))
		require.NoError(t, s.FailBulkRow(ctx, f.app.ID, rows[1], models.Reject(models.KindInvalid, "x", "y")))
		failed := stored()
		assert.Empty(t, failed[0])
		assert.NotEmpty(t, failed[1], "the row can be retried")
		_, err = s.ChangeBulkSend(ctx, f.app.ID, b.ID, models.BulkCancel, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"", "", ""}, stored(), "canceled rows are not retried")
	})
}

// TestBulkWork_CountsSettledAndPendingRows checks that BulkWork counts the rows settled within the last minute, and the
// envelopes whose workflows have not started yet.
func TestBulkWork_CountsSettledAndPendingRows(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		b, err := f.bulk(5, 2)
		require.NoError(t, err)
		w := f.work(b, 5)
		assert.Equal(t, []int{0, 0}, []int{w.Settled, w.Backlog})
		began := clock.Now()
		require.NoError(t, s.SendBulkRow(ctx, w.Rows[0], f.envelope(nil)))
		clock.Add(20 * time.Second)
		require.NoError(t, s.SendBulkRow(ctx, w.Rows[1], f.envelope(nil)))
		w = f.work(b, 5)
		assert.Equal(t, []any{2, began, 2}, []any{w.Settled, w.SettledSince, w.Backlog})
		clock.Add(45 * time.Second)
		w = f.work(b, 5)
		assert.Equal(t, []any{1, began.Add(20 * time.Second)}, []any{w.Settled, w.SettledSince})
		w, err = s.BulkWork(ctx, f.app.ID, b.ID, 5, 1)
		require.NoError(t, err)
		assert.Equal(t, 1, w.Backlog, "up to the limit")
		require.NoError(t, s.Create(ctx, f.envelope(nil)))
		assert.Equal(t, 2, f.work(b, 5).Backlog, "single sends do not count")
		drainOutbox(t, s)
		unfinished, _, err := s.Unfinished(ctx, store.WorkBulkSends, uuid.Nil, 10)
		require.NoError(t, err)
		require.Len(t, unfinished, 1)
		assert.Equal(t, b.ID, unfinished[0].Key)
	})
}
