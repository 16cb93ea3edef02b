package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"countersign/models"
)

// FileRef is a document's file, as it is recorded.
type FileRef struct {
	EnvelopeID uuid.UUID
	BlobKey    string
	Purged     bool
}

// Files lists the files of the documents of envelopes of whatever app, by
// envelope. It is for operators.
func (s *Store) Files(ctx context.Context, envelopes []uuid.UUID) (map[uuid.UUID][]FileRef, error) {
	var rows []FileRef
	err := s.db.WithContext(ctx).Table("documents").Where("envelope_id IN ?", envelopes).
		Select("envelope_id, blob_key, purge_status = ? AS purged", models.PurgePurged).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	out := make(map[uuid.UUID][]FileRef)
	for _, r := range rows {
		out[r.EnvelopeID] = append(out[r.EnvelopeID], r)
	}
	return out, nil
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
