package seal

import (
	"encoding/json"
	"io"
	"time"

	"countersign/seal/manifest"
)

// Kind is the kind of a field.
type Kind = manifest.Kind

// The kinds of fields.
const (
	Signature Kind = "signature"
	Initial   Kind = "initial"
	Date      Kind = "date"
	Text      Kind = "text"
	Checkbox  Kind = "checkbox"

	Name       Kind = "name"
	Email      Kind = "email"
	Company    Kind = "company"
	Title      Kind = "title"
	SignedDate Kind = "signed_date"
	Number     Kind = "number"
	Select     Kind = "select"
	Radio      Kind = "radio"
	Attachment Kind = "attachment"
	Stamp      Kind = "stamp"
)

// Job is one document to seal, with the record of how it was signed.
type Job struct {
	Original       io.ReaderAt // the uploaded PDF, or the prepared one
	Size           int64       // its length in bytes
	OriginalSHA256 string      // of the uploaded PDF, lower-case hex; checked while streaming
	Prepared       *Prepared   // nil: recipients read the uploaded file
	Facts          *Facts      // of Original, as Admit found them; nil: Seal finds them out
	Envelope       Envelope
	Document       Document       // the one that Original holds
	Documents      []Document     // all of the envelope, in order
	Values         []Value        // of this document
	Attachments    []AttachedFile // of this document
	Signers        []Signer
	// Appearance records the appearance of this document for its signers; nil if unknown. Seal sets its file.
	Appearance *manifest.Appearance
	// Events is the audit chain in order: each one the RFC 8785 form of an
	// event, its seq, prevHash and hash included.
	Events    []json.RawMessage
	ChainHead string // hash of the last event
	VerifyURL string // public page for verifying the document
	Language  string // of the certificate, any BCP 47 tag; English if it is empty or unknown
	SealedAt  time.Time
	// Logo and Color are the sender's, for the certificate.
	Logo  []byte // PNG from picture.Logo; nil: no logo
	Color string // #rrggbb that can be read on white; "": the service's
}

// Prepared records that content was removed from the uploaded PDF before the first recipient read it. Job.Original is
// then the file without that content.
type Prepared struct {
	manifest.Prepared

	UploadSize int64       // bytes of the uploaded PDF
	Upload     io.ReaderAt // the uploaded PDF, needed if the file was rewritten
}

// sha256 returns the hash of the file that is sealed.
func (j *Job) sha256() string {
	if j.Prepared != nil {
		return j.Prepared.SHA256
	}
	return j.OriginalSHA256
}

// Envelope is the envelope of the document.
type Envelope struct {
	ID, TenantID, Subject string
	Sender                string // sender's name, as in emails
	CreatedAt, SentAt     time.Time
	OriginalHash          string // over all originals, lower-case hex
}

// Document is one PDF of the envelope.
type Document = manifest.File

// Value is a signer's value of a field.
type Value struct {
	FieldID, SignerID string
	Kind              Kind
	Page              int     // from 1
	X, Y, W, H        float64 // points from the top-left of the page as shown
	Text              string  // of a field that holds text
	Checked           bool    // of a checkbox or a radio field
	PNG               []byte  // of a signature, initial or stamp
	// Name is the sender's name of the field; Group and Option identify the choice of a radio field. Empty if unknown.
	Name, Group, Option string
	FontSize            float64 // of text, in points; 0: the largest size that fits
	Align               string  // of text: left, center or right; "": left
	Cells               int     // of text: the number of one-character cells of the field; 0: no cells
}

// Signer is a person who signed. A zero time means that the event did not occur.
type Signer struct {
	ID, Name, Email, Phone string
	AuthMethod             string // email_otp, sms_otp or none
	ConsentAt              time.Time
	ConsentVersion         string
	VerifiedAt, SignedAt   time.Time
	IP, UserAgent          string
	Order                  int // routing order, from 1
	// Shown records which values of others the signer was shown; nil if unknown.
	Shown *Shown
	// Previous lists the earlier signers in this place, oldest first.
	Previous []PreviousSigner
	// Part is the signer's role; empty for an ordinary signer.
	Part
}

// Part is the role of a signer.
type Part = manifest.Part

// Host is the person who handed over the device.
type Host = manifest.Host

// PreviousSigner is a replaced signer.
type PreviousSigner = manifest.PreviousSigner

// Shown records the values of other signers that a signer was shown.
type Shown = manifest.Shown
