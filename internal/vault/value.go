package vault

import (
	"encoding/base64"
	"fmt"
)

// SealText encrypts a value for a column of texts. An empty one stays empty.
func (v *Vault) SealText(plain, label string) string {
	if plain == "" {
		return ""
	}
	return base64.RawStdEncoding.EncodeToString(v.Seal([]byte(plain), label))
}

// OpenText decrypts what SealText made for label.
func (v *Vault) OpenText(value, label string) (string, error) {
	if value == "" {
		return "", nil
	}
	sealed, err := base64.RawStdEncoding.DecodeString(value)
	if err != nil {
		return "", fmt.Errorf("vault: open %s: not base64", label)
	}
	plain, err := v.Open(sealed, label)
	return string(plain), err
}

// StaleText reports whether a value was encrypted with another key than the one
// that encrypts now.
func (v *Vault) StaleText(value string) bool {
	if value == "" {
		return false
	}
	id, err := base64.RawStdEncoding.DecodeString(value[:min(len(value), 8)]) // six bytes, of which four are the key's id
	return err != nil || v.Stale(id)
}

// SealBytes encrypts a value for a column of bytes. An empty one stays as it is.
func (v *Vault) SealBytes(plain []byte, label string) []byte {
	if len(plain) == 0 {
		return plain
	}
	return v.Seal(plain, label)
}

// OpenBytes decrypts what SealBytes made for label.
func (v *Vault) OpenBytes(value []byte, label string) ([]byte, error) {
	if len(value) == 0 {
		return value, nil
	}
	return v.Open(value, label)
}

// StaleBytes is StaleText for a column of bytes.
func (v *Vault) StaleBytes(value []byte) bool { return len(value) > 0 && v.Stale(value) }
