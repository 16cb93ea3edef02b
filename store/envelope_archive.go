package store

import (
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
)

// errEnvelopeChanged means that an envelope was changed while it was being archived.
var errEnvelopeChanged = fmt.Errorf("%w: the envelope was changed during archiving", ErrNotArchivable)

// ErrNotArchivable means that an envelope cannot be archived in its current state. The error message contains the
// reason.
var ErrNotArchivable = errors.New("the envelope cannot be archived")

// Archive moves the audit events and values of an ended envelope to a file. It has no effect if the envelope is already
// archived. It compares the stored file with the rows before deleting them, and deletes them in the transaction that
// records the file. If Archive is interrupted before that transaction, nobody can decrypt the file, and the sweep
// deletes the file. Archive returns ErrNotArchivable for an envelope whose audit chain is invalid, that is too large,
// or that has a value that cannot be decrypted.
func (s *EnvelopeRepository) Archive(ctx context.Context, ref EnvelopeRef) error {
	if err := s.archive(ctx, ref); err != nil {
		if errors.Is(err, errUnreadable) {
			err = fmt.Errorf("%w: %w", ErrNotArchivable, err)
		}
		return fmt.Errorf("archive envelope %s: %w", ref.ID, err)
	}
	return nil
}

func (s *EnvelopeRepository) archive(ctx context.Context, ref EnvelopeRef) error {
	if s.archiveFiles == nil {
		return errNoFileStore
	}
	e, events, err := s.AnyEnvelopeWithEvents(ctx, ref.AppID, ref.ID)
	if err != nil || e.Archived {
		return err
	}
	if !e.Status.Terminal() {
		return fmt.Errorf("%w: the status %s is not final", ErrNotArchivable, e.Status)
	}
	// The comparison below includes the version of e, so it also detects changes to the values loaded here.
	values, err := s.Values(ctx, e)
	if err != nil {
		return err
	}
	if err := models.VerifyChain(events, e.AuditSeq, e.AuditHead); err != nil {
		return fmt.Errorf("%w: %w", ErrNotArchivable, err)
	}
	began := s.now()
	a, err := s.storeArchive(ctx, e, newArchiveContent(e.ID, events, values))
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

// moveToArchive replaces an envelope's rows with an archive. It fails unless the number of rows matches the archive.
func (s *EnvelopeRepository) moveToArchive(ctx context.Context, e *models.Envelope, a *Archive, began time.Time, events, values int) error {
	return s.tx(ctx, func(tx *gorm.DB) error {
		var now models.Envelope
		if err := s.locked(tx).Select("id", "version", "archived").Take(&now, "id = ?", e.ID).Error; err != nil {
			return mapNotFound(err)
		}
		if now.Archived || now.Version != e.Version || s.now().Sub(began) > archiveCommitLimit {
			return errEnvelopeChanged
		}
		if err := tx.Create(a).Error; err != nil {
			return err
		}
		if err := removeArchived(tx, "field_values", &models.FieldValue{}, e.ID, values); err != nil {
			return err
		}
		if err := removeArchived(tx, "audit_events", &models.Event{}, e.ID, events); err != nil {
			return err
		}
		failpoint.Inject("archive.deleted")
		return tx.Table("envelopes").Where("id = ?", e.ID).UpdateColumns(map[string]any{"archived": true, "archive_retry_at": nil}).Error
	})
}

// removeArchived deletes the rows of an envelope, and returns an error unless their number is n.
func removeArchived(tx *gorm.DB, table string, model any, envelope uuid.UUID, n int) error {
	result := tx.Where("envelope_id = ?", envelope).Delete(model)
	if result.Error == nil && result.RowsAffected != int64(n) {
		return fmt.Errorf("%w (%d rows of %s, not %d)", errEnvelopeChanged, result.RowsAffected, table, n)
	}
	return result.Error
}

// storeArchive stores the content in the file store, and compares the stored file with it. It returns the record to
// insert.
func (s *EnvelopeRepository) storeArchive(ctx context.Context, e *models.Envelope, c *archiveContent) (*Archive, error) {
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
	if err := s.archives.storeFile(ctx, a.BlobKey(), file); err != nil {
		return nil, err
	}
	failpoint.Inject("archive.kept")
	kept, err := s.archives.openArchive(ctx, a)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(c, kept) {
		return nil, fmt.Errorf("%w: the archive differs from the written content", ErrNotArchivable)
	}
	if err := models.VerifyChain(kept.events(), e.AuditSeq, e.AuditHead); err != nil {
		return nil, fmt.Errorf("%w: verify its audit chain: %w", ErrNotArchivable, err)
	}
	return a, nil
}
