package notify_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

// mailServer is a real SMTP server that can reject an email at each step.
type mailServer struct {
	addr  string
	roots *x509.CertPool

	mailErr, rcptErr, dataErr error

	mu       sync.Mutex
	received []received
	cut      int // number of messages that ended before their final dot
}

type received struct {
	from, to string
	utf8     bool
	raw      []byte
}

type serverKind struct {
	tls      bool // offers STARTTLS
	implicit bool
	auth     bool
	oauth    func(user, token string) bool // if not nil, the server offers only XOAUTH2
	noUTF8   bool
	limit    int64 // announced maximum size of an email, or zero for none
}

func serve(t *testing.T, kind serverKind, reject ...func(*mailServer)) *mailServer {
	t.Helper()
	m := &mailServer{}
	for _, f := range reject {
		f(m)
	}
	backend := smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) {
		s := &session{server: m}
		if kind.oauth != nil {
			return &oauthSession{s, kind.oauth}, nil
		}
		if kind.auth {
			return &authSession{s}, nil
		}
		return s, nil
	})
	server := smtp.NewServer(backend)
	server.Domain, server.EnableSMTPUTF8, server.AllowInsecureAuth = "localhost", !kind.noUTF8, true
	server.MaxMessageBytes = kind.limit
	server.ErrorLog = log.New(io.Discard, "", 0)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	if kind.tls || kind.implicit {
		var config *tls.Config
		config, m.roots = certificate(t)
		if kind.implicit {
			ln = tls.NewListener(ln, config)
		} else {
			server.TLSConfig = config
		}
	}
	m.addr = ln.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(ln)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		_ = ln.Close() // the server may not be listening yet
		<-done
	})
	return m
}

func (m *mailServer) messages() []received {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]received(nil), m.received...)
}

func (m *mailServer) cutMessages() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cut
}

type session struct {
	server *mailServer
	now    received
}

func (s *session) Reset()        { s.now = received{} }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, o *smtp.MailOptions) error {
	s.now = received{from: from, utf8: o.UTF8}
	return s.server.mailErr
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.now.to = to
	return s.server.rcptErr
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if err != nil {
		s.server.cut++
		return err
	}
	if s.server.dataErr == nil {
		s.now.raw = raw
		s.server.received = append(s.server.received, s.now)
	}
	return s.server.dataErr
}

type authSession struct{ *session }

func (s *authSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *authSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "mailer" || password != "p@ss:word" {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "bad password for " + user}
		}
		return nil
	}), nil
}

// rejection returns an error response. The enhanced code is, for example, 5.1.1, or empty for none.
func rejection(code int, enhanced, text string) error {
	e := &smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: text}
	if enhanced != "" {
		for i, n := range strings.Split(enhanced, ".") {
			e.EnhancedCode[i], _ = strconv.Atoi(n)
		}
	}
	return e
}

func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, roots
}

// smtpScript starts a server that sends a greeting and then responds to each line. It closes the connection when the
// result of answer is false.
func smtpScript(t *testing.T, greeting string, answer func(line string) (string, bool)) string {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			open.Go(func() { smtpDialogue(conn, greeting, answer) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		open.Wait()
	})
	return ln.Addr().String()
}

func smtpDialogue(conn net.Conn, greeting string, answer func(string) (string, bool)) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, greeting); err != nil {
		return
	}
	line := []byte{}
	one := make([]byte, 1)
	for {
		if _, err := conn.Read(one); err != nil {
			return
		}
		if line = append(line, one[0]); one[0] != '\n' {
			continue
		}
		reply, more := answer(string(line))
		line = line[:0]
		if _, err := io.WriteString(conn, reply); err != nil || !more {
			return
		}
	}
}
