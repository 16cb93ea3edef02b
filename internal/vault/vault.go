// Package vault encrypts the confidential data in the database: secrets, private keys, people's addresses and phone
// numbers, and signed values. It holds the master keys, and derives keys for other parts of the service from them.
package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const (
	keySize = 32
	idSize  = 4
)

// Vault encrypts with its first key and decrypts with any of its keys.
type Vault struct{ keys []key }

type key struct {
	id     [idSize]byte
	master []byte
	aead   cipher.AEAD
}

// New parses comma-separated master keys, each of which is 32 bytes in base64. The first key encrypts. The others
// only decrypt, so that a key can be replaced.
func New(masterKeys string) (*Vault, error) {
	v := &Vault{}
	for i, s := range strings.Split(masterKeys, ",") {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(s))
		if err != nil || len(raw) != keySize {
			return nil, fmt.Errorf("master key %d: must be base64 of %d bytes", i+1, keySize)
		}
		enc, err := hkdf.Key(sha256.New, raw, nil, "countersign/vault", keySize)
		if err != nil {
			return nil, fmt.Errorf("master key %d: %w", i+1, err)
		}
		block, err := aes.NewCipher(enc)
		if err != nil {
			return nil, fmt.Errorf("master key %d: %w", i+1, err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("master key %d: %w", i+1, err)
		}
		sum := sha256.Sum256(enc)
		v.keys = append(v.keys, key{id: [idSize]byte(sum[:idSize]), master: raw, aead: aead})
	}
	return v, nil
}

// Encrypt encrypts a value with AES-256-GCM and a random nonce. The result begins with the key's ID. It can be
// decrypted only with the same label.
func (v *Vault) Encrypt(plain []byte, label string) []byte {
	k := v.keys[0]
	return k.aead.Seal(append([]byte(nil), k.id[:]...), nil, plain, []byte(label)) //nolint:gosec // this AEAD generates its own nonce
}

// NeedsRewrap reports whether ciphertext was encrypted with a key other than the current one.
func (v *Vault) NeedsRewrap(ciphertext []byte) bool {
	return len(ciphertext) < idSize || [idSize]byte(ciphertext[:idSize]) != v.keys[0].id
}

// ErrUnknownKey reports that a value was encrypted with a master key that is not configured.
var ErrUnknownKey = errors.New("vault: encrypted with an unknown master key")

// ErrDamaged reports that a value was changed, or was not encrypted with the master key that its ID specifies.
var ErrDamaged = errors.New("value is damaged")

// Decrypt decrypts a result of Encrypt with the same label.
func (v *Vault) Decrypt(ciphertext []byte, label string) ([]byte, error) {
	if len(ciphertext) < idSize {
		return nil, fmt.Errorf("vault: open %s: %w: too short", label, ErrDamaged)
	}
	for _, k := range v.keys {
		if [idSize]byte(ciphertext[:idSize]) == k.id {
			plain, err := k.aead.Open(nil, nil, ciphertext[idSize:], []byte(label))
			if err != nil {
				return nil, fmt.Errorf("vault: open %s: %w: %w", label, ErrDamaged, err)
			}
			return plain, nil
		}
	}
	return nil, ErrUnknownKey
}

// Derive returns the 32-byte keys for a purpose, one for each master key (HKDF-SHA256, RFC 5869). Use the first key to
// compute values, and all keys to compare them.
func (v *Vault) Derive(purpose string) ([][]byte, error) {
	out := make([][]byte, 0, len(v.keys))
	for _, k := range v.keys {
		d, err := hkdf.Key(sha256.New, k.master, nil, "countersign/"+purpose, keySize)
		if err != nil {
			return nil, fmt.Errorf("vault: derive %s: %w", purpose, err)
		}
		out = append(out, d)
	}
	return out, nil
}

// EncryptText encrypts a value for a text column. An empty value is returned unchanged.
func (v *Vault) EncryptText(plain, label string) string {
	if plain == "" {
		return ""
	}
	return base64.RawStdEncoding.EncodeToString(v.Encrypt([]byte(plain), label))
}

// DecryptText decrypts a result of EncryptText with the same label.
func (v *Vault) DecryptText(value, label string) (string, error) {
	if value == "" {
		return "", nil
	}
	ciphertext, err := base64.RawStdEncoding.DecodeString(value)
	if err != nil {
		return "", fmt.Errorf("vault: open %s: %w: not base64", label, ErrDamaged)
	}
	plain, err := v.Decrypt(ciphertext, label)
	return string(plain), err
}

// TextNeedsRewrap reports whether a value was encrypted with a key other than the current one.
func (v *Vault) TextNeedsRewrap(value string) bool {
	if value == "" {
		return false
	}
	// Eight characters encode six bytes. The first four bytes are the key's ID.
	id, err := base64.RawStdEncoding.DecodeString(value[:min(len(value), 8)])
	return err != nil || v.NeedsRewrap(id)
}

// EncryptBytes encrypts a value for a binary column. An empty value is returned unchanged.
func (v *Vault) EncryptBytes(plain []byte, label string) []byte {
	if len(plain) == 0 {
		return plain
	}
	return v.Encrypt(plain, label)
}

// DecryptBytes decrypts a result of EncryptBytes with the same label.
func (v *Vault) DecryptBytes(value []byte, label string) ([]byte, error) {
	if len(value) == 0 {
		return value, nil
	}
	return v.Decrypt(value, label)
}

// BytesNeedRewrap is like TextNeedsRewrap, but for a binary column.
func (v *Vault) BytesNeedRewrap(value []byte) bool { return len(value) > 0 && v.NeedsRewrap(value) }
