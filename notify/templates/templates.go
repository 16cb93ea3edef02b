// Package templates says what the service's mails and text messages say: one
// typed struct per kind, whose Render gives the subject, the plain text and the
// HTML of the mail. It sends nothing and knows no other package of ours.
package templates

import (
	"errors"
	"time"
)

// Content is what a mail says.
type Content struct{ Subject, Text, HTML string }

// Invitation asks a signer to sign.
type Invitation struct {
	RecipientName string
	SenderName    string // who asks: the tenant's mail sender name
	Subject       string // the envelope's subject; may be empty
	Message       string // the sender's words, plain text with line breaks; may be empty
	SigningURL    string
	ExpiresAt     *time.Time
	DocumentNames []string
}

// Render writes the mail.
func (d Invitation) Render() (Content, error) { return Content{}, errors.New("not implemented") }

// SMS writes the text message.
func (d Invitation) SMS() string { return "" }

// Reminder asks a signer again.
type Reminder Invitation

// Render writes the mail.
func (d Reminder) Render() (Content, error) { return Content{}, errors.New("not implemented") }

// Code carries a one-time code.
type Code struct {
	RecipientName string
	Subject       string
	Code          string
	ValidFor      time.Duration
}

// Render writes the mail.
func (d Code) Render() (Content, error) { return Content{}, errors.New("not implemented") }

// SMS writes the text message.
func (d Code) SMS() string { return "" }

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
	RecipientName string
	SenderName    string
	Subject       string
	CompletedAt   time.Time
	Documents     []CompletedDocument
	VerifyURL     string // page where a sealed file can be checked; may be empty
}

// Render writes the mail.
func (d Completed) Render() (Content, error) { return Content{}, errors.New("not implemented") }

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
	RecipientName string
	SenderName    string
	Subject       string
	Kind          ClosedKind
	ByName        string // who declined or voided; may be empty
	ReasonText    string // in their words; may be empty
	At            time.Time
}

// Render writes the mail.
func (d Closed) Render() (Content, error) { return Content{}, errors.New("not implemented") }

// DeletionReminder warns before the sealed files are purged.
type DeletionReminder struct {
	RecipientName string
	SenderName    string
	Subject       string
	DownloadURL   string
	PurgeOn       time.Time // a date, in UTC
	DaysLeft      int
}

// Render writes the mail.
func (d DeletionReminder) Render() (Content, error) {
	return Content{}, errors.New("not implemented")
}

// WebhookDisabled tells an app's contact that an endpoint was switched off.
type WebhookDisabled struct {
	RecipientName string
	URL           string
	Since         time.Time // of the first failure in the unbroken run
	LastError     string
	ConsoleURL    string // may be empty
}

// Render writes the mail.
func (d WebhookDisabled) Render() (Content, error) {
	return Content{}, errors.New("not implemented")
}
