package cms

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"slices"

	"go.mozilla.org/pkcs7"
	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"countersign/seal/trust"
)

// message is a SignedData (RFC 5652, 5.1) with one signer, limited to the parts used here. readMessage accepts any DER,
// but write produces exactly one canonical encoding, so that re-encoding a message shows whether the message is
// canonical.
type message struct {
	version      int64
	contentType  asn1.ObjectIdentifier
	content      []byte // nil if detached
	certificates []*x509.Certificate

	signer     *x509.Certificate
	hash       crypto.Hash
	attributes []attribute // signed attributes
	signature  []byte
	token      []byte // signature time-stamp in DER; nil if there is none
}

// attribute is one signed attribute with a single value.
type attribute struct {
	kind  asn1.ObjectIdentifier
	value []byte // in DER
	raw   []byte // complete attribute in DER
}

// readMessage parses one element, a message in any valid DER form. It ignores parts that are not used here: certificates other than
// X.509, revocation lists, and unsigned attributes except for one time-stamp.
func readMessage(der []byte) (*message, error) {
	in := cryptobyte.String(der)
	var outer, wrapped, sd cryptobyte.String
	var kind asn1.ObjectIdentifier
	if !in.ReadASN1(&outer, cbasn1.SEQUENCE) || !outer.ReadASN1ObjectIdentifier(&kind) {
		return nil, malformed("not DER")
	}
	if !kind.Equal(pkcs7.OIDSignedData) || !outer.ReadASN1(&wrapped, tag0) || !outer.Empty() ||
		!wrapped.ReadASN1(&sd, cbasn1.SEQUENCE) || !wrapped.Empty() {
		return nil, malformed("no SignedData")
	}
	m := &message{}
	var digests, encap, certs, infos cryptobyte.String
	var has bool
	if !sd.ReadASN1Integer(&m.version) || !sd.ReadASN1(&digests, cbasn1.SET) || !sd.ReadASN1(&encap, cbasn1.SEQUENCE) {
		return nil, malformed("no SignedData")
	}
	if err := m.readContent(encap); err != nil {
		return nil, err
	}
	if !sd.ReadOptionalASN1(&certs, &has, tag0) {
		return nil, malformed("certificates")
	}
	if err := m.readCertificates(certs); err != nil {
		return nil, err
	}
	if !sd.SkipOptionalASN1(tag1) || !sd.ReadASN1(&infos, cbasn1.SET) || !sd.Empty() {
		return nil, malformed("no signer")
	}
	var info cryptobyte.String
	if !infos.ReadASN1(&info, cbasn1.SEQUENCE) || !infos.Empty() {
		return nil, malformed("not exactly one signer")
	}
	return m, m.readSigner(info)
}

func (m *message) readContent(encap cryptobyte.String) error {
	var wrapped, octets cryptobyte.String
	var has bool
	if !encap.ReadASN1ObjectIdentifier(&m.contentType) || !encap.ReadOptionalASN1(&wrapped, &has, tag0) || !encap.Empty() {
		return malformed("content")
	}
	if !has {
		return nil
	}
	if !wrapped.ReadASN1(&octets, cbasn1.OCTET_STRING) || !wrapped.Empty() {
		return malformed("content")
	}
	m.content = append([]byte{}, octets...)
	return nil
}

func (m *message) readCertificates(list cryptobyte.String) error {
	for !list.Empty() {
		var one cryptobyte.String
		var tag cbasn1.Tag
		if !list.ReadAnyASN1Element(&one, &tag) {
			return malformed("certificates")
		}
		if tag != cbasn1.SEQUENCE {
			continue // not an X.509 certificate
		}
		c, err := x509.ParseCertificate(one)
		if err != nil || !endsWithSignature(one) {
			return malformed("certificate")
		}
		if err := trust.CheckKeySize(c); err != nil {
			return malformed(err.Error())
		}
		if m.certificates = append(m.certificates, c); len(m.certificates) > maxCertificates {
			return malformed("too many certificates")
		}
	}
	return nil
}

// endsWithSignature reports whether a certificate ends with its signature. Package x509 accepts trailing data.
func endsWithSignature(der cryptobyte.String) bool {
	var c cryptobyte.String
	return der.ReadASN1(&c, cbasn1.SEQUENCE) && c.SkipASN1(cbasn1.SEQUENCE) && c.SkipASN1(cbasn1.SEQUENCE) &&
		c.SkipASN1(cbasn1.BIT_STRING) && c.Empty()
}

func (m *message) readSigner(info cryptobyte.String) error {
	var version int64
	var sid, digest, signed, algorithm, signature, unsigned cryptobyte.String
	var tag cbasn1.Tag
	var has bool
	if !info.ReadASN1Integer(&version) || !info.ReadAnyASN1Element(&sid, &tag) || !info.ReadASN1(&digest, cbasn1.SEQUENCE) ||
		!info.ReadOptionalASN1(&signed, &has, tag0) || !has || !info.ReadASN1(&algorithm, cbasn1.SEQUENCE) ||
		!info.ReadASN1(&signature, cbasn1.OCTET_STRING) || !info.ReadOptionalASN1(&unsigned, &has, tag1) || !info.Empty() {
		return malformed("signer")
	}
	m.signature = append([]byte{}, signature...)
	if m.signer = findSigner(m.certificates, sid); m.signer == nil {
		return malformed("the signer's certificate is missing")
	}
	var oid asn1.ObjectIdentifier
	if !digest.ReadASN1ObjectIdentifier(&oid) {
		return malformed("digest algorithm")
	}
	var err error
	if m.hash, err = hashOf(oid); err != nil {
		return err
	}
	if !algorithm.ReadASN1ObjectIdentifier(&oid) {
		return malformed("signature algorithm")
	}
	if oid.Equal(oidRSAPSS) {
		return malformed("signature algorithm RSASSA-PSS is not supported")
	}
	if m.attributes, err = readAttributes(signed); err != nil {
		return err
	}
	others, err := readAttributes(unsigned)
	if err != nil {
		return err
	}
	for _, a := range others {
		if a.kind.Equal(oidTimeStampToken) {
			m.token = a.value
		}
	}
	return nil
}

// findSigner returns the certificate identified by a SignerIdentifier.
func findSigner(certs []*x509.Certificate, sid cryptobyte.String) *x509.Certificate {
	var names, issuer, serial, key cryptobyte.String
	var isSigner func(c *x509.Certificate) bool
	if sid.PeekASN1Tag(cbasn1.SEQUENCE) {
		if !sid.ReadASN1(&names, cbasn1.SEQUENCE) || !names.ReadASN1Element(&issuer, cbasn1.SEQUENCE) ||
			!names.ReadASN1Element(&serial, cbasn1.INTEGER) || !names.Empty() {
			return nil
		}
		isSigner = func(c *x509.Certificate) bool {
			return bytes.Equal(c.RawIssuer, issuer) && bytes.Equal(integer(c.SerialNumber), serial)
		}
	} else {
		if !sid.ReadASN1(&key, cbasn1.Tag(0).ContextSpecific()) || len(key) == 0 {
			return nil
		}
		isSigner = func(c *x509.Certificate) bool { return bytes.Equal(c.SubjectKeyId, key) }
	}
	if i := slices.IndexFunc(certs, isSigner); i >= 0 {
		return certs[i]
	}
	return nil
}

const maxAttributes = 32

func readAttributes(set cryptobyte.String) ([]attribute, error) {
	var out []attribute
	for !set.Empty() {
		var raw, body, vals, value cryptobyte.String
		var a attribute
		var tag cbasn1.Tag
		if !set.ReadASN1Element(&raw, cbasn1.SEQUENCE) {
			return nil, malformed("attributes")
		}
		a.raw = raw
		if !raw.ReadASN1(&body, cbasn1.SEQUENCE) || !body.ReadASN1ObjectIdentifier(&a.kind) || !body.ReadASN1(&vals, cbasn1.SET) || !body.Empty() ||
			!vals.ReadAnyASN1Element(&value, &tag) || !vals.Empty() || len(out) >= maxAttributes {
			return nil, malformed("attributes")
		}
		if slices.ContainsFunc(out, func(b attribute) bool { return b.kind.Equal(a.kind) }) {
			return nil, malformed("an attribute occurs twice")
		}
		a.value = value
		out = append(out, a)
	}
	return out, nil
}

// signedAttributes returns the attributes in DER order. The tag is SET for the encoding that the signature covers (RFC
// 5652, 5.4), or the tag used in the message.
func (m *message) signedAttributes(tag cbasn1.Tag) []byte {
	encoded := make([][]byte, len(m.attributes))
	for i, a := range m.attributes {
		encoded[i] = a.raw
	}
	return sortedSet(tag, encoded)
}

// write returns the canonical encoding of the message. The version is the one required by the content, and digest
// algorithms have no parameters. The certificates are in the order of m, and the signer is identified by issuer and
// serial number. The signed attributes are in DER order. There are no revocation lists, and no unsigned attribute
// except the time-stamp.
func (m *message) write() ([]byte, error) {
	algorithm, err := signatureAlgorithm(m.signer, m.hash)
	if err != nil {
		return nil, err
	}
	content := objectID(m.contentType)
	if m.content != nil {
		content = append(content, element(tag0, element(cbasn1.OCTET_STRING, m.content))...)
	}
	certificates := make([][]byte, len(m.certificates))
	for i, c := range m.certificates {
		certificates[i] = c.Raw
	}
	var unsigned []byte
	if m.token != nil {
		unsigned = element(tag1, sequence(objectID(oidTimeStampToken), element(cbasn1.SET, m.token)))
	}
	digest := sequence(objectID(digestAlgorithms[m.hash]))
	signer := sequence(
		integer(big.NewInt(1)),
		sequence(m.signer.RawIssuer, integer(m.signer.SerialNumber)),
		digest,
		m.signedAttributes(tag0),
		algorithm,
		element(cbasn1.OCTET_STRING, m.signature),
		unsigned,
	)
	return sequence(objectID(pkcs7.OIDSignedData), element(tag0, sequence(
		integer(big.NewInt(m.versionOfContent())),
		element(cbasn1.SET, digest),
		sequence(content),
		element(tag0, certificates...),
		element(cbasn1.SET, signer),
	))), nil
}

// versionOfContent returns the syntax version (RFC 5652, 5.1).
func (m *message) versionOfContent() int64 {
	if m.contentType.Equal(pkcs7.OIDData) {
		return 1
	}
	return 3
}

// signatureAlgorithm returns the AlgorithmIdentifier for signatures by a certificate's key.
func signatureAlgorithm(c *x509.Certificate, h crypto.Hash) ([]byte, error) {
	rsaOIDs := map[crypto.Hash]int{crypto.SHA256: 11, crypto.SHA384: 12, crypto.SHA512: 13} // RFC 4055
	ecdsaOIDs := map[crypto.Hash]int{crypto.SHA256: 2, crypto.SHA384: 3, crypto.SHA512: 4}  // RFC 5758
	switch c.PublicKey.(type) {
	case *rsa.PublicKey:
		return sequence(objectID(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, rsaOIDs[h]}), asn1.NullBytes), nil
	case *ecdsa.PublicKey:
		return sequence(objectID(asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, ecdsaOIDs[h]})), nil
	}
	return nil, malformed("the key must be RSA or ECDSA")
}
