package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/store/blob"
)

// FileRepository finds and marks the files of documents in the file store.
type FileRepository struct{ *engine }

// FileRef refers to the file of a document or an attachment.
type FileRef struct {
	EnvelopeID uuid.UUID
	BlobKey    string
	Purged     bool
}

// Files lists the files of documents and attachments by envelope, for envelopes of any app. It must not be used to
// process an app's requests.
func (s *FileRepository) Files(ctx context.Context, envelopes []uuid.UUID) (map[uuid.UUID][]FileRef, error) {
	var rows []FileRef
	// SQL: the query is a union of the tables that refer to files.
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

// HasUnmarkedFiles reports whether any file is recorded without the encryption mark that MarkEncrypted sets.
func (s *FileRepository) HasUnmarkedFiles(ctx context.Context) (found bool, err error) {
	// SQL: the query is a union of the tables that refer to files.
	err = s.db.WithContext(ctx).Raw(`SELECT EXISTS (SELECT 1 FROM documents WHERE purge_status <> ? AND (NOT encrypted OR prepared_key <> '' AND NOT prepared_encrypted))
		OR EXISTS (SELECT 1 FROM attachments WHERE purged_at IS NULL AND NOT encrypted)
		OR EXISTS (SELECT 1 FROM page_files WHERE NOT encrypted)
		OR EXISTS (SELECT 1 FROM template_documents WHERE NOT encrypted OR prepared_key <> '' AND NOT prepared_encrypted)`, models.PurgePurged).Scan(&found).Error
	return found, wrap(err, "find files without encryption mark")
}

// MarkEncrypted records that the file with the given key is encrypted. From then on, an unencrypted file is rejected.
func (s *FileRepository) MarkEncrypted(ctx context.Context, key string) error {
	db := s.db.WithContext(ctx)
	if blob.SourceOfPages(key) != "" {
		return s.markPageEncrypted(ctx, key)
	}
	for _, place := range []struct{ table, key, flag string }{
		{"documents", "blob_key", "encrypted"},
		{"documents", "prepared_key", "prepared_encrypted"},
		{"attachments", "blob_key", "encrypted"},
		{"template_documents", "blob_key", "encrypted"},
		{"template_documents", "prepared_key", "prepared_encrypted"},
	} {
		update := func(where string, args ...any) error {
			return db.Table(place.table).Where(place.key+" = ? AND NOT "+place.flag, key).Where(where, args...).UpdateColumn(place.flag, true).Error
		}
		var err error
		switch envelope, ok := envelopeOfKey(key); {
		case place.table == "template_documents":
			err = update("true")
		case ok:
			err = update("envelope_id = ?", envelope)
		}
		if err == nil && place.table == "documents" {
			err = update("shared")
		}
		if err != nil {
			return fmt.Errorf("mark file: %w", err)
		}
	}
	return nil
}

// FileRecord returns the record of a document's file.
func FileRecord(d *models.Document) blob.Record {
	return blob.Record{Key: d.BlobKey, SHA256: d.SHA256, Encrypted: d.Encrypted}
}

// AttachmentRecord returns the record of an attachment's file.
func AttachmentRecord(a *models.Attachment) blob.Record {
	return blob.Record{Key: a.BlobKey, SHA256: a.SHA256, Encrypted: a.Encrypted}
}

// The files of a template are referenced by the template's versions, and by the documents of envelopes created from
// it. Removing the last reference removes the file. A new reference is created only under a lock that protects an
// existing reference, so an unreferenced file is never referenced again.

// envelopeOfKey returns the envelope in whose folder a file is stored, or false if there is none.
func envelopeOfKey(key string) (uuid.UUID, bool) {
	rest, ok := strings.CutPrefix(key, blob.Envelopes)
	name, _, _ := strings.Cut(rest, "/")
	id, err := uuid.Parse(name)
	return id, ok && err == nil
}

// Unreferenced returns the files that are not referenced by any envelope or template.
func (s *FileRepository) Unreferenced(ctx context.Context, keys ...string) ([]string, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	owners := []uuid.UUID{uuid.Nil} // avoids an empty list in SQL
	for _, key := range keys {
		if id, ok := envelopeOfKey(key); ok {
			owners = append(owners, id)
		}
	}
	var found []string
	// SQL: the query is a union of the tables that refer to files.
	err := s.db.WithContext(ctx).Raw(`SELECT blob_key FROM documents WHERE shared AND blob_key IN @keys AND purge_status = @active
		UNION SELECT prepared_key FROM documents WHERE shared AND prepared_key <> '' AND prepared_key IN @keys AND purge_status = @active
		UNION SELECT blob_key FROM template_documents WHERE blob_key IN @keys AND NOT released
		UNION SELECT prepared_key FROM template_documents WHERE prepared_key <> '' AND prepared_key IN @keys AND NOT released
		UNION SELECT blob_key FROM documents WHERE envelope_id IN @owners AND blob_key IN @keys AND purge_status = @active
		UNION SELECT prepared_key FROM documents WHERE envelope_id IN @owners AND prepared_key IN @keys AND purge_status = @active`,
		map[string]any{"keys": keys, "owners": owners, "active": models.PurgeActive}).Scan(&found).Error
	if err != nil {
		return nil, fmt.Errorf("find references to files: %w", err)
	}
	named := setOf(found)
	var out []string
	for _, key := range keys {
		if !named[key] {
			named[key] = true // returns each key only once
			out = append(out, key)
		}
	}
	return out, nil
}
