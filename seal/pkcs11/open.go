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

// Open logs in to the token and finds the key pair by its label.
func Open(cfg Config) (Key, error) {
	ctx, err := crypto11.Configure(&crypto11.Config{Path: cfg.Module, TokenLabel: cfg.Token, Pin: cfg.PIN})
	if err != nil {
		return nil, fmt.Errorf("pkcs11: opening token %q: %w", cfg.Token, err)
	}
	signer, err := ctx.FindKeyPair(nil, []byte(cfg.Key))
	if err == nil && signer == nil {
		err = errors.New("no such key")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pkcs11: key %q: %w", cfg.Key, err), ctx.Close())
	}
	return &key{signer, ctx}, nil
}
