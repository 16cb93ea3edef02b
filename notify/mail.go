// Package notify sends email over SMTP, and text messages over a Twilio-compatible HTTP API. It does not depend on
// envelopes: package notify/templates renders the messages, and the callers choose the recipients and the time of
// sending.
package notify

import (
	"context"
	"io"
)

// Address is a mailbox, which consists of an optional display name and an addr-spec (RFC 5322 §3.4.1).
type Address struct{ Name, Email string }

// Attachment is a file attached to an email. Open is called once for each attempt to send the email, so a large file is
// streamed rather than held in memory. The sender closes the reader.
type Attachment struct {
	Name        string
	ContentType string
	Size        int64 // in bytes, or zero if unknown
	Open        func(context.Context) (io.ReadCloser, error)
}

// Inline is an image that is embedded in an email's HTML as <img src="cid:ID">.
type Inline struct {
	ID          string
	Name        string
	ContentType string
	Content     []byte
}

// Logo returns a PNG as the only inline image of an email, or no image if png is nil.
func Logo(id string, png []byte) []Inline {
	if png == nil {
		return nil
	}
	return []Inline{{ID: id, Name: "logo.png", ContentType: "image/png", Content: png}}
}

// Mail is an email to one recipient. Control characters in names and the subject are replaced with spaces, so that no
// header can be injected.
type Mail struct {
	To Address
	// Kind is the purpose of the email, such as invitation. It is a label for metrics and is not sent.
	Kind string
	// LastAttempt indicates that the email has been rejected for days and will be abandoned if it is rejected again. It
	// is used for metrics and is not sent.
	LastAttempt bool
	// FromName overrides the display name of the configured sender. If it is empty, the configured name is used.
	FromName string
	// ReplyTo is the address for replies. If it is empty, replies go to the sender.
	ReplyTo string
	Subject string
	Text    string
	// HTML is an alternative to Text. If it is empty, only Text is sent.
	HTML string
	// MessageID is the value of the Message-ID header, without angle brackets. It is used unchanged, so that an email
	// that is sent again after a crash can be recognized as the same email.
	MessageID string
	// Thread is the Message-ID, without angle brackets, of the message to which this email replies, or empty if there
	// is none.
	Thread string
	// UnsubscribeURL is the https URL that unsubscribes the recipient from such emails when it receives a POST request
	// without a login (RFC 8058). It is empty if recipients cannot unsubscribe.
	UnsubscribeURL string
	Attachments    []Attachment
	// Inline contains the images in HTML, by Content-ID.
	Inline []Inline
}

// RejectedError reports that the server rejected this message for a reason that may be temporary or can be fixed. A
// message that has been rejected for days is abandoned. Use errors.As to detect a RejectedError.
type RejectedError struct{ Err error }

// Error returns the cause. It contains no address and no name of a person.
func (r *RejectedError) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *RejectedError) Unwrap() error { return r.Err }

// TooLargeError reports that the server rejected an email because of the size of its attachments. It may accept the
// email without them. Use errors.As to detect it.
type TooLargeError struct{ Err error }

// Error returns the cause. It contains no address and no name of a person.
func (t *TooLargeError) Error() string { return t.Err.Error() }

// Unwrap returns the cause.
func (t *TooLargeError) Unwrap() error { return t.Err }

// PermanentError is a failure that a retry cannot fix: a malformed address, or an address or message that the server
// permanently rejected. Use errors.As to detect it.
type PermanentError struct{ Err error }

// Error returns the cause. It contains no address and no name of a person.
func (p *PermanentError) Error() string { return p.Err.Error() }

// Unwrap returns the cause.
func (p *PermanentError) Unwrap() error { return p.Err }
