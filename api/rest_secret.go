package api

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

func newSecret() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never returns an error
	return base64.RawURLEncoding.EncodeToString(secret)
}

func tokenHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
