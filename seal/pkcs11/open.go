//go:build pkcs11 && cgo

package pkcs11

import (
	"crypto"
	"errors"
	"fmt"

	"github.com/ThalesGroup/crypto11"
)

type key struct {
	crypto.Signer
	ctx *crypto11.Context
}

func (k *key) Close() error { return k.ctx.Close() }

func open(cfg Config) (Key, error) {
	ctx, err := crypto11.Configure(&crypto11.Config{Path: cfg.Module, TokenLabel: cfg.Token, TokenSerial: cfg.Serial, Pin: cfg.PIN})
	if err != nil {
		return nil, fmt.Errorf("pkcs11: opening token %q: %w", cfg.Token+cfg.Serial, err)
	}
	found, err := ctx.FindKeyPairs(cfg.ID, []byte(cfg.Key))
	switch {
	case err == nil && len(found) == 0:
		err = errors.New("key pair not found")
	case len(found) > 1:
		err = errors.New("multiple keys match: specify the id of the key")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pkcs11: key %q: %w", cfg.Key, err), ctx.Close())
	}
	return &key{found[0], ctx}, nil
}
