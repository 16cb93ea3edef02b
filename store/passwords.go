package store

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"

	"countersign/models"
)

// The length of a console password, in characters.
const (
	minPassword = 10
	maxPassword = 128
)

// checkPassword notes what is wrong with a new password.
func checkPassword(p models.Problems, path, password string, _ ...string) {
	if n := utf8.RuneCountInString(password); n < minPassword || n > maxPassword {
		p.Add(path, "must have between %d and %d characters", minPassword, maxPassword)
	}
}

// readByBcrypt is how many bytes of a password bcrypt reads.
const readByBcrypt = 72

// digestible is what bcrypt is given: the password, or a digest of one that is
// longer than it reads.
func digestible(password string) []byte {
	if len(password) <= readByBcrypt {
		return []byte(password)
	}
	sum := sha256.Sum256([]byte(password))
	return []byte(base64.StdEncoding.EncodeToString(sum[:])) // no NUL
}

func (s *Store) hashPassword(password string) ([]byte, error) {
	hash, err := bcrypt.GenerateFromPassword(digestible(password), s.cost)
	if err != nil {
		return nil, fmt.Errorf("hash password: %w", err)
	}
	return hash, nil
}

func isPassword(hash []byte, password string) bool {
	return bcrypt.CompareHashAndPassword(hash, digestible(password)) == nil
}
