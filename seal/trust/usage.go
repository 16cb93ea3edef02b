package trust

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Object identifiers of extensions and extended key usages that crypto/x509 does not define.
var (
	oidKeyUsage         = asn1.ObjectIdentifier{2, 5, 29, 15}
	oidExtendedKeyUsage = asn1.ObjectIdentifier{2, 5, 29, 37}

	oidDocumentSigning  = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 36}       // RFC 9336
	oidMicrosoftSigning = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 311, 10, 3, 12} // szOID_KP_DOCUMENT_SIGNING
	oidAdobeSigning     = asn1.ObjectIdentifier{1, 2, 840, 113583, 1, 1, 5}       // Adobe authentic documents trust
)

var (
	documentUsages = []asn1.ObjectIdentifier{oidDocumentSigning, oidMicrosoftSigning, oidAdobeSigning}

	// forbiddenUsages contains purposes for which authorities issue certificates without verifying the party
	// responsible for a document.
	forbiddenUsages = map[x509.ExtKeyUsage]string{
		x509.ExtKeyUsageAny: "any purpose", x509.ExtKeyUsageServerAuth: "TLS server authentication", x509.ExtKeyUsageCodeSigning: "code signing",
		x509.ExtKeyUsageTimeStamping: "time-stamps", x509.ExtKeyUsageOCSPSigning: "OCSP signing",
	}
)

// CheckUsage returns an error if a certificate is not suitable for sealing. A pinned certificate may also be an email
// certificate, because authorities issued such certificates for documents before a dedicated usage for documents
// existed.
func CheckUsage(c *x509.Certificate, pinned bool) error {
	switch {
	case c.IsCA:
		return errors.New("the certificate belongs to a certificate authority")
	case !hasExtension(c, oidKeyUsage):
		return errors.New("the certificate has no key usage extension (keyUsage)")
	case c.KeyUsage&(x509.KeyUsageDigitalSignature|x509.KeyUsageContentCommitment) == 0:
		return errors.New("the certificate's key may not be used for digital signatures (keyUsage)")
	}
	mail := false
	for _, u := range c.ExtKeyUsage {
		if purpose, no := forbiddenUsages[u]; no {
			return fmt.Errorf("the certificate is for %s (extendedKeyUsage)", purpose)
		}
		mail = mail || u == x509.ExtKeyUsageEmailProtection
	}
	switch {
	case len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0:
		return nil
	case slices.ContainsFunc(c.UnknownExtKeyUsage, isDocumentUsage):
		return nil
	case mail && pinned:
		return nil
	case mail:
		return errors.New("an email certificate must be pinned (extendedKeyUsage)")
	}
	return errors.New("the certificate may not be used for document signing (extendedKeyUsage)")
}

func isDocumentUsage(id asn1.ObjectIdentifier) bool {
	return slices.ContainsFunc(documentUsages, id.Equal)
}

// checkIssuers returns an error if an authority between the sealer and the trusted authority is restricted to purposes
// other than documents.
func checkIssuers(chain []*x509.Certificate) error {
	for _, c := range chain[1:] {
		limited := len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) > 0
		if limited && !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny) && !slices.ContainsFunc(c.UnknownExtKeyUsage, isDocumentUsage) {
			return fmt.Errorf("%s may not issue document-signing certificates", Name(c))
		}
	}
	return nil
}

// checkStamper returns an error if a certificate may not be used to create time-stamps. The usage must be the only one
// and must be critical (RFC 3161, section 2.3).
func checkStamper(c *x509.Certificate) error {
	switch {
	case c.IsCA:
		return errors.New("the certificate belongs to an authority that issues certificates")
	case len(c.ExtKeyUsage) != 1 || c.ExtKeyUsage[0] != x509.ExtKeyUsageTimeStamping || len(c.UnknownExtKeyUsage) > 0:
		return errors.New("time-stamping must be the certificate's only purpose (extendedKeyUsage)")
	case hasExtension(c, oidKeyUsage) && c.KeyUsage&(x509.KeyUsageDigitalSignature|x509.KeyUsageContentCommitment) == 0:
		return errors.New("the certificate's key may not be used for digital signatures (keyUsage)")
	}
	if !slices.ContainsFunc(c.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(oidExtendedKeyUsage) && e.Critical }) {
		return errors.New("the certificate's purpose must be marked critical (extendedKeyUsage)")
	}
	return nil
}

func hasExtension(c *x509.Certificate, id asn1.ObjectIdentifier) bool {
	return slices.ContainsFunc(c.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(id) })
}

// Name returns the name of a certificate's subject. The name consists of the organization, and of the common name if it
// differs.
func Name(c *x509.Certificate) string {
	org, name := Printable(strings.Join(c.Subject.Organization, ", ")), Printable(c.Subject.CommonName)
	switch {
	case org == "" && name == "":
		return Printable(c.Subject.String())
	case org == "" || org == name:
		return name
	case name == "":
		return org
	}
	return org + " (" + name + ")"
}

// maxPrintable is the maximum length of external text in a message, in characters.
const maxPrintable = 500

// Printable makes external text safe for use in a message on a terminal or page. It replaces control and formatting
// characters, which could hide or reorder the surrounding text, with U+FFFD.
func Printable(s string) string {
	out := strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
	if r := []rune(out); len(r) > maxPrintable {
		return string(r[:maxPrintable-1]) + "…"
	}
	return out
}
