package store

import (
	"context"
	"fmt"
	"path"
	"time"

	"gorm.io/gorm/clause"

	"countersign/store/blob"
)

// PageFile is the image or the text of a page of a stored file.
type PageFile struct {
	BlobKey string `gorm:"primaryKey"` // storage key of the stored file
	Profile int    `gorm:"primaryKey;autoIncrement:false"`
	Page    int    `gorm:"primaryKey;autoIncrement:false"` // starts at 1
	Level   int    `gorm:"primaryKey;autoIncrement:false"` // 1, 2 or 4, or 0 for the page's text
	// Appearance is the hash of the pixels or of the text, in lowercase hexadecimal.
	Appearance    string
	MediaType     string
	Width, Height int    // in pixels; 0 for text
	SHA256        string `gorm:"column:sha256"` // hash of the file, in lowercase hexadecimal
	Encrypted     bool
	CreatedAt     time.Time
}

// TableName returns the name of the database table.
func (PageFile) TableName() string { return "page_files" }

// Key returns the storage key of the file.
func (p *PageFile) Key() string {
	return fmt.Sprintf("%s%d-%d-%d", blob.PagesOf(p.BlobKey), p.Profile, p.Page, p.Level)
}

// Record returns the record of the file.
func (p *PageFile) Record() blob.Record {
	return blob.Record{Key: p.Key(), SHA256: p.SHA256, Encrypted: p.Encrypted}
}

// PageFile returns the record of a page of a stored file, or nil if there is none.
func (s *FileRepository) PageFile(ctx context.Context, blobKey string, profile, page, level int) (*PageFile, error) {
	p, err := first[PageFile](s.db.WithContext(ctx).Where("blob_key = ? AND profile = ? AND page = ? AND level = ?", blobKey, profile, page, level))
	return p, wrap(err, "find page %d of %s", page, blobKey)
}

// PageFiles lists the page records of stored files with the given profile, ordered by file, page and level.
func (s *FileRepository) PageFiles(ctx context.Context, profile int, blobKeys ...string) ([]PageFile, error) {
	rows, err := find[PageFile](s.db.WithContext(ctx).Where("profile = ? AND blob_key IN ?", profile, blobKeys).Order("blob_key, page, level"))
	return rows, wrap(err, "list pages")
}

// AddPageFile records a rendered page unless it is already recorded, and returns the record.
func (s *FileRepository) AddPageFile(ctx context.Context, p PageFile) (*PageFile, error) {
	p.CreatedAt = s.now()
	result := s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&p)
	if result.Error != nil {
		return nil, fmt.Errorf("record page %d of %s: %w", p.Page, p.BlobKey, result.Error)
	}
	if result.RowsAffected == 1 {
		return &p, nil
	}
	return s.PageFile(ctx, p.BlobKey, p.Profile, p.Page, p.Level)
}

// ReplacePageFile records a new encoding of a page with the same appearance.
func (s *FileRepository) ReplacePageFile(ctx context.Context, p PageFile) error {
	result := s.db.WithContext(ctx).Model(&PageFile{}).
		Where("blob_key = ? AND profile = ? AND page = ? AND level = ? AND appearance = ?", p.BlobKey, p.Profile, p.Page, p.Level, p.Appearance).
		Updates(map[string]any{"sha256": p.SHA256, "media_type": p.MediaType, "encrypted": p.Encrypted})
	return wrap(result.Error, "record page %d of %s", p.Page, p.BlobKey)
}

// markPageEncrypted records that the page file with the given key is encrypted.
func (s *FileRepository) markPageEncrypted(ctx context.Context, key string) error {
	p := PageFile{BlobKey: blob.SourceOfPages(key)}
	if _, err := fmt.Sscanf(path.Base(key), "%d-%d-%d", &p.Profile, &p.Page, &p.Level); err != nil {
		return nil //nolint:nilerr // not the file of a page
	}
	done := s.db.WithContext(ctx).Model(&PageFile{}).
		Where("blob_key = ? AND profile = ? AND page = ? AND level = ?", p.BlobKey, p.Profile, p.Page, p.Level).UpdateColumn("encrypted", true)
	return wrap(done.Error, "mark page %d of %s", p.Page, p.BlobKey)
}

// RemovePageFiles deletes the page records of files that were removed.
func (s *FileRepository) RemovePageFiles(ctx context.Context, blobKeys ...string) error {
	if len(blobKeys) == 0 {
		return nil
	}
	return wrap(s.db.WithContext(ctx).Delete(&PageFile{}, "blob_key IN ?", blobKeys).Error, "remove pages")
}
