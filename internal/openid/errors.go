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

// ErrUnreachable reports that the provider did not respond, or that its response is not a valid response of an OpenID
// provider.
var ErrUnreachable = errors.New("unexpected response from the OpenID provider")

// Rejection is an error with the reason why the provider's response did not authenticate a person. The reason contains
// no personal data and no part of the response.
type Rejection struct{ Reason string }

// Error implements error.
func (r *Rejection) Error() string { return "OpenID sign-in rejected: " + r.Reason }

func rejected(reason string) error { return &Rejection{reason} }

// unreachable returns an error with the details that an operator needs, without the body of the response.
func unreachable(err error) error {
	var (
		address  *url.Error
		mismatch *oidc.IssuerMismatchError
	)
	switch {
	case errors.Is(err, errTooLarge):
		return fmt.Errorf("%w: response too large", ErrUnreachable)
	case errors.As(err, &mismatch):
		return fmt.Errorf("%w: the response names the issuer %.200q", ErrUnreachable, mismatch.Discovered)
	case errors.As(err, &address):
		return fmt.Errorf("%w: %w", ErrUnreachable, address.Err)
	default:
		return fmt.Errorf("%w: the discovery document, keys or userinfo cannot be parsed", ErrUnreachable)
	}
}

// word matches an OAuth 2.0 error code.
var word = regexp.MustCompile(`^[a-z_]{1,40}$`)

// errorWord returns the provider's error code, or an empty string if it is not a valid code.
func errorWord(s string) string { return word.FindString(s) }

// exchangeError distinguishes a rejected code from a provider that does not respond.
func exchangeError(err error) error {
	if answered, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answered.Response != nil && answered.Response.StatusCode < http.StatusInternalServerError {
		return rejected("code: " + errorWord(answered.ErrorCode))
	}
	return unreachable(err)
}

// tokenError describes the problem with a token, without any content of the token.
func tokenError(err error) error {
	var expired *oidc.TokenExpiredError
	var address *url.Error
	switch {
	case errors.As(err, &expired):
		return rejected("the ID token has expired")
	case errors.As(err, &address):
		return unreachable(err)
	}
	return rejected("the ID token is not valid for this service")
}

// maxAnswer is the maximum size of a provider's response in bytes.
const maxAnswer = 1 << 20

var errTooLarge = errors.New("response is too large")

// bounded is a transport that rejects responses that are too large.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err == nil {
		res.Body = &boundedBody{ReadCloser: res.Body, left: maxAnswer}
	}
	return res, err //nolint:wrapcheck // error of the transport
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
	return n, err //nolint:wrapcheck // error of the body
}

// Secure reports whether a URL uses https, or http on a loopback address.
func Secure(u *url.URL) bool {
	if u.Scheme == "https" && u.Host != "" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}
