package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// Reasons why an attempt had no usable answer. Their texts name no address and
// may be stored and shown.
var (
	ErrURL               = errors.New("the URL cannot be used")
	ErrNoSecret          = errors.New("there is no secret to sign with")
	ErrAddressNotAllowed = errors.New("address not allowed")
	ErrTimeout           = errors.New("timeout")
	ErrNameNotFound      = errors.New("name not found")
	ErrRefused           = errors.New("connection refused")
	ErrConnection        = errors.New("connection failed")
	ErrTLS               = errors.New("TLS failed")
	ErrRedirect          = errors.New("redirect refused")
	ErrAnswer            = errors.New("not a valid HTTP answer")
)

// classify reduces what went wrong to one of the reasons above. outer is the
// caller's context: its end is no fault of the endpoint.
func classify(outer context.Context, err error) error {
	if outer.Err() != nil {
		return fmt.Errorf("delivery interrupted: %w", outer.Err())
	}
	var (
		netErr  net.Error
		lookup  *net.DNSError
		op      *net.OpError
		syscErr syscall.Errno
	)
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork), errors.Is(err, ssrf.ErrInvalidHostPort):
		return ErrAddressNotAllowed
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return ErrTimeout
	case errors.As(err, &lookup):
		return ErrNameNotFound
	}
	if cause := tlsFailure(err); cause != "" {
		return fmt.Errorf("%w: %s", ErrTLS, cause)
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return ErrRefused
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: closed before the answer was complete", ErrConnection)
	case errors.As(err, &op), errors.As(err, &syscErr):
		return ErrConnection
	}
	return ErrAnswer
}

func tlsFailure(err error) string {
	var (
		unverified *tls.CertificateVerificationError
		unknown    x509.UnknownAuthorityError
		name       x509.HostnameError
		invalid    x509.CertificateInvalidError
		record     tls.RecordHeaderError
		alert      tls.AlertError
	)
	switch {
	case errors.As(err, &name):
		return "the certificate is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not yet valid"
	case errors.As(err, &unknown), errors.As(err, &unverified), errors.As(err, &invalid):
		return "the certificate is not trusted"
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the endpoint does not speak TLS"
	case errors.As(err, &alert):
		return "handshake failed"
	}
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error") {
		return "handshake failed"
	}
	return ""
}
