package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// SealRecord contains the hashes recorded for a sealed document.
type SealRecord struct {
	OriginalSHA256 string
	SealedSHA256   string // hash of the stored file, or of a purged file
	ChainHead      string // hash of the last event that the seal covers, or ""
}

// SealRecord returns the record of the sealed document of an original, and the hash of the event with the given number.
// It returns models.ErrNotFound if the document is unknown or was not sealed.
func (s *EnvelopeRepository) SealRecord(ctx context.Context, envelope, document uuid.UUID, event int) (*SealRecord, error) {
	out := &SealRecord{}
	err := s.read(ctx, func(tx *gorm.DB) error {
		docs, err := find[*models.Document](tx.Select("id", "original_id", "kind", "sha256").Where("envelope_id = ? AND (id = ? OR original_id = ?)", envelope, document, document))
		if err != nil {
			return err
		}
		for _, d := range docs {
			if d.Kind == models.DocumentSealed {
				out.SealedSHA256 = d.SHA256
			} else {
				out.OriginalSHA256 = d.SHA256
			}
		}
		if out.OriginalSHA256 == "" || out.SealedSHA256 == "" {
			return models.ErrNotFound
		}
		ev, err := first[models.Event](tx.Select("hash").Where("envelope_id = ? AND seq = ?", envelope, event))
		if ev != nil {
			out.ChainHead = ev.Hash
		}
		return err
	})
	if err == nil && out.ChainHead == "" {
		out.ChainHead, err = s.archivedHash(ctx, envelope, int64(event))
	}
	return out, wrap(err, "load record of document %s", document)
}

// archivedHash returns the hash of an event of an archived envelope. It returns "" if the envelope is not archived or
// has no such event.
func (s *EnvelopeRepository) archivedHash(ctx context.Context, envelope uuid.UUID, event int64) (string, error) {
	c, err := s.archives.readArchive(ctx, envelope)
	if errors.Is(err, errNotArchived) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, ev := range c.Events {
		if ev.Seq == event {
			return ev.Hash, nil
		}
	}
	return "", nil
}
