package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"countersign/internal/testkit"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

// archiveFixture has envelopes that ended in every way, and a file store that can fail.
type archiveFixture struct {
	*fixture

	db    *sql.DB
	dir   string // of the file store
	files *brokenFiles
	ended []store.EnvelopeRef
	// completed is one of them, which two have signed, one with a picture.
	completed *models.Envelope
}

// brokenFiles is a file store that fails where it is told to.
type brokenFiles struct {
	blob.Store

	keep, kept, open atomic.Bool
}

var errDiskBroken = errors.New("disk broken on purpose")

func (b *brokenFiles) Keep(ctx context.Context, f *os.File, key string) error {
	if b.keep.Load() {
		return errDiskBroken
	}
	err := b.Store.Keep(ctx, f, key)
	if err == nil && b.kept.Load() {
		return errDiskBroken // it is there, and nobody has learned of it
	}
	return err
}

func (b *brokenFiles) Open(ctx context.Context, key string) (*blob.File, error) {
	if b.open.Load() {
		return nil, errDiskBroken
	}
	return b.Store.Open(ctx, key)
}

func newArchiveFixture(t *testing.T, s *store.Store, clock *testkit.Clock) *archiveFixture {
	t.Helper()
	f := &archiveFixture{fixture: newFixture(t, s, clock), dir: t.TempDir()}
	blobs, err := blob.OpenDir(f.dir)
	require.NoError(t, err)
	f.files = &brokenFiles{Store: blobs}
	s.UseArchives(f.files)
	f.db, err = s.DB()
	require.NoError(t, err)

	days, ctx := 1, t.Context()
	f.completed = f.sent(2, nil)
	require.NoError(t, f.sign(f.completed, 0))
	require.NoError(t, change(ctx, f.fixture, f.completed.ID, func(e *models.Envelope) error {
		text := "yes, 50 € “quoted” \\ <&>"
		_, err := e.Sign(f.act(), link(e, 1), models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[1].ID, Text: &text}}})
		e.Values[0].Image, e.Values[0].ImageSHA256 = testkit.Signature(), "f00" // as a field for pictures has them
		return err
	}))
	f.seal(f.completed)
	declined, voided, expired, deleted := f.sent(2, nil), f.sent(1, nil), f.sent(1, &days), f.prepared()
	require.NoError(t, f.sign(declined, 0))
	require.NoError(t, change(ctx, f.fixture, declined.ID, func(e *models.Envelope) error {
		_, err := e.Decline(f.act(), link(e, 1), nil, false)
		return err
	}))
	require.NoError(t, change(ctx, f.fixture, voided.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
	require.NoError(t, change(ctx, f.fixture, deleted.ID, func(e *models.Envelope) error {
		_, err := e.Delete(f.act())
		return err
	}))
	clock.Add(49 * time.Hour)
	require.NoError(t, change(ctx, f.fixture, expired.ID, func(e *models.Envelope) error { return e.Expire(f.act()) }))
	for _, e := range []*models.Envelope{f.completed, declined, voided, deleted, expired} {
		f.ended = append(f.ended, store.EnvelopeRef{ID: e.ID, AppID: f.app.ID})
	}
	return f
}

func (f *archiveFixture) archiveAll() {
	f.t.Helper()
	for _, ref := range f.ended {
		require.NoError(f.t, f.Archive(f.t.Context(), ref))
	}
}

// kept are the files in archives.
func (f *archiveFixture) kept() []string {
	f.t.Helper()
	keys, err := f.files.List(f.t.Context(), blob.Archives)
	require.NoError(f.t, err)
	return keys
}

// everythingRead is what each way to read says of the envelopes.
func (f *archiveFixture) everythingRead() (out []any) {
	f.t.Helper()
	ctx := f.t.Context()
	var places []store.ChainHead
	for _, ref := range f.ended {
		e, log, err := f.AnyEnvelopeWithEvents(ctx, ref.AppID, ref.ID)
		require.NoError(f.t, err)
		require.NoError(f.t, models.VerifyChain(log, e.AuditSeq, e.AuditHead))
		for i := range log {
			places = append(places, store.ChainHead{EnvelopeID: e.ID, Seq: log[i].Seq, Hash: log[i].Hash})
		}
		before := *e
		before.AuditSeq-- // as it was loaded before the last event
		earlier, err := f.AuditEvents(ctx, &before)
		require.NoError(f.t, err)
		require.Len(f.t, earlier, len(log)-1)
		values, err := f.Values(ctx, e)
		require.NoError(f.t, err)
		bare, err := f.ValuesWithoutPictures(ctx, e)
		require.NoError(f.t, err)
		for _, v := range values {
			one, err := f.Value(ctx, e, v.FieldID)
			require.NoError(f.t, err)
			require.Equal(f.t, v, *one)
		}
		_, err = f.Value(ctx, e, uuid.New())
		require.ErrorIs(f.t, err, models.ErrNotFound)
		if e.Status == models.StatusCompleted {
			for n := range len(log) + 2 {
				record, err := f.SealRecord(ctx, e.ID, e.Originals()[0].ID, n)
				require.NoError(f.t, err)
				out = append(out, *record)
			}
		}
		e.Archived = false
		out = append(out, e, log, earlier, values, bare)
	}
	places = append(places, store.ChainHead{EnvelopeID: f.completed.ID, Seq: 1, Hash: "another"})
	links, err := f.ChainLinks(ctx, places)
	require.NoError(f.t, err)
	require.Len(f.t, links, len(places)-1)
	for _, since := range []time.Time{{}, f.clock.Now().Add(-24 * time.Hour), f.clock.Now().Add(time.Hour)} {
		require.NoError(f.t, f.EachChainHead(ctx, since, func(h store.ChainHead) error {
			out = append(out, since, h)
			return nil
		}))
	}
	for _, filter := range []store.EnvelopeFilter{{}, {Search: "s1@example.com"}, {Status: models.StatusCompleted}, {ByUpdate: true}} {
		filter.App, filter.Page, filter.Size = f.app.ID, 1, 50
		list, total, err := f.Envelopes(ctx, filter)
		require.NoError(f.t, err)
		for _, e := range list {
			e.Archived = false
			out = append(out, e, total)
		}
	}
	return append(out, links)
}

// TestArchivedEnvelopesReadTheSame: whatever way they are read, archived and restored. No event
// and no value is in the database meanwhile, and nothing of them can be read in the file.
func TestArchivedEnvelopesReadTheSame(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		open := f.sent(1, nil)
		require.NoError(t, f.sign(open, 0))
		before := f.everythingRead()
		values, events := f.rows("field_values"), f.rows("audit_events")
		require.Equal(t, 4, values)
		f.archiveAll()
		f.archiveAll() // those that are there already
		assert.Equal(t, before, f.everythingRead())
		_, log := f.check(open.ID)
		assert.Equal(t, []int{1, len(log)}, []int{f.rows("field_values"), f.rows("audit_events")}, "what is left is of the open one")
		require.Len(t, f.kept(), len(f.ended))
		for _, key := range f.kept() {
			content, err := os.ReadFile(filepath.Join(f.dir, key))
			require.NoError(t, err)
			for _, clear := range []string{"yes", "prefilled", "envelope.", "PNG", "hash", "\x1f\x8b\x08"} {
				assert.NotContains(t, string(content), clear)
			}
		}
		require.ErrorIs(t, s.Archive(ctx, store.EnvelopeRef{ID: open.ID, AppID: f.app.ID}), store.ErrNotArchivable)
		due, err := s.EnvelopesToArchive(ctx, clock.Now().Add(time.Hour), 50)
		require.NoError(t, err)
		require.Empty(t, due)

		for _, ref := range f.ended {
			require.NoError(t, s.Restore(ctx, ref.ID))
			require.NoError(t, s.Restore(ctx, ref.ID), "it is there already")
		}
		assert.Equal(t, before, f.everythingRead())
		assert.Equal(t, []int{values, events}, []int{f.rows("field_values"), f.rows("audit_events")})
		assert.Zero(t, f.rows("envelope_archives WHERE key IS NOT NULL OR released_at IS NULL"), "nobody can read the files any more")
	})
}

// TestAuditEventsCanOnlyBeArchived: no other statement removes one.
func TestAuditEventsCanOnlyBeArchived(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		events := f.rows("audit_events")
		refused := func() {
			for _, query := range []string{"DELETE FROM audit_events", "DELETE FROM audit_events WHERE seq = 1", "UPDATE audit_events SET actor = 'x'"} {
				_, err := f.db.ExecContext(ctx, query)
				require.ErrorContains(t, err, "append-only", query)
			}
		}
		refused()
		assert.Equal(t, events, f.rows("audit_events"))
		require.NoError(t, s.Archive(ctx, f.ended[0]))
		require.NoError(t, s.Restore(ctx, f.ended[0].ID))
		refused()
		assert.Equal(t, events, f.rows("audit_events"))
	})
}

// TestArchivingThatIsCutOff, at whatever step, leaves the database as it was, and a file that
// is in no record at most; it can be done again. So it is with restoring.
func TestArchivingThatIsCutOff(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.Databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			clock, ctx := testkit.NewClock(), t.Context()
			s := testkit.Store(t, kind, clock.Now)
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
				"the file is not kept":       disk(&f.files.keep),
				"the file is kept, no more":  disk(&f.files.kept),
				"the file cannot be read":    disk(&f.files.open),
				"the record is not made":     statement("INSERT", "envelope_archives"),
				"the values are not removed": statement("DELETE", "field_values"),
				"the events are not removed": statement("DELETE", "audit_events"),
				"the envelope is not marked": statement("UPDATE", "envelopes"),
			})
			assert.Greater(t, len(f.kept()), 3, "files that nobody knows of, nor has the keys of")
			check(func(ctx context.Context) error { return s.Restore(ctx, ref.ID) }, map[string]func() func(){
				"the file cannot be read":     disk(&f.files.open),
				"the events are not written":  statement("INSERT", "audit_events"),
				"the values are not written":  statement("INSERT", "field_values"),
				"the envelope is not marked":  statement("UPDATE", "envelopes"),
				"the archive is not released": statement("UPDATE", "envelope_archives"),
			})
		})
	}
}

// TestAnArchivedEnvelopeIsChanged: it is restored for that, its chain goes on, and the snapshot of
// somebody who has read it before does not change it. What is refused, or changes nothing,
// restores nothing.
func TestAnArchivedEnvelopeIsChanged(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		id := f.completed.ID
		archived := func() bool { return f.rows("envelopes WHERE archived AND id = $1", id) == 1 }
		e, log := f.check(id)
		downloaded := func(e *models.Envelope) error { return e.Downloaded(f.act(), e.Signers[0].ID, e.Sealed()[0].ID) }
		stale := f.snapshot(id)
		require.NoError(t, s.Archive(ctx, f.ended[0]))

		require.Error(t, change(ctx, f.fixture, id, func(e *models.Envelope) error { return e.Void(f.act(), nil) }))
		same, err := s.ChangeWithEvents(ctx, f.app.ID, id, func(*models.Envelope) error { return nil })
		require.NoError(t, err)
		assert.Equal(t, log, same.Log)
		assert.Equal(t, e.Version, same.Version)
		require.True(t, archived())

		_, err = s.ChangeSnapshot(ctx, stale, downloaded)
		require.NoError(t, err)
		require.False(t, archived())
		_, after := f.check(id)
		require.Len(t, after, len(log)+1, "once")

		require.NoError(t, s.Archive(ctx, f.ended[0]))
		clock.Add(48 * time.Hour)
		_, err = s.ChangeSnapshot(ctx, f.snapshot(id), downloaded)
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

// TestAPurgeReachesTheArchive: what was entered cannot be read any more, nowhere, and the file goes
// when no backup of the database can need it.
func TestAPurgeReachesTheArchive(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
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

		clock.Add(store.ReleasedArchivesKept - time.Hour)
		released, err := s.ReleasedArchives(ctx, 9)
		require.NoError(t, err)
		assert.Empty(t, released)
		clock.Add(2 * time.Hour)
		released, err = s.ReleasedArchives(ctx, 9)
		require.NoError(t, err)
		require.Len(t, released, 1)
		for range 2 { // as one that was cut off between the file and its record
			require.NoError(t, s.RemoveReleasedArchive(ctx, released[0]))
		}
		require.Len(t, f.kept(), 1)
		f.check(f.completed.ID)
		values, err = s.Values(ctx, e)
		require.NoError(t, err)
		assert.Empty(t, values)
	})
}

// TestABrokenArchiveIsTold, and is never taken for an empty one; nor is an envelope archived whose
// chain does not hold.
func TestABrokenArchiveIsTold(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		f.archiveAll()
		e, err := s.Envelope(ctx, f.app.ID, f.completed.ID)
		require.NoError(t, err)
		var path, other string
		for _, key := range f.kept() {
			if strings.Contains(key, e.ID.String()) {
				path = filepath.Join(f.dir, key)
			} else {
				other = filepath.Join(f.dir, key)
			}
		}
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		foreign, err := os.ReadFile(other)
		require.NoError(t, err)
		flipped := bytes.Clone(whole)
		flipped[len(flipped)/2] ^= 1
		for name, content := range map[string][]byte{"missing": nil, "cut off": whole[:len(whole)-1], "empty": {}, "altered": flipped, "of another envelope": foreign} {
			require.NoError(t, os.Remove(path))
			if content != nil {
				require.NoError(t, os.WriteFile(path, content, 0o600))
			}
			var broken *store.ArchiveError
			_, _, err := s.EnvelopeWithEvents(ctx, f.app.ID, e.ID)
			require.ErrorAs(t, err, &broken, name)
			_, err = s.AuditEvents(ctx, e)
			require.ErrorAs(t, err, &broken, name)
			_, err = s.Values(ctx, e)
			require.ErrorAs(t, err, &broken, name)
			_, err = s.SealRecord(ctx, e.ID, e.Originals()[0].ID, 3)
			require.ErrorAs(t, err, &broken, name)
			require.ErrorAs(t, s.Restore(ctx, e.ID), &broken, name)
			require.ErrorAs(t, change(ctx, f.fixture, e.ID, func(e *models.Envelope) error { return e.Purge(f.act()) }), &broken, name)
			links, err := s.ChainLinks(ctx, []store.ChainHead{{EnvelopeID: e.ID, Seq: e.AuditSeq, Hash: e.AuditHead}})
			require.NoError(t, err)
			require.Empty(t, links)
			list, _, err := s.Envelopes(ctx, store.EnvelopeFilter{App: f.app.ID, Page: 1, Size: 9})
			require.NoError(t, err, "lists do not need it")
			require.Len(t, list, 4)
			if content == nil {
				require.NoError(t, os.WriteFile(path, whole, 0o600))
			}
		}
		require.NoError(t, os.WriteFile(path, whole, 0o600))
		require.NoError(t, s.Restore(ctx, e.ID))
		_, err = f.db.ExecContext(ctx, "UPDATE envelopes SET audit_head = 'forged'")
		require.NoError(t, err)
		due, err := s.EnvelopesToArchive(ctx, clock.Now().Add(time.Hour), 9)
		require.NoError(t, err)
		require.Len(t, due, 1)
		require.ErrorIs(t, s.Archive(ctx, due[0]), store.ErrNotArchivable)
		var broken *store.ArchiveError
		require.ErrorAs(t, s.Restore(ctx, f.ended[1].ID), &broken, "the envelope ends with another event than its archive")
		require.NoError(t, s.PostponeArchiving(ctx, e.ID))
		due, err = s.EnvelopesToArchive(ctx, clock.Now().Add(time.Hour), 9)
		require.NoError(t, err)
		require.Empty(t, due)
	})
}

// TestArchivingAndChangesAtOnce lose nothing and write nothing twice.
func TestArchivingAndChangesAtOnce(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
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
				case !strings.Contains(err.Error(), "is in an archive"): // it was moved each time
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
					return fmt.Errorf("%d values instead of %d", len(now), len(values))
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

// TestArchivesOutliveTheMasterKey: their keys are encrypted anew like other secrets, and the files
// stay as they are.
func TestArchivesOutliveTheMasterKey(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.Databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url, clock, ctx := testkit.DatabaseURL(t, kind), testkit.NewClock(), t.Context()
			var files blob.Store
			open := func(keys ...byte) *store.Store {
				t.Helper()
				all := make([]string, 0, len(keys))
				for _, k := range keys {
					all = append(all, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{k}, 32)))
				}
				v, err := vault.New(strings.Join(all, ","))
				require.NoError(t, err)
				s, err := store.Open(ctx, store.Config{URL: url, BaseURL: "https://sign.example.com", Vault: v, Now: clock.Now, NewID: newID})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				s.UseArchives(files)
				return s
			}
			first := open(1)
			_, err := first.Migrate(ctx)
			require.NoError(t, err)
			f := newArchiveFixture(t, first, clock)
			files = f.files
			f.archiveAll()
			before := f.everythingRead()
			names := f.kept()
			read := func(name string) []byte {
				file, err := files.Open(ctx, name)
				require.NoError(t, err)
				defer func() { require.NoError(t, file.Close()) }()
				b, err := io.ReadAll(file)
				require.NoError(t, err)
				return b
			}
			file := read(names[0])
			n, err := open(2, 1).Rewrap(ctx)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, n.Secrets, len(f.ended))
			f.Store = open(2)
			assert.Equal(t, before, f.everythingRead())
			assert.Equal(t, file, read(names[0]))
			n, err = f.Rewrap(ctx)
			require.NoError(t, err)
			assert.Zero(t, n)
			require.NoError(t, f.Restore(ctx, f.completed.ID))
			assert.Equal(t, before, f.everythingRead())
		})
	}
}

// TestAnUnreadableValueIsNotArchived: it is said of the one envelope, and keeps no other from being archived.
func TestAnUnreadableValueIsNotArchived(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
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

// TestChainLinksOfWhatIsRestoredMeanwhile: an event is found that was in an archive when rows were looked at, and a row when archives were.
func TestChainLinksOfWhatIsRestoredMeanwhile(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		clock := testkit.NewClock()
		s := testkit.Store(t, "postgres", clock.Now)
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		e, _ := f.check(f.completed.ID)
		execute(t, s, fmt.Sprintf("CREATE TABLE restored AS SELECT * FROM audit_events WHERE envelope_id = '%s'", e.ID))
		require.NoError(t, s.Archive(ctx, f.ended[0]))
		tx, err := pool(t, s).BeginTx(ctx, nil) // as Restore does it
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
		waitsForALock(t, s)
		exec("INSERT INTO audit_events SELECT * FROM restored")
		exec(fmt.Sprintf("UPDATE envelopes SET archived = false WHERE id = '%s'", e.ID))
		exec(fmt.Sprintf("UPDATE envelope_archives SET key = NULL, released_at = now() WHERE envelope_id = '%s'", e.ID))
		require.NoError(t, tx.Commit())
		got := <-looked
		require.NoError(t, got.err)
		assert.Equal(t, map[store.ChainHead]bool{head: true}, got.links)
	})
}
