package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"countersign/models"
)

// A short link consists of the ID of a signing link and part of a keyed hash of the ID, so that knowing the ID alone is
// not enough.
const (
	shortLinkID   = 22 // base64url characters of the ID
	shortLinkHash = 11
	// ShortLinkLength is the number of characters of a short link.
	ShortLinkLength = shortLinkID + shortLinkHash
)

// ShortLink returns the short form of a signer's link.
func (s *EnvelopeRepository) ShortLink(link uuid.UUID) string {
	return base64.RawURLEncoding.EncodeToString(link[:]) + s.index.Hashes("links", link.String())[0][:shortLinkHash]
}

// LinkByShortForm returns the link with the given short form and the link's app, or models.ErrNotFound.
func (s *EnvelopeRepository) LinkByShortForm(ctx context.Context, short string) (app uuid.UUID, l models.Link, err error) {
	if len(short) != ShortLinkLength {
		return app, l, models.ErrNotFound
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(short[:shortLinkID])
	if err != nil {
		return app, l, models.ErrNotFound
	}
	l.ID = uuid.UUID(raw)
	ours := false
	for _, hash := range s.index.Hashes("links", l.ID.String()) {
		ours = ours || strings.HasPrefix(hash, short[shortLinkID:])
	}
	if !ours {
		return app, l, models.ErrNotFound
	}
	var row struct{ ID, EnvelopeID, AppID uuid.UUID }
	err = s.db.WithContext(ctx).Table("signers").Select("signers.id, signers.envelope_id, envelopes.app_id").
		Joins("JOIN envelopes ON envelopes.id = signers.envelope_id").Where("signers.link_id = ?", l.ID).Take(&row).Error
	if err != nil {
		return app, l, fmt.Errorf("load link: %w", mapNotFound(err))
	}
	l.EnvelopeID, l.SignerID = row.EnvelopeID, row.ID
	return row.AppID, l, nil
}
