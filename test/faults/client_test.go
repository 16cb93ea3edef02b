package faults_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/test/kit"
)

type object = map[string]any

// client is an application or a signer that follows the interface. Every POST request has an Idempotency-Key, and a
// request is repeated if there is no response or the response is a server error.
type client struct {
	w     *scenario
	http  *http.Client
	mu    sync.Mutex
	token string
	next  int // index of the API for the next request

	retried int // number of retried requests
}

func newClient(w *scenario) *client {
	c := &client{w: w, http: &http.Client{Timeout: 40 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	w.t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// once sends one request to one API, without retries.
func (c *client) once(ctx context.Context, method, url string, header http.Header, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for name, v := range header {
		req.Header[name] = v
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	b, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	return res.StatusCode, b, err
}

// answer is the final result of a call.
type answer struct {
	status int
	body   []byte
}

func (a answer) code() string {
	var e struct{ Error string }
	_ = json.Unmarshal(a.body, &e) // if it is not JSON, there is no code
	return e.Error
}

// again reports whether a client retries a request. It does so if the outcome is unknown, or if the service requests a
// retry.
func again(status int, a answer, err error) bool {
	return err != nil || status >= 500 || status == http.StatusTooManyRequests || a.code() == "idempotency_in_flight"
}

// base returns the base URL of the API to call. After a failure, it returns the next one.
func (c *client) base(failed bool) string {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed {
		c.next++
		c.retried++
	}
	return c.w.apis[c.next%len(c.w.apis)]
}

// do sends a request until it receives a response, or until patience has passed.
func (c *client) do(method, path, contentType string, body []byte) (answer, error) {
	return c.keyed(uuid.NewString(), method, path, contentType, body)
}

func (c *client) keyed(key, method, path, contentType string, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(c.w.t.Context(), waitTimeout)
	defer cancel()
	h := http.Header{}
	if method == http.MethodPost {
		h.Set("Idempotency-Key", key)
	}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	if c.token != "" && !strings.HasPrefix(path, "/v1/signing/") && !strings.HasPrefix(path, "/v1/download/") {
		h.Set("Authorization", "Bearer "+c.token)
	}
	wait := 20 * time.Millisecond
	for failed := false; ; failed = true {
		status, b, err := c.once(ctx, method, c.base(failed)+path, h, body)
		a := answer{status, b}
		if !again(status, a, err) {
			return a, nil
		}
		select {
		case <-ctx.Done():
			return a, fmt.Errorf("%s %.60s: no valid response: %d %.200s %w", method, path, status, b, err)
		case <-time.After(wait/2 + rand.N(wait)):
			wait = min(2*wait, time.Second)
		}
	}
}

// post sends JSON and checks the status of the response. It decodes the response into out.
func (c *client) post(path string, in any, want int, out any) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	a, err := c.do(http.MethodPost, path, "application/json", b)
	if err != nil {
		return err
	}
	if a.status != want {
		return fmt.Errorf("POST %.60s: %d %s", path, a.status, a.body)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(a.body, out)
}

func (w *scenario) login() {
	w.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {w.clientID}, "client_secret": {w.secret}}
	a, err := w.client.do(http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded", []byte(form.Encode()))
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, a.status, "%s", a.body)
	var tok struct {
		AccessToken string `json:"access_token"`
	}
	require.NoError(w.t, json.Unmarshal(a.body, &tok))
	w.client.token = tok.AccessToken
}

// subscribe registers a path of the sink for the given events, or for all events if none are given.
func (w *scenario) subscribe(path string, events ...models.EventName) {
	w.t.Helper()
	if len(events) == 0 {
		events = acknowledgements
	}
	require.NoError(w.t, w.client.post("/v1/webhooks", object{"url": w.hooks.url + path, "events": events, "secret": "secret of the faults"}, http.StatusCreated, nil))
}

// tokenOf returns the token of the signing link in a response.
func tokenOf(a answer) (string, error) {
	var view struct{ SigningURL string }
	err := json.Unmarshal(a.body, &view)
	return view.SigningURL[strings.LastIndex(view.SigningURL, "/")+1:], err
}

// envelope is an envelope in the state known to its client, which is based on responses only.
type envelope struct {
	w       *scenario
	id      string
	signers []signer
	copyID  string // ID of the copy recipient, or empty if there is none

	mu    sync.Mutex
	acked []string                 // acknowledged actions, such as "sign 0", "decline 1" or "void"
	shown map[[signers]bool]string // digest of the displayed values, by set of signers
}

type signer struct {
	id, token string
	fields    []object // values to sign with
}

func (e *envelope) acknowledged(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.acked = append(e.acked, what)
}

func (e *envelope) has(what string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.acked, what)
}

// signed returns the number of acknowledged signatures.
func (e *envelope) signed() (n int) {
	for i := range e.signers {
		if e.has(fmt.Sprintf("sign %d", i)) {
			n++
		}
	}
	return n
}

var (
	stroke  = base64.StdEncoding.EncodeToString(kit.Signature())
	onePage = kit.OnePage()
)

// send creates an envelope with a one-page document and n signers, and sends it.
func (w *scenario) send(n int) (*envelope, error) {
	e, err := w.draft(n)
	if err != nil {
		return nil, err
	}
	return e, w.sendDraft(e)
}

// sendDue is like send, but the envelope's deadline is earlier than the API allows. A database trigger sets this
// deadline when the envelope is sent.
func (w *scenario) sendDue(n int, in time.Duration) (*envelope, time.Time, error) {
	at := time.Now().Add(in)
	e, err := w.draft(n)
	if err != nil {
		return nil, at, err
	}
	name := "due_" + strings.ReplaceAll(e.id, "-", "")
	w.exec(fmt.Sprintf(`CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			NEW.expires_at := '%s';
			RETURN NEW;
		END $$`, name, at.UTC().Format(time.RFC3339Nano)))
	w.exec(fmt.Sprintf(`CREATE TRIGGER %s BEFORE UPDATE ON envelopes FOR EACH ROW WHEN (NEW.id = '%s') EXECUTE FUNCTION %[1]s()`, name, e.id))
	return e, at, w.sendDraft(e)
}

func (w *scenario) sendDraft(e *envelope) error {
	var sent json.RawMessage
	if err := w.client.post("/v1/envelopes/"+e.id+"/send", object{}, http.StatusOK, &sent); err != nil {
		return err
	}
	e.links(w.t, sent)
	w.mu.Lock()
	w.envelopes = append(w.envelopes, e)
	w.mu.Unlock()
	return nil
}

// value returns the text that a signer enters in the text field.
func value(signer string) string { return "Value " + signer[len(signer)-12:] }

func (w *scenario) draft(n int) (*envelope, error) {
	var signers, fields []object
	for i := range n {
		signers = append(signers, object{"name": "Signer", "email": fmt.Sprintf("s%d-%s@example.com", i, uuid.NewString()[:8]), "authMethod": "none"})
		fields = append(fields,
			object{"signerId": fmt.Sprint(i), "type": "signature", "page": 1, "x": 72, "y": 100 + 60*i, "w": 150, "h": 50},
			object{"signerId": fmt.Sprint(i), "type": "text", "page": 1, "x": 300, "y": 100 + 60*i, "w": 150, "h": 20})
	}
	var made struct {
		ID      string
		Signers []struct{ ID string }
		Fields  []struct{ ID, SignerID, Type string }
	}
	in := object{"tenantId": "acme", "subject": "Contract", "signers": signers, "fields": fields}
	if err := w.client.post("/v1/envelopes", in, http.StatusCreated, &made); err != nil {
		return nil, err
	}
	a, err := w.client.do(http.MethodPost, "/v1/envelopes/"+made.ID+"/document", "application/octet-stream", onePage)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusCreated && a.status != http.StatusOK {
		return nil, fmt.Errorf("upload: %d %s", a.status, a.body)
	}
	e := &envelope{w: w, id: made.ID}
	for _, s := range made.Signers {
		own := signer{id: s.ID}
		for _, f := range made.Fields {
			switch {
			case f.SignerID != s.ID:
			case f.Type == "signature":
				own.fields = append(own.fields, object{"fieldId": f.ID, "signatureImageBase64": stroke})
			default:
				own.fields = append(own.fields, object{"fieldId": f.ID, "textValue": value(s.ID)})
			}
		}
		e.signers = append(e.signers, own)
	}
	return e, nil
}

// links reads the signers' links from the response to the send request.
func (e *envelope) links(t *testing.T, sent []byte) {
	t.Helper()
	var answer struct{ Signers []struct{ SigningURL string } }
	noError(t, json.Unmarshal(sent, &answer))
	for i, s := range answer.Signers {
		e.signers[i].token = s.SigningURL[strings.LastIndex(s.SigningURL, "/")+1:]
	}
}

func (e *envelope) path(i int, call string) string { return "/v1/signing/" + e.signers[i].token + call }

func (e *envelope) consent(i int) error {
	return e.w.client.post(e.path(i, "/consent"), object{}, http.StatusOK, nil)
}

// act performs an action on the envelope, and records the action once it is acknowledged.
func (e *envelope) act(what, path string, in any) (answer, error) {
	b, err := json.Marshal(in)
	if err != nil {
		return answer{}, err
	}
	a, err := e.w.client.do(http.MethodPost, path, "application/json", b)
	if err == nil && a.status == http.StatusOK {
		e.acknowledged(what)
	}
	return a, err
}

func (e *envelope) sign(i int) (answer, error) {
	return e.act(fmt.Sprintf("sign %d", i), e.path(i, "/sign"), object{"fields": e.signers[i].fields})
}

func (e *envelope) decline(i int) (answer, error) {
	return e.act(fmt.Sprintf("decline %d", i), e.path(i, "/decline"), object{"reason": "no"})
}

func (e *envelope) void() (answer, error) {
	return e.act("void", "/v1/envelopes/"+e.id+"/void", object{"reason": "over"})
}

// complete performs all steps of every signer.
func (e *envelope) complete() error {
	for i := range e.signers {
		if err := e.consent(i); err != nil {
			return err
		}
		if a, err := e.sign(i); err != nil || a.status != http.StatusOK {
			return fmt.Errorf("sign: %d %s %w", a.status, a.body, err)
		}
	}
	return nil
}

func (w *scenario) sendAndComplete(n int) error {
	e, err := w.send(n)
	if err != nil {
		return err
	}
	return e.complete()
}
