// Package netfail says why a connection failed, in words that carry no name or
// address and may be stored and shown.
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

// Cause is why a connection failed.
type Cause string

// The causes.
const (
	Unknown      Cause = ""
	Timeout      Cause = "timeout"
	NameNotFound Cause = "name not found"
	Refused      Cause = "connection refused"
	Closed       Cause = "connection closed"
	Failed       Cause = "connection failed"
	WrongName    Cause = "the certificate is for another name"
	Expired      Cause = "the certificate has expired or is not yet valid"
	Untrusted    Cause = "the certificate is not trusted"
	NoTLS        Cause = "the other side does not speak TLS"
	Handshake    Cause = "the TLS handshake failed"
)

// IsTLS reports whether encryption was what failed.
func (c Cause) IsTLS() bool {
	return slices.Contains([]Cause{WrongName, Expired, Untrusted, NoTLS, Handshake}, c)
}

// CauseOf is why err came from a connection; Unknown if it is not of that kind.
func CauseOf(err error) Cause {
	var (
		netErr  net.Error
		lookup  *net.DNSError
		op      *net.OpError
		sysErr  syscall.Errno
		timeout = errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout()
	)
	switch {
	case timeout:
		return Timeout
	case errors.As(err, &lookup):
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
	case errors.As(err, &op), errors.As(err, &sysErr):
		return Failed
	}
	return Unknown
}

func tlsCause(err error) Cause {
	var (
		unverified *tls.CertificateVerificationError
		unknown    x509.UnknownAuthorityError
		name       x509.HostnameError
		invalid    x509.CertificateInvalidError
		record     tls.RecordHeaderError
		alert      tls.AlertError
		op         *net.OpError
	)
	switch {
	case errors.As(err, &name):
		return WrongName
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Expired
	case errors.As(err, &unknown), errors.As(err, &unverified), errors.As(err, &invalid):
		return Untrusted
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return NoTLS
	case errors.As(err, &alert), errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		return Handshake
	}
	return Unknown
}
