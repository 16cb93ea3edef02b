// Package templates renders the service's emails and text messages. Each kind of message is a struct type. Its Render
// method returns the subject, the plain text and the HTML of the email, and its SMS method, if any, returns the text
// message. The package sends nothing. Names, subjects, messages and reasons are entered by people. They are rendered as
// plain text, on one line where a single line is expected, and truncated to a maximum length.
package templates

import "time"

// Content is the content of an email.
type Content struct{ Subject, Text, HTML string }

// Invitation invites a recipient to sign or to perform another action.
type Invitation struct {
	Language      string // BCP 47; English for unsupported languages
	Branding      Branding
	RecipientName string
	SenderName    string // the tenant's email sender name (optional)
	Subject       string // the envelope's subject (optional)
	Message       string // the sender's message, plain text with line breaks (optional)
	SigningURL    string
	ShortURL      string // a shorter link, shown below the button (optional)
	ExpiresAt     *time.Time
	DocumentNames []string
	// Request is the requested action. It is empty if the recipient is an ordinary signer.
	Request    Request
	SignerName string // the in-person signer for RequestHosting, or the witnessed signer for RequestWitnessing
}

// Request is an action that an invitation requests. The empty string is an ordinary signature.
type Request string

// The requested actions other than an ordinary signature.
const (
	RequestApproval   Request = "approver"
	RequestReading    Request = "viewer"
	RequestHosting    Request = "in_person"
	RequestWitnessing Request = "witness"
	// RequestNothing is used for recipients who receive only copies.
	RequestNothing Request = "copy"
)

// signs reports whether the request is for the recipient's own signature.
func (a Request) signs() bool { return a == "" || a == RequestWitnessing }

// Reminder repeats the request of an invitation.
type Reminder Invitation

// Code contains a one-time code.
type Code struct {
	Language      string // BCP 47; English for unsupported languages
	Branding      Branding
	RecipientName string
	SenderName    string
	Subject       string
	Request       Request // the request for which the code is needed
	Code          string
	ValidFor      time.Duration
}

// CompletedDocument is one sealed document of a completed envelope.
type CompletedDocument struct {
	Name   string
	SHA256 string // lowercase hex
	// DownloadURL is the download link of a file that is too large to be attached. It is empty if the file is
	// attached.
	DownloadURL string
}

// Completed delivers the sealed documents.
type Completed struct {
	Language      string // BCP 47; English for unsupported languages
	Branding      Branding
	RecipientName string
	SenderName    string
	Subject       string
	CompletedAt   time.Time
	NotAllSigned  bool // some recipients approved or read
	Documents     []CompletedDocument
	VerifyURL     string // URL of the page that verifies sealed files (optional)
}

// CopyNotice informs a copy recipient that a copy will follow.
type CopyNotice struct {
	Language      string // BCP 47; English for unsupported languages
	Branding      Branding
	RecipientName string
	SenderName    string // optional
	Subject       string // name of the envelope
}

// ClosedKind is the reason why an envelope ended without being completed.
type ClosedKind string

// The reasons why an envelope ended without being completed.
const (
	Declined ClosedKind = "declined"
	Voided   ClosedKind = "voided"
	Expired  ClosedKind = "expired"
)

// Closed informs a recipient that the envelope has ended and that no action is required.
type Closed struct {
	Language      string // BCP 47; English for unsupported languages
	Branding      Branding
	RecipientName string
	SenderName    string
	Subject       string
	Kind          ClosedKind
	ByName        string // person who declined or voided the envelope (optional)
	ReasonText    string // that person's reason (optional)
	At            time.Time
	Copy          bool    // the recipient receives only copies
	ByRequest     Request // the request to the person who declined
}

// DeletionReminder announces that the sealed files will be deleted.
type DeletionReminder struct {
	Language      string // BCP 47; English for unsupported languages
	Branding      Branding
	RecipientName string
	SenderName    string
	Subject       string
	DownloadURL   string
	PurgeOn       time.Time // a date, in UTC
	DaysLeft      int
}

// WebhookDisabled notifies an app's contact that a webhook endpoint was disabled.
type WebhookDisabled struct {
	Language      string // BCP 47; English for unsupported languages
	RecipientName string
	URL           string
	Since         time.Time // time of the first of the consecutive failures
	LastError     string
	ConsoleURL    string // optional
}

// Notice notifies a tenant's contact about a problem with an envelope.
type Notice struct {
	Language   string
	SenderName string
	Subject    string // name of the envelope
	Kind       NoticeKind
	ByName     string  // person who declined, could not be reached, or delegated
	ByAddress  string  // address that could not be reached, or the new signer's address
	ByRequest  Request // the request to that person
	ReasonText string  // the signer's reason, or the mail server's (optional)
	Cause      string  // code of the sealing problem, for NoticeStuck (optional)
	At         time.Time
	ConsoleURL string
}

// NoticeKind is the kind of problem that a notice reports.
type NoticeKind string

// The kinds of notices.
const (
	NoticeDeclined NoticeKind = "declined"
	NoticeBounced  NoticeKind = "bounced" // an invitation was permanently rejected
	NoticeStuck    NoticeKind = "stuck"   // all signers have signed, but the envelope cannot be sealed
	// NoticeDelegated reports that a signer delegated to another person.
	NoticeDelegated NoticeKind = "delegated"
)
