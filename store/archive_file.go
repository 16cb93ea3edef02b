package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
	"countersign/store/blob"
)

// ArchiveRepository stores the records of archives, and reads and restores archived rows.
type ArchiveRepository struct{ *engine }

func (s *ArchiveRepository) register() {
	encryptSecrets(s.engine, "envelope_archives", "key", labelArchiveKey)
}

// An archive is a file with the audit events of an ended envelope and the values that its signers entered. The
// envelope's row, recipients, fields and documents remain in the database for lists and searches.
//
// The file consists of archiveMagic and the content, which is JSON compressed with gzip and encrypted with AES-256-GCM
// (random nonce). Each archive has its own key, and the encryption is bound to the envelope and the archive. The
// archive's row contains the key, encrypted with the master key. Once the key has been deleted from the row, no copy
// of the file can be decrypted.

const (
	archiveMagic  = "CSarch1\n"
	archiveFormat = 1
	// ArchiveSuffix is the suffix of the names of archive files.
	ArchiveSuffix   = ".csa"
	maxArchive      = 64 << 20
	labelArchiveKey = "archive-key"
)

// Archive is the record of an archive.
type Archive struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	SHA256     string `gorm:"column:sha256"` // hash of the file
	Size       int64  // size of the file in bytes
	Key        []byte // encrypted key of the file; nil once the archive has been released
	// Events is the number of archived events. LastEventAt is the time of the last one.
	Events      int64
	LastEventAt time.Time
	CreatedAt   time.Time
	// ReleasedAt is the time at which the rows were restored to the database, or nil if they are still archived.
	ReleasedAt *time.Time
}

// TableName returns the name of the database table.
func (Archive) TableName() string { return "envelope_archives" }

// BlobKey returns the storage key of the archive's file.
func (a *Archive) BlobKey() string {
	return blob.Archives + a.EnvelopeID.String() + "/" + a.ID.String() + ArchiveSuffix
}

func (a *Archive) binding() []byte {
	return []byte(archiveMagic + a.EnvelopeID.String() + "/" + a.ID.String())
}

type archiveContent struct {
	Format     int             `json:"format"`
	EnvelopeID uuid.UUID       `json:"envelopeId"`
	Events     []archivedEvent `json:"events"`
	Values     []archivedValue `json:"values"`
}

type archivedEvent struct {
	ID        uuid.UUID        `json:"id"`
	Seq       int64            `json:"seq"`
	Name      models.EventName `json:"event"`
	Timestamp time.Time        `json:"timestamp"`
	Actor     string           `json:"actor"`
	IP        *string          `json:"ip"`
	UserAgent *string          `json:"userAgent"`
	Detail    models.Detail    `json:"detail"`
	PrevHash  string           `json:"prevHash"`
	Hash      string           `json:"hash"`
}

type archivedValue struct {
	FieldID     uuid.UUID `json:"fieldId"`
	SignerID    uuid.UUID `json:"signerId"`
	Text        string    `json:"text"`
	Image       []byte    `json:"image,omitempty"`
	ImageSHA256 string    `json:"imageSha256,omitempty"`
	CreatedAt   time.Time `json:"createdAt"`
}

func newArchiveContent(envelope uuid.UUID, events []models.Event, values []models.FieldValue) *archiveContent {
	c := &archiveContent{Format: archiveFormat, EnvelopeID: envelope, Events: make([]archivedEvent, 0, len(events)), Values: make([]archivedValue, 0, len(values))}
	for i := range events {
		ev := &events[i]
		c.Events = append(c.Events, archivedEvent{ev.ID, ev.Seq, ev.Name, ev.Timestamp.UTC(), ev.Actor, ev.IP, ev.UserAgent, ev.Detail, ev.PrevHash, ev.Hash})
	}
	for i := range values {
		v := &values[i]
		row := archivedValue{v.FieldID, v.SignerID, v.Text, nil, v.ImageSHA256, v.CreatedAt.UTC()}
		if len(v.Image) > 0 {
			row.Image = v.Image
		}
		c.Values = append(c.Values, row)
	}
	return c
}

func (c *archiveContent) events() []models.Event {
	out := make([]models.Event, 0, len(c.Events))
	for _, ev := range c.Events {
		out = append(out, models.Event{
			ID: ev.ID, EnvelopeID: c.EnvelopeID, Seq: ev.Seq, Name: ev.Name, Timestamp: ev.Timestamp, Actor: ev.Actor, IP: ev.IP, UserAgent: ev.UserAgent,
			Detail: ev.Detail, PrevHash: ev.PrevHash, Hash: ev.Hash,
		})
	}
	return out
}

func (c *archiveContent) values() []models.FieldValue {
	out := make([]models.FieldValue, 0, len(c.Values))
	for _, v := range c.Values {
		out = append(out, models.FieldValue{
			FieldID: v.FieldID, EnvelopeID: c.EnvelopeID, SignerID: v.SignerID, Text: v.Text, Image: v.Image, ImageSHA256: v.ImageSHA256, CreatedAt: v.CreatedAt,
		})
	}
	return out
}

// errTooLarge means that an envelope is too large for an archive.
var errTooLarge = fmt.Errorf("the archived content is larger than %d MiB", maxArchive>>20)

// encode returns the content of an archive's file, encrypted with key.
func (c *archiveContent) encode(key, binding []byte) ([]byte, error) {
	plain, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	if len(plain) > maxArchive {
		return nil, errTooLarge
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	aead, err := archiveCipher(key)
	if err != nil {
		return nil, err
	}
	return aead.Seal([]byte(archiveMagic), nil, packed.Bytes(), binding), nil //nolint:gosec // this AEAD generates its own nonce
}

func archiveCipher(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func newArchiveKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return key
}

func decodeArchive(file, key, binding []byte) (*archiveContent, error) {
	rest, ok := bytes.CutPrefix(file, []byte(archiveMagic))
	if !ok {
		return nil, errors.New("not an archive")
	}
	aead, err := archiveCipher(key)
	if err != nil {
		return nil, err
	}
	packed, err := aead.Open(nil, nil, rest, binding)
	if err != nil {
		return nil, errors.New("decryption failed")
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxArchive+1))
	switch {
	case err != nil:
		return nil, err
	case len(plain) > maxArchive:
		return nil, errTooLarge
	}
	c := &archiveContent{}
	if err := json.Unmarshal(plain, c); err != nil {
		return nil, err
	}
	if c.Format != archiveFormat {
		return nil, fmt.Errorf("the archive has format %d, but this program supports only format %d", c.Format, archiveFormat)
	}
	return c, nil
}

// ArchiveError reports that an archive file is missing or damaged, or differs from its record.
type ArchiveError struct {
	EnvelopeID uuid.UUID
	Key        string // storage key of the file
	Problem    string // problem for operators, such as "is missing"
}

// Error returns the problem with the archive for operators.
func (e *ArchiveError) Error() string {
	return fmt.Sprintf("the archive of envelope %s, file %s, %s", e.EnvelopeID, e.Key, e.Problem)
}

// ErrArchiveUnreachable means that the file store cannot currently provide an archive's file. The file itself may be
// intact.
var ErrArchiveUnreachable = errors.New("the archive cannot be read from the file store")

// errNotArchived means that an envelope is not, or is no longer, archived.
var errNotArchived = errors.New("the envelope is not archived")

// UseArchives sets the file store that contains the archives. It must be called before the store is used.
func (s *ArchiveRepository) UseArchives(files blob.Store) { s.archiveFiles = files }

// errNoFileStore means that UseArchives was not called.
var errNoFileStore = errors.New("there is no file store for archives")

// archiveOf returns the record of the archive that contains an envelope, or errNotArchived.
func archiveOf(db *gorm.DB, envelope uuid.UUID) (*Archive, error) {
	var rows []Archive
	if err := db.Where("envelope_id = ? AND released_at IS NULL", envelope).Limit(1).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("find the archive of %s: %w", envelope, err)
	}
	if len(rows) == 0 {
		return nil, errNotArchived
	}
	return &rows[0], nil
}

// readArchive returns the content of an envelope's archive, or errNotArchived.
func (s *ArchiveRepository) readArchive(ctx context.Context, envelope uuid.UUID) (*archiveContent, error) {
	a, err := archiveOf(s.db.WithContext(ctx), envelope)
	if err != nil {
		return nil, err
	}
	return s.openArchive(ctx, a)
}

// openArchive reads the file of an archive. It returns an ArchiveError if the file is missing, differs from its record,
// or cannot be decrypted. It returns ErrArchiveUnreachable if the file store fails.
func (s *ArchiveRepository) openArchive(ctx context.Context, a *Archive) (*archiveContent, error) {
	if s.archiveFiles == nil {
		return nil, errNoFileStore
	}
	broken := func(format string, args ...any) error {
		return &ArchiveError{a.EnvelopeID, a.BlobKey(), fmt.Sprintf(format, args...)}
	}
	key, err := s.vault.Decrypt(a.Key, labelArchiveKey)
	if err != nil {
		return nil, broken("has a key that cannot be decrypted: %s", err)
	}
	unreachable := func(err error) error {
		return fmt.Errorf("archive of envelope %s: %w: %w", a.EnvelopeID, ErrArchiveUnreachable, err)
	}
	f, err := blob.OpenRecorded(ctx, s.archiveFiles, blob.Record{Key: a.BlobKey(), SHA256: a.SHA256})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, broken("is missing")
	case errors.Is(err, blob.ErrModified):
		return nil, broken("does not match its recorded hash")
	case errors.Is(err, blob.ErrDamaged):
		return nil, broken("is damaged: %s", blob.ErrDamaged)
	case err != nil:
		return nil, unreachable(err)
	}
	defer func() { _ = f.Close() }() // opened only for reading
	file, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
	if err != nil {
		return nil, unreachable(err)
	}
	c, err := decodeArchive(file, key, a.binding())
	if err != nil {
		return nil, broken("cannot be read: %s", err)
	}
	if c.EnvelopeID != a.EnvelopeID || int64(len(c.Events)) != a.Events {
		return nil, broken("belongs to envelope %s and has %d events instead of %d", c.EnvelopeID, len(c.Events), a.Events)
	}
	return c, nil
}

// archiveAttempts is the maximum number of attempts to find an envelope's rows. An attempt fails if the envelope is
// restored between reading the rows and reading the archive.
const archiveAttempts = 4

// rowsOrArchive returns the result of rows. If the result is empty and the envelope has ended, it returns the content
// of the envelope's archive. An envelope can be archived or restored at any time, so the result is empty only if one
// snapshot contained neither rows nor an archive of the envelope.
func rowsOrArchive[T any](ctx context.Context, s *ArchiveRepository, e *models.Envelope, rows func(*gorm.DB) ([]T, error), archived func(*archiveContent) []T) ([]T, error) {
	out, err := rows(s.db.WithContext(ctx))
	if err != nil || len(out) > 0 || !e.Status.Terminal() {
		return out, err
	}
	for range archiveAttempts {
		var now models.Envelope
		err := s.read(ctx, func(tx *gorm.DB) (err error) {
			if err = tx.Select("archived").Take(&now, "id = ?", e.ID).Error; err == nil && !now.Archived {
				out, err = rows(tx)
			}
			return mapNotFound(err)
		})
		if err != nil || !now.Archived {
			return append([]T(nil), out...), err // nil if empty
		}
		c, err := s.readArchive(ctx, e.ID)
		if err == nil {
			return append([]T(nil), archived(c)...), nil
		}
		if !errors.Is(err, errNotArchived) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("envelope %s is archived and restored repeatedly", e.ID)
}
