// Package pkcs11 opens sealing keys in a hardware module.
//
// Access to a module requires cgo. The service remains a static binary, so this package only works if built with the
// tag pkcs11; otherwise Open returns an error with that reason.
package pkcs11

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"os"
)

// Config names a key on a token.
type Config struct {
	Module    string // path of the manufacturer's library
	Token     string // label of the token; or
	Serial    string // its serial number
	PIN       string // of the user; or
	PINSource string // the path of a file that holds it
	Key       string // label (CKA_LABEL) of the key pair
	ID        []byte // CKA_ID of the key pair; one of both is optional
}

// ErrNotBuilt reports that the program was built without support for modules.
var ErrNotBuilt = errors.New("pkcs11: this program was built without support for hardware modules: build it with `make build TAGS=pkcs11`")

// Key is a signing key on a token. Close ends the session with it.
type Key interface {
	crypto.Signer
	io.Closer
}

// Open logs in to the token and finds the key pair, of which there must be
// just one.
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
