package notify

import (
	"context"
	"errors"
	"time"
)

// SMTPConfig says how to reach the mail server.
type SMTPConfig struct {
	// URL is smtp://user:password@host:port?tls=starttls|none|implicit or
	// smtps://user:password@host:port.
	URL string
	// From is the sender, as "Name <address>" or a bare address.
	From string
	// Timeout bounds one whole exchange with the server; 0 means 30 s.
	Timeout time.Duration
}

// SMTP sends mails through one mail server. It is safe for concurrent use.
type SMTP struct{}

// NewSMTP checks the configuration; it does not connect.
func NewSMTP(cfg SMTPConfig) (*SMTP, error) { return nil, errors.New("not implemented") }

// Send delivers one mail to the server. The error is a *Permanent if another
// attempt cannot succeed.
func (s *SMTP) Send(ctx context.Context, m Mail) error { return errors.New("not implemented") }

// Check connects, greets, authenticates and quits: it shows that mails could
// be sent now, without sending one.
func (s *SMTP) Check(ctx context.Context) error { return errors.New("not implemented") }

// MessageID joins parts into a Message-ID under the sender's domain. The same
// parts give the same id.
func (s *SMTP) MessageID(parts ...string) string { return "" }
