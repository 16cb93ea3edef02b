//go:build !pkcs11 || !cgo

package pkcs11

func open(Config) (Key, error) { return nil, ErrNotBuilt }
