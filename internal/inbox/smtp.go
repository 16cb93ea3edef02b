package inbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"time"

	"github.com/emersion/go-smtp"
)

const (
	maxRecipients = 100
	smtpTimeout   = time.Minute
)

// ServeSMTP accepts emails on ln, for any recipient and without authentication, until ctx ends. It then closes ln and
// returns nil. The listener should be bound to a loopback address.
func (b *Inbox) ServeSMTP(ctx context.Context, ln net.Listener) error {
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) {
		return &session{inbox: b}, nil
	}))
	server.Domain = "localhost"
	server.MaxMessageBytes = maxMessage
	server.MaxRecipients = maxRecipients
	server.ReadTimeout, server.WriteTimeout = smtpTimeout, smtpTimeout
	server.EnableSMTPUTF8 = true
	server.ErrorLog = log.New(io.Discard, "", 0) // clients receive errors in the responses

	stop := context.AfterFunc(ctx, func() {
		_ = server.Close()
		_ = ln.Close() // ctx may end before the server has registered ln
	})
	defer stop()
	err := server.Serve(ln)
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("inbox: %w", err)
}

type session struct {
	inbox *Inbox
	from  string
	to    []string
}

func (s *session) Reset()        { s.from, s.to = "", nil }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return nil
}

// Data stores the email on disk before the client receives the success response.
func (s *session) Data(r io.Reader) error {
	file, err := os.CreateTemp(s.inbox.dir, temporary+"*")
	if err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // has no effect if the file was moved into the inbox
	size, err := io.Copy(file, r)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return err
	}
	m, parseErr := parse(file)
	if err := file.Close(); err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	if parseErr != nil && m.Subject == "" {
		m.Subject = "(unreadable email: see its source)"
	}
	m.Kind, m.To, m.Size = KindMail, s.to, size
	if m.From == "" {
		m.From = s.from
	}
	if _, err := s.inbox.add(m, file.Name()); err != nil {
		return errors.New("inbox: the email could not be stored")
	}
	return nil
}
