package verify

import (
	"encoding/json"
	"time"

	"countersign/seal/manifest"
)

// Record is the verified seal record, for pages and programs: what the seal
// says of the envelope, the document and its signers. Nothing of it is read
// from anywhere else in the file.
type Record struct {
	// Confirmed says that the report's verdict is valid. Otherwise it is
	// untrusted: the record is sound, but its sealer is not trusted and may have written anything.
	Confirmed bool   `json:"confirmed"`
	Service   string `json:"service"`            // the installation's name
	SealedBy  string `json:"sealedBy"`           // who holds the seal's certificate
	Sender    string `json:"sender,omitempty"`   // on whose behalf the envelope was sent, as the service knew it
	TenantID  string `json:"tenantId,omitempty"` //
	VerifyURL string `json:"verifyUrl,omitempty"`

	EnvelopeID string     `json:"envelopeId"`
	Subject    string     `json:"subject,omitempty"`
	CreatedAt  *time.Time `json:"createdAt,omitempty"`
	SentAt     *time.Time `json:"sentAt,omitempty"`
	SealedAt   time.Time  `json:"sealedAt"`

	Document    RecordDocument     `json:"document"`  // the one in this file
	Documents   []RecordDocument   `json:"documents"` // all of the envelope, in order
	Signers     []RecordSigner     `json:"signers"`
	Values      []RecordValue      `json:"values"`
	Attachments []RecordAttachment `json:"attachments,omitempty"`
	Events      []RecordEvent      `json:"events"`
	// Pages of the file as it was sealed: the last ones are the certificate.
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
	// AuthMethod is email_otp, sms_otp or none; VerifiedAt, when the one-time
	// code was given. Without it, only the link was known to the signer.
	AuthMethod     string     `json:"authMethod"`
	VerifiedAt     *time.Time `json:"verifiedAt,omitempty"`
	ConsentAt      *time.Time `json:"consentAt,omitempty"`
	ConsentVersion string     `json:"consentVersion,omitempty"`
	SignedAt       *time.Time `json:"signedAt,omitempty"`
	IP             string     `json:"ip,omitempty"`
	// Previous is who was to sign before, the first person first.
	Previous []manifest.PreviousSigner `json:"previous,omitempty"`
	// Part is what part the person plays, where that is not a signer's own.
	manifest.Part
}

// RecordValue is what a field of this document was given.
type RecordValue struct {
	FieldID     string        `json:"fieldId"`
	SignerID    string        `json:"signerId"`
	Kind        manifest.Kind `json:"kind"`
	Page        int           `json:"page"`
	Box         [4]float64    `json:"box"` // x, y, w, h; points from the top left of the page as shown
	Text        string        `json:"text,omitempty"`
	Checked     bool          `json:"checked,omitempty"`
	ImageSHA256 string        `json:"imageSha256,omitempty"`
	Name        string        `json:"name,omitempty"`
	Group       string        `json:"group,omitempty"`
	Option      string        `json:"option,omitempty"`
}

// RecordAttachment is a file that a signer gave, embedded in this one under Name.
type RecordAttachment struct {
	ID       string `json:"id"`
	FieldID  string `json:"fieldId"`
	SignerID string `json:"signerId"`
	Name     string `json:"name"`
	MimeType string `json:"mimeType"`
	Size     int64  `json:"size"`
	SHA256   string `json:"sha256"`
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

// RecordPages tell which pages of the sealed file are what, from 1.
type RecordPages struct {
	Total int `json:"total"`
	// Certificate is the first page of the certificate, which reaches to the last.
	Certificate int `json:"certificate"`
}

// newRecordView makes the view of a manifest; pages is how many the sealed file has.
func newRecordView(m *manifest.Manifest, sealedBy string, pages int) *Record {
	r := &Record{
		Service: m.Service, SealedBy: sealedBy, Sender: m.Envelope.Sender, TenantID: m.Envelope.TenantID, VerifyURL: m.Verify,
		EnvelopeID: m.Envelope.ID, Subject: m.Envelope.Subject, CreatedAt: m.Envelope.CreatedAt, SentAt: m.Envelope.SentAt, SealedAt: m.SealedAt,
		Documents: []RecordDocument{}, Signers: []RecordSigner{}, Values: []RecordValue{}, Events: []RecordEvent{},
		Pages: RecordPages{Total: pages, Certificate: m.CertificatePage},
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
			s.ID, s.Name, s.Email, s.RoutingOrder, s.AuthMethod, s.VerifiedAt, s.ConsentAt, s.ConsentVersion, s.SignedAt, s.IP, s.Previous, s.Part,
		})
	}
	for _, v := range m.Values {
		r.Values = append(r.Values, RecordValue{v.FieldID, v.SignerID, v.Kind, v.Page, v.Box, v.Text, v.Checked, v.Image, v.Name, v.Group, v.Option})
	}
	for _, a := range m.Attachments {
		r.Attachments = append(r.Attachments, RecordAttachment(a))
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
