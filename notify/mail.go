// Package notify sends email over SMTP and text messages over a Twilio-compatible HTTP API. It has no knowledge of
// envelopes: package notify/templates writes the texts, and the callers decide about recipients and times.
package notify

import (
	"context"
	"io"
)

// Address is a mailbox: an optional display name, and an addr-spec (RFC 5322 §3.4.1).
type Address struct{ Name, Email string }

// Attachment is a file of an email. Open is called once per attempt to send and its reader is closed by the sender, so
// that a large file is streamed rather than held in memory.
type Attachment struct {
	Name        string
	ContentType string
	Size        int64 // in bytes; 0: not known
	Open        func(context.Context) (io.ReadCloser, error)
}

// Inline is a picture in an email's HTML: <img src="cid:ID">.
type Inline struct {
	ID          string
	Name        string
	ContentType string
	Content     []byte
}

// Logo returns a PNG as the only picture of an email; no picture if png is nil.
func Logo(id string, png []byte) []Inline {
	if png == nil {
		return nil
	}
	return []Inline{{ID: id, Name: "logo.png", ContentType: "image/png", Content: png}}
}

// Mail is one email to one recipient. Control characters in names and the subject become spaces, so that no header can
// be injected.
type Mail struct {
	To Address
	// Kind is the purpose of the email, such as invitation. It is a label for metrics, and not sent.
	Kind string
	// LastAttempt reports that the email has been rejected for days, and is abandoned if it is rejected again. It is
	// for metrics, and not sent.
	LastAttempt bool
	// FromName overrides the display name of the configured sender; empty keeps it.
	FromName string
	// ReplyTo is the address for replies; empty: the sender's.
	ReplyTo string
	Subject string
	Text    string
	// HTML is the alternative to Text; if it is empty, only Text is sent.
	HTML string
	// MessageID is the header's value without angle brackets, used unchanged, so that an email sent again after a
	// crash can be recognized as the same email.
	MessageID string
	// Thread is the Message-ID, without angle brackets, of the message that the email replies to; "": none.
	Thread string
	// UnsubscribeURL is the https address that ends such emails, by a POST without a login (RFC 8058); "": none.
	UnsubscribeURL string
	Attachments    []Attachment
	// Inline are the pictures in HTML, by Content-ID.
	Inline []Inline
}

// RefusedError is a response by which the server rejected this message, for a reason that can pass or be fixed. A
// message rejected for days is abandoned. Use errors.As to find it.
type RefusedError struct{ Err error }

// Error returns the cause. It names no address and no person.
func (r *RefusedError) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *RefusedError) Unwrap() error { return r.Err }

// TooLargeError marks a refusal of an email with attachments for its size: without them it
// may be taken. Find it with errors.As.
type TooLargeError struct{ Err error }

// Error returns the cause. It names no address and no person.
func (t *TooLargeError) Error() string { return t.Err.Error() }

// Unwrap returns the cause.
func (t *TooLargeError) Unwrap() error { return t.Err }

// PermanentError is a failure that another attempt cannot fix: a malformed address, or an address or message that the
// server permanently rejected. Use errors.As to find it.
type PermanentError struct{ Err error }

// Error returns the cause. It names no address and no person.
func (p *PermanentError) Error() string { return p.Err.Error() }

// Unwrap returns the cause.
func (p *PermanentError) Unwrap() error { return p.Err }
