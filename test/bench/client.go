package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"countersign/internal/testkit"
)

type client struct {
	base, token string
	http        *http.Client
	observe     func(method, path string, took time.Duration) // nil: nobody does
}

func login(ctx context.Context, base, id, secret string) (*client, error) {
	c := &client{base: base, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * parallel}}}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}
	var out struct {
		AccessToken string `json:"access_token"`
	}
	err := c.do(ctx, http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", []byte(form.Encode()), &out)
	c.token = out.AccessToken
	return c, err
}

func (c *client) do(ctx context.Context, method, path, contentType string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if c.token != "" && !strings.HasPrefix(path, "/v1/signing/") {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	start := now()
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if c.observe != nil {
		c.observe(method, path, now().Sub(start))
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

type envelope struct {
	ID      string
	Status  string
	Signers []struct {
		ID         string
		SigningURL string `json:"signingUrl"`
	}
	Fields   []struct{ ID, SignerID, Type string }
	AuditLog []struct{ Event string }
}

// invited counts the invitations that went out.
func (e *envelope) invited() (n int) {
	for _, ev := range e.AuditLog {
		if ev.Event == "invitation.sent" {
			n++
		}
	}
	return n
}

type anyMap = map[string]any

// send makes and sends an envelope to two signers of one group.
func (c *client) send(ctx context.Context) (*envelope, error) {
	e, err := c.draft(ctx, 2)
	if err != nil {
		return nil, err
	}
	return e, c.post(ctx, "/v1/envelopes/"+e.ID+"/send", anyMap{}, e)
}

// draft makes an envelope that is ready to be sent.
func (c *client) draft(ctx context.Context, n int) (*envelope, error) {
	var signers, fields []anyMap
	for i := range n {
		signers = append(signers, anyMap{"name": "Signer", "email": fmt.Sprintf("signer%d@example.com", i), "authMethod": "none"})
		fields = append(fields,
			anyMap{"signerId": fmt.Sprint(i), "type": "signature", "page": 1, "x": 72, "y": 100 + 60*i, "w": 150, "h": 50},
			anyMap{"signerId": fmt.Sprint(i), "type": "text", "page": 1, "x": 300, "y": 100 + 60*i, "w": 150, "h": 20})
	}
	e := &envelope{}
	if err := c.post(ctx, "/v1/envelopes", anyMap{"tenantId": "bench", "subject": "Bench", "signers": signers, "fields": fields}, e); err != nil {
		return nil, err
	}
	return e, c.do(ctx, http.MethodPost, "/v1/envelopes/"+e.ID+"/document", "application/octet-stream", onePage, nil)
}

func (c *client) consent(ctx context.Context, e *envelope, i int) error {
	return c.post(ctx, "/v1/signing/"+token(e, i)+"/consent", anyMap{}, nil)
}

func (c *client) sign(ctx context.Context, e *envelope, i int) error {
	var fields []anyMap
	for _, f := range e.Fields {
		switch {
		case f.SignerID != e.Signers[i].ID:
		case f.Type == "signature":
			fields = append(fields, anyMap{"fieldId": f.ID, "signatureImageBase64": signaturePNG})
		default:
			fields = append(fields, anyMap{"fieldId": f.ID, "textValue": "Value"})
		}
	}
	return c.post(ctx, "/v1/signing/"+token(e, i)+"/sign", anyMap{"fields": fields}, nil)
}

func token(e *envelope, i int) string {
	url := e.Signers[i].SigningURL
	return url[strings.LastIndex(url, "/")+1:]
}

// What signers send and sign.
var (
	signaturePNG = base64.StdEncoding.EncodeToString(testkit.Signature())
	onePage      = testkit.OnePage()
)
