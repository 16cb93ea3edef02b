// Package pkcs11 opens sealing keys in a hardware security module.
//
// Access to a module requires cgo. Because the service is normally a static binary, this package works only if built
// with the tag pkcs11. Otherwise Open returns ErrNotBuilt.
package pkcs11

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"os"
)

// Config identifies a key on a token.
type Config struct {
	Module    string // path of the manufacturer's library
	Token     string // label of the token; required if Serial is empty
	Serial    string // serial number of the token
	PIN       string // user PIN
	PINSource string // path of a file that contains the PIN; takes precedence over PIN
	Key       string // label (CKA_LABEL) of the key pair
	ID        []byte // CKA_ID of the key pair; either Key or ID may be omitted
}

// ErrNotBuilt reports that the program was built without support for hardware security modules.
var ErrNotBuilt = errors.New("pkcs11: this program was built without support for hardware modules: build it with `make build TAGS=pkcs11`")

// Key is a signing key on a token. Close ends the session with the token.
type Key interface {
	crypto.Signer
	io.Closer
}

// Open logs in to the token and finds the key pair. Exactly one key pair must match.
func Open(cfg Config) (Key, error) {
	if cfg.PINSource != "" {
		pin, err := os.ReadFile(cfg.PINSource)
		if err != nil {
			return nil, fmt.Errorf("pkcs11: the PIN: %w", err)
		}
		cfg.PIN = string(bytes.TrimRight(pin, "\r\n"))
	}
	return open(cfg)
}
