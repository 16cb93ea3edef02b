package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/internal/failpoint"
	"countersign/models"
	"countersign/store/blob"
)

// Archiver moves the audit events and values of ended envelopes to archives.
type Archiver struct {
	*ArchiveRepository

	envelopes *EnvelopeRepository
}

// archivable selects envelopes that have ended and are in no archive. It is written as
// the partial index envelopes_to_archive is.
const archivable = "NOT archived AND status IN ('completed', 'declined', 'voided', 'expired', 'deleted')"

const (
	// archiveRetry is when it is tried again to archive an envelope that could not be.
	archiveRetry = 7 * 24 * time.Hour
	// archiveCommitLimit bounds the time from the keeping of an archive's file to its
	// record: long before a sweep takes the file for one that will never be recorded.
	archiveCommitLimit = time.Hour
	// ReleasedArchivesKept is for how long the file of an archive is kept after its rows
	// have come back: a backup of the database from before that needs it.
	ReleasedArchivesKept = 90 * 24 * time.Hour
)

// ErrNotArchivable says that an envelope cannot be archived as it is; the message says why.
var ErrNotArchivable = errors.New("the envelope cannot be archived")

// errMeanwhile says that an envelope was changed while it was being archived.
var errMeanwhile = fmt.Errorf("%w: it was changed meanwhile", ErrNotArchivable)

// EnvelopesToArchive lists up to n envelopes of all apps that ended and were last changed
// before a time, the oldest first, without those that could not be archived a short while ago.
func (s *ArchiveRepository) EnvelopesToArchive(ctx context.Context, before time.Time, n int) ([]EnvelopeRef, error) {
	var out []EnvelopeRef
	err := s.db.WithContext(ctx).Model(&models.Envelope{}).
		Where(archivable+" AND updated_at < ? AND (archive_retry_at IS NULL OR archive_retry_at < ?)", before.UTC(), s.now()).
		Select("id, app_id").Order("updated_at").Limit(n).Find(&out).Error
	if err != nil {
		return nil, fmt.Errorf("list what is to be archived: %w", err)
	}
	return out, nil
}

// PostponeArchiving notes that an envelope could not be archived, and is not to be listed
// for some days.
func (s *ArchiveRepository) PostponeArchiving(ctx context.Context, envelope uuid.UUID) error {
	err := s.db.WithContext(ctx).Exec("UPDATE envelopes SET archive_retry_at = ? WHERE id = ?", s.now().Add(archiveRetry), envelope).Error
	if err != nil {
		return fmt.Errorf("postpone archiving %s: %w", envelope, err)
	}
	return nil
}

// Archive moves the audit events and the values of an ended envelope to a file, and is nil
// for one that was moved before. The rows are removed in the transaction that records the
// file, after the file was read again and compared; cut off before that, it leaves a file
// that nobody can read, for the sweep. An envelope that is not as its audit chain says, or
// too large, or has a value that cannot be decrypted, is ErrNotArchivable.
func (s *Archiver) Archive(ctx context.Context, ref EnvelopeRef) error {
	if err := s.archive(ctx, ref); err != nil {
		if errors.Is(err, errUnreadable) {
			err = fmt.Errorf("%w: %w", ErrNotArchivable, err)
		}
		return fmt.Errorf("archive envelope %s: %w", ref.ID, err)
	}
	return nil
}

func (s *Archiver) archive(ctx context.Context, ref EnvelopeRef) error {
	if s.archiveFiles == nil {
		return errNoFileStore
	}
	e, events, err := s.envelopes.AnyEnvelopeWithEvents(ctx, ref.AppID, ref.ID)
	if err != nil || e.Archived {
		return err
	}
	if !e.Status.Terminal() {
		return fmt.Errorf("%w: it is %s, and has not ended", ErrNotArchivable, e.Status)
	}
	// What it is compared with below has the version of e, and so these values.
	values, err := s.envelopes.Values(ctx, e)
	if err != nil {
		return err
	}
	if err := models.VerifyChain(events, e.AuditSeq, e.AuditHead); err != nil {
		return fmt.Errorf("%w: %w", ErrNotArchivable, err)
	}
	began := s.now()
	a, err := s.keepArchive(ctx, e, newArchiveContent(e.ID, events, values))
	if err != nil {
		return err
	}
	failpoint.Inject("archive.verified")
	if err := s.moveToArchive(ctx, e, a, began, len(events), len(values)); err != nil {
		return err
	}
	failpoint.Inject("archive.moved")
	return nil
}

// moveToArchive removes the rows of an envelope, which must be so many, in favour of an archive.
func (s *Archiver) moveToArchive(ctx context.Context, e *models.Envelope, a *Archive, began time.Time, events, values int) error {
	return s.tx(ctx, func(tx *gorm.DB) error {
		var now models.Envelope
		if err := s.locked(tx).Select("id", "version", "archived").Take(&now, "id = ?", e.ID).Error; err != nil {
			return mapNotFound(err)
		}
		if now.Archived || now.Version != e.Version || s.now().Sub(began) > archiveCommitLimit {
			return errMeanwhile
		}
		if err := tx.Create(a).Error; err != nil {
			return err
		}
		if err := removeArchived(tx, "field_values", e.ID, values); err != nil {
			return err
		}
		if err := removeArchived(tx, "audit_events", e.ID, events); err != nil {
			return err
		}
		failpoint.Inject("archive.deleted")
		return tx.Exec("UPDATE envelopes SET archived = ?, archive_retry_at = NULL WHERE id = ?", true, e.ID).Error
	})
}

// removeArchived removes the rows of an envelope, which must be n.
func removeArchived(tx *gorm.DB, table string, envelope uuid.UUID, n int) error {
	done := tx.Exec("DELETE FROM "+table+" WHERE envelope_id = ?", envelope)
	if done.Error == nil && done.RowsAffected != int64(n) {
		return fmt.Errorf("%w (%d rows of %s, not %d)", errMeanwhile, done.RowsAffected, table, n)
	}
	return done.Error
}

// keepArchive keeps a content in the file store, reads it again from there and compares
// it, and returns the record to be made of it.
func (s *Archiver) keepArchive(ctx context.Context, e *models.Envelope, c *archiveContent) (*Archive, error) {
	key := newArchiveKey()
	a := &Archive{
		ID: s.newID(), EnvelopeID: e.ID, Key: s.vault.Encrypt(key, labelArchiveKey), Events: e.AuditSeq,
		LastEventAt: c.Events[len(c.Events)-1].Timestamp, CreatedAt: s.now(),
	}
	file, err := c.encode(key, a.binding())
	if errors.Is(err, errTooLarge) {
		return nil, fmt.Errorf("%w: %w", ErrNotArchivable, err)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(file)
	a.SHA256, a.Size = hex.EncodeToString(sum[:]), int64(len(file))
	if err := s.keepFile(ctx, a.BlobKey(), file); err != nil {
		return nil, err
	}
	failpoint.Inject("archive.kept")
	kept, err := s.openArchive(ctx, a)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(c, kept) {
		return nil, fmt.Errorf("%w: its archive is read as something else than was written", ErrNotArchivable)
	}
	if err := models.VerifyChain(kept.events(), e.AuditSeq, e.AuditHead); err != nil {
		return nil, fmt.Errorf("%w: as it is archived: %w", ErrNotArchivable, err)
	}
	return a, nil
}

func (s *Archiver) keepFile(ctx context.Context, key string, content []byte) error {
	f, err := s.archiveFiles.Temp()
	if err != nil {
		return err
	}
	defer blob.Discard(f)
	if _, err := bytes.NewReader(content).WriteTo(f); err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return s.archiveFiles.Keep(ctx, f, key)
}

// Restore brings the rows of an archived envelope back into the database, and is nil for
// one that is there. The archive's key is removed with that, and its file later.
func (s *ArchiveRepository) Restore(ctx context.Context, envelope uuid.UUID) error {
	if err := s.restore(ctx, envelope); err != nil && !errors.Is(err, errNotArchived) {
		return fmt.Errorf("restore envelope %s: %w", envelope, err)
	}
	return nil
}

func (s *ArchiveRepository) restore(ctx context.Context, envelope uuid.UUID) error {
	a, err := archiveOf(s.db.WithContext(ctx), envelope)
	if err != nil {
		return err
	}
	c, err := s.openArchive(ctx, a)
	if err != nil {
		return err
	}
	events, values := c.events(), c.values()
	err = s.outsideRequest().transact(ctx, readWrite, func(t *transaction) error {
		tx, err := t.gorm()
		if err != nil {
			return err
		}
		var e models.Envelope
		if err := s.locked(tx).Select("id", "archived", "audit_seq", "audit_head").Take(&e, "id = ?", envelope).Error; err != nil {
			return mapNotFound(err)
		}
		now, err := archiveOf(tx, envelope)
		if err != nil {
			return err
		}
		if !e.Archived || now.ID != a.ID {
			return errNotArchived // another has moved it meanwhile
		}
		if err := models.VerifyChain(events, e.AuditSeq, e.AuditHead); err != nil {
			return &ArchiveError{envelope, a.BlobKey(), "does not end as the envelope does: " + err.Error()}
		}
		t.insert("audit_events", "", mapSlice(pointers(events), eventColumns)...)
		for _, v := range pointers(values) {
			t.insert("field_values", "", valueColumns(encrypt(s.engine, v)))
		}
		t.execOne("UPDATE envelopes SET archived = $1 WHERE id = $2", false, envelope)
		t.execOne("UPDATE envelope_archives SET key = NULL, released_at = $1 WHERE id = $2", s.now(), a.ID)
		if err := t.send(); err != nil {
			return err
		}
		failpoint.Inject("restore.written")
		return nil
	})
	if err == nil {
		failpoint.Inject("restore.committed")
	}
	return err
}

// archivedError says that an envelope is in an archive, and must be restored before it is
// changed.
type archivedError struct{ id uuid.UUID }

// Error implements error.
func (e *archivedError) Error() string { return fmt.Sprintf("envelope %s is in an archive", e.id) }

// ReleasedArchives lists up to n archives whose rows came back so long ago that their
// files are not needed any more.
func (s *ArchiveRepository) ReleasedArchives(ctx context.Context, n int) ([]*Archive, error) {
	var out []*Archive
	err := s.db.WithContext(ctx).Where("released_at IS NOT NULL AND released_at < ?", s.now().Add(-ReleasedArchivesKept)).Order("released_at").Limit(n).Find(&out).Error
	if err != nil {
		return nil, fmt.Errorf("list released archives: %w", err)
	}
	return out, nil
}

// RemoveReleasedArchive removes the file of an archive that was released, and its record
// after that.
func (s *ArchiveRepository) RemoveReleasedArchive(ctx context.Context, a *Archive) error {
	if s.archiveFiles == nil {
		return errNoFileStore
	}
	if err := s.archiveFiles.Delete(ctx, a.BlobKey()); err != nil {
		return err
	}
	if err := s.db.WithContext(ctx).Where("id = ? AND released_at IS NOT NULL", a.ID).Delete(&Archive{}).Error; err != nil {
		return fmt.Errorf("remove archive %s: %w", a.ID, err)
	}
	return nil
}

// ArchiveFiles are those of some ids of archives that are recorded.
func (s *ArchiveRepository) ArchiveFiles(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	out := make(map[uuid.UUID]bool, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var found []uuid.UUID
	if err := s.db.WithContext(ctx).Model(&Archive{}).Where("id IN ?", ids).Pluck("id", &found).Error; err != nil {
		return nil, fmt.Errorf("list archives: %w", err)
	}
	for _, id := range found {
		out[id] = true
	}
	return out, nil
}
