// Package pkcs11 opens sealing keys that are held by a hardware module.
//
// Talking to a module takes cgo. So that the service stays a static binary,
// this is only built with the tag pkcs11; without it Open says so.
package pkcs11

import (
	"crypto"
	"errors"
	"io"
)

// Config names a key on a token.
type Config struct {
	Module string // the manufacturer's library
	Token  string // label of the token
	PIN    string
	Key    string // label of the key pair
}

// ErrNotBuilt says that the program was built without support for modules.
var ErrNotBuilt = errors.New("pkcs11: this program was built without the tag pkcs11")

// Key is a signing key on a token. Close ends the session with it.
type Key interface {
	crypto.Signer
	io.Closer
}
