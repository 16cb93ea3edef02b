package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

// app is an application that uses the Go client.
type app struct {
	*countersign.Client
}

func (s *service) app(t *testing.T) *app {
	t.Helper()
	c, err := countersign.New(s.BaseURL, s.ClientID, s.ClientSecret, countersign.WithHTTPClient(&http.Client{Transport: &observer{t, s}}))
	require.NoError(t, err)
	return &app{c}
}

// observer is a transport that checks the headers common to all responses, and records the access tokens.
type observer struct {
	t *testing.T
	s *service
}

// RoundTrip implements http.RoundTripper.
func (o *observer) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if res.StatusCode == http.StatusServiceUnavailable {
			break // the database did not return the remaining quota
		}
		assert.NotEmpty(o.t, res.Header.Get(name), "%s of %s %s", name, req.Method, req.URL.Path)
	}
	if req.URL.Path != "/oauth/token" {
		return res, nil
	}
	b, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(b, &token); err != nil {
		return nil, err
	}
	o.s.tokens = append(o.s.tokens, token.AccessToken)
	res.Body = io.NopCloser(bytes.NewReader(b))
	return res, nil
}

// agreement returns the data of an envelope with one signer, who needs no code and fills in one field.
func agreement(name, email string) countersign.EnvelopeRequest {
	return countersign.EnvelopeRequest{
		TenantID: "acme", Subject: countersign.Ptr("Contract"), Signers: []countersign.SignerRequest{person(name, email)},
		Fields: []countersign.FieldRequest{countersign.NewField(api.FieldTypeText, "0", 1, 72, 300, 160, 50)},
	}
}

// person returns the data of a signer who needs no code.
func person(name, email string) countersign.SignerRequest {
	return countersign.SignerRequest{Name: name, Email: email, AuthMethod: countersign.Ptr(api.SignerRequestAuthMethodNone)}
}

func (a *app) draft(t *testing.T, in countersign.EnvelopeRequest, pdf []byte) *countersign.Envelope {
	t.Helper()
	e, err := a.Create(t.Context(), in)
	require.NoError(t, err)
	_, err = a.Upload(t.Context(), e.ID, bytes.NewReader(pdf))
	require.NoError(t, err)
	return a.envelope(t, e.ID)
}

// send creates an envelope with a one-page document, and sends it.
func (a *app) send(t *testing.T, in countersign.EnvelopeRequest) uuid.UUID {
	t.Helper()
	e := a.draft(t, in, kit.OnePage())
	_, err := a.Send(t.Context(), e.ID, "")
	require.NoError(t, err)
	return e.ID
}

func (a *app) envelope(t *testing.T, id uuid.UUID) *countersign.Envelope {
	t.Helper()
	e, err := a.Envelope(t.Context(), id)
	require.NoError(t, err)
	return e
}

// completed waits until an envelope has been completed, and returns it.
func (a *app) completed(t *testing.T, id uuid.UUID) (e *countersign.Envelope) {
	t.Helper()
	eventually(t, "completed "+id.String(), func() bool {
		e = a.envelope(t, id)
		return e.Status == api.EnvelopeStatusCompleted
	})
	return e
}

func (a *app) download(t *testing.T, id uuid.UUID, o countersign.DownloadOptions) []byte {
	t.Helper()
	body, err := a.DownloadWith(t.Context(), id, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, body.Close()) }()
	b, err := io.ReadAll(body)
	require.NoError(t, err)
	return b
}

// sealed returns the sealed file of an envelope's first document.
func (a *app) sealed(t *testing.T, id uuid.UUID) []byte {
	t.Helper()
	return a.download(t, id, countersign.DownloadOptions{Kind: countersign.Ptr(countersign.Sealed)})
}

// subscribe registers a webhook for events.
func (a *app) subscribe(t *testing.T, url, secret string, events ...api.WebhookEventName) uuid.UUID {
	t.Helper()
	in := api.WebhookRequest{URL: url, Events: events}
	if secret != "" {
		in.Secret = &secret
	}
	res, err := a.API.CreateWebhookWithResponse(t.Context(), nil, in)
	require.NoError(t, err)
	if secret != "" {
		assert.NotContains(t, string(res.Body), secret)
	}
	return res.JSON201.ID
}

// rejected checks that err is a client error with the given status.
func rejected(t *testing.T, status int, err error) {
	t.Helper()
	var e *countersign.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, status, e.Status, "%v", e)
	assert.NotEmpty(t, e.Code)
	assert.NotEqual(t, "unexpected_response", e.Code)
	assert.NotEmpty(t, e.Message)
}
