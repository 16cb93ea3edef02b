package trust

import (
	"crypto/rsa"
	"crypto/x509"
	"fmt"
)

// MaxRSABits is the maximum size of the RSA keys in all certificates of a document and its evidence. Authorities use at
// most 4,096 bits. A limit is needed because checking a signature with a 60,000-bit key takes 100 ms, and crypto/rsa
// has no limit.
const MaxRSABits = 8192

// CheckKeySize returns an error if verifying a signature with a certificate's key would take too long.
func CheckKeySize(c *x509.Certificate) error {
	if pub, ok := c.PublicKey.(*rsa.PublicKey); ok && pub.N.BitLen() > MaxRSABits {
		return fmt.Errorf("RSA key of %d bits", pub.N.BitLen())
	}
	return nil
}
