package verify

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"time"

	"countersign/seal/manifest"
)

// OpenedRecord is a seal.json that has been read.
type OpenedRecord struct {
	raw      []byte
	manifest manifest.Manifest
	kid      string
	key      *ecdsa.PublicKey
	err      error // the problem of the record
	chain    error // the problem of its audit chain
}

// OpenRecord reads a seal.json and checks its signature and its audit chain.
func OpenRecord(raw []byte) *OpenedRecord {
	r := &OpenedRecord{raw: raw}
	if r.manifest, r.kid, r.key, r.err = manifest.Open(raw); r.err == nil {
		r.chain = manifest.CheckChain(r.manifest.Audit.Events, r.manifest.Audit.Head, r.manifest.Envelope.ID)
	}
	return r
}

// of returns the record with these bytes: r if that is it.
func (r *OpenedRecord) of(raw []byte) *OpenedRecord {
	if r != nil && bytes.Equal(r.raw, raw) {
		return r
	}
	return OpenRecord(raw)
}

// checkRecord compares the record with itself, with its audit chain, and with
// the file that it is in.
func (e *examiner) checkRecord(context.Context) error {
	if e.record == nil {
		e.add("audit_chain.missing", nil)
		return nil
	}
	m := &e.record.manifest
	if err := e.record.chain; err != nil {
		e.add("audit_chain.broken", values{"reason": err})
		return nil
	}
	e.add("audit_chain.complete", values{"events": len(m.Audit.Events), "head": m.Audit.Head})
	if err := m.Check(); err != nil {
		e.add("manifest.contradiction", values{"reason": err})
	}
	return nil
}

// Recorded is the service's own record of a document that it sealed.
type Recorded struct {
	OriginalSHA256 string
	SealedSHA256   string // of the file as the service keeps it now
	ChainHead      string // the hash of the event that the report's audit chain ends in
}

// CompareRecorded adds the findings from the service's own record of a document whose sealed revision is valid; rec is
// nil if there is no record. A different record makes the document broken, because the sealed content does not match
// the events.
func (r *Report) CompareRecorded(rec *Recorded) {
	switch {
	case r.Verdict != VerdictValid && r.Verdict != VerdictAltered:
		return
	case rec == nil:
		r.add("recorded.unknown", nil)
	case rec.OriginalSHA256 != r.OriginalSHA256 || rec.ChainHead != r.ChainHead:
		r.add("recorded.other", nil)
	case rec.SealedSHA256 == r.SHA256:
		r.add("recorded.same", nil)
	default: // renewed since, or before
		r.add("recorded.earlier", nil)
	}
	r.conclude()
}

// Record is the verified seal record for pages and programs: the envelope, the document and its signers. All of its
// content comes from the record.
type Record struct {
	// Confirmed reports that the verdict is valid. Otherwise it is untrusted: the record is valid, but its sealer is
	// not trusted and may have written anything.
	Confirmed bool   `json:"confirmed"`
	Service   string `json:"service"`            // the installation's name
	SealedBy  string `json:"sealedBy"`           // who holds the seal's certificate
	Sender    string `json:"sender,omitempty"`   // the party on whose behalf the envelope was sent, according to the service
	TenantID  string `json:"tenantId,omitempty"` //
	VerifyURL string `json:"verifyUrl,omitempty"`

	EnvelopeID string     `json:"envelopeId"`
	Subject    string     `json:"subject,omitempty"`
	CreatedAt  *time.Time `json:"createdAt,omitempty"`
	SentAt     *time.Time `json:"sentAt,omitempty"`
	SealedAt   time.Time  `json:"sealedAt"`

	Document  RecordDocument   `json:"document"`  // the one in this file
	Documents []RecordDocument `json:"documents"` // all of the envelope, in order
	Signers   []RecordSigner   `json:"signers"`
	// Values lists the values of this document's fields. Attachments lists the files that signers attached.
	Values      []manifest.Value      `json:"values"`
	Attachments []manifest.Attachment `json:"attachments,omitempty"`
	// Appearance records the appearance of the document for its signers; absent if unknown.
	Appearance *manifest.Appearance `json:"appearance,omitempty"`
	Events     []RecordEvent        `json:"events"`
	// Pages of the sealed file: the last ones are the certificate.
	Pages RecordPages `json:"pages"`
}

// RecordDocument is one document of the envelope: number Order of Of.
type RecordDocument struct {
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	Order     int    `json:"order"`
	Of        int    `json:"of"`
	PageCount int    `json:"pageCount"`
	SHA256    string `json:"sha256"` // of the original
}

// RecordSigner is one signer, and how the service identified them.
type RecordSigner struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Email        string `json:"email"`
	RoutingOrder int    `json:"routingOrder"`
	// AuthMethod is email_otp, sms_otp or none. VerifiedAt is the time of verifying the one-time code; without it, the
	// signer only proved to have the link.
	AuthMethod     string     `json:"authMethod"`
	VerifiedAt     *time.Time `json:"verifiedAt,omitempty"`
	ConsentAt      *time.Time `json:"consentAt,omitempty"`
	ConsentVersion string     `json:"consentVersion,omitempty"`
	SignedAt       *time.Time `json:"signedAt,omitempty"`
	IP             string     `json:"ip,omitempty"`
	// Previous lists the persons who were the signer before, oldest first.
	Previous []manifest.PreviousSigner `json:"previous,omitempty"`
	// Part is the signer's role; empty for an ordinary signer.
	manifest.Part

	// PagesShown reports whether this service showed pages of this document to the signer as pictures. If false, the
	// record has no evidence of the pages' appearance for the signer.
	PagesShown bool `json:"pagesShown"`
}

// RecordEvent is one event of the audit chain.
type RecordEvent struct {
	Seq       int             `json:"seq"`
	Event     string          `json:"event"`
	Actor     string          `json:"actor"`
	Timestamp time.Time       `json:"timestamp"`
	IP        string          `json:"ip,omitempty"`
	UserAgent string          `json:"userAgent,omitempty"`
	Detail    json.RawMessage `json:"detail,omitempty"`
}

// RecordPages are the page numbers of the parts of the sealed file, from 1.
type RecordPages struct {
	Total int `json:"total"`
	// Certificate is the first page of the certificate, which reaches to the last.
	Certificate int `json:"certificate"`
}

// newRecordView returns the view of a manifest.
func newRecordView(m *manifest.Manifest, sealedBy string) *Record {
	r := &Record{
		Service: m.Service, SealedBy: sealedBy, Sender: m.Envelope.Sender, TenantID: m.Envelope.TenantID, VerifyURL: m.Verify,
		EnvelopeID: m.Envelope.ID, Subject: m.Envelope.Subject, CreatedAt: m.Envelope.CreatedAt, SentAt: m.Envelope.SentAt, SealedAt: m.SealedAt,
		Documents: []RecordDocument{}, Signers: []RecordSigner{}, Values: append([]manifest.Value{}, m.Values...), Attachments: m.Attachments, Appearance: m.Appearance,
		Events: []RecordEvent{}, Pages: RecordPages{Total: m.Pages, Certificate: m.CertificatePage},
	}
	for _, d := range m.All {
		doc := RecordDocument{d.ID, d.Name, d.Order, len(m.All), d.PageCount, d.SHA256}
		if d.ID == m.Document {
			r.Document = doc
		}
		r.Documents = append(r.Documents, doc)
	}
	for _, s := range m.Signers {
		r.Signers = append(r.Signers, RecordSigner{
			s.ID, s.Name, s.Email, s.RoutingOrder, s.AuthMethod, s.VerifiedAt, s.ConsentAt, s.ConsentVersion, s.SignedAt, s.IP, s.Previous, s.Part, m.ShowedPages(s.ID),
		})
	}
	for _, raw := range m.Audit.Events {
		var e RecordEvent
		if json.Unmarshal(raw, &e) == nil { // checked before, with the chain
			if string(e.Detail) == "null" {
				e.Detail = nil
			}
			r.Events = append(r.Events, e)
		}
	}
	return r
}
