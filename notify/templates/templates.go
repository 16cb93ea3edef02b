// Package templates says what the service's mails and text messages say: one
// typed struct per kind, whose Render gives the subject, the plain text and the
// HTML of the mail. It sends nothing and knows no other package of ours.
//
// Names, subjects, messages and reasons come from people: they are shown as
// plain text, on one line where a line is meant, and cut to a bound.
package templates

import "time"

// Content is what a mail says.
type Content struct{ Subject, Text, HTML string }

// Invitation asks a signer to sign.
type Invitation struct {
	Language      string // BCP 47; English where there are no phrases in it
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

// Reminder asks a signer again.
type Reminder Invitation

// Code carries a one-time code.
type Code struct {
	Language      string // BCP 47; English where there are no phrases in it
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
	// DownloadURL is the portal link where the file is too large to be
	// attached; empty where it is attached.
	DownloadURL string
}

// Completed hands over the sealed documents.
type Completed struct {
	Language      string // BCP 47; English where there are no phrases in it
	Look          Look
	RecipientName string
	SenderName    string
	Subject       string
	CompletedAt   time.Time
	NotAllSigned  bool // there were people who approved or read
	Documents     []CompletedDocument
	VerifyURL     string // page that verifies a sealed file (optional)
}

// CopyNotice announces a copy to a recipient of copies.
type CopyNotice struct {
	Language      string // BCP 47; English where there are no phrases in it
	Look          Look
	RecipientName string
	SenderName    string // optional
	Subject       string // what the envelope is called
}

// ClosedKind is how an envelope ended without being completed.
type ClosedKind string

// The ways an envelope ends without being completed.
const (
	Declined ClosedKind = "declined"
	Voided   ClosedKind = "voided"
	Expired  ClosedKind = "expired"
)

// Closed says that nothing more needs to be signed.
type Closed struct {
	Language      string // BCP 47; English where there are no phrases in it
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
	Language      string // BCP 47; English where there are no phrases in it
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
	Language      string // BCP 47; English where there are no phrases in it
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
	Subject    string // what the envelope is called
	Kind       NoticeKind
	ByName     string // who declined, could not be reached, or handed over
	ByAddress  string // of who could not be reached, or took over
	ByAsk      Ask    // the request to them
	ReasonText string // the signer's words, or the mail server's (optional)
	At         time.Time
	ConsoleURL string
}

// NoticeKind is what went wrong.
type NoticeKind string

// The notices.
const (
	NoticeDeclined NoticeKind = "declined"
	NoticeBounced  NoticeKind = "bounced" // an invitation was permanently rejected
	NoticeStuck    NoticeKind = "stuck"   // all have signed, and it cannot be sealed
	// NoticeDelegated: a signer handed over to somebody else.
	NoticeDelegated NoticeKind = "delegated"
)
