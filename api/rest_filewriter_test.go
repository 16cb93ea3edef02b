package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/test/kit"
)

// waitTimeout is the time limit for operations that must not be delayed by other clients.
const waitTimeout = 20 * time.Second

// serveWithSmallBuffers serves the API with small socket buffers, so that writes block when the client does not read.
func (s *service) serveWithSmallBuffers(t *testing.T) (address string) {
	t.Helper()
	srv := httptest.NewUnstartedServer(s.api)
	srv.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(64 << 10)
		}
		return ctx
	}
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

// begin sends a request line and headers without a body. It returns a reader of the response.
func (c *client) begin(address, head string, headers ...string) *bufio.Reader {
	c.t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(c.t.Context(), "tcp", address)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(c.t, conn.(*net.TCPConn).SetReadBuffer(64<<10))
	headers = append(headers, "Host: sign.example.com", "Authorization: Bearer "+c.token)
	_, err = fmt.Fprintf(conn, "%s HTTP/1.1\r\n%s\r\n\r\n", head, strings.Join(headers, "\r\n"))
	require.NoError(c.t, err)
	r := bufio.NewReaderSize(conn, 16)
	require.NoError(c.t, conn.SetReadDeadline(time.Now().Add(waitTimeout)))
	_, err = r.Peek(1)
	require.NoError(c.t, err)
	require.NoError(c.t, conn.SetReadDeadline(time.Time{}))
	return r
}

// TestDownload_StalledClientIsDisconnected checks that a client that stops reading is disconnected, and that a slow
// reader receives the complete file.
func TestDownload_StalledClientIsDisconnected(t *testing.T) {
	t.Parallel()
	const stall = time.Second
	answered := make(chan string, 100)
	s := onSQLite(t, func(cfg *api.Config) {
		cfg.StallLimit = stall
		cfg.Observe = func(_, route string, _ int, _ time.Duration) { answered <- route }
	})
	c := s.client(t)
	e, token := c.sent(contract())
	c.signs(e, token)
	content := bytes.Repeat([]byte("0123456789abcdef"), 128<<10) // 2 MB, which exceeds all buffers
	at := "/v1/envelopes/" + e.str("id")
	download := "/v1/download/" + s.completesWith(t, e.str("id"), 0, content) + "/document"
	address := s.serveWithSmallBuffers(t)
	ends := func(route string) {
		t.Helper()
		for late := time.After(waitTimeout); ; {
			select {
			case got := <-answered:
				if got == route {
					return
				}
			case <-late:
				require.Fail(t, "the response is still being written", route)
			}
		}
	}
	for route, path := range map[string]string{
		"/v1/download/:token/document": download, "/v1/envelopes/:id/document": at + "/document?kind=sealed", "/v1/envelopes/:id/documents.zip": at + "/documents.zip",
	} {
		r := c.begin(address, "GET "+path)
		ends(route)
		n, _ := io.Copy(io.Discard, r)
		require.Less(t, n, int64(len(content)), route)
	}

	res, err := http.ReadResponse(c.begin(address, "GET "+download), nil)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	pace := time.NewTicker(stall / 20)
	defer pace.Stop()
	var got bytes.Buffer
	for begun := time.Now(); err == nil; <-pace.C {
		part := int64(64 << 10)
		if time.Since(begun) > 3*stall {
			part = int64(len(content))
		}
		_, err = io.CopyN(&got, res.Body, part)
	}
	require.ErrorIs(t, err, io.EOF)
	require.True(t, bytes.Equal(content, got.Bytes()))
}

// TestReadingCopies_SlowClientsDoNotBlock checks that clients that stop reading their reading copies do not block
// others.
func TestReadingCopies_SlowClientsDoNotBlock(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	padding := strings.Repeat("x", 900<<10)
	large := preparable("A long contract", "", "", fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(padding), padding))
	e := c.draftOf(contract(), large).want(201)
	sent := c.post("/v1/envelopes/"+e.str("id")+"/send", nil).want(200)
	path := s.link(t, sent, 0) + "/document?entries=true"
	address := s.serveWithSmallBuffers(t)
	for range 5 {
		nobody.begin(address, "GET "+path)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	require.NoError(t, err)
	res, err := s.Client().Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, 200, res.StatusCode)
	n, err := io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	require.Greater(t, n, int64(len(padding)))
}

// TestBulkSend_SlowRowsDoNotBlock checks that requests whose rows arrive slowly or not at all do not block the requests
// of other apps.
func TestBulkSend_SlowRowsDoNotBlock(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	template := bulkTemplate(t, s, c, "acme")
	for _, slow := range []*client{s.other(t), s.other(t)} {
		slow.begin(s.Listener.Addr().String(), "POST /v1/bulk-sends", "Content-Length: 1000", "Expect: 100-continue") // the server sends 100 Continue when it reads the body
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	body, err := json.Marshal(bulkRequest(template, bulkRow("a", "Ada")))
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/bulk-sends", bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := s.Client().Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, 202, res.StatusCode)
}

// TestConcurrencyLimit_RejectsAfterWaiting checks that a request that waits too long for a concurrency limit is
// rejected, and that the response states when to retry.
func TestConcurrencyLimit_RejectsAfterWaiting(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.QueueWait = time.Nanosecond })
	c, nobody := s.client(t), &client{t: t, s: s}
	e, token := c.sent(contract())
	require.True(t, s.api.AcquireAllLimits())
	for _, a := range []*response{
		nobody.get("/v1/signing/" + token + "/document?entries=true"),
		nobody.get("/v1/signing/" + token + "/documents/" + e.document(0)["id"].(string) + "?entries=true"),
		nobody.send(http.MethodPost, "/v1/verify", "application/pdf", kit.OnePage()),
		c.post("/v1/bulk-sends", bulkRequest(uuid.NewString(), bulkRow("a", "Ada"))),
	} {
		a.rejected(503, "busy")
		require.NotEmpty(t, a.header.Get("Retry-After"))
	}
}
