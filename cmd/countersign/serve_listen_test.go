package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRequestsRejectedBeforeAHandler_GetAProblem checks that requests rejected by net/http itself receive an error in
// the API's format.
func TestRequestsRejectedBeforeAHandler_GetAProblem(t *testing.T) {
	t.Parallel()
	l, err := listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	own := "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	go func() {
		served <- serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(own)) }), 600)
	}()
	send := func(request string) (*http.Response, map[string]any) {
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		go func() { _, _ = c.Write([]byte(request)) }() // may fail because the request is rejected before all of it is sent
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, res.Body.Close()) }()
		var body map[string]any
		if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
			require.NoError(t, json.NewDecoder(res.Body).Decode(&body))
		}
		return res, body
	}
	for request, want := range map[string]struct {
		status int
		code   string
	}{
		"garbage\r\n\r\n":                                                              {400, "bad_request"},
		"GET / HTTP/1.1\r\n\r\n":                                                       {400, "bad_request"},
		"GET / HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n":                                  {400, "bad_request"},
		"GET / HTTP/1.1\r\nHost: a\r\nA: " + strings.Repeat("b", 64<<10):               {431, "headers_too_large"},
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n":                {501, "unsupported_transfer_encoding"},
		"GET / HTTP/3.0\r\nHost: a\r\n\r\n":                                            {505, "unsupported_version"},
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n": {400, "bad_request"},
	} {
		res, body := send(request)
		require.Equal(t, want.status, res.StatusCode, "%.40q", request)
		require.Equal(t, want.code, body["error"], "%.40q", request)
		require.InDelta(t, want.status, body["status"], 0)
		require.Equal(t, http.StatusText(want.status), body["title"])
		require.NotNil(t, body["errors"])
		require.NotEmpty(t, body["message"])
		require.Equal(t, []string{"600", "600"}, []string{res.Header.Get("X-RateLimit-Limit"), res.Header.Get("X-RateLimit-Remaining")})
		reset, err := strconv.ParseInt(res.Header.Get("X-RateLimit-Reset"), 10, 64)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), time.Unix(reset, 0), time.Minute)
		require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
		require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))
	}
	res, _ := send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	require.Equal(t, 200, res.StatusCode, "a handler's answer")
	stop()
	require.NoError(t, <-served)
}
