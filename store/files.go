package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/store/blob"
)

// FileRef is a document's or an attachment's file, as it is recorded.
type FileRef struct {
	EnvelopeID uuid.UUID
	BlobKey    string
	Purged     bool
}

// Files lists the files of the documents and attachments of envelopes of whatever app, by
// envelope. It is for operators.
func (s *Store) Files(ctx context.Context, envelopes []uuid.UUID) (map[uuid.UUID][]FileRef, error) {
	var rows []FileRef
	err := s.db.WithContext(ctx).Raw(`SELECT envelope_id, blob_key, purge_status = ? AS purged FROM documents WHERE envelope_id IN ?
		UNION ALL SELECT envelope_id, prepared_key, purge_status = ? FROM documents WHERE envelope_id IN ? AND prepared_key <> ''
		UNION ALL SELECT envelope_id, blob_key, purged_at IS NOT NULL FROM attachments WHERE envelope_id IN ?`,
		models.PurgePurged, envelopes, models.PurgePurged, envelopes, envelopes).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	out := make(map[uuid.UUID][]FileRef)
	for _, r := range rows {
		out[r.EnvelopeID] = append(out[r.EnvelopeID], r)
	}
	return out, nil
}

// MarkEncrypted notes that the file under key is encrypted: from then on it is
// not read if it is plain text.
func (s *Store) MarkEncrypted(ctx context.Context, key string) error {
	db := s.db.WithContext(ctx)
	for _, place := range []struct{ table, key, flag string }{
		{"documents", "blob_key", "encrypted"},
		{"documents", "prepared_key", "prepared_encrypted"},
		{"attachments", "blob_key", "encrypted"},
		{"template_documents", "blob_key", "encrypted"},
		{"template_documents", "prepared_key", "prepared_encrypted"},
	} {
		update := func(where string, args ...any) error {
			return db.Exec("UPDATE "+place.table+" SET "+place.flag+" = ? WHERE "+place.key+" = ? AND NOT "+place.flag+where, append([]any{true, key}, args...)...).Error
		}
		var err error
		switch envelope, ok := envelopeOfKey(key); {
		case place.table == "template_documents":
			err = update("")
		case ok:
			err = update(" AND envelope_id = ?", envelope)
		}
		if err == nil && place.table == "documents" {
			err = update(" AND shared")
		}
		if err != nil {
			return fmt.Errorf("mark file: %w", err)
		}
	}
	return nil
}

// AnchorFiles are those of the given keys that are lists of recorded anchors.
func (s *Store) AnchorFiles(ctx context.Context, keys []string) (map[string]bool, error) {
	var found []string
	if err := s.db.WithContext(ctx).Model(&Anchor{}).Where("blob_key IN ?", keys).Pluck("blob_key", &found).Error; err != nil {
		return nil, fmt.Errorf("list anchors: %w", err)
	}
	out := make(map[string]bool, len(found))
	for _, k := range found {
		out[k] = true
	}
	return out, nil
}

// FileRecord is what is recorded of a document's file.
func FileRecord(d *models.Document) blob.Record {
	return blob.Record{Key: d.BlobKey, SHA256: d.SHA256, Encrypted: d.Encrypted}
}

// AttachmentRecord is what is recorded of an attachment's file.
func AttachmentRecord(a *models.Attachment) blob.Record {
	return blob.Record{Key: a.BlobKey, SHA256: a.SHA256, Encrypted: a.Encrypted}
}
