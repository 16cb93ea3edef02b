package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestChange_RestoresArchivedEnvelope checks that a change restores an archived envelope and continues its audit
// chain. A change that is rejected or has no effect does not restore it.
func TestChange_RestoresArchivedEnvelope(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		id := f.completed.ID
		archived := func() bool { return f.rows("envelopes WHERE archived AND id = $1", id) == 1 }
		e, log := f.check(id)
		downloaded := func(e *models.Envelope) error { return e.Downloaded(f.act(), e.Signers[0].ID, e.Sealed()[0].ID) }
		require.NoError(t, s.Archive(ctx, f.ended[0]))

		require.Error(t, change(ctx, f.fixture, id, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
		same, err := s.ChangeWithEvents(ctx, f.app.ID, id, func(*models.Envelope) error { return nil })
		require.NoError(t, err)
		assert.Equal(t, log, same.Log)
		assert.Equal(t, e.Version, same.Version)
		require.True(t, archived())

		_, err = s.Change(ctx, f.app.ID, id, downloaded)
		require.NoError(t, err)
		require.False(t, archived())
		_, after := f.check(id)
		require.Len(t, after, len(log)+1, "once")

		require.NoError(t, s.Archive(ctx, f.ended[0]))
		clock.Add(48 * time.Hour)
		_, err = s.Change(ctx, f.app.ID, id, downloaded)
		require.NoError(t, err)
		require.NoError(t, s.Archive(ctx, f.ended[0]))
		clock.Add(48 * time.Hour)
		changed, err := s.ChangeWithEvents(ctx, f.app.ID, id, downloaded)
		require.NoError(t, err)
		require.Len(t, changed.Log, len(log)+3)
		_, after = f.check(id)
		require.Equal(t, changed.Log, after)
		assert.Equal(t, 3, f.rows("envelope_archives WHERE envelope_id = $1", id))
	})
}

// TestChainLinks_DuringArchivingAndRestoring checks that an event is found even if it is moved between its row and an
// archive during the search.
func TestChainLinks_DuringArchivingAndRestoring(t *testing.T) {
	t.Parallel()
	kit.OnPostgres(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		e, _ := f.check(f.completed.ID)
		execute(t, s, fmt.Sprintf("CREATE TABLE restored AS SELECT * FROM audit_events WHERE envelope_id = '%s'", e.ID))
		require.NoError(t, s.Archive(ctx, f.ended[0]))
		tx, err := pool(t, s).BeginTx(ctx, nil) // in the same way as Restore
		require.NoError(t, err)
		exec := func(query string) {
			_, err := tx.ExecContext(ctx, query)
			require.NoError(t, err)
		}
		exec("LOCK TABLE envelope_archives IN ACCESS EXCLUSIVE MODE")
		head := store.ChainHead{EnvelopeID: e.ID, Seq: e.AuditSeq, Hash: e.AuditHead}
		type result struct {
			links map[store.ChainHead]bool
			err   error
		}
		looked := make(chan result, 1)
		go func() {
			links, err := s.ChainLinks(ctx, []store.ChainHead{head})
			looked <- result{links, err}
		}()
		waitForBlockedStatement(t, s)
		exec("INSERT INTO audit_events SELECT * FROM restored")
		exec(fmt.Sprintf("UPDATE envelopes SET archived = false WHERE id = '%s'", e.ID))
		exec(fmt.Sprintf("UPDATE envelope_archives SET key = NULL, released_at = now() WHERE envelope_id = '%s'", e.ID))
		require.NoError(t, tx.Commit())
		got := <-looked
		require.NoError(t, got.err)
		assert.Equal(t, map[store.ChainHead]bool{head: true}, got.links)
	})
}

// TestArchiving_DuringChanges checks that archiving an envelope while it is being changed loses and duplicates
// nothing.
func TestArchiving_DuringChanges(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newArchiveFixture(t, s, clock)
		id := f.completed.ID
		e, log := f.check(id)
		values, err := s.Values(t.Context(), e)
		require.NoError(t, err)
		const times = 12
		g, ctx := errgroup.WithContext(t.Context())
		for range 2 {
			g.Go(func() error {
				for range times {
					if err := s.Archive(ctx, f.ended[0]); err != nil && !errors.Is(err, store.ErrNotArchivable) {
						return err
					}
				}
				return nil
			})
		}
		g.Go(func() error {
			for range times {
				if err := s.Restore(ctx, id); err != nil {
					return err
				}
			}
			return nil
		})
		var changed atomic.Int64
		g.Go(func() error {
			for range times {
				clock.Add(24 * time.Hour)
				switch _, err := s.Change(ctx, f.app.ID, id, func(e *models.Envelope) error { return e.Downloaded(f.act(), e.Signers[1].ID, e.Sealed()[0].ID) }); {
				case err == nil:
					changed.Add(1)
				case !strings.Contains(err.Error(), "is in an archive"): // it was archived before every attempt
					return err
				}
			}
			return nil
		})
		g.Go(func() error {
			for range times {
				e, log, err := s.EnvelopeWithEvents(ctx, f.app.ID, id)
				if err == nil {
					err = models.VerifyChain(log, e.AuditSeq, e.AuditHead)
				}
				if err != nil {
					return err
				}
				now, err := s.Values(ctx, e)
				if err != nil {
					return err
				}
				if len(now) != len(values) {
					return fmt.Errorf("restored %d values instead of %d", len(now), len(values))
				}
			}
			return nil
		})
		require.NoError(t, g.Wait())
		_, after := f.check(id)
		assert.Len(t, after, len(log)+int(changed.Load()))
		require.NoError(t, s.Restore(t.Context(), id))
		now, err := s.Values(t.Context(), e)
		require.NoError(t, err)
		byField := func(a, b models.FieldValue) int { return bytes.Compare(a.FieldID[:], b.FieldID[:]) }
		slices.SortFunc(now, byField)
		slices.SortFunc(values, byField)
		assert.Equal(t, values, now)
	})
}

// TestPurge_AppliesToArchive checks that a purge makes archived values unreadable, and that the archive file is
// deleted when no backup of the database can need it any more.
func TestPurge_AppliesToArchive(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		require.NoError(t, s.Archive(ctx, f.ended[0]))
		clock.Add(48 * time.Hour)
		require.NoError(t, change(ctx, f.fixture, f.completed.ID, func(e *models.Envelope) error { return e.Purge(f.act()) }))
		e, _ := f.check(f.completed.ID)
		values, err := s.Values(ctx, e)
		require.NoError(t, err)
		assert.Empty(t, values)
		assert.Zero(t, f.rows("envelope_archives WHERE key IS NOT NULL"))
		require.NoError(t, s.Archive(ctx, f.ended[0]), "without values")
		assert.Len(t, f.kept(), 2)

		clock.Add(store.ReleasedArchiveRetention - time.Hour)
		released, err := s.ReleasedArchives(ctx, 9)
		require.NoError(t, err)
		assert.Empty(t, released)
		clock.Add(2 * time.Hour)
		released, err = s.ReleasedArchives(ctx, 9)
		require.NoError(t, err)
		require.Len(t, released, 1)
		for range 2 { // the first call may have been interrupted between deleting the file and its record
			require.NoError(t, s.RemoveReleasedArchive(ctx, released[0]))
		}
		require.Len(t, f.kept(), 1)
		f.check(f.completed.ID)
		values, err = s.Values(ctx, e)
		require.NoError(t, err)
		assert.Empty(t, values)
	})
}
