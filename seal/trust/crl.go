package trust

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"slices"
	"time"
)

var (
	oidDeltaIndicator    = asn1.ObjectIdentifier{2, 5, 29, 27}
	oidDistributionPoint = asn1.ObjectIdentifier{2, 5, 29, 28} // issuingDistributionPoint
	oidCertificateIssuer = asn1.ObjectIdentifier{2, 5, 29, 29}
	oidInvalidityDate    = asn1.ObjectIdentifier{2, 5, 29, 24}
	oidReasonCode        = asn1.ObjectIdentifier{2, 5, 29, 21}
)

// issuingDistributionPoint is the extension of the same name (RFC 5280, section 5.2.5).
type issuingDistributionPoint struct {
	Point          distributionPointName `asn1:"optional,tag:0"`
	OnlyUserCerts  bool                  `asn1:"optional,tag:1"`
	OnlyCACerts    bool                  `asn1:"optional,tag:2"`
	OnlyReasons    asn1.BitString        `asn1:"optional,tag:3"`
	Indirect       bool                  `asn1:"optional,tag:4"`
	OnlyAttributes bool                  `asn1:"optional,tag:5"`
}

type distributionPointName struct {
	FullName     []asn1.RawValue  `asn1:"optional,tag:0"`
	RelativeName pkix.RDNSequence `asn1:"optional,tag:1"`
}

const tagURI = 6 // tag of a URI in GeneralName

func parseCRL(der []byte) (*x509.RevocationList, error) {
	list, err := x509.ParseRevocationList(der)
	if err != nil || len(list.Raw) != len(der) {
		return nil, errors.New("the revocation list cannot be read")
	}
	return list, nil
}

// answerOfCRL returns the status of a certificate according to a revocation list. It returns an error if the list is
// not complete for this certificate. Examples are delta and indirect lists, and lists limited to certain reasons or to
// other certificates.
func answerOfCRL(list *x509.RevocationList, c, issuer *x509.Certificate, may *checks) (answer, error) {
	if !bytes.Equal(list.RawIssuer, c.RawIssuer) || !bytes.Equal(c.RawIssuer, issuer.RawSubject) {
		return answer{}, errOther
	}
	if err := checkScope(list, c); err != nil {
		return answer{}, err
	}
	if err := may.spend(); err != nil {
		return answer{}, err
	}
	if err := list.CheckSignatureFrom(issuer); err != nil {
		return answer{}, errors.New("the revocation list is not signed by the certificate's issuer")
	}
	a := answer{Updated: list.ThisUpdate.UTC()}
	for i := range list.RevokedCertificateEntries {
		e := &list.RevokedCertificateEntries[i]
		for _, x := range e.Extensions {
			known := x.Id.Equal(oidReasonCode) || x.Id.Equal(oidInvalidityDate)
			if x.Id.Equal(oidCertificateIssuer) || x.Critical && !known {
				return answer{}, errors.New("the revocation list covers certificates of other authorities")
			}
		}
		if e.SerialNumber.Cmp(c.SerialNumber) == 0 {
			a.revoke(e.RevocationTime, e.ReasonCode, e.Extensions)
		}
	}
	return a, nil
}

// checkScope returns an error unless the list is complete for the certificate (RFC 5280, section 6.3.3).
func checkScope(list *x509.RevocationList, c *x509.Certificate) error {
	for _, x := range list.Extensions {
		switch {
		case x.Id.Equal(oidDeltaIndicator):
			return errors.New("the revocation list is a delta list")
		case x.Id.Equal(oidDistributionPoint):
			var p issuingDistributionPoint
			if rest, err := asn1.Unmarshal(x.Value, &p); err != nil || len(rest) > 0 {
				return errors.New("the revocation list has no readable scope")
			}
			if err := p.check(c); err != nil {
				return err
			}
		case x.Critical:
			return errors.New("the revocation list has an unsupported critical extension")
		}
	}
	return nil
}

func (p *issuingDistributionPoint) check(c *x509.Certificate) error {
	switch {
	case p.Indirect:
		return errors.New("the revocation list is an indirect list")
	case p.OnlyReasons.BitLength > 0:
		return errors.New("the revocation list covers only some revocation reasons")
	case p.OnlyAttributes, p.OnlyUserCerts && c.IsCA, p.OnlyCACerts && !c.IsCA, len(p.Point.RelativeName) > 0:
		return errors.New("the revocation list applies to other certificates")
	case len(p.Point.FullName) > 0 && !slices.ContainsFunc(p.Point.FullName, func(n asn1.RawValue) bool {
		return n.Class == asn1.ClassContextSpecific && n.Tag == tagURI && slices.Contains(c.CRLDistributionPoints, string(n.Bytes))
	}):
		return errors.New("the revocation list covers certificates with another distribution point")
	}
	return nil
}

// revoke records a revocation. If the key became unsafe earlier (invalidityDate), that date applies.
func (a *answer) revoke(at time.Time, reason int, extensions []pkix.Extension) {
	for _, x := range extensions {
		var since time.Time
		if !x.Id.Equal(oidInvalidityDate) {
			continue
		}
		if _, err := asn1.UnmarshalWithParams(x.Value, &since, "generalized"); err == nil && since.Before(at) {
			at = since
		}
	}
	if a.Revoked == nil || at.Before(a.Revoked.At) {
		a.Revoked = &RevokedAt{At: at.UTC(), Reason: reason}
	}
}
