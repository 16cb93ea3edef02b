package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"countersign/internal/failpoint"
	"countersign/models"
)

// Restore moves the rows of an archived envelope back to the database. It has no effect if the envelope is not
// archived. It deletes the archive's key, and the cleanup deletes the file later.
func (s *EnvelopeRepository) Restore(ctx context.Context, envelope uuid.UUID) error {
	if err := s.restore(ctx, envelope); err != nil && !errors.Is(err, errNotArchived) {
		return fmt.Errorf("restore envelope %s: %w", envelope, err)
	}
	return nil
}

func (s *EnvelopeRepository) restore(ctx context.Context, envelope uuid.UUID) error {
	a, err := archiveOf(s.db.WithContext(ctx), envelope)
	if err != nil {
		return err
	}
	c, err := s.archives.openArchive(ctx, a)
	if err != nil {
		return err
	}
	events, values := c.events(), c.values()
	err = s.transact(ctx, readWrite, func(t *transaction) error {
		tx := t.gorm()
		var e models.Envelope
		if err := s.locked(tx).Select("id", "archived", "audit_seq", "audit_head").Take(&e, "id = ?", envelope).Error; err != nil {
			return mapNotFound(err)
		}
		now, err := archiveOf(tx, envelope)
		if err != nil {
			return err
		}
		if !e.Archived || now.ID != a.ID {
			return errNotArchived // another transaction has moved it
		}
		if err := models.VerifyChain(events, e.AuditSeq, e.AuditHead); err != nil {
			return &ArchiveError{envelope, a.BlobKey(), "does not match the envelope: " + err.Error()}
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

// archivedError means that an envelope is archived, and must be restored before it can be changed.
type archivedError struct{ id uuid.UUID }

// Error implements error.
func (e *archivedError) Error() string { return fmt.Sprintf("envelope %s is in an archive", e.id) }

// changing runs fn in a transaction. If fn would change an archived envelope, the envelope is restored in a separate
// transaction, and fn is run again. Within another transaction, changing instead returns an archivedError, so that the
// caller that began the transaction can restore the envelope.
func (s *EnvelopeRepository) changing(ctx context.Context, fn func(*transaction) error) error {
	for attempt := 1; ; attempt++ {
		err := s.transact(ctx, readWrite, fn)
		archived, ok := errors.AsType[*archivedError](err)
		if !ok || s.transaction != nil || attempt == archiveAttempts {
			return err
		}
		if err := s.Restore(ctx, archived.id); err != nil {
			return err
		}
	}
}
