package vault

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

// hashSize is the stored length of a hash: half of it, the minimum of RFC 2104, section 5.
const hashSize = sha256.Size / 2

// Index computes the keyed hashes by which encrypted values are found and compared. Without the master key a hash
// cannot be matched with guesses.
type Index struct{ keys [][]byte }

// Index derives the keys of an index for purpose.
func (v *Vault) Index(purpose string) (*Index, error) {
	keys, err := v.Derive(purpose)
	return &Index{keys}, err
}

// Hashes returns the hashes of a value within a scope, one for each master key: store the first, search for all. In
// another scope the same value has other hashes. A scope must not contain NUL.
func (x *Index) Hashes(scope, value string) []string {
	out := make([]string, 0, len(x.keys))
	for _, k := range x.keys {
		h := hmac.New(sha256.New, k)
		h.Write([]byte(scope + "\x00" + value))
		out = append(out, base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:hashSize]))
	}
	return out
}
