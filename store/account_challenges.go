package store

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

const labelConsoleChallenge = "console-challenge"

// Challenge is a stored sign-in challenge.
type Challenge struct {
	Kind models.ChallengeKind
	// Answer is the random string that the response must contain. Holder is a secret of the browser or session that
	// requested the challenge. Only their hashes are stored.
	Answer, Holder string
	User           *uuid.UUID // nil if not known yet
	Data           []byte     // data for verifying the response
}

func challengeID(answer string) string { return hex.EncodeToString(hashOf(answer)) }

// CreateChallenge stores a challenge that expires after the given lifetime.
func (s *UserRepository) CreateChallenge(ctx context.Context, c Challenge, lifetime time.Duration) error {
	row := models.ConsoleChallenge{
		ID: challengeID(c.Answer), Kind: c.Kind, Holder: hashOf(c.Holder), UserID: c.User,
		Data: s.vault.Encrypt(c.Data, labelConsoleChallenge), ExpiresAt: s.now().Add(lifetime),
	}
	return wrap(s.db.WithContext(ctx).Create(&row).Error, "create challenge")
}

// TakeChallenge consumes the challenge that a response answers, and sets c.User and c.Data. It returns
// models.ErrNotFound unless this holder has an unused, unexpired challenge of this kind.
func (s *UserRepository) TakeChallenge(ctx context.Context, c *Challenge) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		row, err := one[models.ConsoleChallenge](tx, "id = ? AND kind = ? AND holder = ? AND expires_at > ?", challengeID(c.Answer), c.Kind, hashOf(c.Holder), s.now())
		if err != nil {
			return err
		}
		if c.Data, err = s.vault.Decrypt(row.Data, labelConsoleChallenge); err != nil {
			return err
		}
		c.User = row.UserID
		return requireRows(tx.Where("id = ?", row.ID).Delete(&models.ConsoleChallenge{}), models.ErrNotFound) // fails if another request has used the challenge
	})
	return wrap(err, "consume challenge")
}
