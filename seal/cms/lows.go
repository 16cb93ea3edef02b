package cms

import (
	"crypto/ecdsa"
	"encoding/asn1"
	"fmt"
	"math/big"
)

// An ECDSA signature (r, s) is as right as (r, n-s), so that anybody could
// change one into the other. Seals carry the one with the smaller s.

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

// isLowS reports whether a signature has the smaller s.
func isLowS(pub *ecdsa.PublicKey, der []byte) bool {
	var sig ecdsaSignature
	rest, err := asn1.Unmarshal(der, &sig)
	return err == nil && len(rest) == 0 && sig.S.Sign() > 0 && sig.S.Cmp(new(big.Int).Rsh(pub.Params().N, 1)) <= 0
}
