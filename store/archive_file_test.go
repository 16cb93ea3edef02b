package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
	"countersign/test/kit"
)

// archiveFixture contains envelopes that ended in every possible way, and a file store that can fail.
type archiveFixture struct {
	*fixture

	db    *sql.DB
	dir   string // directory of the file store
	files *brokenFiles
	ended []store.EnvelopeRef
	// completed is the envelope that two signers signed, one of them with a picture.
	completed *models.Envelope
}

// brokenFiles is a file store with configurable failures.
type brokenFiles struct {
	blob.Store

	failPut, kept, open atomic.Bool
	onOpen              func() // called before a file is stored; may be nil
}

var errDiskBroken = errors.New("simulated disk failure")

func (b *brokenFiles) Put(ctx context.Context, f *os.File, key string) error {
	if b.failPut.Load() {
		return errDiskBroken
	}
	if b.onOpen != nil {
		b.onOpen()
	}
	err := b.Store.Put(ctx, f, key)
	if err == nil && b.kept.Load() {
		return errDiskBroken // the file exists, but is not recorded
	}
	return err
}

func (b *brokenFiles) Open(ctx context.Context, key string) (*blob.File, error) {
	if b.open.Load() {
		return nil, errDiskBroken
	}
	return b.Store.Open(ctx, key)
}

func newArchiveFixture(t *testing.T, s *store.Store, clock *kit.Clock) *archiveFixture {
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
		e.Values[0].Image, e.Values[0].ImageSHA256 = kit.Signature(), "f00" // as for a picture field
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

func (f *archiveFixture) kept() []string {
	f.t.Helper()
	keys, err := f.files.List(f.t.Context(), blob.Archives)
	require.NoError(f.t, err)
	return keys
}

// everythingRead returns the results of all read operations for the envelopes.
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
		before.AuditSeq-- // the state before the last event
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

// TestArchivedEnvelopes_ReadUnchanged checks that every read operation returns the same result while the envelope is
// archived and after it is restored. While the envelope is archived, the database contains none of its events and
// values, and the file does not reveal them.
func TestArchivedEnvelopes_ReadUnchanged(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		open := f.sent(1, nil)
		require.NoError(t, f.sign(open, 0))
		before := f.everythingRead()
		values, events := f.rows("field_values"), f.rows("audit_events")
		require.Equal(t, 4, values)
		f.archiveAll()
		f.archiveAll() // has no effect on existing archives
		assert.Equal(t, before, f.everythingRead())
		_, log := f.check(open.ID)
		assert.Equal(t, []int{1, len(log)}, []int{f.rows("field_values"), f.rows("audit_events")}, "the remaining rows belong to the open envelope")
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
			require.NoError(t, s.Restore(ctx, ref.ID), "the file already exists")
		}
		assert.Equal(t, before, f.everythingRead())
		assert.Equal(t, []int{values, events}, []int{f.rows("field_values"), f.rows("audit_events")})
		assert.Zero(t, f.rows("envelope_archives WHERE key IS NOT NULL OR released_at IS NULL"), "the files can no longer be decrypted")
	})
}

// TestValues_OfEnvelopeRestoredAfterLoad checks that the values of an envelope can be read without error if the
// envelope is restored after it was loaded without values.
func TestValues_OfEnvelopeRestoredAfterLoad(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		f.archiveAll()
		voided, err := s.Envelope(ctx, f.app.ID, f.ended[2].ID)
		require.NoError(t, err)
		require.True(t, voided.Archived)
		require.NoError(t, s.Restore(ctx, voided.ID))
		values, err := s.Values(ctx, voided)
		require.NoError(t, err)
		require.Empty(t, values)
	})
}

// TestArchive_KeepsRowsAfterSlowWrite checks that the rows are kept if writing the file took more than an hour. A
// sweep could remove a file of that age.
func TestArchive_KeepsRowsAfterSlowWrite(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newArchiveFixture(t, s, clock), t.Context()
		before := f.rows("audit_events")
		f.files.onOpen = func() { clock.Add(time.Hour + time.Second) }
		require.ErrorIs(t, s.Archive(ctx, f.ended[0]), store.ErrNotArchivable)
		require.Equal(t, before, f.rows("audit_events"))
		f.files.onOpen = func() { clock.Add(time.Hour) }
		require.NoError(t, s.Archive(ctx, f.ended[0]))
	})
}

// TestDamagedArchive_IsReported checks that reading a damaged archive fails instead of returning an empty result, and
// that an envelope with a broken audit chain is not archived.
func TestDamagedArchive_IsReported(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
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
			require.NoError(t, err, "lists do not require the archive")
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
		require.ErrorAs(t, s.Restore(ctx, f.ended[1].ID), &broken, "the last event of the envelope differs from that of its archive")
		require.NoError(t, s.PostponeArchiving(ctx, e.ID))
		due, err = s.EnvelopesToArchive(ctx, clock.Now().Add(time.Hour), 9)
		require.NoError(t, err)
		require.Empty(t, due)
	})
}

// TestArchives_SurviveMasterKeyReplacement checks that replacing the master key re-encrypts the archive keys without
// changing the files.
func TestArchives_SurviveMasterKeyReplacement(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		ctx := t.Context()
		var files blob.Store
		open := func(keys ...byte) *store.Store {
			t.Helper()
			s := d.open(t, keys...)
			s.UseArchives(files)
			return s
		}
		first := open(1)
		f := newArchiveFixture(t, first, d.clock)
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

// TestArchives_AreBounded checks that an archive with 64 MB of JSON is accepted, and one with an additional byte is
// rejected.
func TestArchives_AreBounded(t *testing.T) {
	t.Parallel()
	const most = 64 << 20
	around, err := store.ArchiveOf(0)
	require.NoError(t, err)
	size, err := store.ArchiveOf(most - around)
	require.NoError(t, err)
	require.Equal(t, most, size)
	_, err = store.ArchiveOf(most - around + 1)
	require.ErrorContains(t, err, "larger than 64 MiB")
}

// TestArchive_WithoutFileStore_Fails checks that archiving without a file store fails and changes nothing.
func TestArchive_WithoutFileStore_Fails(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *store.Store) {
		app, _, err := s.CreateApp(t.Context(), "A", models.PlanEnterprise, nil)
		require.NoError(t, err)
		e := draft(t, s, app.ID, "t", "x")
		require.ErrorContains(t, s.Archive(t.Context(), store.EnvelopeRef{AppID: app.ID, ID: e.ID}), "no file store")
		require.ErrorContains(t, s.RemoveReleasedArchive(t.Context(), &store.Archive{ID: newID()}), "no file store")
		require.Zero(t, rowsIn(t, s, "envelope_archives"))
		there, err := s.CheckReplica(t.Context())
		require.NoError(t, err)
		require.False(t, there)
	})
}

func TestArchiveFiles_ReturnsRecordedIDs(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newArchiveFixture(t, s, clock)
		f.archiveAll()
		var text string
		require.NoError(t, f.db.QueryRowContext(t.Context(), "SELECT id FROM envelope_archives LIMIT 1").Scan(&text))
		id, err := uuid.Parse(text)
		require.NoError(t, err)
		got, err := s.ArchiveFiles(t.Context(), []uuid.UUID{id, newID()})
		require.NoError(t, err)
		require.Equal(t, map[uuid.UUID]bool{id: true}, got)
		got, err = s.ArchiveFiles(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, got)
	})
}
