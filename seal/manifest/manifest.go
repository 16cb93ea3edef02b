// Package manifest defines the seal record: its format, its signature, and the checks that require only the record.
package manifest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"

	"countersign/prepare"
	"countersign/prepare/revision1"
)

// Type is the value of the manifest's type member.
const Type = "countersign-seal"

// Names for the attached seal record. A PDF that already has an attachment with such a name, in any spelling, is
// rejected, because a program could mistake that attachment for the seal record.
const (
	AttachmentKey = "countersign-seal.json" // key in the name tree of embedded files
	FileName      = "seal.json"             // file name
	// AttachmentPrefix, followed by the ID of an attachment, is the attachment's key in that tree.
	AttachmentPrefix = "countersign-attachment-"
)

// Manifest is the machine-readable record in a sealed PDF. It is the payload of the JWS in the attachment seal.json.
type Manifest struct {
	Type     string    `json:"type"`
	Version  int       `json:"version"`
	Service  string    `json:"service"`
	SealedAt time.Time `json:"sealedAt"`
	Envelope Envelope  `json:"envelope"`
	Document string    `json:"documentId"` // the document in this PDF
	All      []File    `json:"documents"`  // all documents of the envelope, in order
	Signers  []Signer  `json:"signers"`
	Values   []Value   `json:"values"`
	// Attachments lists the files attached by signers to fields of this document.
	Attachments []Attachment `json:"attachments,omitempty"`
	// Appearance records how the document was displayed to its signers.
	Appearance *Appearance `json:"appearance,omitempty"`
	Audit      Audit       `json:"audit"`
	Verify     string      `json:"verifyUrl,omitempty"`
	Original   Placement   `json:"original"`
	// Pages is the number of pages of the sealed file. CertificatePage is the first page of the certificate, which
	// extends to the end of the file.
	Pages           int `json:"pages"`
	CertificatePage int `json:"certificatePage"`
}

// Placement describes how the original is contained in the sealed PDF.
type Placement struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	// As has the value "prefix" if the file begins with the original's bytes. If Prepared is set, "prefix" means that
	// the prepared file begins with the original's bytes, and "attached" means that the original is a separate
	// attachment.
	As string `json:"as"`
	// Prepared describes the sealed file if content was removed from the original.
	Prepared *Prepared `json:"prepared,omitempty"`
}

// Envelope describes the envelope.
type Envelope struct {
	ID           string     `json:"id"`
	TenantID     string     `json:"tenantId"`
	Sender       string     `json:"sender,omitempty"` // party on whose behalf the envelope was sent
	Subject      string     `json:"subject,omitempty"`
	CreatedAt    *time.Time `json:"createdAt,omitempty"`
	SentAt       *time.Time `json:"sentAt,omitempty"`
	OriginalHash string     `json:"documentHashOriginal,omitempty"`
}

// File is one document of the envelope.
type File struct {
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	Order     int    `json:"order"`  // starting at 1
	SHA256    string `json:"sha256"` // hash of the original, lower-case hex
	PageCount int    `json:"pageCount"`
	// PreparedSHA256 is the hash of the prepared file, if there is one.
	PreparedSHA256 string `json:"preparedSha256,omitempty"`
}

// Signer is one signer.
type Signer struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	Email          string     `json:"email"`
	AuthMethod     string     `json:"authMethod"`
	RoutingOrder   int        `json:"routingOrder"`
	VerifiedAt     *time.Time `json:"verifiedAt,omitempty"`
	ConsentAt      *time.Time `json:"consentAt,omitempty"`
	ConsentVersion string     `json:"consentVersion,omitempty"`
	SignedAt       *time.Time `json:"signedAt,omitempty"`
	IP             string     `json:"ip,omitempty"`
	// Shown records which values of other signers the signer was shown. It is omitted if unknown.
	Shown *Shown `json:"shown,omitempty"`
	// Part is the signer's role. It is empty for an ordinary signer.
	Part
	// Previous lists the earlier signers whom this signer replaced, oldest first.
	Previous []PreviousSigner `json:"previous,omitempty"`
}

// PreviousSigner is a replaced signer.
type PreviousSigner struct {
	Name   string    `json:"name"`
	Email  string    `json:"email"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
}

// Shown records the values of other signers that were shown to a signer. The digest can be recomputed from those
// signers' signer.signed events.
type Shown struct {
	Digest    string   `json:"digest"`    // lower-case hex, as in the signer.signed event of the signer
	Signers   []string `json:"signers"`   // IDs of the signers whose values the digest covers
	Confirmed bool     `json:"confirmed"` // whether the signing request contained the digest
}

// Kind is the type of a field.
type Kind string

// Value is the value of one field. It contains only the hash of a picture.
type Value struct {
	FieldID  string     `json:"fieldId"`
	SignerID string     `json:"signerId"`
	Kind     Kind       `json:"kind"`
	Page     int        `json:"page"`
	Box      [4]float64 `json:"box"` // x, y, width, height in points, from the top left corner of the displayed page
	Text     string     `json:"text,omitempty"`
	Checked  bool       `json:"checked,omitempty"`
	Image    string     `json:"imageSha256,omitempty"`
	Name     string     `json:"name,omitempty"`   // field name chosen by the sender
	Group    string     `json:"group,omitempty"`  // group of a radio field
	Option   string     `json:"option,omitempty"` // selected option of a radio field
}

// Attachment is a file attached by a signer. It is embedded under AttachmentPrefix followed by its ID.
type Attachment struct {
	ID       string `json:"id"`
	FieldID  string `json:"fieldId"`
	SignerID string `json:"signerId"`
	Name     string `json:"name"`
	MimeType string `json:"mimeType"`
	Size     int64  `json:"size"`
	SHA256   string `json:"sha256"`
}

// Audit is the audit chain.
type Audit struct {
	Head   string            `json:"head"`
	Events []json.RawMessage `json:"events"`
}

// jws is the flattened JSON serialization (RFC 7515, 7.2.2).
type jws struct {
	Payload   string `json:"payload"`
	Protected string `json:"protected"`
	Signature string `json:"signature"`
}

type jwsHeader struct {
	Alg string `json:"alg"`
	Kid string `json:"kid"`
	Typ string `json:"typ"`
	JWK *jwk   `json:"jwk,omitempty"` // allows the signature to be checked offline, even years later
}

type jwk struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	Y   string `json:"y"`
}

const p256Bytes = 32

// Sign returns seal.json, which is the manifest as a JWS signed with ES256.
func Sign(m Manifest, key crypto.Signer, kid string, rand io.Reader) ([]byte, error) {
	pub, ok := key.Public().(*ecdsa.PublicKey)
	if !ok || pub.Curve != elliptic.P256() {
		return nil, errors.New("seal: the manifest key must be a P-256 key")
	}
	point, err := pub.Bytes() // 0x04, X, Y
	if err != nil {
		return nil, err
	}
	b64 := base64.RawURLEncoding
	header, err := json.Marshal(jwsHeader{Alg: "ES256", Kid: kid, Typ: Type + "+json", JWK: &jwk{
		Kty: "EC", Crv: "P-256", X: b64.EncodeToString(point[1 : 1+p256Bytes]), Y: b64.EncodeToString(point[1+p256Bytes:]),
	}})
	if err != nil {
		return nil, err
	}
	payload, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("seal: manifest: %w", err)
	}
	out := jws{Payload: b64.EncodeToString(payload), Protected: b64.EncodeToString(header)}
	sum := sha256.Sum256([]byte(out.Protected + "." + out.Payload))
	der, err := key.Sign(rand, sum[:], crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("seal: signing the manifest: %w", err)
	}
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &rs); err != nil {
		return nil, fmt.Errorf("seal: signing the manifest: %w", err)
	}
	sig := make([]byte, 2*p256Bytes) // RFC 7518, 3.4
	rs.R.FillBytes(sig[:p256Bytes])
	rs.S.FillBytes(sig[p256Bytes:])
	out.Signature = b64.EncodeToString(sig)
	return json.MarshalIndent(out, "", "  ")
}

// ErrMalformed is wrapped by errors about an invalid manifest.
var ErrMalformed = errors.New("malformed manifest")

// Open checks the signature of seal.json. It returns the manifest, the signing key and the key's ID.
func Open(b []byte) (m Manifest, kid string, key *ecdsa.PublicKey, err error) {
	var j jws
	if err := json.Unmarshal(b, &j); err != nil {
		return m, "", nil, fmt.Errorf("%w: not a JWS", ErrMalformed)
	}
	b64 := base64.RawURLEncoding
	rawHeader, err1 := b64.DecodeString(j.Protected)
	payload, err2 := b64.DecodeString(j.Payload)
	sig, err3 := b64.DecodeString(j.Signature)
	if errors.Join(err1, err2, err3) != nil || len(sig) != 2*p256Bytes {
		return m, "", nil, fmt.Errorf("%w: not a JWS", ErrMalformed)
	}
	var h jwsHeader
	if err := json.Unmarshal(rawHeader, &h); err != nil || h.Alg != "ES256" || h.Typ != Type+"+json" || h.JWK == nil || h.JWK.Kty != "EC" || h.JWK.Crv != "P-256" {
		return m, "", nil, fmt.Errorf("%w: unexpected header", ErrMalformed)
	}
	x, err1 := b64.DecodeString(h.JWK.X)
	y, err2 := b64.DecodeString(h.JWK.Y)
	if errors.Join(err1, err2) != nil || len(x) != p256Bytes || len(y) != p256Bytes {
		return m, "", nil, fmt.Errorf("%w: unexpected key", ErrMalformed)
	}
	point := append(append([]byte{4}, x...), y...)
	if key, err = ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point); err != nil {
		return m, "", nil, fmt.Errorf("%w: unexpected key", ErrMalformed)
	}
	sum := sha256.Sum256([]byte(j.Protected + "." + j.Payload))
	r, s := new(big.Int).SetBytes(sig[:p256Bytes]), new(big.Int).SetBytes(sig[p256Bytes:])
	if !ecdsa.Verify(key, sum[:], r, s) {
		return m, h.Kid, key, errors.New("the manifest's signature is wrong")
	}
	if err := json.Unmarshal(payload, &m); err != nil || m.Type != Type {
		return m, h.Kid, key, fmt.Errorf("%w: unexpected payload", ErrMalformed)
	}
	// Two parsers can interpret the same JSON text differently, for example if it contains duplicate keys, keys that
	// differ only in case, or unknown members. Open therefore accepts only the exact output of Sign.
	header, err1 := json.Marshal(h)
	again, err2 := json.Marshal(m)
	outer, err3 := json.MarshalIndent(j, "", "  ")
	if errors.Join(err1, err2, err3) != nil || !bytes.Equal(header, rawHeader) || !bytes.Equal(again, payload) || !bytes.Equal(outer, b) {
		return m, h.Kid, key, fmt.Errorf("%w: the record is not in the canonical form of a seal", ErrMalformed)
	}
	return m, h.Kid, key, nil
}

// Ways in which a prepared file is derived from the original.
const (
	Appended  = "appended"  // begins with the original's bytes, and the rest can be reproduced
	Rewritten = "rewritten" // a separate file, because a password or signatures were removed, or the original was repaired
)

// Kinds of changes that result in a separate file.
const (
	PasswordRemoved   = "password_removed"
	Repaired          = "repaired"
	SignaturesRemoved = "signatures_removed"
)

// Prepared describes the file that was displayed and sealed in place of the original.
type Prepared struct {
	SHA256  string           `json:"sha256"`
	Size    int64            `json:"size"`
	As      string           `json:"as"`     // Appended or Rewritten
	Writer  int              `json:"writer"` // format version of the appended bytes; 0 for a separate file
	Options prepare.Options  `json:"options"`
	Changes []prepare.Change `json:"changes"`
	// Plan describes the removed content in detail.
	Plan *revision1.Plan `json:"plan,omitempty"`
	// Attachment is the object number of the original of a rewritten file, and Name is its attachment name.
	Attachment int    `json:"attachment,omitempty"`
	Name       string `json:"name,omitempty"`
	// Signatures lists the digital signatures in the original that a rewritten file lacks. They were not verified.
	Signatures []Signature `json:"signatures,omitempty"`
}

// Signature describes a digital signature of an uploaded document, with the data from its certificate and signature
// dictionary.
type Signature struct {
	By     string     `json:"by,omitempty"`
	Issuer string     `json:"issuer,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

// Part is the role of a signer. It is empty for an ordinary signer.
type Part struct {
	// Kind is approver, viewer or in_person.
	Kind string `json:"kind,omitempty"`
	// Host received the link and provided the device.
	Host *Host `json:"host,omitempty"`
	// WitnessFor is the ID of the signer whose signature this person witnessed.
	WitnessFor string `json:"witnessFor,omitempty"`
}

// Host is the person who hosted an in-person signing and handed over the device.
type Host struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}
