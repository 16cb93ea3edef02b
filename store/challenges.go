package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

const labelConsoleChallenge = "console-challenge"

// Challenge is something that is asked of somebody who signs in.
type Challenge struct {
	Kind models.ChallengeKind
	// Answer is the random text that comes back, and Holder what only the asked browser or session has. Neither is stored.
	Answer, Holder string
	User           *uuid.UUID // nil: not known yet
	Data           []byte     // what the answer is checked against
}

func challengeID(answer string) string {
	sum := sha256.Sum256([]byte(answer))
	return hex.EncodeToString(sum[:])
}

func holderHash(holder string) []byte {
	sum := sha256.Sum256([]byte(holder))
	return sum[:]
}

// CreateChallenge remembers what is asked, for as long as it may be answered.
func (s *Store) CreateChallenge(ctx context.Context, c Challenge, lifetime time.Duration) error {
	row := models.ConsoleChallenge{
		ID: challengeID(c.Answer), Kind: c.Kind, Holder: holderHash(c.Holder), UserID: c.User,
		Data: s.vault.Encrypt(c.Data, labelConsoleChallenge), ExpiresAt: s.now().Add(lifetime),
	}
	if err := s.db.WithContext(ctx).Create(&row).Error; err != nil {
		return fmt.Errorf("create challenge: %w", err)
	}
	return nil
}

// TakeChallenge uses up the challenge that an answer belongs to, and fills in user and
// data. It returns models.ErrNotFound where there is none of that kind and holder, where
// it has expired, and where it was taken before.
func (s *Store) TakeChallenge(ctx context.Context, c *Challenge) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		var row models.ConsoleChallenge
		err := tx.Where("id = ? AND kind = ? AND holder = ? AND expires_at > ?", challengeID(c.Answer), c.Kind, holderHash(c.Holder), s.now()).Take(&row).Error
		if err != nil {
			return mapNotFound(err)
		}
		if c.Data, err = s.vault.Decrypt(row.Data, labelConsoleChallenge); err != nil {
			return err
		}
		c.User = row.UserID
		res := tx.Where("id = ?", row.ID).Delete(&models.ConsoleChallenge{})
		if res.Error == nil && res.RowsAffected == 0 { // another request was faster
			return models.ErrNotFound
		}
		return res.Error
	})
	if err != nil {
		return fmt.Errorf("take challenge: %w", err)
	}
	return nil
}
