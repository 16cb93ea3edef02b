package forgeries_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"slices"
	"time"
)

// tlv encodes an element in DER (X.690).
func tlv(tag byte, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	out := []byte{tag}
	switch n := len(body); {
	case n < 0x80:
		out = append(out, byte(n))
	case n < 0x100:
		out = append(out, 0x81, byte(n))
	case n < 0x10000:
		out = append(out, 0x82, byte(n>>8), byte(n))
	default:
		out = append(out, 0x83, byte(n>>16), byte(n>>8), byte(n))
	}
	return append(out, body...)
}

const (
	tagInteger, tagOctets, tagNull, tagSequence, tagSet = 0x02, 0x04, 0x05, 0x30, 0x31
	tagCertificates, tagRevocations                     = 0xa0, 0xa1 // of SignedData
	tagSigned, tagUnsigned                              = 0xa0, 0xa1 // attributes of SignerInfo
)

func oid(numbers ...int) []byte { return must(asn1.Marshal(asn1.ObjectIdentifier(numbers))) }

var (
	oidData          = oid(1, 2, 840, 113549, 1, 7, 1)
	oidSignedData    = oid(1, 2, 840, 113549, 1, 7, 2)
	oidContentType   = oid(1, 2, 840, 113549, 1, 9, 3)
	oidMessageDigest = oid(1, 2, 840, 113549, 1, 9, 4)
	oidSigningTime   = oid(1, 2, 840, 113549, 1, 9, 5)
	oidCertificateV2 = oid(1, 2, 840, 113549, 1, 9, 16, 2, 47)
	oidTimeStamp     = oid(1, 2, 840, 113549, 1, 9, 16, 2, 14)
	oidTSTInfo       = oid(1, 2, 840, 113549, 1, 9, 16, 1, 4)
	oidSHA256        = oid(2, 16, 840, 1, 101, 3, 4, 2, 1)
	oidECDSA         = oid(1, 2, 840, 10045, 4, 3, 2)
)

func integer(n *big.Int) []byte { return must(asn1.Marshal(n)) }

func octets(b []byte) []byte { return tlv(tagOctets, b) }

// attribute returns an attribute of SignerInfo.
func attribute(kind []byte, values ...[]byte) []byte {
	return tlv(tagSequence, kind, tlv(tagSet, values...))
}

// signature is a CMS SignedData (RFC 5652) before it is encoded.
type signature struct {
	content      []byte // nil if detached
	contentType  []byte
	digest       []byte
	certificates [][]byte
	revocations  [][]byte
	signer       *identity
	named        *x509.Certificate // certificate in signing-certificate-v2, or nil for the signer's
	signed       [][]byte          // additional signed attributes
	unsigned     [][]byte
	stamp        func(value []byte) []byte // returns a time-stamp for the signature
}

func essCertificate(c *x509.Certificate) []byte {
	sum := sha256.Sum256(c.Raw)
	name := tlv(tagSequence, tlv(0xa4, c.RawIssuer))
	return attribute(oidCertificateV2, tlv(tagSequence, tlv(tagSequence,
		tlv(tagSequence, octets(sum[:]), tlv(tagSequence, name, integer(c.SerialNumber))))))
}

func set(tag byte, elements [][]byte) []byte {
	elements = slices.Clone(elements)
	slices.SortFunc(elements, slices.Compare)
	return tlv(tag, elements...)
}

func (s *signature) encode() []byte {
	named := s.signer.cert
	if s.named != nil {
		named = s.named
	}
	attributes := append([][]byte{
		attribute(oidContentType, s.contentType), attribute(oidMessageDigest, octets(s.digest)), essCertificate(named),
	}, s.signed...)
	sum := sha256.Sum256(set(tagSet, attributes))
	value := lowS(must(ecdsa.SignASN1(rand.Reader, s.signer.key, sum[:])))
	algorithm := tlv(tagSequence, oidSHA256)
	version, content := []byte{1}, [][]byte{s.contentType}
	if s.content != nil {
		version, content = []byte{3}, append(content, tlv(0xa0, octets(s.content)))
	}
	info := [][]byte{
		tlv(tagInteger, []byte{1}), tlv(tagSequence, s.signer.cert.RawIssuer, integer(s.signer.cert.SerialNumber)),
		algorithm, set(tagSigned, attributes), tlv(tagSequence, oidECDSA), octets(value),
	}
	if s.stamp != nil {
		s.unsigned = append(s.unsigned, attribute(oidTimeStamp, s.stamp(value)))
	}
	if len(s.unsigned) > 0 {
		info = append(info, tlv(tagUnsigned, s.unsigned...))
	}
	data := [][]byte{tlv(tagInteger, version), tlv(tagSet, algorithm), tlv(tagSequence, content...), tlv(tagCertificates, s.certificates...)}
	if len(s.revocations) > 0 {
		data = append(data, tlv(tagRevocations, s.revocations...))
	}
	data = append(data, tlv(tagSet, tlv(tagSequence, info...)))
	return tlv(tagSequence, oidSignedData, tlv(0xa0, tlv(tagSequence, data...)))
}

type ecdsaValue struct{ R, S *big.Int }

// lowS and highS return the two valid values of an ECDSA signature.
func lowS(der []byte) []byte  { return withS(der, -1) }
func highS(der []byte) []byte { return withS(der, 1) }

func withS(der []byte, want int) []byte {
	var v ecdsaValue
	must(asn1.Unmarshal(der, &v))
	n, _ := new(big.Int).SetString("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", 16)
	if v.S.Cmp(new(big.Int).Rsh(n, 1)) != want {
		v.S = new(big.Int).Sub(n, v.S)
	}
	return must(asn1.Marshal(v))
}

// token is a time-stamp token (RFC 3161) before it is encoded.
type token struct {
	signature
	imprint []byte
	nonce   *big.Int
	time    time.Time
}

func (t *token) encode() []byte {
	info := [][]byte{
		tlv(tagInteger, []byte{1}), oid(1, 2, 3, 4, 1),
		tlv(tagSequence, tlv(tagSequence, oidSHA256, tlv(tagNull)), octets(t.imprint)),
		integer(nextSerial()), tlv(0x18, []byte(t.time.UTC().Format("20060102150405Z"))),
	}
	if t.nonce != nil {
		info = append(info, integer(t.nonce))
	}
	t.content = tlv(tagSequence, info...)
	sum := sha256.Sum256(t.content)
	t.digest, t.contentType = sum[:], oidTSTInfo
	return t.signature.encode()
}

// newToken returns a time-stamp token issued by an honest authority.
func (n *network) newToken(digest []byte) *token {
	t := &token{imprint: digest, time: n.clock()}
	t.signer = n.tsa
	for _, c := range n.tsa.chain() {
		t.certificates = append(t.certificates, c.Raw)
	}
	return t
}

// stamp responds to a time-stamp request.
func (n *network) stamp(body []byte) []byte {
	var req struct {
		Version int
		Imprint struct {
			Algorithm asn1.RawValue
			Hash      []byte
		}
		Nonce   *big.Int
		CertReq bool `asn1:"optional"`
	}
	must(asn1.Unmarshal(body, &req))
	t := n.newToken(req.Imprint.Hash)
	t.nonce = req.Nonce
	if n.tokens != nil {
		n.tokens(t)
	}
	return tlv(tagSequence, tlv(tagSequence, tlv(tagInteger, []byte{0})), t.encode())
}

// element is a node of a DER structure. It is used to modify existing structures.
type element struct {
	tag  byte
	body []byte     // content of a primitive element
	kids []*element // children of a constructed element
}

func parseDER(b []byte) *element {
	e, rest := parseElement(b)
	for _, c := range rest {
		if c != 0 {
			panic("bytes after the element")
		}
	}
	return e
}

func parseElement(b []byte) (e *element, rest []byte) {
	n, at := int(b[1]), 2
	if n >= 0x80 {
		width := n & 0x7f
		n = 0
		for _, c := range b[2 : 2+width] {
			n = n<<8 | int(c)
		}
		at += width
	}
	e = &element{tag: b[0], body: b[at : at+n]}
	if e.tag&0x20 != 0 {
		for inner := e.body; len(inner) > 0; {
			var kid *element
			kid, inner = parseElement(inner)
			e.kids = append(e.kids, kid)
		}
	}
	return e, b[at+n:]
}

func (e *element) encode() []byte {
	if e.tag&0x20 == 0 {
		return tlv(e.tag, e.body)
	}
	var kids [][]byte
	for _, k := range e.kids {
		kids = append(kids, k.encode())
	}
	return tlv(e.tag, kids...)
}

// indefinite encodes constructed elements with indefinite length, which BER allows but DER does not.
func (e *element) indefinite(depth int) []byte {
	if e.tag&0x20 == 0 || depth == 0 {
		return e.encode()
	}
	out := []byte{e.tag, 0x80}
	for _, k := range e.kids {
		out = append(out, k.indefinite(depth-1)...)
	}
	return append(out, 0, 0)
}

func (e *element) signedData() *element { return e.kids[1].kids[0] }

func (e *element) certificates() *element { return e.signedData().kids[3] }

func (e *element) signerInfo() *element {
	data := e.signedData()
	return data.kids[len(data.kids)-1].kids[0]
}

// unsigned returns the unsigned attributes. It adds them if they are missing.
func (e *element) unsigned() *element {
	info := e.signerInfo()
	if len(info.kids) == 6 {
		info.kids = append(info.kids, &element{tag: tagUnsigned})
	}
	return info.kids[6]
}

func raw(b []byte) *element { e, _ := parseElement(b); return e }
