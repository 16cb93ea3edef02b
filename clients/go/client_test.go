package countersign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/clients/go/api"
)

func standardSignature(secret, id, stamp string, body []byte) string {
	return base64.StdEncoding.EncodeToString(mac(standardKey(secret), id, ".", stamp, ".", string(body)))
}

// fakeService is a server that responds with a token, and then with the given responses.
type fakeService struct {
	*httptest.Server

	mu      sync.Mutex
	tokens  int
	expires int
	calls   []call
	answers []answer // returned in order; the last one is repeated indefinitely
}

type call struct {
	method, path, key, token string
	body                     []byte
}

type answer struct {
	status int
	header map[string]string
	body   string
	lose   bool // the request is processed, but the response is lost
}

func newFakeService(t *testing.T, answers ...answer) *fakeService {
	t.Helper()
	f := &fakeService{expires: 3600, answers: answers}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.URL.Path == "/oauth/token" {
		f.tokens++
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprint("token-", f.tokens), "token_type": "Bearer", "expires_in": f.expires})
		return
	}
	f.calls = append(f.calls, call{r.Method, r.URL.Path, r.Header.Get(keyHeader), r.Header.Get("Authorization"), body})
	a := f.answers[min(len(f.calls), len(f.answers))-1]
	if a.lose {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// seen returns the calls received so far.
func (f *fakeService) seen() []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func (f *fakeService) client(t *testing.T, options ...Option) *Client {
	t.Helper()
	c, err := New(f.URL+"/", "id", "secret", options...)
	require.NoError(t, err)
	return c
}

const envelopeJSON = `{"id":"0199d7a0-0000-7000-8000-000000000001","status":"draft"}`

func problemJSON(code string) string {
	return fmt.Sprintf(`{"error":%q,"message":"No.","details":null,"errors":{"signers[0].email":["is not an address"]}}`, code)
}

func TestRetry_KeepsTheIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFakeService(t, answer{lose: true}, answer{status: 503, body: problemJSON("unavailable")}, answer{status: 409, body: problemJSON("idempotency_in_flight")}, answer{status: 201, body: envelopeJSON})
	c := f.client(t)
	e, err := c.Create(t.Context(), EnvelopeRequest{TenantID: "acme"})
	require.NoError(t, err)
	require.Equal(t, "0199d7a0-0000-7000-8000-000000000001", e.ID.String())
	require.Len(t, f.seen(), 4)
	for _, got := range f.seen() {
		require.NotEmpty(t, got.key)
		require.Equal(t, f.seen()[0], got, "the retry must have the same key and body")
	}
	_, err = c.Create(t.Context(), EnvelopeRequest{TenantID: "acme"})
	require.NoError(t, err)
	require.NotEqual(t, f.seen()[0].key, f.seen()[4].key, "another request must have another key")
	require.Equal(t, 1, f.tokens)
}

// TestPatch_LostResponse_IsNotRetried checks that a PATCH request whose response was lost is not retried. The request
// may have taken effect, so the caller must check.
func TestPatch_LostResponse_IsNotRetried(t *testing.T) {
	t.Parallel()
	subject := "New"
	patch := func(c *Client) error {
		_, err := c.API.UpdateDraftWithResponse(t.Context(), uuid.New(), nil, api.UpdateDraftJSONRequestBody{Subject: &subject})
		return err
	}
	for _, unsure := range []answer{{lose: true}, {status: 500, body: problemJSON("internal")}, {status: 502, body: "<html>"}, {status: 504, body: "<html>"}} {
		f := newFakeService(t, unsure, answer{status: 200, body: envelopeJSON})
		require.Error(t, patch(f.client(t)))
		require.Len(t, f.seen(), 1)
	}
	for _, status := range []int{429, 503} {
		f := newFakeService(t, answer{status: status, body: problemJSON("unavailable")}, answer{status: 200, body: envelopeJSON})
		require.NoError(t, patch(f.client(t)))
		require.Len(t, f.seen(), 2)
	}
	require.True(t, repeatable(http.MethodPatch, &url.Error{Op: "Patch", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}))
	require.False(t, repeatable(http.MethodPatch, &url.Error{Op: "Patch", Err: &net.OpError{Op: "read", Err: errors.New("connection reset")}}))
}

func TestRejectedRequest_IsNotRetried(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 402, 403, 404, 409, 410, 413, 422, 501} {
		f := newFakeService(t, answer{status: status, body: problemJSON("validation_error"), header: map[string]string{"X-Request-Id": "r1"}})
		_, err := f.client(t).Create(t.Context(), EnvelopeRequest{})
		var apiErr *Error
		require.ErrorAs(t, err, &apiErr)
		require.Equal(t, status, apiErr.Status)
		require.Equal(t, "validation_error", apiErr.Code)
		require.Equal(t, []string{"is not an address"}, apiErr.Fields["signers[0].email"])
		require.Equal(t, "r1", apiErr.RequestID)
		require.Contains(t, err.Error(), "No; signers[0].email: is not an address (")
		require.Equal(t, status == 404, IsNotFound(err))
		require.Len(t, f.seen(), 1)
	}
}

func TestRetryAfter_IsObserved(t *testing.T) {
	t.Parallel()
	f := newFakeService(t, answer{status: 429, body: problemJSON("rate_limited"), header: map[string]string{"Retry-After": "2"}}, answer{status: 200, body: envelopeJSON})
	start := time.Now()
	_, err := f.client(t).Envelope(t.Context(), uuid.New())
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(start), 2*time.Second)

	f = newFakeService(t, answer{status: 429, body: problemJSON("rate_limited"), header: map[string]string{"Retry-After": "3600"}})
	_, err = f.client(t).Envelope(t.Context(), uuid.New())
	var apiErr *Error
	require.ErrorAs(t, err, &apiErr, "the client does not wait for an hour")
	require.Equal(t, time.Hour, apiErr.RetryAfter)
	require.Len(t, f.seen(), 1)
}

func TestRetries_AreBounded(t *testing.T) {
	t.Parallel()
	f := newFakeService(t, answer{lose: true})
	_, err := f.client(t, WithRetries(2)).Envelope(t.Context(), uuid.New())
	require.Error(t, err)
	require.LessOrEqual(t, len(f.seen()), 6, "net/http may itself repeat each request once on a reused connection")
	require.GreaterOrEqual(t, len(f.seen()), 3)

	f = newFakeService(t, answer{status: 503, body: problemJSON("unavailable")})
	_, err = f.client(t, WithRetries(0)).Create(t.Context(), EnvelopeRequest{TenantID: "acme"})
	require.Error(t, err)
	require.Len(t, f.seen(), 1)
	require.Empty(t, f.seen()[0].key, "a request that is not retried has no key")
	_, err = f.client(t, WithRetries(0)).API.CreateEnvelopeWithResponse(t.Context(), &api.CreateEnvelopeParams{IdempotencyKey: Ptr("mine")}, EnvelopeRequest{TenantID: "acme"})
	require.Error(t, err)
	require.Equal(t, "mine", f.seen()[1].key)

	f = newFakeService(t, answer{lose: true})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = f.client(t, WithRetries(1000)).Envelope(ctx, uuid.New())
	require.Error(t, err)
}

func TestToken_Expiring_IsRenewed(t *testing.T) {
	t.Parallel()
	f := newFakeService(t, answer{status: 200, body: envelopeJSON}, answer{status: 401, body: problemJSON("invalid_token")}, answer{status: 200, body: envelopeJSON})
	c := f.client(t)
	now := time.Now()
	c.transport.now = func() time.Time { return now }
	_, err := c.Envelope(t.Context(), uuid.New())
	require.NoError(t, err)
	_, err = c.Envelope(t.Context(), uuid.New())
	require.NoError(t, err, "a rejected token is replaced once")
	require.Equal(t, []string{"Bearer token-1", "Bearer token-1", "Bearer token-2"}, []string{f.seen()[0].token, f.seen()[1].token, f.seen()[2].token})
	now = now.Add(59 * time.Minute)
	_, err = c.Envelope(t.Context(), uuid.New())
	require.NoError(t, err)
	require.Equal(t, "Bearer token-3", f.seen()[3].token, "before the token expires")

	f = newFakeService(t, answer{status: 401, body: problemJSON("invalid_token")})
	_, err = f.client(t).Envelope(t.Context(), uuid.New())
	require.Error(t, err)
	require.Len(t, f.seen(), 2, "not indefinitely")
}

func TestToken_ConcurrentRequests_ShareOne(t *testing.T) {
	t.Parallel()
	f := newFakeService(t, answer{status: 200, body: envelopeJSON})
	c := f.client(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _, _ = c.Envelope(t.Context(), uuid.New()) })
	}
	wg.Wait()
	require.Len(t, f.seen(), 20)
	require.Equal(t, 1, f.tokens)
}

func TestErrorMessage_NamesAFieldOnce(t *testing.T) {
	t.Parallel()
	e := &Error{Status: 400, Code: "validation_error", Message: "documents: there is none (and 1 more)", Fields: map[string][]string{"fields": {"there are none"}, "documents": {"there is none"}}}
	require.Equal(t, "documents: there is none (and 1 more); fields: there are none (400 validation_error)", e.Error())
}

func TestToken_SlowResponse_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/token" {
			asked <- struct{}{}
			<-release
			_, _ = io.WriteString(w, `{"access_token":"t","expires_in":3600}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, envelopeJSON)
	}))
	t.Cleanup(site.Close)
	c, err := New(site.URL, "id", "secret")
	require.NoError(t, err)
	first := make(chan error, 1)
	go func() {
		_, err := c.Envelope(context.WithoutCancel(t.Context()), uuid.New())
		first <- err
	}()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = c.Envelope(ctx, uuid.New())
	require.ErrorIs(t, err, context.DeadlineExceeded, "another request obtains the token, and this one waits only until its deadline")
	close(release)
	require.NoError(t, <-first)
}

// TestContext_Ended_IsReported checks that the context's error is returned, even if the context ends during the wait
// before a retry.
func TestContext_Ended_IsReported(t *testing.T) {
	t.Parallel()
	unavailable := answer{status: 503, body: problemJSON("unavailable"), header: map[string]string{"Retry-After": "60"}}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := newFakeService(t, unavailable).client(t).WaitUntilCompleted(ctx, uuid.New())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, "unavailable", ErrorCode(err), "the error names the awaited operation")

	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, problemJSON("unavailable"))
	}))
	t.Cleanup(site.Close)
	c, err := New(site.URL, "id", "secret")
	require.NoError(t, err)
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = c.Envelope(ctx, uuid.New())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, "unavailable", ErrorCode(err))
}

// TestRejectedToken_IsDroppedWithinTheContext checks that a call returns when its context ends, even while another
// request holds the token lock.
func TestRejectedToken_IsDroppedWithinTheContext(t *testing.T) {
	t.Parallel()
	var tr *transport
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/token" {
			_, _ = io.WriteString(w, `{"access_token":"t","expires_in":3600}`)
			return
		}
		tr.lock <- struct{}{} // simulates another request that is obtaining a token
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, problemJSON("invalid_token"))
	}))
	t.Cleanup(site.Close)
	c, err := New(site.URL, "id", "secret")
	require.NoError(t, err)
	tr = c.transport
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := c.Envelope(ctx, uuid.New())
		done <- err
	}()
	select {
	case err := <-done:
		require.ErrorIs(t, err, context.DeadlineExceeded)
	case <-time.After(10 * time.Second):
		<-tr.lock
		t.Fatal("the call goes on after the end of its context")
	}
}

func TestUpload_Retried_IsReadAgain(t *testing.T) {
	t.Parallel()
	pdf := bytes.Repeat([]byte("%PDF-1.7 "), 100_000)
	done := answer{status: 200, body: `{"documentId":"0199d7a0-0000-7000-8000-000000000001","pageCount":1,"sha256":"00"}`}
	f := newFakeService(t, answer{lose: true}, done)
	r := bytes.NewReader(append([]byte("skipped"), pdf...))
	_, err := r.Seek(7, io.SeekStart)
	require.NoError(t, err)
	_, err = f.client(t).Upload(t.Context(), uuid.New(), r)
	require.NoError(t, err)
	require.Len(t, f.seen(), 2)
	require.Equal(t, sha256.Sum256(pdf), sha256.Sum256(f.seen()[1].body), "from the reader's position")

	f = newFakeService(t, answer{lose: true}, done)
	_, err = f.client(t).Upload(t.Context(), uuid.New(), io.LimitReader(bytes.NewReader(pdf), int64(len(pdf))))
	require.Error(t, err, "a body that can be read only once is sent once: a retry would upload half a file")
	require.Len(t, f.seen(), 1)
}

func TestDelete_LostResponse_Succeeds(t *testing.T) {
	t.Parallel()
	f := newFakeService(t, answer{lose: true}, answer{status: 404, body: problemJSON("not_found")})
	_, err := f.client(t).API.DeleteWebhookWithResponse(t.Context(), uuid.New())
	require.NoError(t, err)
	f = newFakeService(t, answer{status: 502, body: "<h1>Bad gateway</h1>"}, answer{status: 404, body: problemJSON("not_found")})
	_, err = f.client(t).API.DeleteWebhookWithResponse(t.Context(), uuid.New())
	require.NoError(t, err)
	for _, before := range [][]answer{nil, {{status: 429, body: problemJSON("rate_limited")}}, {{status: 401, body: problemJSON("invalid_token")}}} {
		f = newFakeService(t, append(before, answer{status: 404, body: problemJSON("not_found")})...)
		_, err = f.client(t).API.DeleteWebhookWithResponse(t.Context(), uuid.New())
		require.True(t, IsNotFound(err), "no request must be sent after %v", before)
	}
}

func TestDo_SendsCustomRequests(t *testing.T) {
	t.Parallel()
	f := newFakeService(t, answer{status: 503, body: problemJSON("unavailable")}, answer{status: 201, body: envelopeJSON}, answer{status: 400, body: problemJSON("validation_error")})
	c := f.client(t)
	ask := func(address string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("a,b"))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "text/csv")
		res, err := c.Do(req)
		if err != nil {
			return err
		}
		return res.Body.Close()
	}
	require.NoError(t, ask(c.Address()+"/v1/bulk-sends"))
	require.Equal(t, "Bearer token-1", f.seen()[0].token)
	require.NotEmpty(t, f.seen()[0].key)
	require.Equal(t, []byte("a,b"), f.seen()[0].body)
	require.Equal(t, f.seen()[0], f.seen()[1], "the request is repeated unchanged")
	require.Equal(t, "validation_error", ErrorCode(ask(c.Address()+"/v1/bulk-sends")))
	require.Empty(t, ErrorCode(nil))

	for _, address := range []string{"http://sign.example.com/v1/envelopes", strings.Replace(c.Address(), "http:", "https:", 1), strings.Replace(c.Address(), "127.0.0.1", "127.0.0.1.example.com", 1)} {
		require.ErrorContains(t, ask(address), "not sent", "the token was sent to another host: %s", address)
	}
	require.Len(t, f.seen(), 3)
}

func TestDownloadWith_SelectsTheDocument(t *testing.T) {
	t.Parallel()
	var asked string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/token" {
			_, _ = io.WriteString(w, `{"access_token":"t","expires_in":3600}`)
			return
		}
		asked = r.URL.RequestURI()
		_, _ = io.WriteString(w, "%PDF-")
	}))
	t.Cleanup(site.Close)
	c, err := New(site.URL, "id", "secret")
	require.NoError(t, err)
	id := uuid.New()
	body, err := c.DownloadWith(t.Context(), id, DownloadOptions{Kind: Ptr(Prepared), DocumentID: &id})
	require.NoError(t, err)
	require.NoError(t, body.Close())
	require.Equal(t, "/v1/envelopes/"+id.String()+"/document?kind=prepared&documentId="+id.String(), asked)
}

func TestNew_InvalidAddress_IsRejected(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "sign.example.com", "ftp://sign.example.com", "https://", "https://user:pw@sign.example.com", "https://sign.example.com?x=1"} {
		_, err := New(address, "id", "secret")
		require.Error(t, err, address)
	}
	_, err := New("https://sign.example.com", "", "secret")
	require.Error(t, err)

	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<h1>Not here</h1>")
	}))
	defer site.Close()
	c, err := New(site.URL, "id", "secret")
	require.NoError(t, err)
	_, err = c.Envelope(t.Context(), uuid.New())
	var apiErr *Error
	require.ErrorAs(t, err, &apiErr)
	require.Equal(t, "unexpected_response", apiErr.Code)
	require.Contains(t, err.Error(), "check the address")
}

func TestRedirect_DoesNotForwardCredentials(t *testing.T) {
	t.Parallel()
	var reached []byte
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached, _ = httputil.DumpRequest(r, true) }))
	defer other.Close()
	site := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer site.Close()
	c, err := New(site.URL, "id", "secret", WithHTTPClient(&http.Client{}))
	require.NoError(t, err)
	_, err = c.Envelope(t.Context(), uuid.New())
	require.ErrorContains(t, err, other.URL)
	require.Empty(t, reached)
}

// fakeList lists the sent envelopes as the service does, either by page or after a cursor.
type fakeList struct {
	mu   sync.Mutex
	sent []int
}

func (f *fakeList) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/oauth/token" {
		_, _ = io.WriteString(w, `{"access_token":"t","expires_in":3600}`)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	q := r.URL.Query()
	size, _ := strconv.Atoi(q.Get("pageSize"))
	rows := f.sent
	if page, err := strconv.Atoi(q.Get("page")); err == nil {
		rows = rows[min((page-1)*size, len(rows)):]
	}
	if cursor, err := strconv.Atoi(q.Get("cursor")); err == nil {
		rows = rows[len(rows)-len(slices.DeleteFunc(slices.Clone(rows), func(n int) bool { return n <= cursor })):]
	}
	next := "null"
	if len(rows) > size {
		rows = rows[:size]
		next = fmt.Sprintf(`"%d"`, rows[size-1])
	}
	var data []string
	for _, n := range rows {
		data = append(data, fmt.Sprintf(`{"id":"0199d7a0-0000-7000-8000-%012d","status":"sent"}`, n))
	}
	_, _ = fmt.Fprintf(w, `{"data":[%s],"total":%d,"page":1,"pageSize":%d,"nextCursor":%s}`, strings.Join(data, ","), len(f.sent), size, next)
}

func (f *fakeList) change(fn func([]int) []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = fn(f.sent)
}

func TestEnvelopes_ReadsAllPages(t *testing.T) {
	t.Parallel()
	list := &fakeList{}
	for n := range 250 {
		list.sent = append(list.sent, n)
	}
	site := httptest.NewServer(list)
	t.Cleanup(site.Close)
	c, err := New(site.URL, "id", "secret")
	require.NoError(t, err)
	n := 0
	for e, err := range c.Envelopes(t.Context(), ListOptions{TenantID: "acme", Status: api.EnvelopeStatusSent}) {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("0199d7a0-0000-7000-8000-%012d", n), e.ID.String(), "each once")
		switch ended := n; {
		case n < 120: // simulates a caller that voids each listed envelope
			list.change(func(rows []int) []int { return slices.DeleteFunc(rows, func(row int) bool { return row == ended }) })
		case n == 130: // newer envelopes
			list.change(func(rows []int) []int { return append([]int{-2, -1}, rows...) })
		}
		n++
	}
	require.Equal(t, 250, n, "no event is missed")

	f := newFakeService(t, answer{status: 500, body: problemJSON("internal_error")})
	n = 0
	for _, err := range f.client(t, WithRetries(0)).Envelopes(t.Context(), ListOptions{TenantID: "acme"}) {
		require.Error(t, err)
		n++
	}
	require.Equal(t, 1, n, "an error ends the iteration")
}

func TestWaitUntilCompleted_EndsWithTheEnvelope(t *testing.T) {
	t.Parallel()
	f := newFakeService(t, answer{status: 200, body: strings.Replace(envelopeJSON, "draft", "in_progress", 1)}, answer{status: 200, body: strings.Replace(envelopeJSON, "draft", "completed", 1)})
	e, err := f.client(t).WaitUntilCompleted(t.Context(), uuid.New())
	require.NoError(t, err)
	require.Equal(t, api.EnvelopeStatusCompleted, e.Status)

	f = newFakeService(t, answer{status: 200, body: strings.Replace(envelopeJSON, "draft", "declined", 1)})
	_, err = f.client(t).WaitUntilCompleted(t.Context(), uuid.New())
	var ended *EndedError
	require.ErrorAs(t, err, &ended)
	require.Equal(t, api.EnvelopeStatusDeclined, ended.Envelope.Status)

	f = newFakeService(t, answer{status: 200, body: envelopeJSON})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = f.client(t).WaitUntilCompleted(ctx, uuid.New())
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
