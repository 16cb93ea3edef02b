package seal

import (
	"encoding/json"
	"io"
	"time"

	"countersign/seal/manifest"
)

// Kind is the type of a field.
type Kind = manifest.Kind

// The field types.
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

// Job is one document to seal, with its signing record.
type Job struct {
	Original       io.ReaderAt // the uploaded PDF or the prepared file
	Size           int64       // in bytes
	OriginalSHA256 string      // hash of the uploaded PDF in lower-case hex; checked while copying
	Prepared       *Prepared   // nil if recipients read the uploaded file unchanged
	Facts          *Facts      // facts of Original from Admit; if nil, Seal determines them
	Envelope       Envelope
	Document       Document       // the document to seal
	Documents      []Document     // all documents of the envelope, in order
	Values         []Value        // values of this document only
	Attachments    []AttachedFile // attachments of this document only
	Signers        []Signer
	// Appearance records how this document was displayed to its signers. It is nil if unknown. Seal sets its file hash
	// and size.
	Appearance *manifest.Appearance
	// Events is the audit chain in order. Each event is in RFC 8785 canonical form and includes seq, prevHash and hash.
	Events    []json.RawMessage
	ChainHead string // hash of the last event
	VerifyURL string // address of the public verification page
	Language  string // BCP 47 tag of the certificate's language; English if empty or unknown
	SealedAt  time.Time
	// Logo and Color are the sender's branding on the certificate.
	Logo  []byte // PNG from picture.Logo; nil if there is none
	Color string // #rrggbb, legible on white; empty means the service's color
}

// Prepared describes an upload from which content was removed before the first recipient read it. Job.Original is then
// the resulting file.
type Prepared struct {
	manifest.Prepared

	UploadSize int64       // size of the uploaded PDF in bytes
	Upload     io.ReaderAt // the uploaded PDF, needed if the file was rewritten
}

// sha256 returns the hash of the file to seal.
func (j *Job) sha256() string {
	if j.Prepared != nil {
		return j.Prepared.SHA256
	}
	return j.OriginalSHA256
}

// Envelope is the envelope that contains the document.
type Envelope struct {
	ID, TenantID, Subject string
	Sender                string // name of the sender, as in emails
	CreatedAt, SentAt     time.Time
	OriginalHash          string // hash over all originals in lower-case hex
}

// Document is one PDF of the envelope.
type Document = manifest.File

// Value is a signer's value for a field.
type Value struct {
	FieldID, SignerID string
	Kind              Kind
	Page              int     // starting at 1
	X, Y, W, H        float64 // points from the top left corner of the displayed page
	Text              string  // value of a text field
	Checked           bool    // value of a checkbox or radio field
	PNG               []byte  // picture of a signature, initial or stamp
	// Name is the field name chosen by the sender. Group and Option identify the option of a radio field. Each is empty
	// if unknown.
	Name, Group, Option string
	FontSize            float64 // size of text, in points; 0 means the largest size that fits
	Align               string  // alignment of text: left, center or right; empty means left
	Cells               int     // number of one-character cells of a text field; 0 if it has none
}

// Signer is a person who signed. A zero time means that the event did not occur.
type Signer struct {
	ID, Name, Email, Phone string
	AuthMethod             string // email_otp, sms_otp or none
	ConsentAt              time.Time
	ConsentVersion         string
	VerifiedAt, SignedAt   time.Time
	IP, UserAgent          string
	Order                  int // routing order, starting at 1
	// Shown records which values of other signers the signer was shown. It is nil if unknown.
	Shown *Shown
	// Previous lists the earlier signers whom this signer replaced, oldest first.
	Previous []PreviousSigner
	// Part is the signer's role. It is empty for an ordinary signer.
	Part
}

// Part is the role of a signer.
type Part = manifest.Part

// Host is the person who hosted an in-person signing and handed over the device.
type Host = manifest.Host

// PreviousSigner is a replaced signer.
type PreviousSigner = manifest.PreviousSigner

// Shown records the values of other signers that a signer was shown.
type Shown = manifest.Shown
