package store_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/store"
	"countersign/test/kit"
)

// TestArchiving_InterruptedLeavesDatabaseUnchanged checks that a failure at any step of archiving or restoring leaves
// the database unchanged and at most one unrecorded file. The operation can then be repeated.
func TestArchiving_InterruptedLeavesDatabaseUnchanged(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		clock, ctx := kit.NewClock(), t.Context()
		s := kit.Store(t, kind, clock.Now)
		f := newArchiveFixture(t, s, clock)
		ref := f.ended[0]
		statement := func(verb, table string) func() func() {
			return func() func() { return breakTable(ctx, t, f.db, kind, verb, table) }
		}
		disk := func(flag *atomic.Bool) func() func() {
			return func() func() {
				flag.Store(true)
				return func() { flag.Store(false) }
			}
		}
		cancelled := func(call func(context.Context) error) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return call(ctx)
		}
		check := func(call func(context.Context) error, steps map[string]func() func()) {
			t.Helper()
			before, read := contents(t, kind, f.db), f.everythingRead()
			require.Error(t, cancelled(call))
			for name, cut := range steps {
				mend := cut()
				err := call(ctx)
				mend()
				require.Error(t, err, name)
				assert.Equal(t, before, contents(t, kind, f.db), name)
				assert.Equal(t, read, f.everythingRead(), name)
			}
			require.NoError(t, call(ctx))
			assert.Equal(t, read, f.everythingRead())
			assert.NotEqual(t, before, contents(t, kind, f.db))
		}
		check(func(ctx context.Context) error { return s.Archive(ctx, ref) }, map[string]func() func(){
			"the file is not kept":       disk(&f.files.failPut),
			"the file is kept, no more":  disk(&f.files.kept),
			"the file cannot be read":    disk(&f.files.open),
			"the record is not made":     statement("INSERT", "envelope_archives"),
			"the values are not removed": statement("DELETE", "field_values"),
			"the events are not removed": statement("DELETE", "audit_events"),
			"the envelope is not marked": statement("UPDATE", "envelopes"),
		})
		assert.Greater(t, len(f.kept()), 3, "unreferenced files whose keys are deleted")
		check(func(ctx context.Context) error { return s.Restore(ctx, ref.ID) }, map[string]func() func(){
			"the file cannot be read":     disk(&f.files.open),
			"the events are not written":  statement("INSERT", "audit_events"),
			"the values are not written":  statement("INSERT", "field_values"),
			"the envelope is not marked":  statement("UPDATE", "envelopes"),
			"the archive is not released": statement("UPDATE", "envelope_archives"),
		})
	})
}

// TestAuditEvents_CanOnlyBeArchived checks that audit events can be deleted only by archiving them.
func TestAuditEvents_CanOnlyBeArchived(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		events := f.rows("audit_events")
		rejected := func() {
			for _, query := range []string{"DELETE FROM audit_events", "DELETE FROM audit_events WHERE seq = 1", "UPDATE audit_events SET actor = 'x'"} {
				_, err := f.db.ExecContext(ctx, query)
				require.ErrorContains(t, err, "append-only", query)
			}
		}
		rejected()
		assert.Equal(t, events, f.rows("audit_events"))
		require.NoError(t, s.Archive(ctx, f.ended[0]))
		require.NoError(t, s.Restore(ctx, f.ended[0].ID))
		rejected()
		assert.Equal(t, events, f.rows("audit_events"))
	})
}

// TestUnreadableValue_IsNotArchived checks that an unreadable value is reported with its envelope, and that other
// envelopes are still archived.
func TestUnreadableValue_IsNotArchived(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		for _, table := range []string{"field_values SET text =", "fields SET default_value ="} {
			execute(t, s, fmt.Sprintf("UPDATE %s 'damaged' WHERE envelope_id = '%s'", table, f.completed.ID))
			err := s.Archive(ctx, f.ended[0])
			require.ErrorIs(t, err, store.ErrNotArchivable)
			require.ErrorContains(t, err, f.completed.ID.String())
		}
		due := func() (ids []uuid.UUID) {
			refs, err := s.EnvelopesToArchive(ctx, clock.Now().Add(time.Hour), 9)
			require.NoError(t, err)
			for _, r := range refs {
				ids = append(ids, r.ID)
			}
			return ids
		}
		before := due()
		require.Contains(t, before, f.completed.ID)
		require.NoError(t, s.PostponeArchiving(ctx, f.completed.ID))
		require.ElementsMatch(t, slices.DeleteFunc(before, func(id uuid.UUID) bool { return id == f.completed.ID }), due(), "the others are not postponed")
		require.NoError(t, s.Archive(ctx, f.ended[1]))
	})
}
