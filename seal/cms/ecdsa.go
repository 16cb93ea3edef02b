package cms

import (
	"crypto"
	"crypto/ecdsa"
	"encoding/asn1"
	"fmt"
	"math/big"
)

// An ECDSA signature (r, s) is as right as (r, n-s), so that anybody could
// change one into the other. What a seal carries, its own signature and those of
// authorities, has the smaller s.

type ecdsaSignature struct{ R, S *big.Int }

// lowS returns the signature with the smaller s.
func lowS(pub *ecdsa.PublicKey, der []byte) ([]byte, error) {
	var sig ecdsaSignature
	if rest, err := asn1.Unmarshal(der, &sig); err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("cms: the key made no ECDSA signature: %w", err)
	}
	n := pub.Params().N
	if sig.S.Cmp(new(big.Int).Rsh(n, 1)) > 0 {
		sig.S.Sub(n, sig.S)
	}
	return asn1.Marshal(sig)
}

// normalizeSignature is lowS of a signature by a key of any kind.
func normalizeSignature(key crypto.PublicKey, signature []byte) ([]byte, error) {
	pub, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return signature, nil
	}
	return lowS(pub, signature)
}
