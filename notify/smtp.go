package notify

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

const (
	defaultTimeout = time.Minute
	quitTimeout    = 2 * time.Second
)

// SMTPConfig configures the connection to the mail server.
type SMTPConfig struct {
	// URL is smtp://user:password@host:port?tls=starttls|none|implicit or smtps://user:password@host:port. The value
	// of tls defaults to starttls, which the server must then support. The scheme smtps is equivalent to
	// tls=implicit. The port defaults to 587 (starttls), 465 (implicit) or 25 (none).
	URL string
	// OAuth replaces the password. In this case the URL contains only a user, which is the mailbox.
	OAuth OAuthConfig
	// From is the sender, either "Name <address>" or a bare address.
	From string
	// Timeout limits the duration of each exchange with the server. Zero means one minute.
	Timeout time.Duration
	// RootCAs contains the trusted roots for the server's certificate. If it is nil, the system's roots are used.
	RootCAs *x509.CertPool
	// Now returns the time for the Date header. If it is nil, the system clock is used.
	Now func() time.Time
}

// The encryption of a connection, as specified in the URL.
const (
	tlsStart    = "starttls"
	tlsNone     = "none"
	tlsImplicit = "implicit"
)

// tlsModes lists the default port and the library's policy for each kind of encryption.
var tlsModes = map[string]struct {
	port   int
	policy gomail.TLSPolicy
}{
	tlsStart: {587, gomail.TLSMandatory}, tlsNone: {25, gomail.NoTLS}, tlsImplicit: {465, gomail.TLSOpportunistic},
}

// SMTP sends emails through a mail server, each over its own connection. It is safe for concurrent use.
type SMTP struct {
	host, user, password string
	oauth                *tokens // replaces the password, or nil if not configured
	port                 int
	mode                 string
	from                 netmail.Address
	domain               string
	timeout              time.Duration
	roots                *x509.CertPool
	now                  func() time.Time
}

// NewSMTP validates the configuration, without connecting. Its errors do not contain the URL, because it includes a
// password.
func NewSMTP(cfg SMTPConfig) (*SMTP, error) {
	s := &SMTP{timeout: cfg.Timeout, roots: cfg.RootCAs, now: cfg.Now}
	if s.timeout <= 0 {
		s.timeout = defaultTimeout
	}
	oauth := cfg.OAuth != OAuthConfig{}
	if err := s.readURL(cfg.URL, oauth); err != nil {
		return nil, fmt.Errorf("SMTP URL: %w", err)
	}
	if oauth {
		var err error
		if s.oauth, err = newTokens(cfg.OAuth, s.user, cfg.Now); err != nil {
			return nil, fmt.Errorf("SMTP OAuth: %w", err)
		}
	}
	from, err := netmail.ParseAddress(cfg.From)
	if err != nil {
		return nil, errors.New("mail sender: not an address such as \"Name <name@example.com>\"")
	}
	addr, domain, err := asciiDomain(from.Address)
	if err != nil {
		return nil, fmt.Errorf("mail sender: %w", err)
	}
	s.from, s.domain = netmail.Address{Name: headerText(from.Name), Address: addr}, domain
	return s, nil
}

// readURL parses the URL. With OAuth, a user in the URL must have no password. Otherwise, it must have one.
func (s *SMTP) readURL(raw string, oauth bool) error {
	u, err := url.Parse(raw)
	if err != nil {
		return errors.New("cannot be parsed")
	}
	q := u.Query()
	s.mode = q.Get("tls")
	for name := range q {
		if name != "tls" {
			return fmt.Errorf("unknown parameter %q", name)
		}
	}
	switch {
	case u.Scheme == "smtps" && (s.mode == "" || s.mode == tlsImplicit):
		s.mode = tlsImplicit
	case u.Scheme == "smtps":
		return errors.New("smtps implies TLS: omit tls")
	case u.Scheme != "smtp":
		return errors.New("the scheme must be smtp or smtps")
	case s.mode == "":
		s.mode = tlsStart
	}
	mode, ok := tlsModes[s.mode]
	if !ok {
		return errors.New("tls must be starttls, implicit or none")
	}
	s.port = mode.port
	if s.host = u.Hostname(); s.host == "" {
		return errors.New("no host")
	}
	if (u.Path != "" && u.Path != "/") || u.Fragment != "" {
		return errors.New("only host, port and tls are accepted")
	}
	if p := u.Port(); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 65535 {
			return errors.New("the port must be a number from 1 to 65535")
		}
		s.port = n
	}
	if u.User != nil {
		password, ok := u.User.Password()
		switch {
		case oauth && ok:
			return errors.New("when OAuth is used, the URL must not contain a password")
		case !oauth && !ok, u.User.Username() == "":
			return errors.New("user and password must be set together")
		}
		s.user, s.password = u.User.Username(), password
	}
	return nil
}

// String returns the address of the server, without the credentials.
func (s *SMTP) String() string {
	return "smtp " + net.JoinHostPort(s.host, strconv.Itoa(s.port)) + " (" + s.mode + ")"
}

// MessageID returns a Message-ID with the sender's domain. The same parts always result in the same ID, which reveals
// nothing about the parts.
func (s *SMTP) MessageID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16]) + "@" + s.domain
}

// Send sends one email to the server. It returns nil if the server accepted it. The error is a *PermanentError if a
// retry cannot succeed, and a *RejectedError if the server rejected this email but may accept it later. A
// *TooLargeError wraps one of these if the server may accept the email without its attachments. The error's text
// contains the step and the server's status codes, and never an address.
func (s *SMTP) Send(ctx context.Context, m Mail) error {
	_, err := s.Deliver(ctx, m)
	return err
}

// Deliver is like Send, but on success also returns the server's response on one line.
func (s *SMTP) Deliver(ctx context.Context, m Mail) (answer string, err error) {
	out, err := s.compose(ctx, m)
	if err != nil {
		return "", fmt.Errorf("mail: %w", err)
	}
	defer out.close()
	err = s.exchange(ctx, out.utf8, func(ctx context.Context, c *gomail.Client, sc *smtp.Client) error {
		if ok, _ := sc.Extension("SMTPUTF8"); out.utf8 && !ok {
			return &PermanentError{errors.New("mail: the server does not accept non-ASCII addresses (SMTPUTF8)")}
		}
		_, limit := sc.Extension("SIZE")
		if err := fits(limit, m.Attachments); err != nil {
			return err
		}
		err := c.SendWithSMTPClient(sc, out.msg)
		if out.msg.IsDelivered() {
			return nil
		}
		if readErr := out.readErr(); readErr != nil {
			return fmt.Errorf("mail: attachment: %w", readErr)
		}
		return sendFailure(ctx, err, m.To.Email, len(m.Attachments) > 0)
	})
	return oneLine(out.msg.ServerResponse()), err
}

// fits compares the encoded size of the files with the size limit announced by the server (RFC 1870). There is no limit
// if the announced value is empty, zero or not a number.
func fits(limit string, files []Attachment) error {
	most, err := strconv.ParseInt(limit, 10, 64)
	if err != nil || most <= 0 {
		return nil //nolint:nilerr // the server announces no size limit
	}
	var size int64
	for _, f := range files {
		size += (f.Size + 56) / 57 * 78 // base64 in lines of 76 characters
	}
	if size > most {
		return &TooLargeError{&PermanentError{errors.New("mail: larger than the server accepts")}}
	}
	return nil
}

// Check connects, authenticates and disconnects. It verifies that the service can send emails, without sending one.
func (s *SMTP) Check(ctx context.Context) error {
	return s.exchange(ctx, false, func(context.Context, *gomail.Client, *smtp.Client) error { return nil })
}

type step func(context.Context, *gomail.Client, *smtp.Client) error

// exchange runs a step on an authenticated connection. It manages the connection itself, so that the connection is
// closed when ctx ends, and is closed without QUIT if the step fails. A QUIT in the middle of DATA would become part of
// the message.
func (s *SMTP) exchange(ctx context.Context, utf8 bool, do step) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	var conn net.Conn
	dialed := func(c net.Conn) {
		conn = c
		context.AfterFunc(ctx, func() { _ = c.Close() })
	}
	password := s.password
	if s.oauth != nil {
		token, err := s.oauth.get(ctx)
		if err != nil {
			return oauthFailure(ctx, err)
		}
		password = token
	}
	client, err := gomail.NewClient(s.host, s.options(utf8, password, dialed)...)
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	defer func() {
		if conn != nil {
			_ = conn.Close() // closing it twice is harmless, and no data can be lost
		}
	}()
	sc, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		if s.oauth != nil && rejected(err) {
			s.oauth.drop(password) // the token may have been revoked, so the next attempt fetches a new one
		}
		return connectFailure(ctx, err, s.user, password)
	}
	if err := do(ctx, client, sc); err != nil {
		return err
	}
	// The server has accepted the email, even if QUIT fails.
	quit, cancelQuit := context.WithTimeout(ctx, quitTimeout)
	defer cancelQuit()
	defer context.AfterFunc(quit, func() { _ = conn.Close() })()
	_ = client.CloseWithSMTPClient(sc)
	return nil
}

func (s *SMTP) options(utf8 bool, password string, dialed func(net.Conn)) []gomail.Option {
	tlsConfig := &tls.Config{ServerName: s.host, RootCAs: s.roots, MinVersion: tls.VersionTLS12}
	opts := []gomail.Option{
		// Set the library's own timeout longer than the timeout of ctx, so that ctx always ends first.
		gomail.WithPort(s.port), gomail.WithTimeout(2 * s.timeout), gomail.WithHELO(s.domain),
		gomail.WithTLSConfig(tlsConfig), gomail.WithTLSPolicy(tlsModes[s.mode].policy),
		gomail.WithoutNoop(), gomail.WithoutRset(),
		gomail.WithDialContextFunc(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := s.dial(ctx, network, addr, tlsConfig)
			if err == nil {
				dialed(conn)
			}
			return conn, err
		}),
	}
	if !utf8 {
		opts = append(opts, gomail.WithoutSMTPUTF8())
	}
	if s.user == "" {
		return opts
	}
	opts = append(opts, gomail.WithUsername(s.user), gomail.WithPassword(password))
	if s.oauth != nil {
		return append(opts, gomail.WithSMTPAuth(gomail.SMTPAuthXOAUTH2))
	}
	mechanisms := []gomail.SMTPAuthType{
		gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin,
		gomail.SMTPAuthCramMD5,
	}
	if s.mode == tlsNone { // explicitly configured by the operator
		mechanisms[2], mechanisms[3] = gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc
	}
	return append(opts, gomail.WithOpportunisticSMTPAuth(mechanisms...))
}

func (s *SMTP) dial(ctx context.Context, network, addr string, cfg *tls.Config) (net.Conn, error) {
	dialer := &net.Dialer{}
	if s.mode == tlsImplicit {
		return (&tls.Dialer{NetDialer: dialer, Config: cfg}).DialContext(ctx, network, addr)
	}
	return dialer.DialContext(ctx, network, addr)
}
