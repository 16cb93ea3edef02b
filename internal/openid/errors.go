package openid

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// ErrUnreachable reports that the provider did not respond, or that its response is not from an OpenID provider.
var ErrUnreachable = errors.New("the OpenID provider does not answer as it should")

// Refusal is the reason that a provider's response does not sign a person in. The reason names no person and contains
// no part of the response.
type Refusal struct{ Reason string }

// Error implements error.
func (r *Refusal) Error() string { return "OpenID sign-in refused: " + r.Reason }

func refused(reason string) error { return &Refusal{reason} }

// unreachable returns an error with the details that an operator needs, without the body of a response.
func unreachable(err error) error {
	var (
		address  *url.Error
		mismatch *oidc.IssuerMismatchError
	)
	switch {
	case errors.Is(err, errTooLarge):
		return fmt.Errorf("%w: its answer is too large", ErrUnreachable)
	case errors.As(err, &mismatch):
		return fmt.Errorf("%w: it calls itself %.200q", ErrUnreachable, mismatch.Discovered)
	case errors.As(err, &address):
		return fmt.Errorf("%w: %w", ErrUnreachable, address.Err)
	default:
		return fmt.Errorf("%w: no document of discovery, keys or userinfo that can be read", ErrUnreachable)
	}
}

// word matches an OAuth 2.0 error code.
var word = regexp.MustCompile(`^[a-z_]{1,40}$`)

// errorWord returns the name of an error that a provider sent, or "" if it is not valid.
func errorWord(s string) string { return word.FindString(s) }

// exchangeError distinguishes a rejected code from a provider that does not respond.
func exchangeError(err error) error {
	if answered, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answered.Response != nil && answered.Response.StatusCode < http.StatusInternalServerError {
		return refused("code: " + errorWord(answered.ErrorCode))
	}
	return unreachable(err)
}

// tokenError describes the defect of a token. It passes on only errors without content of the token.
func tokenError(err error) error {
	var expired *oidc.TokenExpiredError
	var address *url.Error
	switch {
	case errors.As(err, &expired):
		return refused("id token has expired")
	case errors.As(err, &address):
		return unreachable(err)
	}
	return refused("id token is not valid for this service")
}

// maxAnswer limits a response of the provider, in bytes.
const maxAnswer = 1 << 20

var errTooLarge = errors.New("answer is too large")

// bounded rejects large responses.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err == nil {
		res.Body = &boundedBody{ReadCloser: res.Body, left: maxAnswer}
	}
	return res, err //nolint:wrapcheck // the transport's
}

type boundedBody struct {
	io.ReadCloser

	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err //nolint:wrapcheck // the body's
}

// Secure reports whether an address is https, or of this machine.
func Secure(u *url.URL) bool {
	if u.Scheme == "https" && u.Host != "" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}
