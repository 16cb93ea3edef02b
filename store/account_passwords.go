package store

import (
	"crypto/sha256"
	"encoding/base64"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"

	"countersign/internal/password"
	"countersign/internal/plaintext"
	"countersign/models"
)

// Limits for the length of a console user's password, in characters.
const (
	minPassword = 10
	maxPassword = 128
)

// validatePassword reports the problems with a new password. The given words are related to the user and do not count
// toward the length of the password.
func (s *UserRepository) validatePassword(p models.Problems, path, text string, words ...string) error {
	if n := utf8.RuneCountInString(text); n < minPassword || n > maxPassword {
		p.Add(path, "must have between %d and %d characters", minPassword, maxPassword)
		return nil
	}
	if n := utf8.RuneCountInString(plaintext.Line(text)); n < minPassword {
		p.Add(path, "must have at least %d characters; spaces at the ends, repeated spaces and invisible characters do not count", minPassword)
		return nil
	}
	switch {
	case password.Common(text):
		p.Add(path, "is too easy to guess")
	case utf8.RuneCountInString(password.WithoutWords(text, words...)) < minPassword:
		p.Add(path, "must have %d characters in addition to the name, the email address and the name of the service", minPassword)
	case s.cfg.LeakedPasswords != "":
		leaked, err := password.Leaked(s.cfg.LeakedPasswords, text)
		if err != nil {
			return err
		}
		if leaked {
			p.Add(path, "is in a list of leaked passwords")
		}
	}
	return nil
}

// bcryptLimit is the number of bytes of a password that bcrypt takes into account.
const bcryptLimit = 72

// bcryptInput returns the password, or its digest if the password exceeds bcrypt's limit.
func bcryptInput(text string) []byte {
	if len(text) <= bcryptLimit {
		return []byte(text)
	}
	sum := sha256.Sum256([]byte(text))
	return []byte(base64.StdEncoding.EncodeToString(sum[:])) // contains no NUL
}

func (s *UserRepository) hashPassword(text string) ([]byte, error) {
	hash, err := bcrypt.GenerateFromPassword(bcryptInput(text), s.cfg.PasswordCost)
	return hash, wrap(err, "hash password")
}

func passwordMatches(hash []byte, text string) bool {
	return bcrypt.CompareHashAndPassword(hash, bcryptInput(text)) == nil
}
