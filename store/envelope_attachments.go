package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// AttachmentRepository stores the files that signers attach.
type AttachmentRepository struct {
	*engine

	envelopes *EnvelopeRepository
}

func (s *AttachmentRepository) register() {
	encryptRows(s.engine, func(v *models.Attachment) encryptedRow {
		return encryptedRow{"attachments", v.ID.String(), []encryptedColumn{{name: "name", text: &v.Name}}}
	})
	rewrapRows[models.Attachment](s.engine, "id", nil)
}

func attachmentColumns(a *models.Attachment) []column {
	return []column{
		{"id", &a.ID},
		{"envelope_id", &a.EnvelopeID},
		{"field_id", &a.FieldID},
		{"signer_id", &a.SignerID},
		{"name", &a.Name},
		{"mime_type", &a.MimeType},
		{"sha256", &a.SHA256},
		{"size", &a.Size},
		{"blob_key", &a.BlobKey},
		{"encrypted", &a.Encrypted},
		{"used", &a.Used},
		{"withdrawn", &a.Withdrawn},
		{"created_at", &a.CreatedAt},
		{"purged_at", &a.PurgedAt},
	}
}

// saveAttachments adds statements to a batch. New attachments are inserted, and attachments that a signature now uses
// are marked as used. ChangeAttachments has already locked the existing attachments.
func saveAttachments(s *engine, b *batch, attached []*models.Attachment) {
	for _, a := range attached {
		if a.Used {
			b.execOne("UPDATE attachments SET used = $1 WHERE id = $2 AND NOT used AND NOT withdrawn", true, a.ID)
		} else {
			b.insert("attachments", "", attachmentColumns(encrypt(s, a)))
		}
	}
}

// ChangeAttachments is like Change, but is for uploading attachments or signing with them. It also locks the
// envelope's attachments, and passes them to fn.
func (s *AttachmentRepository) ChangeAttachments(ctx context.Context, app, id uuid.UUID, fn func(*models.Envelope, []*models.Attachment) error) (*models.Envelope, error) {
	return s.envelopes.changeWith(ctx, app, id, loadOptions{attachments: true}, func(l *loaded) error { return fn(l.envelopes[0], l.attachments) })
}

// withdrawAttachments withdraws the files that a replaced signer attached without signing, so that the new signer does
// not sign with them. The next sweep deletes them.
func withdrawAttachments(b *batch, _ *models.Envelope, ev *models.Event) {
	if replacesSigner(ev) {
		b.exec("UPDATE attachments SET withdrawn = $1 WHERE signer_id = $2 AND NOT used", true, ev.SignerID)
	}
}

var attachmentRows = selectionOf("attachments", attachmentColumns)

func queueAttachments(b *batch, out *[]*models.Attachment, envelope uuid.UUID, lock string) {
	selectRows(b, out, attachmentRows, "envelope_id = $1 AND NOT withdrawn ORDER BY created_at, id"+lock, envelope)
}

// Attachments returns an envelope's attachments in order of upload, excluding the attachments of replaced signers.
func (s *AttachmentRepository) Attachments(ctx context.Context, envelope uuid.UUID) ([]*models.Attachment, error) {
	out, err := findDecrypted[models.Attachment](s.engine, s.db.WithContext(ctx).Where("envelope_id = ? AND NOT withdrawn", envelope).Order("created_at, id"))
	return out, wrap(err, "load attachments of %s", envelope)
}

// RemoveAttachment deletes an attachment that is not used in a signature, and reports whether it existed. The caller
// then deletes the file.
func (s *AttachmentRepository) RemoveAttachment(ctx context.Context, id uuid.UUID) (bool, error) {
	result := s.db.WithContext(ctx).Where("id = ? AND NOT used", id).Delete(&models.Attachment{})
	return result.RowsAffected == 1, wrap(result.Error, "remove attachment %s", id)
}

// UnusedAttachments lists up to n attachments, of any envelope, that no signature uses. They were uploaded before the
// given time, or their signer was replaced. UnusedAttachments must not be used to process an app's requests.
func (s *AttachmentRepository) UnusedAttachments(ctx context.Context, before time.Time, n int) ([]*models.Attachment, error) {
	out, err := findDecrypted[models.Attachment](s.engine, s.db.WithContext(ctx).Where("NOT used AND (withdrawn OR created_at < ?)", before.UTC()).Order("created_at").Limit(n))
	return out, wrap(err, "list unused attachments")
}

// PurgeAttachments records that the files of an envelope's attachments were purged, and deletes their names.
func (s *AttachmentRepository) PurgeAttachments(ctx context.Context, envelope uuid.UUID, at time.Time) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		rows, err := find[*models.Attachment](s.locked(tx).Where("envelope_id = ? AND purged_at IS NULL", envelope))
		if err != nil {
			return err
		}
		for _, a := range rows {
			a.Name, a.PurgedAt = "", &at
			if err := tx.Model(a).Select("name", "purged_at").Updates(encrypt(s.engine, a)).Error; err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "purge attachments of %s", envelope)
}
