// Package templates renders the service's emails and text messages: one typed struct per kind, whose Render returns
// the subject, the plain text and the HTML of the email. It sends nothing. Names, subjects, messages and reasons come
// from people: they are rendered as plain text, on one line where a line is expected, and cut to a maximum length.
package templates

import "time"

// Content is the content of an email.
type Content struct{ Subject, Text, HTML string }

// Invitation invites a signer to sign.
type Invitation struct {
	Language      string // BCP 47; English for unsupported languages
	Look          Look
	RecipientName string
	SenderName    string // the tenant's email sender name (optional)
	Subject       string // the envelope's subject (optional)
	Message       string // the sender's message, plain text with line breaks (optional)
	SigningURL    string
	ShortURL      string // a shorter link, shown below the button (optional)
	ExpiresAt     *time.Time
	DocumentNames []string
	// Ask is the request, if it is not for an ordinary signature.
	Ask        Ask
	SignerName string // the in-person signer, or the witnessed signer; for AskHost and AskWitness
}

// Ask is the request of an invitation; "": a signature.
type Ask string

// Requests other than for a signature.
const (
	AskApprove Ask = "approver"
	AskRead    Ask = "viewer"
	AskHost    Ask = "in_person"
	AskWitness Ask = "witness"
	// AskNothing is for recipients of copies only.
	AskNothing Ask = "copy"
)

// signs reports whether the recipient is to sign with their own hand.
func (a Ask) signs() bool { return a == "" || a == AskWitness }

// Reminder reminds a signer.
type Reminder Invitation

// Code carries a one-time code.
type Code struct {
	Language      string // BCP 47; English for unsupported languages
	Look          Look
	RecipientName string
	SenderName    string
	Subject       string
	Ask           Ask // what the code is for
	Code          string
	ValidFor      time.Duration
}

// CompletedDocument is one sealed document of a completed envelope.
type CompletedDocument struct {
	Name   string
	SHA256 string // lowercase hex
	// DownloadURL is the portal link of a file that is too large to be attached; empty if it is attached.
	DownloadURL string
}

// Completed hands over the sealed documents.
type Completed struct {
	Language      string // BCP 47; English for unsupported languages
	Look          Look
	RecipientName string
	SenderName    string
	Subject       string
	CompletedAt   time.Time
	NotAllSigned  bool // some people approved or read
	Documents     []CompletedDocument
	VerifyURL     string // page that verifies a sealed file (optional)
}

// CopyNotice announces a copy to a recipient of copies.
type CopyNotice struct {
	Language      string // BCP 47; English for unsupported languages
	Look          Look
	RecipientName string
	SenderName    string // optional
	Subject       string // name of the envelope
}

// ClosedKind is the way in which an envelope ended without completion.
type ClosedKind string

// The ways an envelope ends without being completed.
const (
	Declined ClosedKind = "declined"
	Voided   ClosedKind = "voided"
	Expired  ClosedKind = "expired"
)

// Closed notifies a recipient that nothing remains to be signed.
type Closed struct {
	Language      string // BCP 47; English for unsupported languages
	Look          Look
	RecipientName string
	SenderName    string
	Subject       string
	Kind          ClosedKind
	ByName        string // who declined or voided (optional)
	ReasonText    string // in their words (optional)
	At            time.Time
	Copy          bool // to a recipient of copies
	ByAsk         Ask  // the request that was declined
}

// DeletionReminder warns before the sealed files are purged.
type DeletionReminder struct {
	Language      string // BCP 47; English for unsupported languages
	Look          Look
	RecipientName string
	SenderName    string
	Subject       string
	DownloadURL   string
	PurgeOn       time.Time // a date, in UTC
	DaysLeft      int
}

// WebhookDisabled notifies an app's contact that an endpoint was disabled.
type WebhookDisabled struct {
	Language      string // BCP 47; English for unsupported languages
	RecipientName string
	URL           string
	Since         time.Time // of the first failure in the unbroken run
	LastError     string
	ConsoleURL    string // optional
}

// Notice notifies the sender of an envelope of a problem with it.
type Notice struct {
	Language   string
	SenderName string
	Subject    string // name of the envelope
	Kind       NoticeKind
	ByName     string // who declined, could not be reached, or handed over
	ByAddress  string // of who could not be reached, or took over
	ByAsk      Ask    // the request to them
	ReasonText string // the signer's words, or the mail server's (optional)
	At         time.Time
	ConsoleURL string
}

// NoticeKind is the kind of problem.
type NoticeKind string

// The notices.
const (
	NoticeDeclined NoticeKind = "declined"
	NoticeBounced  NoticeKind = "bounced" // an invitation was permanently rejected
	NoticeStuck    NoticeKind = "stuck"   // all have signed, and it cannot be sealed
	// NoticeDelegated: a signer delegated to another person.
	NoticeDelegated NoticeKind = "delegated"
)
