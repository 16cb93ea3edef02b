// Package netfail classifies connection failures. Its messages contain no host name or address, so they can be stored
// and shown.
package netfail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
)

// Cause is the reason why a connection failed.
type Cause string

// The causes of connection failures.
const (
	Unknown      Cause = ""
	Timeout      Cause = "timeout"
	NameNotFound Cause = "name not found"
	Refused      Cause = "connection refused"
	Closed       Cause = "connection closed"
	Failed       Cause = "connection failed"
	WrongName    Cause = "the certificate is for a different host name"
	Expired      Cause = "the certificate has expired or is not yet valid"
	Untrusted    Cause = "the certificate is not trusted"
	NoTLS        Cause = "the server does not use TLS"
	Handshake    Cause = "the TLS handshake failed"
)

// IsTLS reports whether the cause concerns TLS.
func (c Cause) IsTLS() bool {
	return slices.Contains([]Cause{WrongName, Expired, Untrusted, NoTLS, Handshake}, c)
}

// CauseOf returns the cause of a connection error, or Unknown for any other error.
func CauseOf(err error) Cause {
	var netErr net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return Timeout
	case hasError[*net.DNSError](err):
		return NameNotFound
	}
	if cause := tlsCause(err); cause != Unknown {
		return cause
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, net.ErrClosed):
		return Closed
	case hasError[*net.OpError](err), hasError[syscall.Errno](err):
		return Failed
	}
	return Unknown
}

func hasError[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func tlsCause(err error) Cause {
	var (
		invalid x509.CertificateInvalidError
		op      *net.OpError
	)
	switch {
	case hasError[x509.HostnameError](err):
		return WrongName
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Expired
	case hasError[x509.UnknownAuthorityError](err), hasError[*tls.CertificateVerificationError](err), hasError[x509.CertificateInvalidError](err):
		return Untrusted
	case hasError[tls.RecordHeaderError](err), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return NoTLS
	case hasError[tls.AlertError](err), errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		return Handshake
	}
	return Unknown
}
