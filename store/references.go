package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/store/blob"
)

// A file of a template is named by the template's versions and by the documents of the
// envelopes that were made of it. It is removed with the last of these. A new reference is
// only made under a lock that keeps another one: of an envelope or of a template. So a
// file that nothing names, once that was committed, is never named again.

// envelopeOfKey is the envelope in whose folder a file is, false if it is in none.
func envelopeOfKey(key string) (uuid.UUID, bool) {
	rest, ok := strings.CutPrefix(key, blob.Envelopes)
	name, _, _ := strings.Cut(rest, "/")
	id, err := uuid.Parse(name)
	return id, ok && err == nil
}

// Unreferenced are those of some files of documents that neither an envelope nor a template
// names any more.
func (s *Store) Unreferenced(ctx context.Context, keys ...string) ([]string, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	owners := []uuid.UUID{uuid.Nil} // of no envelope: no list is empty in SQL
	for _, key := range keys {
		if id, ok := envelopeOfKey(key); ok {
			owners = append(owners, id)
		}
	}
	var found []string
	err := s.db.WithContext(ctx).Raw(`SELECT blob_key FROM documents WHERE shared AND blob_key IN @keys AND purge_status = @active
		UNION SELECT prepared_key FROM documents WHERE shared AND prepared_key <> '' AND prepared_key IN @keys AND purge_status = @active
		UNION SELECT blob_key FROM template_documents WHERE blob_key IN @keys AND NOT released
		UNION SELECT prepared_key FROM template_documents WHERE prepared_key <> '' AND prepared_key IN @keys AND NOT released
		UNION SELECT blob_key FROM documents WHERE envelope_id IN @owners AND blob_key IN @keys AND purge_status = @active
		UNION SELECT prepared_key FROM documents WHERE envelope_id IN @owners AND prepared_key IN @keys AND purge_status = @active`,
		map[string]any{"keys": keys, "owners": owners, "active": models.PurgeActive}).Scan(&found).Error
	if err != nil {
		return nil, fmt.Errorf("look for references of files: %w", err)
	}
	named := make(map[string]bool, len(found))
	for _, key := range found {
		named[key] = true
	}
	var out []string
	for _, key := range keys {
		if !named[key] {
			named[key] = true // each once
			out = append(out, key)
		}
	}
	return out, nil
}
