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

// Codes generates one-time codes and computes their hashes.
type Codes struct{ key []byte }

// NewCodes returns a Codes that uses key for the hashes.
func NewCodes(key []byte) *Codes { return &Codes{key: key} }

// New returns a random six-digit code.
func (c *Codes) New() (string, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return "", fmt.Errorf("create one-time code: %w", err)
	}
	return fmt.Sprintf("%0*d", CodeLength, n), nil
}

// Hash returns the stored form of a code. It is an HMAC-SHA256 that includes the signer and the link, so that a code
// cannot be used with another signer or link.
func (c *Codes) Hash(l models.Link, code string) []byte {
	m := hmac.New(sha256.New, c.key)
	fmt.Fprintf(m, "otp\n%s\n%s\n%s", l.SignerID, l.ID, code)
	return m.Sum(nil)
}

// DraftKey returns the key with which the signing page of a verified client encrypts unsent entries, as 32 bytes in
// base64url. All sessions of a link have the same key, so that a draft remains readable after a code has expired.
func (c *Codes) DraftKey(l models.Link) string {
	m := hmac.New(sha256.New, c.key)
	fmt.Fprintf(m, "draft\n%s\n%s", l.SignerID, l.ID)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}
