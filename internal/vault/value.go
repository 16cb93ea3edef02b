package vault

import (
	"encoding/base64"
	"fmt"
)

// EncryptText encrypts a value for a column of texts. An empty one stays empty.
func (v *Vault) EncryptText(plain, label string) string {
	if plain == "" {
		return ""
	}
	return base64.RawStdEncoding.EncodeToString(v.Encrypt([]byte(plain), label))
}

// DecryptText decrypts what EncryptText made for label.
func (v *Vault) DecryptText(value, label string) (string, error) {
	if value == "" {
		return "", nil
	}
	ciphertext, err := base64.RawStdEncoding.DecodeString(value)
	if err != nil {
		return "", fmt.Errorf("vault: open %s: not base64", label)
	}
	plain, err := v.Decrypt(ciphertext, label)
	return string(plain), err
}

// TextNeedsRewrap reports whether a value was encrypted with another key than the one
// that encrypts now.
func (v *Vault) TextNeedsRewrap(value string) bool {
	if value == "" {
		return false
	}
	id, err := base64.RawStdEncoding.DecodeString(value[:min(len(value), 8)]) // six bytes, of which four are the key's id
	return err != nil || v.NeedsRewrap(id)
}

// EncryptBytes encrypts a value for a column of bytes. An empty one stays as it is.
func (v *Vault) EncryptBytes(plain []byte, label string) []byte {
	if len(plain) == 0 {
		return plain
	}
	return v.Encrypt(plain, label)
}

// DecryptBytes decrypts what EncryptBytes made for label.
func (v *Vault) DecryptBytes(value []byte, label string) ([]byte, error) {
	if len(value) == 0 {
		return value, nil
	}
	return v.Decrypt(value, label)
}

// BytesNeedRewrap is TextNeedsRewrap for a column of bytes.
func (v *Vault) BytesNeedRewrap(value []byte) bool { return len(value) > 0 && v.NeedsRewrap(value) }
