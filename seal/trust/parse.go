package trust

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ParseAuthorities parses the certificates of authorities from PEM.
func ParseAuthorities(data []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	err := eachBlock(data, func(b *pem.Block) error {
		if b.Type != "CERTIFICATE" {
			return fmt.Errorf("the file contains a %s; only certificates are accepted", strings.ToLower(b.Type))
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return errors.New("the file contains a certificate that cannot be read")
		}
		out = append(out, c)
		return IssuedBy(c, "").Check()
	})
	return out, err
}

// RevocationLists parses CRLs from PEM, or a single CRL from DER.
func RevocationLists(data []byte) ([][]byte, error) {
	if _, err := parseCRL(data); err == nil {
		return [][]byte{data}, nil
	}
	var out [][]byte
	err := eachBlock(data, func(b *pem.Block) error {
		if b.Type != "X509 CRL" {
			return fmt.Errorf("the file contains a %s; only revocation lists are accepted", strings.ToLower(b.Type))
		}
		if _, err := parseCRL(b.Bytes); err != nil {
			return errors.New("the file contains a revocation list that cannot be read")
		}
		out = append(out, b.Bytes)
		return nil
	})
	return out, err
}

// ParsePinned parses pinned sealers from PEM, which may contain sealing certificates and public keys. It skips
// authority certificates, so that data may be a chain.
func ParsePinned(data []byte) ([]Sealer, error) {
	var out []Sealer
	err := eachBlock(data, func(b *pem.Block) error {
		switch b.Type {
		case "CERTIFICATE":
			c, err := x509.ParseCertificate(b.Bytes)
			if err != nil {
				return errors.New("the file contains a certificate that cannot be read")
			}
			if c.IsCA {
				return nil
			}
			out = append(out, PinnedCertificate(c))
			return PinnedCertificate(c).Check()
		case "PUBLIC KEY":
			key, err := x509.ParsePKIXPublicKey(b.Bytes)
			if err != nil {
				return errors.New("the file contains a public key that cannot be read")
			}
			switch key.(type) {
			case *ecdsa.PublicKey, *rsa.PublicKey:
				out = append(out, pinnedKey(key))
				return nil
			}
			return fmt.Errorf("the file contains a key of type %T, which cannot seal", key)
		}
		return fmt.Errorf("the file contains a %s; only certificates and public keys are accepted", strings.ToLower(b.Type))
	})
	if err == nil && len(out) == 0 {
		err = errors.New("the file contains only CA certificates; specify a sealing certificate, a public key, or O= followed by an organization name")
	}
	return out, err
}

func eachBlock(data []byte, do func(*pem.Block) error) error {
	n := 0
	for b, rest := pem.Decode(data); b != nil; b, rest = pem.Decode(rest) {
		n++
		if err := do(b); err != nil {
			return err
		}
	}
	if n == 0 {
		return errors.New("the file contains no PEM block such as -----BEGIN CERTIFICATE-----")
	}
	return nil
}

// ParseOrganization returns the organization required by a sealer name such as "O=Acme Ltd".
func ParseOrganization(sealer string) (string, bool) { return strings.CutPrefix(sealer, "O=") }

// jsonWebKey is a key in a JWK set (RFC 7517). Revoked has the form defined by OpenID Federation 1.0 for historical
// keys.
type jsonWebKey struct {
	Kind    string `json:"kty"`
	Curve   string `json:"crv"`
	ID      string `json:"kid"`
	X       string `json:"x"`
	Y       string `json:"y"`
	Revoked *struct {
		At     int64  `json:"revoked_at"` // Unix time
		Reason string `json:"reason"`
	} `json:"revoked"`
}

// ParseRecordKeys parses the keys that sign records from a JWK set such as /.well-known/jwks.json. It skips keys of
// other types.
func ParseRecordKeys(data []byte) (map[string]RecordKey, error) {
	var set struct {
		Keys []jsonWebKey `json:"keys"`
	}
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&set); err != nil {
		return nil, errors.New("the file must contain a JWK set such as the one at /.well-known/jwks.json")
	}
	out := make(map[string]RecordKey)
	for _, k := range set.Keys {
		if k.Kind != "EC" || k.Curve != "P-256" {
			continue
		}
		if _, twice := out[k.ID]; twice || k.ID == "" {
			return nil, fmt.Errorf("the key id %q must be set and unique", Printable(k.ID))
		}
		x, err1 := base64.RawURLEncoding.DecodeString(k.X)
		y, err2 := base64.RawURLEncoding.DecodeString(k.Y)
		if err := errors.Join(err1, err2); err != nil || len(x) != 32 || len(y) != 32 {
			return nil, fmt.Errorf("the key %q cannot be read", Printable(k.ID))
		}
		pub, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
		if err != nil {
			return nil, fmt.Errorf("the key %q is not a point on the curve", Printable(k.ID))
		}
		key := RecordKey{Key: pub}
		if k.Revoked != nil {
			key.Revoked = &Revocation{At: time.Unix(k.Revoked.At, 0).UTC(), Reason: k.Revoked.Reason}
		}
		out[k.ID] = key
	}
	if len(out) == 0 {
		return nil, errors.New("the file contains no P-256 key")
	}
	return out, nil
}
