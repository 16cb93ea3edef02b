package trust

import (
	"crypto/rsa"
	"crypto/x509"
	"fmt"
)

// MaxRSABits limits the RSA keys of all certificates in a document and in its evidence. Authorities use 4,096 at most;
// a check with 60,000 takes 100 ms, and crypto/rsa has no limit.
const MaxRSABits = 8192

// CheckKeySize returns an error if verifying a signature with a certificate's key takes too long.
func CheckKeySize(c *x509.Certificate) error {
	if pub, ok := c.PublicKey.(*rsa.PublicKey); ok && pub.N.BitLen() > MaxRSABits {
		return fmt.Errorf("RSA key of %d bits", pub.N.BitLen())
	}
	return nil
}
