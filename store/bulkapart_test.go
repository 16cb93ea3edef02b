package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// TestTemplatesAndBulkSendsAreApart: an app finds and changes its own alone, and what it
// does to one leaves the others as they are.
func TestTemplatesAndBulkSendsAreApart(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, other, ctx := newFixture(t, s, clock), newFixture(t, s, clock), t.Context()
		mine, also, theirs := must(f.bulk(2, 0)), must(f.bulk(3, 0)), must(other.bulk(4, 0))
		external := ptr("lease")
		template, second, foreign := f.templateOf("one", external), f.templateOf("two", nil), other.templateOf("three", external)
		assert.NotEqual(t, template.ID, foreign.ID, "an external id is the app's and tenant's")

		allow := func(*models.BulkSend) error { return nil }
		for name, call := range map[string]func(app uuid.UUID) error{
			"load a bulk send": func(app uuid.UUID) error { return must2(s.BulkSend(ctx, app, theirs.ID)) },
			"take its rows":    func(app uuid.UUID) error { return must2(s.BulkWork(ctx, app, theirs.ID, 9, 9)) },
			"pause it": func(app uuid.UUID) error {
				return must2(s.ChangeBulkSend(ctx, app, theirs.ID, models.BulkPause, allow))
			},
			"load a template": func(app uuid.UUID) error { return must2(s.Template(ctx, app, foreign.ID, 0)) },
			"load a version":  func(app uuid.UUID) error { return must2(s.Template(ctx, app, foreign.ID, 1)) },
			"archive it": func(app uuid.UUID) error {
				return must2(s.ArchiveTemplate(ctx, app, foreign.ID, func(*models.Template) error { return nil }))
			},
			"change it": func(app uuid.UUID) error {
				return must2(s.ChangeTemplate(ctx, app, foreign.ID, func(*models.LoadedTemplate) error { return nil }))
			},
		} {
			require.ErrorIs(t, call(f.app.ID), models.ErrNotFound, name)
		}
		_, err := f.make(ctx, foreign.ID, 1)
		assert.Equal(t, "validation_error templateId", refusalOf(t, err))
		assert.Equal(t, models.BulkQueued, must(s.BulkSend(ctx, other.app.ID, theirs.ID)).Status, "nobody else has begun it")
		assert.Equal(t, 4, other.counts(theirs).Pending)

		// One of several: each has its own rows, versions and state.
		assert.Len(t, f.work(mine, 9).Rows, 2)
		assert.Equal(t, models.BulkQueued, must(s.BulkSend(ctx, f.app.ID, also.ID)).Status)
		_, err = s.ChangeBulkSend(ctx, f.app.ID, mine.ID, models.BulkCancel, allow)
		require.NoError(t, err)
		assert.Equal(t, models.BulkCounts{Cancelled: 2}, f.counts(mine))
		assert.Equal(t, models.BulkCounts{Pending: 3}, f.counts(also))
		assert.Equal(t, models.BulkCounts{Pending: 4}, other.counts(theirs))
		rows, total, err := s.BulkRows(ctx, also.ID, "", 1, 2)
		require.NoError(t, err)
		assert.EqualValues(t, 3, total)
		require.Len(t, rows, 2)
		assert.Equal(t, []int{1, 2}, []int{rows[0].Row, rows[1].Row})
		_, total, err = s.BulkRows(ctx, also.ID, models.BulkRowCancelled, 1, 9)
		require.NoError(t, err)
		assert.Zero(t, total)

		next := f.templateOf("one again", external)
		assert.Equal(t, []any{template.ID, 2}, []any{next.ID, next.Version})
		assert.Equal(t, 1, must(s.Template(ctx, f.app.ID, second.ID, 0)).Version)
		assert.Equal(t, 1, must(s.Template(ctx, other.app.ID, foreign.ID, 0)).Version)
		_, err = s.Template(ctx, f.app.ID, second.ID, 2)
		require.ErrorIs(t, err, models.ErrNotFound)
		require.NoError(t, must2(s.ArchiveTemplate(ctx, f.app.ID, template.ID, func(*models.Template) error { return nil })))
		assert.NotNil(t, must(s.Template(ctx, f.app.ID, template.ID, 0)).ArchivedAt)
		assert.Nil(t, must(s.Template(ctx, f.app.ID, second.ID, 0)).ArchivedAt)
		assert.Nil(t, must(s.Template(ctx, other.app.ID, foreign.ID, 0)).ArchivedAt)
	})
}

// TestAStatementOfABulkSendThatFails undoes all of its call, as for other calls.
func TestAStatementOfABulkSendThatFails(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.Databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, clock := t.Context(), testkit.NewClock()
			s := testkit.Store(t, kind, clock.Now)
			f := newFixture(t, s, clock)
			newEndpoint(f)
			b, queued, ended := must(f.bulk(3, 0)), must(f.bulk(1, 0)), must(f.bulk(1, 0))
			template := f.templateOf("file", nil)
			work := f.work(b, 3)
			require.NoError(t, s.FailBulkRow(ctx, f.app.ID, f.work(ended, 1).Rows[0], models.Refuse(models.KindConflict, "no", "No.")))
			clock.Add(time.Minute)
			allow := func(*models.BulkSend) error { return nil }
			apply := func(a models.BulkAction, b *models.BulkSend) func() error {
				return func() error { return must2(s.ChangeBulkSend(ctx, f.app.ID, b.ID, a, allow)) }
			}
			send := func() error { return s.SendBulkRow(ctx, work.Rows[0], f.envelope(nil)) }
			use := func() error { return must2(f.make(ctx, template.ID, 1)) }
			archive := func() error {
				return must2(s.ArchiveTemplate(ctx, f.app.ID, template.ID, func(*models.Template) error { return nil }))
			}
			put := func() error {
				_, _, err := s.PutTemplate(ctx, store.TemplateTarget{App: f.app.ID, Tenant: "t"}, f.version(f.act(), "more", nil))
				return err
			}
			for _, c := range []struct {
				name, statement, table string
				call                   func() error
			}{
				{"accept rows", "INSERT", "bulk_sends", func() error { return must2(f.bulk(2, 0)) }},
				{"accept rows", "INSERT", "bulk_send_rows", func() error { return must2(f.bulk(2, 0)) }},
				{"accept rows", "INSERT", "outbox", func() error { return must2(f.bulk(2, 0)) }},
				{"begin", "UPDATE", "bulk_sends", func() error { return must2(s.BulkWork(ctx, f.app.ID, queued.ID, 1, 9)) }},
				{"pause", "UPDATE", "bulk_sends", apply(models.BulkPause, b)},
				{"cancel", "UPDATE", "bulk_sends", apply(models.BulkCancel, b)},
				{"cancel", "UPDATE", "bulk_send_rows", apply(models.BulkCancel, b)},
				{"retry", "UPDATE", "bulk_send_rows", apply(models.BulkRetry, ended)},
				{"fail a row", "UPDATE", "bulk_send_rows", func() error {
					return s.FailBulkRow(ctx, f.app.ID, work.Rows[0], models.Refuse(models.KindConflict, "no", "No."))
				}},
				{"send a row", "UPDATE", "bulk_send_rows", send},
				{"send a row", "INSERT", "envelopes", send},
				{"send a row", "INSERT", "outbox", send},
				{"finish", "UPDATE", "bulk_sends", func() error { return must2(s.FinishBulkSend(ctx, f.app.ID, ended.ID)) }},
				{"finish", "INSERT", "webhook_events", func() error { return must2(s.FinishBulkSend(ctx, f.app.ID, ended.ID)) }},
				{"store a template", "INSERT", "templates", put},
				{"store a template", "INSERT", "template_versions", put},
				{"store a template", "INSERT", "template_documents", put},
				{"make one of a template", "INSERT", "envelopes", use},
				{"make one of a template", "INSERT", "documents", use},
				{"archive", "UPDATE", "templates", archive},
				{"archive", "UPDATE", "template_documents", archive},
			} {
				what := fmt.Sprintf("%s without %s of %s", c.name, c.statement, c.table)
				db := pool(t, s)
				before := contents(t, kind, db)
				mend := breakTable(ctx, t, db, kind, c.statement, c.table)
				err := c.call()
				mend()
				require.ErrorContains(t, err, "broken on purpose", what)
				assert.False(t, models.IsRefusal(err), "%s: %v", what, err)
				assert.True(t, slices.Equal(before, contents(t, kind, db)), "%s: the database is not as it was", what)
			}
		})
	}
}
