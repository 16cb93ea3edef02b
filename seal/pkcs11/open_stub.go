//go:build !pkcs11 || !cgo

package pkcs11

// Open needs the build tag pkcs11.
func Open(Config) (Key, error) { return nil, ErrNotBuilt }
