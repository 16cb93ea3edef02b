package store_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestCleanup_RemovesOldBulkData checks that the data of a row is removed if the row failed before the history period.
// The row and its error are kept, but the row cannot be retried. Other rows keep their data.
func TestCleanup_RemovesOldBulkData(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		old, waiting := f.failedBulk(2), must(f.bulk(1, 0))
		mixed, err := f.bulk(2, 0)
		require.NoError(t, err)
		rejection := models.Reject(models.KindInvalid, "x", "y")
		require.NoError(t, s.FailBulkRow(ctx, f.app.ID, f.work(mixed, 1).Rows[0], rejection))
		clock.Add(time.Hour)
		require.NoError(t, s.FailBulkRow(ctx, f.app.ID, f.work(mixed, 1).Rows[0], rejection))

		clock.Add(history - time.Hour)
		removed, err := s.RemoveExpired(ctx, store.ExpiredBulkData)
		require.NoError(t, err)
		assert.Zero(t, removed, "the row is exactly as old as the retention period")
		clock.Add(time.Minute)
		removed, err = s.RemoveExpired(ctx, store.ExpiredBulkData)
		require.NoError(t, err)
		assert.Equal(t, 3, removed)

		_, err = f.retry(old)
		assert.Equal(t, "bulk_send_rows_removed", rejectionOf(t, err))
		got, err := s.BulkSend(ctx, f.app.ID, old.ID)
		require.NoError(t, err)
		assert.Equal(t, []any{models.BulkCompleted, models.BulkCounts{Failed: 2}}, []any{got.Status, got.Counts}, "a rejected retry changes nothing")
		rows, err := s.BulkRows(ctx, old.ID, models.BulkRowFailed, 0, 10)
		require.NoError(t, err)
		require.Len(t, rows, 2)
		assert.Equal(t, []any{"row 1", "external_id_taken"}, []any{*rows[0].ExternalID, rows[0].ErrorCode})

		retried, err := f.retry(mixed)
		require.NoError(t, err)
		assert.Equal(t, models.BulkCounts{Pending: 1, Failed: 1}, retried.Counts, "the row that can be retried")
		assert.JSONEq(t, `{"of":"row 2"}`, f.work(mixed, 2).Rows[0].Data)
		assert.JSONEq(t, `{"of":"row 1"}`, f.work(waiting, 2).Rows[0].Data)
	})
}

// TestBulkData_IsRemovedOrRetried checks that no row becomes pending without data if a retry runs concurrently with
// the removal of data.
func TestBulkData_IsRemovedOrRetried(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		const rows = 20
		for range 5 {
			b := f.failedBulk(rows)
			clock.Add(history + time.Minute)
			var wg sync.WaitGroup
			var rejected error
			wg.Go(func() { _, rejected = f.retry(b) })
			wg.Go(func() {
				_, err := s.RemoveExpired(ctx, store.ExpiredBulkData)
				assert.NoError(t, err)
			})
			wg.Wait()
			got := f.counts(b)
			assert.Equal(t, models.BulkCounts{Pending: got.Pending, Failed: rows - got.Pending}, got)
			if rejected != nil {
				assert.Equal(t, "bulk_send_rows_removed", rejectionOf(t, rejected))
				assert.Zero(t, got.Pending)
				continue
			}
			assert.Positive(t, got.Pending)
			pending := f.work(b, rows).Rows
			assert.Len(t, pending, got.Pending)
			for _, r := range pending {
				assert.NotEmpty(t, r.Data)
			}
			_, err := f.retry(b)
			if got.Failed > 0 {
				assert.Equal(t, "bulk_send_rows_removed", rejectionOf(t, err), "the data of the failed rows was removed")
			}
		}
	})
}

func (f *fixture) failedBulk(n int) *models.BulkSend {
	f.t.Helper()
	b, err := f.bulk(n, 0)
	require.NoError(f.t, err)
	for _, r := range f.work(b, n).Rows {
		require.NoError(f.t, f.FailBulkRow(f.t.Context(), f.app.ID, r, models.Reject(models.KindConflict, "external_id_taken", "Another envelope has it.")))
	}
	_, err = f.FinishBulkSend(f.t.Context(), f.app.ID, b.ID)
	require.NoError(f.t, err)
	return b
}

func (f *fixture) retry(b *models.BulkSend) (*store.BulkSendWithCounts, error) {
	return f.ChangeBulkSend(f.t.Context(), f.app.ID, b.ID, models.BulkRetry, nil)
}

// TestBulkRow_NeedsItsTemplate checks that no envelope is created from a template that was archived after the bulk send
// began, and that such a row stays pending.
func TestBulkRow_NeedsItsTemplate(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		template := f.templateOf("templates/a.pdf", nil)
		b := must(f.bulk(2, 0))
		send := func(row *models.BulkRow) error {
			e := f.envelope(row.ExternalID)
			e.TemplateID = &template.ID
			return s.SendBulkRow(ctx, row, e)
		}
		rows := f.work(b, 2).Rows
		require.NoError(t, send(rows[0]))
		require.NoError(t, errOf(s.ArchiveTemplate(ctx, f.app.ID, template.ID, func(*models.Template) error { return nil })))
		require.ErrorIs(t, send(rows[1]), models.ErrTemplateArchived)
		assert.Equal(t, models.BulkCounts{Sent: 1, Pending: 1}, f.counts(b))
		assert.Equal(t, 1, envelopesOf(ctx, f, template.ID))
	})
}

// TestExternalIDsInUse checks that an external ID is in use only in its tenant, and only as long as an envelope holds
// it.
func TestExternalIDsInUse(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		var last *models.Envelope
		for _, id := range []string{"a", "b", "c"} {
			last = f.envelope(&id)
			require.NoError(t, s.Create(ctx, last))
		}
		require.NoError(t, change(ctx, f, last.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
		asked := []string{"a", "c", "d"}
		for i := range 500 {
			asked = append(asked, strconv.Itoa(i))
		}
		asked = append(asked, "b") // exceeds one page
		assert.Equal(t, map[string]bool{"a": true, "b": true}, must(s.ExternalIDsInUse(ctx, f.app.ID, "t", asked)))
		assert.Empty(t, must(s.ExternalIDsInUse(ctx, f.app.ID, "u", asked)))
		assert.Empty(t, must(s.ExternalIDsInUse(ctx, newID(), "t", asked)))
	})
}
