package api

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// connected returns the two ends of a TCP connection.
func connected(t *testing.T) (server *net.TCPConn, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // local connection
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	client, err = net.Dial("tcp", l.Addr().String()) //nolint:noctx // local connection
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	accepted, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = accepted.Close() })
	return accepted.(*net.TCPConn), client
}

// serverResponseOf returns a response that net/http writes without calling a handler.
func serverResponseOf(status, text string) string {
	return "HTTP/1.1 " + status + "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" + text
}

// TestProblemConn_ResponseWithoutAHandler_BecomesAProblem checks that the rewritten response has the headers of every
// other response.
func TestProblemConn_ResponseWithoutAHandler_BecomesAProblem(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	long := func(n int) string {
		begin := serverResponseOf("400 Bad Request", "")
		return begin + strings.Repeat("x", n-len(begin))
	}
	for name, c := range map[string]struct {
		limit   int
		written string
		status  int
		code    string
	}{
		"bad request":         {60, serverResponseOf("400 Bad Request", "400 Bad Request"), 400, "bad_request"},
		"timeout":             {0, serverResponseOf("408 Request Timeout", "408 Request Timeout"), 408, "request_timeout"},
		"headers":             {60, serverResponseOf("431 Request Header Fields Too Large", ""), 431, "headers_too_large"},
		"encoding":            {0, serverResponseOf("501 Not Implemented", "Unsupported transfer encoding"), 501, "unsupported_transfer_encoding"},
		"version":             {0, serverResponseOf("505 HTTP Version Not Supported", "unsupported protocol version"), 505, "unsupported_version"},
		"another status":      {0, serverResponseOf("421 Misdirected Request", ""), 421, "bad_request"},
		"as long as accepted": {0, long(maxServerResponse), 400, "bad_request"},
	} {
		server, client := connected(t)
		conn := ProblemConn{TCPConn: server, RateLimit: c.limit, Now: func() time.Time { return at }}
		n, err := conn.Write([]byte(c.written))
		require.NoError(t, err, name)
		require.Equal(t, len(c.written), n, name)
		require.NoError(t, server.Close())
		got, err := http.ReadResponse(bufio.NewReader(client), nil)
		require.NoError(t, err, name)
		body, err := io.ReadAll(got.Body)
		require.NoError(t, err, name)
		require.NoError(t, got.Body.Close())
		require.Equal(t, c.status, got.StatusCode, name)
		require.Equal(t, "application/json; charset=utf-8", got.Header.Get("Content-Type"), name)
		require.Equal(t, "no-store", got.Header.Get("Cache-Control"), name)
		require.True(t, got.Close, name)
		var problem struct {
			Code string `json:"error"`
		}
		require.NoError(t, json.Unmarshal(body, &problem), name)
		require.Equal(t, c.code, problem.Code, name)
		want := []string{"", "", ""}
		if c.limit > 0 {
			want = []string{"60", "60", "1767323100"} // the Unix time of 03:05:00
		}
		require.Equal(t, want, []string{got.Header.Get("X-RateLimit-Limit"), got.Header.Get("X-RateLimit-Remaining"), got.Header.Get("X-RateLimit-Reset")}, name)
	}
	for name, written := range map[string]string{
		"a handler's": "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n{}", "success": serverResponseOf("200 OK", ""),
		"more lines": serverResponseOf("400 Bad Request", "a\nb"), "too long": long(maxServerResponse + 1),
	} {
		server, client := connected(t)
		n, err := ProblemConn{TCPConn: server, Now: time.Now}.Write([]byte(written))
		require.NoError(t, err, name)
		require.Equal(t, len(written), n, name)
		require.NoError(t, server.Close())
		got, err := io.ReadAll(client)
		require.NoError(t, err, name)
		require.Equal(t, written, string(got), name)
	}
	server, _ := connected(t)
	require.NoError(t, server.Close())
	_, err := ProblemConn{TCPConn: server, Now: time.Now}.Write([]byte(serverResponseOf("400 Bad Request", "")))
	require.ErrorIs(t, err, net.ErrClosed)
}
