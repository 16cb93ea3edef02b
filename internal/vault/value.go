package vault

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
)

// mark begins a sealed value of a column that held plain values before. No plain
// one begins with it: texts that people enter have no control characters, and
// neither has the beginning of a picture or of JSON.
const mark = "\x02sealed:"

// SealText seals a value for a column of texts. An empty one stays empty.
func (v *Vault) SealText(plain, label string) string {
	if plain == "" {
		return ""
	}
	return mark + base64.RawStdEncoding.EncodeToString(v.Seal([]byte(plain), label))
}

// OpenText reads what SealText made for label, and a plain value as it is.
func (v *Vault) OpenText(value, label string) (string, error) {
	text, ok := strings.CutPrefix(value, mark)
	if !ok {
		return value, nil
	}
	sealed, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("vault: open %s: not base64", label)
	}
	plain, err := v.Open(sealed, label)
	return string(plain), err
}

// StaleText reports whether a value of such a column is to be sealed anew: it is
// plain, or was sealed with another key than the one that encrypts now.
func (v *Vault) StaleText(value string) bool {
	text, ok := strings.CutPrefix(value, mark)
	if !ok {
		return value != ""
	}
	id, err := base64.RawStdEncoding.DecodeString(text[:min(len(text), 8)]) // six bytes, of which four are the key's id
	return err != nil || v.Stale(id)
}

// SealBytes seals a value for a column of bytes. An empty one stays as it is.
func (v *Vault) SealBytes(plain []byte, label string) []byte {
	if len(plain) == 0 {
		return plain
	}
	return append([]byte(mark), v.Seal(plain, label)...)
}

// OpenBytes reads what SealBytes made for label, and a plain value as it is.
func (v *Vault) OpenBytes(value []byte, label string) ([]byte, error) {
	sealed, ok := bytes.CutPrefix(value, []byte(mark))
	if !ok {
		return value, nil
	}
	return v.Open(sealed, label)
}

// StaleBytes is StaleText for a column of bytes.
func (v *Vault) StaleBytes(value []byte) bool {
	sealed, ok := bytes.CutPrefix(value, []byte(mark))
	if !ok {
		return len(value) > 0
	}
	return v.Stale(sealed)
}
