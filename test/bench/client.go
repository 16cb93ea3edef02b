package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

// client is an application that uses the Go client. It also sends the requests of its envelopes' signers, but not
// through the Go client.
type client struct {
	*countersign.Client

	http    *http.Client
	observe func(method, path string, took time.Duration) // nil if there is no observer
}

// login returns a client that sends each request only once and without an Idempotency-Key, so that the benchmark
// measures single requests.
func login(base, id, secret string) (*client, error) {
	c := &client{}
	c.http = &http.Client{Transport: &timed{c, &http.Transport{MaxIdleConnsPerHost: 2 * parallel}}}
	var err error
	c.Client, err = countersign.New(base, id, secret, countersign.WithHTTPClient(c.http), countersign.WithRetries(0))
	return c, err
}

// timed is a transport that reports the duration of each request to the client's observer.
type timed struct {
	c    *client
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper. The duration of a request ends when its response has been read.
func (t *timed) RoundTrip(req *http.Request) (*http.Response, error) {
	start := now()
	res, err := t.next.RoundTrip(req)
	if err != nil || t.c.observe == nil {
		return res, err
	}
	b, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(b))
	t.c.observe(req.Method, req.URL.Path, now().Sub(start))
	return res, nil
}

// do sends a signer's request, or another request for which the Go client has no method.
func (c *client) do(ctx context.Context, method, path, contentType string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.Address()+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	send := c.Do
	if strings.HasPrefix(path, "/v1/signing/") {
		send = c.http.Do
	}
	res, err := send(req)
	if err != nil {
		return fmt.Errorf("%s %.40s: %w", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %.40s: %d %s", method, path, res.StatusCode, b)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(b, out)
}

func (c *client) post(ctx context.Context, path string, in, out any) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, path, "application/json", b, out)
}

type envelope = countersign.Envelope

func invited(e *envelope) (n int) {
	for _, ev := range e.AuditLog {
		if ev.Event == "invitation.sent" {
			n++
		}
	}
	return n
}

type anyMap = map[string]any

// send creates an envelope with two signers in one routing group, and sends it.
func (c *client) send(ctx context.Context) (*envelope, error) {
	e, err := c.draft(ctx, 2)
	if err != nil {
		return nil, err
	}
	return c.Send(ctx, e.ID, "")
}

// draftFor creates a draft with one signer. The draft belongs to the given tenant.
func (c *client) draftFor(ctx context.Context, tenant, address string) (*envelope, error) {
	e, err := c.Create(ctx, countersign.EnvelopeRequest{
		TenantID: tenant, Subject: countersign.Ptr("Bench"),
		Signers: []countersign.SignerRequest{{Name: "Signer", Email: address, AuthMethod: countersign.Ptr(api.SignerRequestAuthMethodNone)}},
		Fields:  []countersign.FieldRequest{countersign.NewField(api.FieldTypeSignature, "0", 1, 72, 100, 150, 50), countersign.NewField(api.FieldTypeText, "0", 1, 300, 100, 150, 20)},
	})
	if err != nil {
		return nil, err
	}
	_, err = c.Upload(ctx, e.ID, bytes.NewReader(onePage))
	return e, err
}

// draft creates a complete draft with n signers, but does not send it.
func (c *client) draft(ctx context.Context, n int) (*envelope, error) {
	in := countersign.EnvelopeRequest{TenantID: "bench", Subject: countersign.Ptr("Bench")}
	for i := range n {
		signer, y := strconv.Itoa(i), float64(100+60*i)
		in.Signers = append(in.Signers, countersign.SignerRequest{
			Name: "Signer", Email: "signer" + signer + "@example.com", AuthMethod: countersign.Ptr(api.SignerRequestAuthMethodNone),
		})
		in.Fields = append(in.Fields, countersign.NewField(api.FieldTypeSignature, signer, 1, 72, y, 150, 50), countersign.NewField(api.FieldTypeText, signer, 1, 300, y, 150, 20))
	}
	e, err := c.Create(ctx, in)
	if err != nil {
		return nil, err
	}
	_, err = c.Upload(ctx, e.ID, bytes.NewReader(onePage))
	return e, err
}

func (c *client) consent(ctx context.Context, e *envelope, i int) error {
	return c.post(ctx, "/v1/signing/"+token(e, i)+"/consent", anyMap{}, nil)
}

func (c *client) sign(ctx context.Context, e *envelope, i int) error {
	return c.post(ctx, "/v1/signing/"+token(e, i)+"/sign", anyMap{"fields": values(e, i)}, nil)
}

// values returns the values that signer i submits.
func values(e *envelope, i int) (fields []anyMap) {
	for _, f := range e.Fields {
		switch {
		case f.SignerID != e.Signers[i].ID:
		case f.Type == api.FieldTypeSignature:
			fields = append(fields, anyMap{"fieldId": f.ID, "signatureImageBase64": signaturePNG})
		default:
			fields = append(fields, anyMap{"fieldId": f.ID, "textValue": "Value"})
		}
	}
	return fields
}

func token(e *envelope, i int) string {
	url := *e.Signers[i].SigningURL
	return url[strings.LastIndex(url, "/")+1:]
}

// The signature that signers submit, and the document that they sign.
var (
	signaturePNG = base64.StdEncoding.EncodeToString(kit.Signature())
	onePage      = kit.OnePage()
)
