package cms

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"encoding/asn1"
	"fmt"
	"math/big"
	"slices"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// Context-specific tags used in SignedData and SignerInfo.
var (
	tag0 = cbasn1.Tag(0).ContextSpecific().Constructed()
	tag1 = cbasn1.Tag(1).ContextSpecific().Constructed()
)

// element returns the DER encoding of an element that contains the given parts.
func element(tag cbasn1.Tag, parts ...[]byte) []byte {
	var b cryptobyte.Builder
	b.AddASN1(tag, func(b *cryptobyte.Builder) { b.AddBytes(bytes.Join(parts, nil)) })
	return b.BytesOrPanic() // fails only above 4 GiB
}

func sequence(parts ...[]byte) []byte { return element(cbasn1.SEQUENCE, parts...) }

// sortedSet returns a SET OF, whose elements are sorted by their encodings (X.690, 11.6).
func sortedSet(tag cbasn1.Tag, elements [][]byte) []byte {
	return element(tag, slices.SortedFunc(slices.Values(elements), bytes.Compare)...)
}

// objectID returns the DER encoding of an object identifier. The identifier must be valid, so that encoding cannot
// fail.
func objectID(id asn1.ObjectIdentifier) []byte {
	var b cryptobyte.Builder
	b.AddASN1ObjectIdentifier(id)
	return b.BytesOrPanic()
}

func integer(n *big.Int) []byte {
	var b cryptobyte.Builder
	b.AddASN1BigInt(n)
	return b.BytesOrPanic()
}

func bitString(b []byte) []byte { return element(cbasn1.BIT_STRING, []byte{0}, b) }

// normalizeSignature returns the ECDSA signature with the smaller s of (r, s) and (r, n-s). Because both signatures are
// valid, anyone could otherwise convert one into the other. Signatures by other types of keys are returned unchanged.
func normalizeSignature(key crypto.PublicKey, signature []byte) ([]byte, error) {
	pub, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return signature, nil
	}
	var sig struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(signature, &sig); err != nil {
		return nil, fmt.Errorf("cms: the key did not return an ECDSA signature: %w", err)
	}
	n := pub.Params().N
	if sig.S.Cmp(new(big.Int).Rsh(n, 1)) > 0 {
		sig.S.Sub(n, sig.S)
	}
	return asn1.Marshal(sig)
}
