package credential

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/big"

	"countersign/models"
)

// CodeLength is the number of digits of a one-time code.
const CodeLength = 6

// Codes generates one-time codes and their hashes.
type Codes struct{ key []byte }

// NewCodes returns Codes with the key of the hashes.
func NewCodes(key []byte) *Codes { return &Codes{key: key} }

// New returns six random digits.
func (c *Codes) New() (string, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return "", fmt.Errorf("create one-time code: %w", err)
	}
	return fmt.Sprintf("%0*d", CodeLength, n), nil
}

// Hash returns the stored form of a code: HMAC-SHA256, bound to signer and link, so that one signer's code is useless
// on another's link.
func (c *Codes) Hash(l models.Link, code string) []byte {
	m := hmac.New(sha256.New, c.key)
	fmt.Fprintf(m, "otp\n%s\n%s\n%s", l.SignerID, l.ID, code)
	return m.Sum(nil)
}

// DraftKey returns the key, base64url of 32 bytes, with which the page of a verified client encrypts its unsent
// entries. It is the same for all sessions of the link, so that a draft outlives a code.
func (c *Codes) DraftKey(l models.Link) string {
	m := hmac.New(sha256.New, c.key)
	fmt.Fprintf(m, "draft\n%s\n%s", l.SignerID, l.ID)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}
