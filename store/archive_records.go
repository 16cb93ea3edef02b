package store

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/store/blob"
)

func (s *ArchiveRepository) storeFile(ctx context.Context, key string, content []byte) error {
	f, err := s.archiveFiles.Temp()
	if err != nil {
		return err
	}
	defer blob.Discard(f)
	if _, err := bytes.NewReader(content).WriteTo(f); err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return s.archiveFiles.Put(ctx, f, key)
}

// EnvelopesToArchive lists up to n envelopes of all apps that have ended and were last changed before the given time,
// oldest first. It omits envelopes whose archiving failed recently.
func (s *ArchiveRepository) EnvelopesToArchive(ctx context.Context, before time.Time, n int) ([]EnvelopeRef, error) {
	var out []EnvelopeRef
	err := s.db.WithContext(ctx).Model(&models.Envelope{}).
		Where(archivable+" AND updated_at < ? AND (archive_retry_at IS NULL OR archive_retry_at < ?)", before.UTC(), s.now()).
		Select("id, app_id").Order("updated_at").Limit(n).Find(&out).Error
	if err != nil {
		return nil, fmt.Errorf("list envelopes to archive: %w", err)
	}
	return out, nil
}

// PostponeArchiving records that an envelope could not be archived. EnvelopesToArchive then omits the envelope for
// several days.
func (s *ArchiveRepository) PostponeArchiving(ctx context.Context, envelope uuid.UUID) error {
	err := s.db.WithContext(ctx).Table("envelopes").Where("id = ?", envelope).UpdateColumn("archive_retry_at", s.now().Add(archiveRetry)).Error
	if err != nil {
		return fmt.Errorf("postpone archiving %s: %w", envelope, err)
	}
	return nil
}

// ReleasedArchives lists up to n archives whose rows were restored so long ago that their files are no longer needed.
func (s *ArchiveRepository) ReleasedArchives(ctx context.Context, n int) ([]*Archive, error) {
	var out []*Archive
	err := s.db.WithContext(ctx).Where("released_at IS NOT NULL AND released_at < ?", s.now().Add(-ReleasedArchiveRetention)).Order("released_at").Limit(n).Find(&out).Error
	if err != nil {
		return nil, fmt.Errorf("list released archives: %w", err)
	}
	return out, nil
}

// RemoveReleasedArchive deletes the file of a released archive, and then its record.
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

// ArchiveFiles returns the subset of the given archive IDs that are recorded.
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

// archivable selects the envelopes that have ended and are not archived. It must match the condition of the partial
// index envelopes_to_archive.
const archivable = "NOT archived AND status IN ('completed', 'declined', 'voided', 'expired', 'deleted')"

const (
	// archiveRetry is the time after which a failed attempt to archive an envelope is repeated.
	archiveRetry = 7 * 24 * time.Hour
	// archiveCommitLimit is the maximum time between storing an archive's file and recording it. It is much shorter
	// than the age at which a sweep deletes an unrecorded file.
	archiveCommitLimit = time.Hour
	// ReleasedArchiveRetention is the time for which an archive's file is retained after its rows have been restored,
	// because earlier backups of the database still need it.
	ReleasedArchiveRetention = 90 * 24 * time.Hour
)
