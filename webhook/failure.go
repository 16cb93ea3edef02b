package webhook

import (
	"context"
	"errors"
	"fmt"

	"code.dny.dev/ssrf"

	"countersign/internal/netfail"
)

// Reasons why an attempt got no usable response. Their messages contain no addresses and are safe to store and display.
var (
	ErrURL               = errors.New("the URL cannot be used")
	errNoSecret          = errors.New("no signing secret")
	ErrAddressNotAllowed = errors.New("address not allowed")
	ErrTimeout           = errors.New("timeout")
	ErrNameNotFound      = errors.New("name not found")
	ErrRefused           = errors.New("connection refused")
	ErrConnection        = errors.New("connection failed")
	ErrTLS               = errors.New("TLS failed")
	ErrRedirect          = errors.New("redirect not followed")
	ErrBadResponse       = errors.New("not a valid HTTP response")
)

// classify maps an error to one of the reasons above. If the caller's context, outer, has ended, the endpoint is not at
// fault.
func classify(outer context.Context, err error) error {
	if outer.Err() != nil {
		return fmt.Errorf("delivery interrupted: %w", outer.Err())
	}
	if errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork) || errors.Is(err, ssrf.ErrInvalidHostPort) {
		return ErrAddressNotAllowed
	}
	cause := netfail.CauseOf(err)
	switch {
	case cause.IsTLS():
		return fmt.Errorf("%w: %s", ErrTLS, cause)
	case cause == netfail.Timeout:
		return ErrTimeout
	case cause == netfail.NameNotFound:
		return ErrNameNotFound
	case cause == netfail.Refused:
		return ErrRefused
	case cause == netfail.Closed:
		return fmt.Errorf("%w: closed before the response was complete", ErrConnection)
	case cause == netfail.Failed:
		return ErrConnection
	}
	return ErrBadResponse
}
