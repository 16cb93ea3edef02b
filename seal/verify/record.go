package verify

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"time"

	"countersign/seal/manifest"
)

// OpenedRecord is the parsed content of seal.json.
type OpenedRecord struct {
	raw      []byte
	manifest manifest.Manifest
	kid      string
	key      *ecdsa.PublicKey
	err      error // problem with the record
	chain    error // problem with its audit chain
}

// OpenRecord parses seal.json and checks its signature and audit chain.
func OpenRecord(raw []byte) *OpenedRecord {
	r := &OpenedRecord{raw: raw}
	if r.manifest, r.kid, r.key, r.err = manifest.Open(raw); r.err == nil {
		r.chain = manifest.CheckChain(r.manifest.Audit.Events, r.manifest.Audit.Head, r.manifest.Envelope.ID)
	}
	return r
}

// of returns the opened record for the given bytes. It returns r if r was opened from the same bytes.
func (r *OpenedRecord) of(raw []byte) *OpenedRecord {
	if r != nil && bytes.Equal(r.raw, raw) {
		return r
	}
	return OpenRecord(raw)
}

// checkRecord checks that the record is consistent with itself, with its audit chain, and with the file that contains
// it.
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
	SealedSHA256   string // hash of the file currently stored by the service
	ChainHead      string // hash of the last event in the report's audit chain
}

// CompareRecorded adds the findings from the service's own record of a document, if the sealed revision is valid. A nil
// rec means that there is no record. If rec differs from the file, the document is broken, because the sealed content
// does not match the events.
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
	default: // the stored file has been renewed since then, or is an earlier version of this file
		r.add("recorded.earlier", nil)
	}
	r.conclude()
}

// Record is the verified seal record in a form for pages and programs, with the envelope, the document and its signers.
// All of its content comes from the record in the file.
type Record struct {
	// Confirmed reports whether the verdict is valid. Otherwise the verdict is untrusted, which means that the record
	// is valid, but that its sealer is not trusted and may have written anything.
	Confirmed bool   `json:"confirmed"`
	Service   string `json:"service"`          // name of the installation
	SealedBy  string `json:"sealedBy"`         // subject of the seal's certificate
	Sender    string `json:"sender,omitempty"` // party on whose behalf the envelope was sent, according to the service
	TenantID  string `json:"tenantId,omitempty"`
	VerifyURL string `json:"verifyUrl,omitempty"`

	EnvelopeID string     `json:"envelopeId"`
	Subject    string     `json:"subject,omitempty"`
	CreatedAt  *time.Time `json:"createdAt,omitempty"`
	SentAt     *time.Time `json:"sentAt,omitempty"`
	SealedAt   time.Time  `json:"sealedAt"`

	Document  RecordDocument   `json:"document"`  // the document in this file
	Documents []RecordDocument `json:"documents"` // all documents of the envelope, in order
	Signers   []RecordSigner   `json:"signers"`
	// Values lists the values of this document's fields. Attachments lists the files attached by signers.
	Values      []manifest.Value      `json:"values"`
	Attachments []manifest.Attachment `json:"attachments,omitempty"`
	// Appearance records how the document was displayed to its signers. It is omitted if unknown.
	Appearance *manifest.Appearance `json:"appearance,omitempty"`
	Events     []RecordEvent        `json:"events"`
	// Pages contains page numbers of the sealed file. The certificate's pages are the last ones.
	Pages RecordPages `json:"pages"`
}

// RecordDocument is one document of the envelope. Order is its number, and Of is the total number of documents.
type RecordDocument struct {
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	Order     int    `json:"order"`
	Of        int    `json:"of"`
	PageCount int    `json:"pageCount"`
	SHA256    string `json:"sha256"` // hash of the original
}

// RecordSigner describes one signer and the method by which the service identified them.
type RecordSigner struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Email        string `json:"email"`
	RoutingOrder int    `json:"routingOrder"`
	// AuthMethod is email_otp, sms_otp or none. VerifiedAt is the time at which the one-time code was verified. Without
	// a code, the signer proved only possession of the link.
	AuthMethod     string     `json:"authMethod"`
	VerifiedAt     *time.Time `json:"verifiedAt,omitempty"`
	ConsentAt      *time.Time `json:"consentAt,omitempty"`
	ConsentVersion string     `json:"consentVersion,omitempty"`
	SignedAt       *time.Time `json:"signedAt,omitempty"`
	IP             string     `json:"ip,omitempty"`
	// Previous lists the earlier signers whom this signer replaced, oldest first.
	Previous []manifest.PreviousSigner `json:"previous,omitempty"`
	// Part is the signer's role. It is empty for an ordinary signer.
	manifest.Part

	// PagesShown reports whether this service displayed pages of this document to the signer as pictures. If it is
	// false, the record does not prove how the pages were displayed to the signer.
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

// RecordPages contains the page numbers of the parts of the sealed file, starting at 1.
type RecordPages struct {
	Total int `json:"total"`
	// Certificate is the first page of the certificate, which extends to the last page.
	Certificate int `json:"certificate"`
}

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
		if json.Unmarshal(raw, &e) == nil { // already checked with the chain
			if string(e.Detail) == "null" {
				e.Detail = nil
			}
			r.Events = append(r.Events, e)
		}
	}
	return r
}
