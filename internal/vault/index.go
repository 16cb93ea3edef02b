package vault

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

// hashSize is the stored length of a hash. It is half of the full length, which is the minimum according to RFC 2104,
// section 5.
const hashSize = sha256.Size / 2

// Index computes keyed hashes, which are used to find and compare encrypted values. Without the master key, guessed
// values cannot be compared with a hash.
type Index struct{ keys [][]byte }

// Index derives the keys of an index for the given purpose.
func (v *Vault) Index(purpose string) (*Index, error) {
	keys, err := v.Derive(purpose)
	return &Index{keys}, err
}

// Hashes returns the hashes of a value within a scope, one for each master key. Store the first one, and search for
// all of them. The same value has different hashes in another scope. A scope must not contain NUL.
func (x *Index) Hashes(scope, value string) []string {
	out := make([]string, 0, len(x.keys))
	for _, k := range x.keys {
		h := hmac.New(sha256.New, k)
		h.Write([]byte(scope + "\x00" + value))
		out = append(out, base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:hashSize]))
	}
	return out
}
