// Package countersign is a client for the Countersign API. It obtains and renews the access token, retries requests
// that were lost or temporarily rejected, and returns error responses as an *Error. It sends each POST request with an
// idempotency key, so that a retry has no additional effect. Client has methods for the calls that most applications
// need. Client.API has every call in the API's contract.
package countersign

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"countersign/clients/go/api"
)

// Client calls the API for one application. It is safe for concurrent use.
type Client struct {
	// API contains every call in the contract, with the token, retries and error handling of this client.
	API *api.ClientWithResponses

	transport *transport
}

// Version is the version of this module. By default, requests include it in the User-Agent header.
const Version = "0.1.0"

// Option changes the behavior of a client.
type Option func(*transport)

// WithHTTPClient specifies the HTTP client that sends requests, instead of the default one.
func WithHTTPClient(c *http.Client) Option {
	return func(t *transport) { t.http = c }
}

// WithRetries sets the maximum number of retries of a request. A request is retried if it was lost, exceeded the rate
// limit, or caused a temporary server error. A PATCH request is retried only if the failed attempt had no effect. The
// default is 4. Without retries, a POST request has an Idempotency-Key only if the call specifies one.
func WithRetries(n int) Option { return func(t *transport) { t.retries = max(n, 0) } }

// WithUserAgent sets the User-Agent header, which is recorded in the audit trail.
func WithUserAgent(name string) Option { return func(t *transport) { t.userAgent = name } }

// New returns a client for the application with the given clientID and clientSecret. The address is that of the
// service, such as https://sign.example.com. No request is sent before the first call.
func New(address, clientID, clientSecret string, options ...Option) (*Client, error) {
	base, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	if clientID == "" || clientSecret == "" {
		return nil, errors.New("countersign: client id and client secret are required")
	}
	t := &transport{
		base: base, clientID: clientID, clientSecret: clientSecret, retries: 4, lock: make(chan struct{}, 1), userAgent: "countersign-go/" + Version, now: time.Now, //nolint:forbidigo // the client's own clock
		http: &http.Client{Transport: newHTTPTransport()},
	}
	for _, o := range options {
		o(t)
	}
	own := *t.http
	// A redirect could send the secret to another server.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.http = &own
	calls, err := api.NewClientWithResponses(base, api.WithHTTPClient(t))
	if err != nil {
		return nil, fmt.Errorf("countersign: %w", err)
	}
	return &Client{API: calls, transport: t}, nil
}

// Address returns the address of the service, without a trailing slash.
func (c *Client) Address() string { return c.transport.base }

// Do sends a custom request to the service, with the client's token, retries and error handling. Unless retries are
// disabled, it adds an Idempotency-Key to a POST request that has none. Use Do for requests that no method supports,
// such as a form with a file. The caller must close the response body.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	base, err := url.Parse(c.transport.base)
	if err != nil {
		return nil, fmt.Errorf("countersign: %w", err)
	}
	if req.URL.Scheme != base.Scheme || !strings.EqualFold(req.URL.Host, base.Host) {
		return nil, fmt.Errorf("countersign: the token is only valid for %s and is not sent to %s://%s", c.transport.base, req.URL.Scheme, req.URL.Host)
	}
	return c.transport.Do(req)
}

func parseAddress(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", fmt.Errorf("countersign: %q is not the address of a service, such as https://sign.example.com", address)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("countersign: the address of the service must not contain a user, query or fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func newHTTPTransport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.ResponseHeaderTimeout = 2 * time.Minute // sealing and large uploads take time
	return t
}

type response interface {
	StatusCode() int
	GetBody() []byte
}

// Response is the type of a response from Client.API that contains a T if the status is 200.
type Response[T any] interface {
	response
	GetJSON200() *T
}

// createdResponse is the type of a response from Client.API that contains a T if the status is 201.
type createdResponse[T any] interface {
	response
	GetJSON201() *T
}

// Answer returns the result of a call to Client.API, or an *Error if the response does not contain the expected JSON:
//
//	app, err := countersign.Answer(c.API.GetAppWithResponse(ctx))
func Answer[T any](res Response[T], err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return answered(res.GetJSON200(), res)
}

func created[T any](res createdResponse[T], err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return answered(res.GetJSON201(), res)
}

// answered returns the decoded body of a response, or an *Error if body is nil.
func answered[T any](body *T, res response) (*T, error) {
	if body == nil {
		text := bytes.TrimSpace(res.GetBody())
		return nil, &Error{Status: res.StatusCode(), Code: "unexpected_response", Message: fmt.Sprintf("the response is not JSON: %.100q; check the address", text)}
	}
	return body, nil
}
